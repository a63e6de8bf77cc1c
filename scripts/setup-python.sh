#!/usr/bin/env bash
# Makes .tools/python, a virtual environment with the pinned boto3 and DAX client.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

home=$TOOLS/python
pins=$ROOT/integration/python/requirements.txt
fresh "$home/.stamp" "$pins" && exit 0

need python3 python3 python "runs the boto3 tests"
if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
	install_package python3-venv python3-venv python "makes Python's virtual environments"
fi
say "installing boto3 and the DAX client below .tools/python"
rm -rf "$home"
python3 -m venv "$home"
"$home/bin/python" -m pip install -q --disable-pip-version-check --no-input -r "$pins" >&2
digest "$pins" >"$home/.stamp"
