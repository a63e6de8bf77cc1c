#!/usr/bin/env bash
# tidy.sh [MODULE@VERSION...] gets the given versions for the root module, and runs go mod tidy in
# all modules. go get and go mod tidy ignore go.work, and would download the versions of our
# libraries that go.mod requires, which need not be released. Here they use the folders instead.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_go
in_libraries go mod tidy

cd "$ROOT"
libraries=$(libraries)
export GOWORK=off
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
cp go.mod go.sum "$new"
for module in $libraries; do
	go mod edit -replace "$(cd "$module" && go list -m)=$module" "$new/go.mod"
done
[ $# = 0 ] || go get -modfile="$new/go.mod" "$@"
go mod tidy -modfile="$new/go.mod"
for module in $libraries; do
	path=$(cd "$module" && go list -m)
	go mod edit -dropreplace "$path" "$new/go.mod"
	# A module that is replaced has no checksum.
	grep -F "$path " go.sum >>"$new/go.sum" || true
done
cp "$new/go.mod" "$new/go.sum" .
in_others go mod tidy
