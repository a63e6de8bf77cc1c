"""Sends requests to the DynamoDB endpoint in the first argument with an unchanged
boto3, and prints every answer as one line of JSON. The lines of a run against
DynamoDB itself and of one through a proxy must be equal except for the second
argument, which is part of every name, so that runs are separate."""

import base64
import decimal
import json
import sys

import boto3
from botocore.exceptions import ClientError

ENDPOINT, RUN = sys.argv[1:]
ORDERS, SIMPLE, MOVIES, MISSING = (f"py-{RUN}-{name}" for name in ("orders", "simple", "movies", "missing"))
session = boto3.Session()
ddb = session.client("dynamodb", endpoint_url=ENDPOINT)
streams = session.client("dynamodbstreams", endpoint_url=ENDPOINT)
resource = session.resource("dynamodb", endpoint_url=ENDPOINT)


def plain(value):
    """Converts value to JSON types, and keeps its types distinguishable."""
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, boto3.dynamodb.types.Binary):
        return {"bytes": base64.b64encode(value.value).decode()}
    if isinstance(value, decimal.Decimal):
        return {"decimal": str(value)}
    if isinstance(value, (set, frozenset)):
        return {"set": sorted((json.dumps(plain(v), sort_keys=True) for v in value))}
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return {"other": str(value)}


def call(step, function, **arguments):
    """Prints and returns the answer of function, or its error."""
    try:
        answer = function(**arguments)
    except ClientError as error:
        answer = {"error": error.response, "operation": error.operation_name}
    print(json.dumps({"step": step, "answer": plain(answer)}, sort_keys=True))
    return answer


def read(step, function, **arguments):
    """Calls three times: a cache answers at least the last one from memory."""
    for _ in range(2):
        call(step, function, **arguments)
    return call(step, function, **arguments)


def tables():
    call("create", ddb.create_table, TableName=ORDERS, BillingMode="PAY_PER_REQUEST",
         AttributeDefinitions=[{"AttributeName": n, "AttributeType": t} for n, t in
                               (("customer", "S"), ("order", "N"), ("status", "S"), ("amount", "N"))],
         KeySchema=[{"AttributeName": "customer", "KeyType": "HASH"}, {"AttributeName": "order", "KeyType": "RANGE"}],
         LocalSecondaryIndexes=[{"IndexName": "by-amount", "Projection": {"ProjectionType": "KEYS_ONLY"}, "KeySchema": [
             {"AttributeName": "customer", "KeyType": "HASH"}, {"AttributeName": "amount", "KeyType": "RANGE"}]}],
         GlobalSecondaryIndexes=[{"IndexName": "by-status", "Projection": {"ProjectionType": "ALL"}, "KeySchema": [
             {"AttributeName": "status", "KeyType": "HASH"}, {"AttributeName": "order", "KeyType": "RANGE"}]}],
         StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
    call("create-simple", ddb.create_table, TableName=SIMPLE,
         AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "B"}],
         KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
         ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 5})
    call("create-twice", ddb.create_table, TableName=SIMPLE,
         AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "B"}],
         KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}], BillingMode="PAY_PER_REQUEST")
    ddb.get_waiter("table_exists").wait(TableName=ORDERS)
    read("describe", ddb.describe_table, TableName=ORDERS)
    call("describe-missing", ddb.describe_table, TableName=MISSING)
    call("list", ddb.list_tables, Limit=2, ExclusiveStartTableName=f"py-{RUN}")
    call("limits", ddb.describe_limits)
    call("update-table", ddb.update_table, TableName=SIMPLE,
         ProvisionedThroughput={"ReadCapacityUnits": 7, "WriteCapacityUnits": 8})
    call("endpoints", ddb.describe_endpoints)
    call("tags", ddb.list_tags_of_resource, ResourceArn="arn:aws:dynamodb:ddblocal:000000000000:table/" + ORDERS)
    call("backups", ddb.describe_continuous_backups, TableName=ORDERS)


