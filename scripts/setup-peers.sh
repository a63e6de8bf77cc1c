#!/usr/bin/env bash
# Makes .tools/peers with Varnish and nginx as Debian has them, which bench/ compares
# services of type http with. Nothing is installed into the system: the packages are
# unpacked, and no server starts. On other systems the benchmarks do without them.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

home=$TOOLS/peers
packages="varnish libvarnishapi3 libjemalloc2 nginx"
[ "$(cat "$home/.stamp" 2>/dev/null)" = "$packages" ] && exit 0
if ! have apt-get || ! have dpkg-deb; then
	say "no Debian: the benchmarks of services of type http will have no peers"
	exit 0
fi
need gcc gcc gcc "compiles Varnish's configuration"
say "fetching $packages below .tools/peers"
rm -rf "$home"
mkdir -p "$home/packages"
fetch() { (cd "$home/packages" && apt-get -q -o APT::Sandbox::User=root download $packages >&2); }
fetch || { apt-get -q update >&2 && fetch; } || die "apt-get could not download $packages"
for package in "$home"/packages/*.deb; do
	dpkg-deb -x "$package" "$home/root"
done
rm -rf "$home/packages"
echo "$packages" >"$home/.stamp"
