#!/usr/bin/env bash
# Builds Kasoku and runs it as `kasoku serve` runs without a file: a
# DynamoDB-compatible store of one's own, which prints commands to paste. Its
# tables are kept below .tools/run. LISTEN, DAX and ADMIN choose other addresses.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

need_go

say "building bin/kasoku"
(cd "$ROOT" && go build -o bin/kasoku ./cmd/kasoku)

mkdir -p "$TOOLS/run"
cd "$TOOLS/run"
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
	say "answering on http://${LISTEN:-127.0.0.1:8000}, as .tools/run/kasoku.yaml says"
fi
exec "$ROOT/bin/kasoku" serve
