#!/usr/bin/env bash
# Installs the pinned packages of the CouchDB-like node of integration/couch in
# .tools/couch. The node's own files are not copied and find the packages by NODE_PATH.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

home=$TOOLS/couch pins=$ROOT/integration/couch/js
fresh "$home/.stamp" "$pins/package.json" "$pins/package-lock.json" && exit 0
need node nodejs node "runs the CouchDB-like test node"
need npm npm node "installs pouchdb-server"
say "installing pouchdb-server below .tools/couch"
rm -rf "$home"
mkdir -p "$home"
cp "$pins/package.json" "$pins/package-lock.json" "$home"
# Nothing is compiled: native code is prebuilt.
(cd "$home" && npm ci --silent --ignore-scripts --no-audit --no-fund --no-update-notifier </dev/null >&2)
digest "$pins/package.json" "$pins/package-lock.json" >"$home/.stamp"
