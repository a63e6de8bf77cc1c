#!/bin/sh
# Runs after the package was removed. Data in /var/lib/kasoku, logs and the user remain.
set -e

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
