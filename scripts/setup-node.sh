#!/usr/bin/env bash
# Makes .tools/node with the pinned AWS SDK for JavaScript, and
# .tools/node-fluentd with another Fluentd client, whose receiver is a peer, and
# .tools/node-httpcache with the public HTTP caching suite, and .tools/node-dax with the
# DAX clients.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# install NAME PINS WHAT makes .tools/NAME from the two files in PINS.
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
