#!/usr/bin/env bash
# Prints how often certain words are used per 1,000 words of comments, tests excepted:
# of this repository, or of the Go code below the folders given, for comparison.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_go
cd "$ROOT"
dirs=
for dir in "$@"; do dirs+=${dirs:+:}$(cd "$dir" && pwd); done
KASOKU_WORDS_IN=$dirs go test -vet=off -count=1 -v -run '^TestWordRates$' ./internal/repo |
	sed -nE 's/^ +words_test\.go:[0-9]+: //p'
