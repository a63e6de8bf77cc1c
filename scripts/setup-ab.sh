#!/usr/bin/env bash
# Makes sure that there is an ab (ApacheBench), which tests of services of type couchdb
# measure with as a blog of 2010 did: the system's own, or that of Debian, unpacked
# below .tools/ab and not installed.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

home=$TOOLS/ab
have ab && exit 0
[ -x "$home/ab" ] && exit 0
if ! have apt-get || ! have dpkg-deb; then
	need ab apache2-utils httpd "measures services of type couchdb"
	exit 0
fi
say "fetching apache2-utils below .tools/ab"
rm -rf "$home"
mkdir -p "$home/packages"
fetch() { (cd "$home/packages" && apt-get -q -o APT::Sandbox::User=root download "$@" >&2); }
# Newer releases call the libraries otherwise.
all() { fetch apache2-utils libapr1 libaprutil1 2>/dev/null || fetch apache2-utils libapr1t64 libaprutil1t64; }
all || { apt-get -q update >&2 && all; } || die "apt-get could not download apache2-utils"
for package in "$home"/packages/*.deb; do
	dpkg-deb -x "$package" "$home/root"
done
rm -rf "$home/packages"
cat >"$home/ab" <<'END'
#!/bin/sh
root=$(dirname "$0")/root
LD_LIBRARY_PATH=$(echo "$root"/usr/lib/*-linux-gnu) exec "$root/usr/bin/ab" "$@"
END
chmod +x "$home/ab"
