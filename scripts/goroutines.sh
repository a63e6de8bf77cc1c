#!/usr/bin/env bash
# Prints the packages whose tests may have data races: they, or packages of ours that they
# use, start goroutines. With -none it prints the others, without internal/repo.
set -euo pipefail
cd "$(dirname "$0")/.."

starts='^[[:space:]]*go (func|[a-z])|\.Go\(|\.Parallel\(|synctest|httptest|AfterFunc|AddCleanup|signal\.Notify'
module=$(GOWORK=off go list -m)
concurrent=$(git ls-files --cached --others --exclude-standard '*.go' | xargs grep -lE "$starts" | xargs -n1 dirname | sort -u | sed "s|^|$module/|")
all=$(go list work | grep -v '/internal/repo$')
racy=$(go list -test -f '{{.ImportPath}} {{join .Deps " "}}' work | concurrent=$concurrent awk '
	BEGIN { n = split(ENVIRON["concurrent"], list, "\n"); for (i = 1; i <= n; i++) starts[list[i]] = 1 }
	$1 ~ /\.test$/ { for (i = 2; i <= NF; i++) if ($i in starts) { sub(/\.test$/, "", $1); print $1; next } }')
if [ "${1:-}" = -none ]; then
	grep -vxF "$racy" <<<"$all"
else
	grep -xF "$racy" <<<"$all"
fi
