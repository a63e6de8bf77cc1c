#!/usr/bin/env bash
# trace-runs.sh [FIRST [SEEDS [NODES]]] checks the traces of runs of a cluster against the
# specification: of SEEDS (10) simulations of the protocol, with seeds from FIRST (1) on, and
# of NODES (3) runs of real nodes with goroutines and a faulty network. It also checks
# simulations in each of which the code breaks one rule, and fails if the specification does
# not reject them.
set -euo pipefail
. "$(dirname "$0")/../scripts/lib.sh"
need_go
cd "$ROOT"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/runs" "$work/mutants"

go test -vet=off -count=1 -tags kasokutrace -run '^TestTraces$|^TestTracedActions$|^TestMerge$' ./internal/cluster/protocol \
	-traces "$work/runs" -tracefirst "${1:-1}" -traceseeds "${2:-10}" >"$work/out" || { cat "$work/out" && exit 1; }
go test -vet=off -count=1 -tags kasokutrace -run '^TestTraces$' ./internal/cluster \
	-traces "$work/runs" -tracefirst "${1:-1}" -traceseeds "${3:-3}" >"$work/out" || { cat "$work/out" && exit 1; }
specs/trace.sh "$work"/runs/*.ndjson | sed "s|^$work/||" ||
	die "the code takes a step that the specification does not have"

go test -vet=off -count=1 -tags kasokutrace,kasokumutant -run '^TestMutantTraces$' ./internal/cluster/protocol \
	-traces "$work/mutants" >"$work/out" || { cat "$work/out" && exit 1; }
# It fails, because it rejects them.
specs/trace.sh "$work"/mutants/*.ndjson >"$work/out" || true
sed "s|^$work/||" "$work/out"
mutants=("$work"/mutants/*)
[ "$(grep -cE 'no step matches|is violated' "$work/out")" = ${#mutants[@]} ] || die "a run without a rule is not rejected"
