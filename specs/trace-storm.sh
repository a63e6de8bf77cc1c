#!/usr/bin/env bash
# trace-storm.sh checks what the processes of the fault tests in integration/cluster do: it
# runs TestStorm with nodes that log their steps, makes traces of the writes of three items,
# and checks these. It does the same with TestBrokenRule, whose nodes leave out a rule, and
# fails if the specification does not reject that. It takes some minutes.
set -euo pipefail
. "$(dirname "$0")/../scripts/lib.sh"
need_go
cd "$ROOT"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# traces TEST NAME TAGS runs a test and writes the traces of its processes to $work/NAME.
traces() {
	mkdir "$work/$2" "$work/$2.logs"
	(cd integration && KASOKU_TRACE=$work/$2.logs go test -vet=off -count=1 -timeout 15m -run "$1" ./cluster) >"$work/out" ||
		{ cat "$work/out" && exit 1; }
	go test -vet=off -count=1 -tags kasokutrace -run '^TestMergeLogs$' ./internal/cluster/protocol \
		-logs "$work/$2.logs" -traces "$work/$2" -tracetags "$3" >"$work/out" || { cat "$work/out" && exit 1; }
}

traces '^TestStorm$/^embedded$' storm 3
specs/trace.sh "$work"/storm/*.ndjson | sed "s|^$work/||" ||
	die "the code takes a step that the specification does not have"

traces '^TestBrokenRule$' broken 1
specs/trace.sh "$work"/broken/*.ndjson >"$work/out" || true
sed "s|^$work/||" "$work/out"
grep -qE 'no step matches|is violated' "$work/out" || die "a run without a rule is not rejected"
