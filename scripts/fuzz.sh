#!/usr/bin/env bash
# fuzz.sh TIME PACKAGE... runs every fuzz target of the packages for TIME each (10s, 1h),
# one after the other: go test fuzzes one target of one package at a time. It continues
# after a target that fails, and fails at the end. go test writes the failing input to
# the package's testdata/fuzz, where it becomes a test.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_go
[ $# -ge 2 ] || die "usage: scripts/fuzz.sh TIME PACKAGE..."
time=$1
shift
cd "$ROOT"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# fuzz TARGET PACKAGE runs one target. Before Go 1.27 a target may fail only because its
# time is over, go.dev/issue/75804: go test then prints no input and no other reason.
fuzz() {
	go test -run '^$' -fuzz "^$1\$" -fuzztime "$time" "$2" 2>&1 | tee "$log" && return 0
	grep -A1 '^--- FAIL: ' "$log" | grep -q '^ *context deadline exceeded$' || return 1
	! grep -qE 'Failing input|^panic:|^fatal error:|hung or terminated' "$log"
}

# go list reports a pattern that matches no package.
packages=$(go list "$@")
ran=0 failed=
for package in $packages; do
	# A package that does not compile ends the script here. The list of targets ends with
	# a line of go test's own.
	targets=$(go test -list '^Fuzz' "$package")
	for target in $(grep '^Fuzz' <<<"$targets" || true); do
		ran=$((ran + 1))
		say "fuzz: $target of $package for $time"
		fuzz "$target" "$package" || failed+=$'\n'"  $target of $package"
	done
done
[ "$ran" -gt 0 ] || die "nothing to fuzz in: $*"
[ -z "$failed" ] || die "these failed:$failed"
say "fuzz: $ran targets passed"
