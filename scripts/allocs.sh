#!/usr/bin/env bash
# Runs the tests that measure allocations and memory without the race detector, which allocates on
# its own, and those that do less with it, because it makes them slow.
set -euo pipefail
cd "$(dirname "$0")/.."

names='Alloc|Budget|Memory|Heap' # of tests whose helpers measure
# `make test` limits the examples of rapid by RAPID_CHECKS with the race detector.
depends='race\.(Enabled|Part)|testing\.AllocsPerRun|rapid\.(Check|MakeCheck)\('
files=$(grep -rlE --include='*_test.go' "$depends" fluent internal)
tests=$(awk -v call="$depends" '/^func / { name = substr($2, 1, index($2, "(") - 1) } name ~ /^Test/ && $0 ~ call { print name }' $files | sort -u | paste -sd '|' -)
[ "$(tr '|' '\n' <<<"$tests" | wc -l)" -ge 80 ] || { echo "allocs.sh finds too few tests" >&2; exit 1; }
# All tests of the protocol run without the race detector, with its simulation.
folders=$(printf '%s\n' $files | xargs -n1 dirname | sort -u | grep -vx internal/cluster/protocol | sed 's|^|./|')
# A folder per word.
exec go test -vet=off -run "$names|^($tests)\$" $folders
