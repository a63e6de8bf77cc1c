#!/usr/bin/env bash
# Runs the tests that measure allocations and memory, without the race detector, which
# allocates on its own.
set -euo pipefail
cd "$(dirname "$0")/.."

names='Alloc|Budget|Memory|Heap'
folders=$(grep -rlE --include='*_test.go' 'race\.Enabled|testing\.AllocsPerRun' fluent internal | xargs -n1 dirname | sort -u | sed 's|^|./|')
# A folder per word.
exec go test -vet=off -run "$names" $folders
