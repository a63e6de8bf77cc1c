#!/usr/bin/env bash
# Makes .tools/chromium with Debian's Chromium for the test of the dashboard, and the script
# chromium in it, which runs it with the libraries and the fonts that are unpacked beside it.
# Nothing is installed into the system.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

home=$TOOLS/chromium
fresh "$home/.stamp" "$0" && exit 0
if ! on_debian; then
	have chromium || say "no Debian: the test of the dashboard needs chromium in the PATH: brew install --cask chromium"
	exit 0
fi
unpack "$home" chromium fonts-dejavu-core
cat >"$home/fonts.conf" <<'END'
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">root/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
  <alias><family>sans-serif</family><prefer><family>DejaVu Sans</family></prefer></alias>
  <alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
END
cat >"$home/chromium" <<'END'
#!/bin/sh
home=$(cd "$(dirname "$0")" && pwd)
libraries=$(find "$home/root/lib" "$home/root/usr/lib" -name '*.so*' ! -path '*/usr/lib/chromium/*' 2>/dev/null | sed 's,/[^/]*$,,' | sort -u | tr '\n' :)
export LD_LIBRARY_PATH="$libraries" FONTCONFIG_FILE="$home/fonts.conf" XDG_CACHE_HOME="$home/cache"
exec "$home/root/usr/lib/chromium/chromium" "$@"
END
chmod +x "$home/chromium"
"$home/chromium" --version >&2 || die "Chromium does not start: see the message above"
digest "$0" >"$home/.stamp"
