#!/usr/bin/env bash
# Runs gofmt, go vet and staticcheck in both modules. The project's own rules are tests in
# internal/repo.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_go
cd "$ROOT"

unformatted=$(git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 gofmt -l)
[ -z "$unformatted" ] || die "gofmt would change:"$'\n'"$unformatted"

for module in . integration; do
	(
		cd "$ROOT/$module"
		go vet ./...
		"$TOOLS/bin/staticcheck" ./...
	)
done
say "lint: gofmt, go vet and staticcheck found nothing"