def key(customer, order):
    return {"customer": {"S": customer}, "order": {"N": str(order)}}


def item(customer, order, status="new", amount=None, **more):
    amount = order * 10 if amount is None else amount
    return key(customer, order) | {"status": {"S": status}, "amount": {"N": str(amount)}} | more


EVERY_TYPE = {
    "s": {"S": "日本語 \"quoted\" \\ / \u0001 \U0001f600"}, "empty": {"S": ""}, "n": {"N": "1234567890.0123456789"},
    "exp": {"N": "1.50E3"}, "neg": {"N": "-0.00"}, "b": {"B": bytes(range(256))}, "yes": {"BOOL": True}, "no": {"BOOL": False},
    "null": {"NULL": True}, "ss": {"SS": ["b", "a"]}, "ns": {"NS": ["2", "1.0"]}, "bs": {"BS": [b"y", b"x"]},
    "l": {"L": [{"N": "1"}, {"L": []}, {"M": {}}, {"S": "x"}]}, "m": {"M": {"a": {"M": {"b": {"L": [{"N": "7"}, {"S": "deep"}]}}}, "a.b": {"S": "dot"}}},
}


def items():
    orders = {"TableName": ORDERS}
    read("get-nothing", ddb.get_item, Key=key("ann", 1), **orders)
    call("put", ddb.put_item, Item=item("ann", 1, **EVERY_TYPE), ReturnConsumedCapacity="INDEXES", ReturnItemCollectionMetrics="SIZE", **orders)
    read("get", ddb.get_item, Key=key("ann", 1), **orders)
    read("get-consistent", ddb.get_item, Key=key("ann", 1), ConsistentRead=True, **orders)
    read("get-capacity", ddb.get_item, Key=key("ann", 1), ReturnConsumedCapacity="TOTAL", **orders)
    read("get-capacity-indexes", ddb.get_item, Key=key("ann", 1), ReturnConsumedCapacity="INDEXES", **orders)
    read("get-key-other-text", ddb.get_item, Key=key("ann", "1.00"), **orders)
    read("get-projection", ddb.get_item, Key=key("ann", 1), ProjectionExpression="#s, m.a.b[1], l[0], absent, m.#d",
         ExpressionAttributeNames={"#s": "status", "#d": "a.b"}, **orders)
    read("get-projection-nothing", ddb.get_item, Key=key("ann", 1), ProjectionExpression="absent", **orders)
    read("get-legacy", ddb.get_item, Key=key("ann", 1), AttributesToGet=["s", "amount"], **orders)
    read("get-reserved-word", ddb.get_item, Key=key("ann", 1), ProjectionExpression="status", **orders)
    read("get-unused-name", ddb.get_item, Key=key("ann", 1), ProjectionExpression="s", ExpressionAttributeNames={"#u": "u"}, **orders)
    read("get-overlap", ddb.get_item, Key=key("ann", 1), ProjectionExpression="m, m.a", **orders)
    read("get-wrong-key", ddb.get_item, Key={"customer": {"S": "ann"}}, **orders)
    read("get-wrong-type", ddb.get_item, Key={"customer": {"N": "1"}, "order": {"N": "1"}}, **orders)
    read("get-empty-key", ddb.get_item, Key=key("", 1), **orders)
    read("get-no-table", ddb.get_item, TableName=MISSING, Key=key("ann", 1))
    read("get-bad-name", ddb.get_item, TableName="p!", Key=key("ann", 1))

    call("put-old", ddb.put_item, Item=item("ann", 1, "paid"), ReturnValues="ALL_OLD", **orders)
    read("get-after-put", ddb.get_item, Key=key("ann", 1), **orders)
    call("put-condition-false", ddb.put_item, Item=item("ann", 1, "lost"), ConditionExpression="attribute_not_exists(customer)",
         ReturnValuesOnConditionCheckFailure="ALL_OLD", **orders)
    read("get-after-refusal", ddb.get_item, Key=key("ann", 1), **orders)
    call("put-legacy-expected", ddb.put_item, Item=item("ann", 1, "sent"),
         Expected={"status": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "paid"}]}}, **orders)
    call("put-legacy-false", ddb.put_item, Item=item("ann", 1, "x"), Expected={"status": {"Exists": False}}, **orders)
    read("get-after-legacy", ddb.get_item, Key=key("ann", 1), **orders)

    for values in ("NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"):
        call("update-" + values, ddb.update_item, Key=key("ann", 1), UpdateExpression="SET #s = :s, n = if_not_exists(n, :z) + :one",
             ExpressionAttributeNames={"#s": "status"}, ReturnValues=values,
             ExpressionAttributeValues={":s": {"S": values}, ":z": {"N": "0"}, ":one": {"N": "1"}}, **orders)
        read("get-after-update", ddb.get_item, Key=key("ann", 1), **orders)
    call("update-clauses", ddb.update_item, Key=key("bob", 7), UpdateExpression="SET l = :l, m = :m ADD hits :two, tags :t REMOVE gone",
         ExpressionAttributeValues={":l": {"L": [{"N": "1"}]}, ":m": {"M": {"x": {"S": "y"}}}, ":two": {"N": "2"}, ":t": {"SS": ["a", "b"]}}, **orders)
    call("update-nested", ddb.update_item, Key=key("bob", 7), UpdateExpression="SET m.x = :v, l = list_append(l, :l) DELETE tags :t",
         ExpressionAttributeValues={":v": {"N": "5"}, ":l": {"L": [{"N": "2"}]}, ":t": {"SS": ["a"]}}, ReturnValues="ALL_NEW", **orders)
    read("get-after-clauses", ddb.get_item, Key=key("bob", 7), **orders)
    call("update-legacy", ddb.update_item, Key=key("bob", 7), ReturnValues="ALL_NEW", AttributeUpdates={
        "hits": {"Action": "ADD", "Value": {"N": "3"}}, "l": {"Action": "DELETE"}, "status": {"Value": {"S": "legacy"}}}, **orders)
    call("update-condition-false", ddb.update_item, Key=key("bob", 7), UpdateExpression="SET hits = :z", ConditionExpression="hits < :z",
         ExpressionAttributeValues={":z": {"N": "0"}}, **orders)
    call("update-bad-path", ddb.update_item, Key=key("bob", 7), UpdateExpression="SET q.r = :z", ExpressionAttributeValues={":z": {"N": "0"}}, **orders)
    call("update-key", ddb.update_item, Key=key("bob", 7), UpdateExpression="SET customer = :z", ExpressionAttributeValues={":z": {"S": "0"}}, **orders)
    read("get-after-failures", ddb.get_item, Key=key("bob", 7), **orders)

    call("delete-condition-false", ddb.delete_item, Key=key("bob", 7), ConditionExpression="attribute_exists(nothing)", **orders)
    call("delete", ddb.delete_item, Key=key("bob", 7), ReturnValues="ALL_OLD", **orders)
    read("get-after-delete", ddb.get_item, Key=key("bob", 7), **orders)
    call("delete-again", ddb.delete_item, Key=key("bob", 7), ReturnValues="ALL_OLD", **orders)
    call("put-too-large", ddb.put_item, Item=item("ann", 2, filler={"S": "x" * 410_000}), **orders)
    call("put-large", ddb.put_item, Item=item("ann", 2, filler={"S": "x" * 390_000}), **orders)
    read("get-large", ddb.get_item, Key=key("ann", 2), **orders)
    call("put-binary-key", ddb.put_item, TableName=SIMPLE, Item={"id": {"B": b"\x00\xff"}, "v": {"S": "binary"}})
    read("get-binary-key", ddb.get_item, TableName=SIMPLE, Key={"id": {"B": b"\x00\xff"}})


