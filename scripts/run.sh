#!/usr/bin/env bash
# Runs DynamoDB Local on a free loopback port with Kasoku in front of it, fills
# in one small table, and prints commands to paste. ctrl-C stops both.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

LISTEN=${LISTEN:-127.0.0.1:8000}
ADMIN=${ADMIN:-127.0.0.1:9090}

need_go
need curl curl curl "asks the servers whether they are up"
need python3 python3 python "finds a free port"
"$ROOT/scripts/setup-dynamodb-local.sh"

work=$(mktemp -d)
dynamo= kasoku=
stop() {
	trap - EXIT INT TERM
	[ -z "$kasoku" ] || { kill -TERM "$kasoku" 2>/dev/null || true; wait "$kasoku" 2>/dev/null || true; }
	[ -z "$dynamo" ] || { kill -TERM "$dynamo" 2>/dev/null || true; wait "$dynamo" 2>/dev/null || true; }
	rm -rf "$work"
}
trap stop EXIT
trap 'exit 0' INT TERM

# up URL PID NAME waits until URL answers anything at all.
up() {
	for _ in $(seq 300); do
		curl -s -o /dev/null "$1" && return 0
		kill -0 "$2" 2>/dev/null || die "$3 ended while starting; its output: $(cat "$work/$3.log" 2>/dev/null)"
		sleep 0.1
	done
	die "$3 did not answer at $1 within 30 s"
}

say "building bin/kasoku"
(cd "$ROOT" && go build -o bin/kasoku ./cmd/kasoku)

# Job control gives both servers process groups of their own, so that ctrl-C
# reaches this script alone, which stops them in order: Kasoku first.
set -m

# DynamoDB Local ends when the write end of this pipe closes, even if this
# script is killed outright.
mkfifo "$work/stdin"
exec 9<>"$work/stdin"
port=$(free_port)
java -Xmx512m -XX:+UseSerialGC -cp "$TOOLS/dynamodb-local/classes:$TOOLS/dynamodb-local/lib/*" LoopbackDynamoDB \
	-inMemory -sharedDb -disableTelemetry -port "$port" <"$work/stdin" >"$work/dynamodb-local.log" 2>&1 9>&- &
dynamo=$!
up "http://127.0.0.1:$port/" "$dynamo" dynamodb-local
say "DynamoDB Local answers on 127.0.0.1:$port (in memory: its data end with it)"

sed -e "s|http://127.0.0.1:8001|http://127.0.0.1:$port|" \
	-e "s|127.0.0.1:8000|$LISTEN|" -e "s|127.0.0.1:9090|$ADMIN|" \
	"$ROOT/examples/dynamodb-local.yaml" >"$work/kasoku.yaml"
AWS_ACCESS_KEY_ID=${AWS_ACCESS_KEY_ID:-local} AWS_SECRET_ACCESS_KEY=${AWS_SECRET_ACCESS_KEY:-local} \
	"$ROOT/bin/kasoku" serve -c "$work/kasoku.yaml" </dev/null 9>&- &
kasoku=$!
up "http://$ADMIN/readyz" "$kasoku" kasoku

call() {
	curl -s -S -o /dev/null "http://$LISTEN/" -H 'Content-Type: application/x-amz-json-1.0' \
		-H "X-Amz-Target: DynamoDB_20120810.$1" -d "$2"
}
call CreateTable '{"TableName":"Music","KeySchema":[{"AttributeName":"Artist","KeyType":"HASH"}],
	"AttributeDefinitions":[{"AttributeName":"Artist","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"}'
call PutItem '{"TableName":"Music","Item":{"Artist":{"S":"Perfume"},"Song":{"S":"Polyrhythm"}}}'

cat >&2 <<END

Kasoku answers on http://$LISTEN, its administrator's side on http://$ADMIN/. Look at Cache-Status:
the write that made this item has put it into the cache.

  curl -i http://$LISTEN/ -H 'X-Amz-Target: DynamoDB_20120810.GetItem' -H 'Content-Type: application/x-amz-json-1.0' \\
    -d '{"TableName":"Music","Key":{"Artist":{"S":"Perfume"}}}'

With the AWS command line, or any AWS SDK, only the endpoint changes:

  AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any aws dynamodb scan --table-name Music \\
    --region us-east-1 --endpoint-url http://$LISTEN

  boto3.client("dynamodb", endpoint_url="http://$LISTEN", region_name="us-east-1",
    aws_access_key_id="any", aws_secret_access_key="any").list_tables()

ctrl-C stops both servers.
END

status=0
wait "$kasoku" || status=$?
kasoku=
exit "$status"
