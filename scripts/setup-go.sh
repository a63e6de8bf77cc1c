#!/usr/bin/env bash
# Ensures that Go and a C compiler (for the race detector) are installed, and builds the
# pinned staticcheck in .tools/bin.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

need_go
have cc || have gcc || install_package cc gcc gcc "the race detector needs a C compiler"
if ! printf '#include <stdlib.h>\n' | cc -E - >/dev/null 2>&1; then
	install_package "a C library's headers" libc6-dev gcc "the race detector needs them"
fi

STATICCHECK=v0.8.2
want="$STATICCHECK $(go env GOVERSION)"
[ -x "$TOOLS/bin/staticcheck" ] && [ "$(cat "$TOOLS/bin/.staticcheck" 2>/dev/null)" = "$want" ] && exit 0
say "building staticcheck $STATICCHECK into .tools/bin"
mkdir -p "$TOOLS/bin"
GOBIN=$TOOLS/bin go install "honnef.co/go/tools/cmd/staticcheck@$STATICCHECK"
printf '%s\n' "$want" >"$TOOLS/bin/.staticcheck"