def batches():
    write = [{"PutRequest": {"Item": item("cid", n, ("new", "paid")[n % 2], filler={"S": "p" * 100})}} for n in range(25)]
    call("batch-write", ddb.batch_write_item, RequestItems={ORDERS: write}, ReturnConsumedCapacity="TOTAL")
    keys = [key("cid", n) for n in range(24)] + [key("nobody", 1)]
    ask = {ORDERS: {"Keys": keys}, SIMPLE: {"Keys": [{"id": {"B": b"\x00\xff"}}], "ProjectionExpression": "v"}}

    def batch_get(**arguments):
        answer = ddb.batch_get_item(**arguments)
        for found in answer["Responses"].values():  # their order is undefined
            found.sort(key=lambda i: json.dumps(plain(i), sort_keys=True))
        return answer

    read("batch-get", batch_get, RequestItems=ask)
    read("batch-get-consistent", batch_get, RequestItems={ORDERS: {"Keys": keys, "ConsistentRead": True}})
    # Only existing keys: DynamoDB counts capacity for missing keys too, DynamoDB Local does not.
    there = {"Keys": keys[:24]}
    read("batch-get-capacity", batch_get, RequestItems=ask | {ORDERS: there}, ReturnConsumedCapacity="TOTAL")
    read("batch-get-capacity-consistent", batch_get, RequestItems={ORDERS: there | {"ConsistentRead": True}}, ReturnConsumedCapacity="TOTAL")
    read("batch-get-legacy", batch_get, RequestItems={ORDERS: {"Keys": keys[:3], "AttributesToGet": ["amount"]}})
    read("batch-get-twice", batch_get, RequestItems={ORDERS: {"Keys": [keys[0], keys[0]]}})
    read("batch-get-none", batch_get, RequestItems={})
    read("batch-get-many", batch_get, RequestItems={ORDERS: {"Keys": [key("cid", n) for n in range(101)]}})
    call("batch-write-mixed", ddb.batch_write_item, RequestItems={
        ORDERS: [{"DeleteRequest": {"Key": key("cid", 0)}}, {"PutRequest": {"Item": item("cid", 1, "mixed")}}],
        SIMPLE: [{"PutRequest": {"Item": {"id": {"B": b"2"}, "v": {"S": "two"}}}}]})
    read("batch-get-after", batch_get, RequestItems=ask)
    read("get-after-batch", ddb.get_item, TableName=ORDERS, Key=key("cid", 0))
    call("batch-write-twice", ddb.batch_write_item, RequestItems={
        ORDERS: [{"DeleteRequest": {"Key": key("cid", 1)}}, {"PutRequest": {"Item": item("cid", 1, "mixed")}}]})
    call("batch-write-too-many", ddb.batch_write_item, RequestItems={ORDERS: write + write})


