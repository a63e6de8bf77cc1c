#!/usr/bin/env bash
# Tests the modules that programs import as those get them: without the workspace, with the lowest
# versions of their dependencies. With GOTOOLCHAIN=go1.24.13 it uses that version of Go, which go
# downloads if it is not installed.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_go
libraries=$(GOTOOLCHAIN="" libraries) # the workspace may need a newer version
for module in $libraries; do
	(cd "$module" && GOWORK=off go test -vet=off ./...)
done
