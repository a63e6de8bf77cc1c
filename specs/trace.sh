#!/usr/bin/env bash
# trace.sh FILE... checks traces of runs against KasokuTrace.tla. Each line of a FILE is a
# flat JSON object, see README.md. It prints for each file whether it is a behaviour of the
# specification, and else the first line that no step matches; it fails if one is not.
set -euo pipefail
. "$(dirname "$0")/../scripts/lib.sh"
specs=$ROOT/specs
[ $# -gt 0 ] || die "usage: specs/trace.sh FILE..."
TLC=$("$ROOT/scripts/setup-tlc.sh")
if [ "$1" != --trace ]; then
	# xargs fails if a trace does.
	printf '%s\0' "$@" | xargs -0 -n 1 -P "${JOBS:-$(getconf _NPROCESSORS_ONLN)}" "$specs/trace.sh" --trace
	exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# lines FILE prints the module KasokuTraceLines.
lines() {
	echo "---- MODULE KasokuTraceLines ----"
	echo "Lines == <<"
	sed -E -e 's/"([A-Za-z]+)" *: */\1 |-> /g' -e 's/\|-> true/|-> TRUE/g' -e 's/\|-> false/|-> FALSE/g' \
		-e 's/^ *\{/  [/' -e 's/\} *$/]/' -e '$!s/$/,/' "$1"
	echo ">>"
	echo "===="
}

# trace FILE checks one trace.
trace() {
	cp "$specs/KasokuCluster.tla" "$specs/KasokuTrace.tla" "$specs/KasokuTrace.cfg" "$work"
	lines "$1" >"$work/KasokuTraceLines.tla"
	# TLC writes its standard modules into the folder for temporary files, and removes them.
	(cd "$work" && java -Xmx"${HEAP:-2g}" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.io.tmpdir="$work" \
		-cp "$TLC" tlc2.TLC -metadir "$work/states" KasokuTrace) >"$work/out" 2>&1 || true
	local violated last
	violated=$(sed -n 's/^Error: Invariant \(.*\) is violated.*/\1/p' "$work/out" | head -1)
	last=$(sed -nE 's/^<<"matched", ([0-9]+)>>$/\1/p' "$work/out" | sort -n | tail -1)
	last=${last:-1}
	if [ -n "$violated" ]; then
		echo "$1:$last: $violated is violated by: $(sed -n "${last}p" "$1")"
		return 1
	elif ! grep -q '^Model checking completed' "$work/out"; then
		cat "$work/out" >&2
		return 1
	elif [ "$last" != "$(grep -c '' "$1")" ]; then
		echo "$1:$((last + 1)): no step matches: $(sed -n "$((last + 1))p" "$1")"
		return 1
	fi
	echo "$1: all $last lines match"
}

trace "$2"
