#!/usr/bin/env bash
# Tests the modules that programs import as those get them: without the workspace, with the lowest
# versions of their dependencies. With GOTOOLCHAIN=go1.24.13 it uses that version of Go, which go
# downloads if it is not installed.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_go
in_libraries go test -vet=off ./...
