#!/usr/bin/env bash
# Makes .tools/node with the pinned AWS SDK for JavaScript.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

home=$TOOLS/node
pins=$ROOT/integration/js
fresh "$home/.stamp" "$pins/package.json" "$pins/package-lock.json" && exit 0

need node nodejs node "runs the JavaScript SDK tests"
need npm npm node "installs the JavaScript SDK"
say "installing the AWS SDK for JavaScript below .tools/node"
rm -rf "$home"
mkdir -p "$home"
cp "$pins/package.json" "$pins/package-lock.json" "$home"
npm --prefix "$home" ci --silent --no-audit --no-fund --no-update-notifier </dev/null >&2
digest "$pins/package.json" "$pins/package-lock.json" >"$home/.stamp"
