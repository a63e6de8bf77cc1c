#!/usr/bin/env bash
# Makes .tools/prometheus with promtool, as Debian has it, which checks the rules in
# packaging/prometheus. Nothing is installed into the system, and no server starts.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

home=$TOOLS/prometheus
fresh "$home/.stamp" "$0" && exit 0
if ! on_debian; then
	have promtool || say "no Debian: the test of packaging/prometheus needs promtool in the PATH: brew install prometheus"
	exit 0
fi
unpack "$home" prometheus
mv "$home/root/usr/bin/promtool" "$home/promtool"
rm -rf "$home/root"
digest "$0" >"$home/.stamp"