def queries():
    orders = {"TableName": ORDERS, "ExpressionAttributeValues": {":c": {"S": "cid"}}}
    read("query", ddb.query, KeyConditionExpression="customer = :c", **orders)
    read("query-legacy", ddb.query, TableName=ORDERS, KeyConditions={
        "customer": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "cid"}]},
        "order": {"ComparisonOperator": "BETWEEN", "AttributeValueList": [{"N": "3"}, {"N": "6"}]}},
         QueryFilter={"status": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "paid"}]}})
    read("query-consistent", ddb.query, KeyConditionExpression="customer = :c", ConsistentRead=True, **orders)
    read("query-backward", ddb.query, KeyConditionExpression="customer = :c", ScanIndexForward=False, Limit=4, **orders)
    read("query-count", ddb.query, KeyConditionExpression="customer = :c", Select="COUNT", ReturnConsumedCapacity="INDEXES", **orders)
    read("query-nobody", ddb.query, TableName=ORDERS, KeyConditionExpression="customer = :c", ExpressionAttributeValues={":c": {"S": "zed"}})
    for condition in ("#o = :x", "#o < :x", "#o <= :x", "#o > :x", "#o >= :x", "#o BETWEEN :x AND :y"):
        values = {":c": {"S": "cid"}, ":x": {"N": "5"}} | ({":y": {"N": "8"}} if ":y" in condition else {})
        read("query " + condition, ddb.query, TableName=ORDERS, KeyConditionExpression="customer = :c AND " + condition,
             ExpressionAttributeNames={"#o": "order"}, ExpressionAttributeValues=values)
    read("query-filter", ddb.query, TableName=ORDERS, KeyConditionExpression="customer = :c",
         FilterExpression="#s IN (:a, :b) AND (NOT amount < :n OR size(filler) > :n) AND attribute_type(filler, :t)", ProjectionExpression="#o, amount",
         ExpressionAttributeNames={"#s": "status", "#o": "order"}, ExpressionAttributeValues={
             ":c": {"S": "cid"}, ":a": {"S": "new"}, ":b": {"S": "mixed"}, ":n": {"N": "50"}, ":t": {"S": "S"}})
    read("query-lsi", ddb.query, IndexName="by-amount", KeyConditionExpression="customer = :c", ConsistentRead=True, **orders)
    read("query-lsi-all", ddb.query, IndexName="by-amount", KeyConditionExpression="customer = :c", Select="ALL_ATTRIBUTES", Limit=3, **orders)
    by_status = {"TableName": ORDERS, "IndexName": "by-status", "KeyConditionExpression": "#s = :s",
                 "ExpressionAttributeNames": {"#s": "status"}}
    read("query-gsi", ddb.query, ExpressionAttributeValues={":s": {"S": "paid"}}, **by_status)
    read("query-gsi-consistent", ddb.query, ExpressionAttributeValues={":s": {"S": "paid"}}, ConsistentRead=True, **by_status)
    call("update-moves", ddb.update_item, TableName=ORDERS, Key=key("cid", 3), UpdateExpression="SET #s = :s",
         ExpressionAttributeNames={"#s": "status"}, ExpressionAttributeValues={":s": {"S": "moved"}})
    read("query-gsi-left", ddb.query, ExpressionAttributeValues={":s": {"S": "paid"}}, **by_status)
    read("query-gsi-arrived", ddb.query, ExpressionAttributeValues={":s": {"S": "moved"}}, **by_status)
    read("query-after-update", ddb.query, KeyConditionExpression="customer = :c", **orders)
    read("query-no-index", ddb.query, IndexName="by-nothing", KeyConditionExpression="customer = :c", **orders)
    read("query-no-key", ddb.query, KeyConditionExpression="amount = :c", **orders)
    read("query-syntax", ddb.query, KeyConditionExpression="customer == :c", **orders)
    read("query-bad-start", ddb.query, KeyConditionExpression="customer = :c", ExclusiveStartKey=key("other", 1), **orders)
    for page in range(2):
        paginator = ddb.get_paginator("query").paginate(KeyConditionExpression="customer = :c", PaginationConfig={"PageSize": 7}, **orders)
        for n, answer in enumerate(paginator):
            call(f"query-page-{n}", lambda a=answer: a)
    read("scan", ddb.scan, TableName=SIMPLE)
    read("scan-filter", ddb.scan, TableName=ORDERS, FilterExpression="contains(filler, :p)", ExpressionAttributeValues={":p": {"S": "pp"}}, Limit=10)
    read("scan-legacy", ddb.scan, TableName=ORDERS, AttributesToGet=["order"], Limit=5,
         ScanFilter={"amount": {"ComparisonOperator": "GT", "AttributeValueList": [{"N": "20"}]}})
    read("scan-index", ddb.scan, TableName=ORDERS, IndexName="by-status", Limit=5)
    for segment in range(2):
        read(f"scan-segment-{segment}", ddb.scan, TableName=ORDERS, Segment=segment, TotalSegments=2, ProjectionExpression="customer, amount")
    for n, answer in enumerate(ddb.get_paginator("scan").paginate(TableName=ORDERS, PaginationConfig={"PageSize": 9})):
        call(f"scan-page-{n}", lambda a=answer: a)


