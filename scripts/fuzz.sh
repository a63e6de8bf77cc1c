#!/usr/bin/env bash
# fuzz.sh TIME PACKAGE... runs every fuzz target of the packages for TIME each (10s, 1h),
# one after the other: go test fuzzes one target of one package at a time. It goes on
# behind a target that fails, whose input go test leaves below the package's
# testdata/fuzz to become a test, and fails at the end.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_go
[ $# -ge 2 ] || die "usage: scripts/fuzz.sh TIME PACKAGE..."
time=$1
shift
cd "$ROOT"

# go list has its own say about a pattern that matches no package.
packages=$(go list "$@")
ran=0 failed=
for package in $packages; do
	# A package that does not compile ends the script here. What follows the targets is
	# a line of go test's own.
	targets=$(go test -list '^Fuzz' "$package")
	for target in $(grep '^Fuzz' <<<"$targets" || true); do
		ran=$((ran + 1))
		say "fuzz: $target of $package for $time"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package" || failed+=$'\n'"  $target of $package"
	done
done
[ "$ran" -gt 0 ] || die "nothing to fuzz in: $*"
[ -z "$failed" ] || die "these failed:$failed"
say "fuzz: $ran targets held"
