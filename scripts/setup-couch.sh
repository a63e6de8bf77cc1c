#!/usr/bin/env bash
# Makes .tools/couch with the pinned packages that the CouchDB-like node of
# integration/couch is made of. The node's own files stay where they are and find
# the packages by NODE_PATH.
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
# Nothing is compiled: what has to be native comes prebuilt.
(cd "$home" && npm ci --silent --ignore-scripts --no-audit --no-fund --no-update-notifier </dev/null >&2)
digest "$pins/package.json" "$pins/package-lock.json" >"$home/.stamp"
