#!/usr/bin/env bash
# Installs pinned JavaScript packages: the AWS SDK in .tools/node, another Fluentd client,
# whose receiver is a peer, in .tools/node-fluentd, the public HTTP caching suite in
# .tools/node-httpcache, the DAX clients in .tools/node-dax, and axe-core in .tools/node-axe.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# install NAME PINS WHAT makes .tools/NAME from the two files in the folder PINS.
install() {
	local home=$TOOLS/$1 pins=$ROOT/$2 what=$3
	fresh "$home/.stamp" "$pins/package.json" "$pins/package-lock.json" && return 0
	need node nodejs node "runs the JavaScript tests"
	need npm npm node "installs $what"
	say "installing $what below .tools/$1"
	rm -rf "$home"
	mkdir -p "$home"
	cp "$pins/package.json" "$pins/package-lock.json" "$home"
	(cd "$home" && npm ci --silent --no-audit --no-fund --no-update-notifier </dev/null >&2)
	digest "$pins/package.json" "$pins/package-lock.json" >"$home/.stamp"
}

install node integration/js "the AWS SDK for JavaScript"
install node-fluentd integration/fluentd/js "@fluent-org/logger"
install node-httpcache integration/httpcache/js "the HTTP caching suite"
install node-dax integration/dax/js "the DAX clients for JavaScript"
install node-axe integration/dashboard/js "the accessibility rules of axe-core"
