#!/usr/bin/env bash
# trace-test.sh checks that trace.sh accepts testdata/failover.ndjson, and that it rejects
# the trace after one change, at the line where the run breaks a rule.
set -euo pipefail
. "$(dirname "$0")/../scripts/lib.sh"
specs=$ROOT/specs
sample=$specs/testdata/failover.ndjson
changed=$(mktemp -d)
trap 'rm -rf "$changed"' EXIT

# reject RULE LINE EDIT changes the sample with sed and requires that LINE is rejected.
reject() {
	local got
	sed -e "$3" "$sample" >"$changed/trace.ndjson"
	if cmp -s "$sample" "$changed/trace.ndjson"; then die "$1: the edit changes nothing"; fi
	if got=$("$specs/trace.sh" "$changed/trace.ndjson"); then die "$1: the changed trace is accepted"; fi
	[[ $got == "$changed/trace.ndjson:$2: "* ]] || die "$1: not rejected at line $2: $got"
	echo "rejected: $1"
}

# line ACTION... prints the number of the first line of the sample that has all the texts.
line() {
	local found=$sample text
	found=$(cat -n "$sample")
	for text in "$@"; do found=$(grep -F "$text" <<<"$found"); done
	head -1 <<<"$found" | awk '{ print $1 }'
}

"$specs/trace.sh" "$sample"
reject "a write is sent without an acknowledgement" "$(($(line RoundDone b-2) - 1))" "$(line RecvInv b-2)d"
reject "a node serves before the books of all" "$(($(line JoinDone b) - 1))" "$(line GotBooks)d"
reject "a member is taken out without a mark" "$(($(line Evict) - 1))" "$(line Suspend)d"
reject "a member is taken out before Wait has passed" "$(line Evict)" "$(line Evict)s/2755/2745/"
reject "a node serves without a lease" "$(line Serve 3000)" "$(line Serve 3000)s/3000/9000/"