def transactions():
    put = {"Put": {"TableName": ORDERS, "Item": item("dan", 1)}}
    call("transact-write", ddb.transact_write_items, ClientRequestToken=RUN + "-token-1", ReturnConsumedCapacity="TOTAL", TransactItems=[
        put, {"Update": {"TableName": ORDERS, "Key": key("dan", 2), "UpdateExpression": "SET amount = :t", "ExpressionAttributeValues": {":t": {"N": "1"}}}},
        {"Delete": {"TableName": ORDERS, "Key": key("cid", 5)}},
        {"ConditionCheck": {"TableName": SIMPLE, "Key": {"id": {"B": b"2"}}, "ConditionExpression": "attribute_exists(v)"}}])
    call("transact-token-other-body", ddb.transact_write_items, ClientRequestToken=RUN + "-token-1", TransactItems=[put])
    ask = [{"Get": {"TableName": ORDERS, "Key": key("dan", n), "ProjectionExpression": "customer, amount"}} for n in (1, 2, 3)]
    read("transact-get", ddb.transact_get_items, TransactItems=ask, ReturnConsumedCapacity="TOTAL")
    read("get-after-transact", ddb.get_item, TableName=ORDERS, Key=key("dan", 2))
    read("get-after-transact-delete", ddb.get_item, TableName=ORDERS, Key=key("cid", 5))
    call("transact-cancelled", ddb.transact_write_items, TransactItems=[
        {"Put": {"TableName": ORDERS, "Item": item("dan", 9)}},
        {"Put": {"TableName": ORDERS, "Item": item("dan", 1, "twice"), "ConditionExpression": "attribute_not_exists(customer)",
                 "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}}])
    read("get-after-cancel", ddb.get_item, TableName=ORDERS, Key=key("dan", 9))
    call("transact-same-item", ddb.transact_write_items, TransactItems=[put, put])


def partiql():
    def statement(step, text, *parameters, calls=call, **more):
        arguments = {"Statement": text, **more} | ({"Parameters": list(parameters)} if parameters else {})
        return calls(step, ddb.execute_statement, **arguments)

    statement("partiql-insert", 'INSERT INTO "' + ORDERS + '" VALUE {\'customer\': ?, \'order\': 1, \'v\': \'first\'}', {"S": "eve"})
    statement("partiql-insert-twice", 'INSERT INTO "' + ORDERS + '" VALUE {\'customer\': ?, \'order\': 1}', {"S": "eve"})
    statement("partiql-select", 'SELECT * FROM "' + ORDERS + '" WHERE customer = ? AND "order" = 1', {"S": "eve"}, calls=read)
    read("get-after-insert", ddb.get_item, TableName=ORDERS, Key=key("eve", 1))
    statement("partiql-update", 'UPDATE "' + ORDERS + '" SET v = \'second\' WHERE customer = \'eve\' AND "order" = 1 RETURNING ALL NEW *')
    read("get-after-partiql-update", ddb.get_item, TableName=ORDERS, Key=key("eve", 1))
    statement("partiql-select-index", 'SELECT "order" FROM "' + ORDERS + '"."by-status" WHERE status = \'paid\'', calls=read, Limit=3)
    statement("partiql-syntax", "SELEKT")
    call("partiql-batch", ddb.batch_execute_statement, Statements=[
        {"Statement": 'UPDATE "' + ORDERS + '" SET v = \'third\' WHERE customer = \'eve\' AND "order" = 1'},
        {"Statement": 'DELETE FROM "' + ORDERS + '" WHERE customer = \'eve\' AND "order" = 2'}])
    read("get-after-partiql-batch", ddb.get_item, TableName=ORDERS, Key=key("eve", 1))
    read("partiql-batch-select", ddb.batch_execute_statement, Statements=[
        {"Statement": 'SELECT * FROM "' + ORDERS + '" WHERE customer = \'eve\' AND "order" = 1'}])
    call("partiql-transaction", ddb.execute_transaction, ClientRequestToken=RUN + "-token-2", TransactStatements=[
        {"Statement": 'UPDATE "' + ORDERS + '" SET v = \'fourth\' WHERE customer = \'eve\' AND "order" = 1'},
        {"Statement": 'INSERT INTO "' + ORDERS + '" VALUE {\'customer\': \'eve\', \'order\': 3}'}])
    read("get-after-partiql-transaction", ddb.get_item, TableName=ORDERS, Key=key("eve", 1))
    statement("partiql-delete", 'DELETE FROM "' + ORDERS + '" WHERE customer = \'eve\' AND "order" = 1 RETURNING ALL OLD *')
    read("get-after-partiql-delete", ddb.get_item, TableName=ORDERS, Key=key("eve", 1))
    read("query-after-partiql", ddb.query, TableName=ORDERS, KeyConditionExpression="customer = :c", ExpressionAttributeValues={":c": {"S": "eve"}})


def time_to_live():
    call("ttl-describe", ddb.describe_time_to_live, TableName=ORDERS)
    call("ttl-enable", ddb.update_time_to_live, TableName=ORDERS, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"})
    call("ttl-enable-again", ddb.update_time_to_live, TableName=ORDERS, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"})
    call("ttl-describe-enabled", ddb.describe_time_to_live, TableName=ORDERS)


def stream_reads():
    found = call("streams-list", streams.list_streams, TableName=ORDERS)
    arn = found["Streams"][0]["StreamArn"]
    shard = call("streams-describe", streams.describe_stream, StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    iterator = call("streams-iterator", streams.get_shard_iterator, StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
    call("streams-records", streams.get_records, ShardIterator=iterator, Limit=5)
    call("streams-bad-iterator", streams.get_records, ShardIterator="nonsense")
    call("streams-missing", streams.describe_stream, StreamArn=arn[:-4] + "9999")


def high_level():
    """As in the tutorial: resources, conditions as objects, Decimal."""
    from boto3.dynamodb.conditions import Attr, Key
    movies = resource.create_table(TableName=MOVIES, BillingMode="PAY_PER_REQUEST",
                                   KeySchema=[{"AttributeName": "year", "KeyType": "HASH"}, {"AttributeName": "title", "KeyType": "RANGE"}],
                                   AttributeDefinitions=[{"AttributeName": "year", "AttributeType": "N"}, {"AttributeName": "title", "AttributeType": "S"}])
    movies.wait_until_exists()
    with movies.batch_writer() as batch:
        for n in range(30):
            batch.put_item(Item={"year": 2000 + n % 3, "title": f"Movie {n:02}", "info": {"rating": decimal.Decimal("7.5"), "tags": {"a", "b"}}})
    read("movies-get", movies.get_item, Key={"year": 2001, "title": "Movie 01"})
    call("movies-update", movies.update_item, Key={"year": 2001, "title": "Movie 01"}, UpdateExpression="set info.rating = :r",
         ExpressionAttributeValues={":r": decimal.Decimal("8.25")}, ReturnValues="UPDATED_NEW")
    read("movies-get-updated", movies.get_item, Key={"year": 2001, "title": "Movie 01"})
    read("movies-query", movies.query, KeyConditionExpression=Key("year").eq(2001) & Key("title").begins_with("Movie 1"))
    read("movies-scan", movies.scan, FilterExpression=Attr("info.rating").gt(decimal.Decimal("8")))
    call("movies-delete", movies.delete_item, Key={"year": 2001, "title": "Movie 01"}, ConditionExpression=Attr("info.rating").gte(decimal.Decimal("8")))
    read("movies-get-deleted", movies.get_item, Key={"year": 2001, "title": "Movie 01"})
    call("movies-drop", movies.delete)


def drop():
    for name in (ORDERS, SIMPLE):
        call("drop-" + name, ddb.delete_table, TableName=name)
    call("get-dropped", ddb.get_item, TableName=ORDERS, Key=key("ann", 1))
    call("drop-missing", ddb.delete_table, TableName=ORDERS)


for part in (tables, items, batches, queries, transactions, partiql, time_to_live, stream_reads, high_level, drop):
    part()
