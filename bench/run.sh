#!/usr/bin/env bash
# Runs the benchmarks and prints the table; see docs/benchmarks.md for the flags.
set -euo pipefail
cd "$(dirname "$0")/.."
exec go run ./bench "$@"
