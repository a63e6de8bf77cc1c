#!/usr/bin/env bash
# Builds Kasoku and runs it like `kasoku serve` without a file: a DynamoDB-compatible
# store that prints commands to paste. Its tables are stored below .tools/run. LISTEN, DAX
# and ADMIN select other addresses, DIR another folder.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

need_go

say "building bin/kasoku"
(cd "$ROOT" && go build -o bin/kasoku ./cmd/kasoku)

dir=${DIR:-$TOOLS/run}
mkdir -p "$dir"
cd "$dir"
rm -f kasoku.yaml
if [ -n "${LISTEN:-}${DAX:-}${ADMIN:-}" ]; then
	cat >kasoku.yaml <<END
admin: {listen: "${ADMIN:-127.0.0.1:9090}"}
services:
  dynamodb:
    type: dynamodb
    listen: "${LISTEN:-127.0.0.1:8000}"
    dax: "${DAX:-127.0.0.1:8111}"
    origin: embedded:./kasoku-data
    auth: {mode: none}
END
	say "answering on http://${LISTEN:-127.0.0.1:8000}, as configured in $dir/kasoku.yaml"
fi
exec "$ROOT/bin/kasoku" serve
