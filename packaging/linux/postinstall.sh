#!/bin/sh
# Runs after the package was installed or upgraded, by dpkg, rpm or apk.
set -e

if ! getent passwd kasoku >/dev/null; then
	if command -v useradd >/dev/null; then
		useradd --system --user-group --no-create-home --home-dir /var/lib/kasoku --shell /usr/sbin/nologin kasoku
	else
		addgroup -S kasoku
		adduser -S -D -H -h /var/lib/kasoku -s /sbin/nologin -G kasoku kasoku
	fi
fi
if [ ! -e /var/lib/kasoku ]; then
	mkdir -m 0750 /var/lib/kasoku
	chown kasoku:kasoku /var/lib/kasoku
fi
# The service is not enabled: it would open ports. One that runs continues with the new binary.
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart kasoku.service
fi
