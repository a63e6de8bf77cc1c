#!/usr/bin/env bash
# mutants.sh [RULE...] runs the storm of real processes with one rule of the cluster turned off
# after the other, and prints for each whether the storm found it, after how long, and why.
# RULES are numbers of internal/cluster/protocol/rules.go; without any, all are run. OPS is the
# number of requests after which a run ends.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
ops=${OPS:-100000}
rules=$(sed -nE 's/^\t(rule[A-Z][A-Za-z]*) .*/\1/p' "$ROOT/internal/cluster/protocol/rules.go")
log=$(mktemp)
trap 'rm -f "$log"' EXIT
number=0
for rule in $rules; do
	number=$((number + 1))
	if [ $# -gt 0 ] && ! [[ " $* " == *" $number "* ]]; then continue; fi
	began=$SECONDS
	if (cd "$ROOT/integration" && KASOKU_MUTANT=$number KASOKU_CLUSTER_OPS=$ops KASOKU_SEED=${KASOKU_SEED:-random} \
		go test -vet=off -count=1 -timeout 60m -run '^TestStorm$/^embedded$' ./cluster) >"$log" 2>&1; then
		result="not found"
	else
		result=$(grep -oE '_test\.go:[0-9]+: .*(key|not within|linear|older|refused).*' "$log" | head -1 | cut -c1-120)
		result="found: ${result:-$(grep -oE '_test\.go:[0-9]+: .*' "$log" | head -1 | cut -c1-120)}"
	fi
	printf '%-24s %5d s  %s\n' "${rule#rule}" $((SECONDS - began)) "$result"
done
