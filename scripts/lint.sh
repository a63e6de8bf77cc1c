#!/usr/bin/env bash
# Runs gofmt, go vet and staticcheck in all modules, and checks that they compile on other
# systems. The project's own rules are tests in internal/repo.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_go
cd "$ROOT"
export GOGC=200 # go vet and staticcheck take a tenth less time

unformatted=$(git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 gofmt -l)
[ -z "$unformatted" ] || die "gofmt would change:"$'\n'"$unformatted"

# In libraries go vet also reports what needs a newer Go or newer dependencies than they require.
in_modules go vet ./...
in_modules "$TOOLS/bin/staticcheck" ./...
# Files that only builds for a test have.
go vet -tags kasokumutant,kasokutrace ./internal/cluster/...
# No file of this project is for one processor only, so a system is checked on one, and 32 bits on
# another. Fewer collections: a system takes two thirds of the time.
libraries=$(libraries)
for module in . $libraries; do
	GOGC=400 go run ./scripts/crosscheck -C "$module" darwin/arm64 windows/amd64 freebsd/amd64 linux/386
done
GOGC=400 go run ./scripts/crosscheck -C integration darwin/arm64
say "lint: gofmt, go vet, staticcheck and crosscheck found nothing"
