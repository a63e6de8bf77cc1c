#!/usr/bin/env bash
# Provides ab (ApacheBench), with which tests of services of type couchdb measure as a blog
# of 2010 did: the system's own, or Debian's, unpacked below .tools/ab and not installed.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

home=$TOOLS/ab
have ab && exit 0
[ -x "$home/ab" ] && exit 0
if ! on_debian; then
	need ab apache2-utils httpd "measures services of type couchdb"
	exit 0
fi
unpack "$home" apache2-utils
cat >"$home/ab" <<'END'
#!/bin/sh
root=$(dirname "$0")/root
LD_LIBRARY_PATH=$(echo "$root"/usr/lib/*-linux-gnu) exec "$root/usr/bin/ab" "$@"
END
chmod +x "$home/ab"
