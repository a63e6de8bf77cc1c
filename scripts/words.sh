#!/usr/bin/env bash
# Prints the uses of certain words per 1,000 words of comments outside tests: in this
# repository or, for comparison, in the Go code below the given folders.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_go
cd "$ROOT"
dirs=
for dir in "$@"; do dirs+=${dirs:+:}$(cd "$dir" && pwd); done
KASOKU_WORDS_IN=$dirs go test -vet=off -count=1 -v -run '^TestWordRates$' ./internal/repo |
	sed -nE 's/^ +words_test\.go:[0-9]+: //p'
