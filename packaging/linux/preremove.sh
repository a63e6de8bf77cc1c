#!/bin/sh
# Runs before the package is removed, or replaced by another version.
set -e

case "${1:-}" in
upgrade | failed-upgrade | deconfigure) exit 0 ;; # dpkg: another version follows
1) exit 0 ;;                                      # rpm: the same
esac
if [ -d /run/systemd/system ]; then
	systemctl --no-reload disable --now kasoku.service || true
fi
