#!/usr/bin/env bash
# Makes .tools/peers with Varnish, HAProxy, and nginx and its echo module, in Debian's versions.
# bench/ compares services of types http, couchdb and memcached with them. Nothing is
# installed in the system: the packages are unpacked, and no server starts. On other
# systems the benchmarks run without them.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

home=$TOOLS/peers
packages="varnish haproxy nginx libnginx-mod-http-echo"
[ "$(cat "$home/.stamp" 2>/dev/null)" = "$packages" ] && exit 0
if ! on_debian; then
	say "no Debian: the benchmarks of services of types http and memcached will have no peers"
	exit 0
fi
need gcc gcc gcc "compiles Varnish's configuration"
unpack "$home" $packages
echo "$packages" >"$home/.stamp"
