// Sends requests to the DynamoDB endpoint in the first argument with an unchanged
// AWS SDK for JavaScript, and prints every answer as one line of JSON. The lines of
// a run against DynamoDB itself and of one through a proxy must be equal except for
// the second argument, which is part of every name, so that runs are separate.
"use strict";

const ddb = require("@aws-sdk/client-dynamodb");
const doc = require("@aws-sdk/lib-dynamodb");
const streams = require("@aws-sdk/client-dynamodb-streams");

const [endpoint, run] = process.argv.slice(2);
const low = new ddb.DynamoDBClient({ endpoint });
const docs = doc.DynamoDBDocumentClient.from(low);
const stream = new streams.DynamoDBStreamsClient({ endpoint });
const USERS = `js-${run}-users`;
const EVENTS = `js-${run}-events`;

// plain converts value to JSON types, and keeps its types distinguishable.
function plain(value) {
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString("base64") };
  if (value instanceof Set) return { set: [...value].map((v) => JSON.stringify(plain(v))).sort() };
  if (value instanceof Date) return { date: value.toISOString() };
  if (typeof value === "bigint") return { bigint: value.toString() };
  if (Array.isArray(value)) return value.map(plain);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.keys(value).sort().map((k) => [k, plain(value[k])]));
  }
  return value;
}

// call prints and returns the answer to command, or its error.
async function call(step, client, command) {
  let answer;
  try {
    answer = await client.send(command);
  } catch (error) {
    if (!error.$metadata) throw error;
    const { name, message, $metadata, $fault, Item, CancellationReasons } = error;
    answer = { error: { name, message, $fault, Item, CancellationReasons }, $metadata };
  }
  for (const found of Object.values((command instanceof ddb.BatchGetItemCommand || command instanceof doc.BatchGetCommand) && answer.Responses || {})) {
    found.sort((a, b) => (JSON.stringify(plain(a)) < JSON.stringify(plain(b)) ? -1 : 1)); // their order is undefined
  }
  console.log(JSON.stringify({ step, answer: plain(answer) }));
  return answer;
}

// read calls three times: a cache answers at least the last one from memory.
async function read(step, client, make) {
  for (let n = 0; n < 2; n++) await call(step, client, make());
  return call(step, client, make());
}

const get = (step, TableName, Key, more = {}) => read(step, docs, () => new doc.GetCommand({ TableName, Key, ...more }));
const put = (step, TableName, Item, more = {}) => call(step, docs, new doc.PutCommand({ TableName, Item, ...more }));
const query = (step, more) => read(step, docs, () => new doc.QueryCommand({ TableName: EVENTS, ...more }));

async function tables() {
  await call("create-users", low, new ddb.CreateTableCommand({
    TableName: USERS, BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [{ AttributeName: "name", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "name", KeyType: "HASH" }],
  }));
  await call("create-events", low, new ddb.CreateTableCommand({
    TableName: EVENTS, BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [{ AttributeName: "who", AttributeType: "S" }, { AttributeName: "at", AttributeType: "N" }, { AttributeName: "what", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "who", KeyType: "HASH" }, { AttributeName: "at", KeyType: "RANGE" }],
    GlobalSecondaryIndexes: [{
      IndexName: "by-what", Projection: { ProjectionType: "INCLUDE", NonKeyAttributes: ["note"] },
      KeySchema: [{ AttributeName: "what", KeyType: "HASH" }, { AttributeName: "at", KeyType: "RANGE" }],
    }],
    StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_IMAGE" },
  }));
  await ddb.waitUntilTableExists({ client: low, minDelay: 1, maxWaitTime: 30 }, { TableName: EVENTS });
  await read("describe", low, () => new ddb.DescribeTableCommand({ TableName: EVENTS }));
  await call("list", low, new ddb.ListTablesCommand({ Limit: 1, ExclusiveStartTableName: `js-${run}` }));
  await call("limits", low, new ddb.DescribeLimitsCommand({}));
  await call("update-table", low, new ddb.UpdateTableCommand({ TableName: USERS, BillingMode: "PROVISIONED", ProvisionedThroughput: { ReadCapacityUnits: 3, WriteCapacityUnits: 4 } }));
  await call("endpoints", low, new ddb.DescribeEndpointsCommand({}));
}

async function items() {
  await get("get-nothing", USERS, { name: "ann" });
  await put("put", USERS, {
    name: "ann", age: 33, height: 1.75, big: 9007199254740991, tags: new Set(["a", "b"]), scores: new Set([3, 1, 2]),
    raw: new Uint8Array([0, 1, 254, 255]), nested: { list: [1, "two", { three: null }], "dotted.name": true }, text: "日本語 \u0001 \"\\/ 😀", empty: "",
  }, { ReturnConsumedCapacity: "TOTAL" });
  await get("get", USERS, { name: "ann" });
  await get("get-consistent", USERS, { name: "ann" }, { ConsistentRead: true });
  await get("get-capacity", USERS, { name: "ann" }, { ReturnConsumedCapacity: "TOTAL" });
  await get("get-projection", USERS, { name: "ann" }, { ProjectionExpression: "age, nested.#l[2].three, nested.#d, tags", ExpressionAttributeNames: { "#l": "list", "#d": "dotted.name" } });
  await get("get-legacy", USERS, { name: "ann" }, { AttributesToGet: ["age", "name"] });
  await get("get-reserved", USERS, { name: "ann" }, { ProjectionExpression: "name" });
  await get("get-wrong-key", USERS, { id: "ann" });
  await get("get-no-table", `js-${run}-none`, { name: "ann" });
  await put("put-old", USERS, { name: "ann", age: 34 }, { ReturnValues: "ALL_OLD" });
  await get("get-after-put", USERS, { name: "ann" });
  await put("put-refused", USERS, { name: "ann" }, { ConditionExpression: "age < :n", ExpressionAttributeValues: { ":n": 30 }, ReturnValuesOnConditionCheckFailure: "ALL_OLD" });
  await get("get-after-refusal", USERS, { name: "ann" });
  await put("put-legacy", USERS, { name: "ann", age: 35 }, { Expected: { age: { Value: 34 } } });
  await get("get-after-legacy", USERS, { name: "ann" });
  for (const ReturnValues of ["NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"]) {
    await call(`update-${ReturnValues}`, docs, new doc.UpdateCommand({
      TableName: USERS, Key: { name: "ann" }, ReturnValues, UpdateExpression: "SET age = age + :one, #h = list_append(if_not_exists(#h, :none), :entry)",
      ExpressionAttributeNames: { "#h": "history" }, ExpressionAttributeValues: { ":one": 1, ":none": [], ":entry": [ReturnValues] },
    }));
    await get("get-after-update", USERS, { name: "ann" });
  }
  await call("update-legacy", docs, new doc.UpdateCommand({ TableName: USERS, Key: { name: "ann" }, AttributeUpdates: { age: { Action: "ADD", Value: 1 }, history: { Action: "DELETE" } } }));
  await get("get-after-update-legacy", USERS, { name: "ann" });
  await call("update-creates", docs, new doc.UpdateCommand({ TableName: USERS, Key: { name: "bob" }, UpdateExpression: "ADD visits :one", ExpressionAttributeValues: { ":one": 1 } }));
  await get("get-created", USERS, { name: "bob" });
  await call("delete", docs, new doc.DeleteCommand({ TableName: USERS, Key: { name: "bob" }, ReturnValues: "ALL_OLD" }));
  await get("get-deleted", USERS, { name: "bob" });
}

async function batches() {
  const puts = Array.from({ length: 20 }, (_, at) => ({ PutRequest: { Item: { who: "cid", at, what: ["login", "click", "leave"][at % 3], note: `n${at}`, extra: { at } } } }));
  await call("batch-write", docs, new doc.BatchWriteCommand({ RequestItems: { [EVENTS]: puts, [USERS]: [{ PutRequest: { Item: { name: "cid" } } }] } }));
  const Keys = Array.from({ length: 22 }, (_, at) => ({ who: "cid", at }));
  const ask = (more = {}) => () => new doc.BatchGetCommand({ RequestItems: { [EVENTS]: { Keys, ...more }, [USERS]: { Keys: [{ name: "cid" }, { name: "nobody" }] } } });
  await read("batch-get", docs, ask());
  await read("batch-get-projection", docs, ask({ ProjectionExpression: "#at, extra.#at", ExpressionAttributeNames: { "#at": "at" } }));
  await read("batch-get-consistent", docs, ask({ ConsistentRead: true }));
  await call("batch-write-mixed", docs, new doc.BatchWriteCommand({ RequestItems: { [EVENTS]: [{ DeleteRequest: { Key: { who: "cid", at: 0 } } }, { PutRequest: { Item: { who: "cid", at: 1, what: "again" } } }] } }));
  await read("batch-get-after", docs, ask());
  await get("get-after-batch", EVENTS, { who: "cid", at: 0 });
}

async function queries() {
  const values = { ":w": "cid" };
  const all = { KeyConditionExpression: "who = :w", ExpressionAttributeValues: values };
  await query("query", all);
  await query("query-consistent", { ...all, ConsistentRead: true });
  await query("query-backward", { ...all, ScanIndexForward: false, Limit: 3 });
  await query("query-count", { ...all, Select: "COUNT" });
  await query("query-capacity", { ...all, ReturnConsumedCapacity: "TOTAL" });
  await query("query-range", { KeyConditionExpression: "who = :w AND #at BETWEEN :a AND :b", ExpressionAttributeNames: { "#at": "at" }, ExpressionAttributeValues: { ...values, ":a": 4, ":b": 9 } });
  await query("query-filter", { ...all, FilterExpression: "what = :click AND begins_with(note, :n)", ProjectionExpression: "note", ExpressionAttributeValues: { ...values, ":click": "click", ":n": "n1" } });
  await query("query-legacy", { KeyConditions: { who: { ComparisonOperator: "EQ", AttributeValueList: ["cid"] }, at: { ComparisonOperator: "GE", AttributeValueList: [15] } } });
  const index = (what) => ({ IndexName: "by-what", KeyConditionExpression: "what = :x", ExpressionAttributeValues: { ":x": what } });
  await query("query-index", index("login"));
  await call("update-moves", docs, new doc.UpdateCommand({ TableName: EVENTS, Key: { who: "cid", at: 3 }, UpdateExpression: "SET what = :x", ExpressionAttributeValues: { ":x": "logout" } }));
  await query("query-index-left", index("login"));
  await query("query-index-arrived", index("logout"));
  await query("query-after-update", all);
  await query("query-syntax", { ...all, KeyConditionExpression: "who = " });
  for (let round = 0; round < 2; round++) {
    let n = 0;
    for await (const page of doc.paginateQuery({ client: docs, pageSize: 6 }, { TableName: EVENTS, ...all })) await call(`query-page-${n++}`, { send: async (a) => a }, page);
  }
  await read("scan", docs, () => new doc.ScanCommand({ TableName: EVENTS, FilterExpression: "attribute_exists(note)" }));
  await read("scan-index", docs, () => new doc.ScanCommand({ TableName: EVENTS, IndexName: "by-what" }));
  let n = 0;
  for await (const page of doc.paginateScan({ client: docs, pageSize: 8 }, { TableName: EVENTS })) await call(`scan-page-${n++}`, { send: async (a) => a }, page);
}

async function transactions() {
  await call("transact-write", docs, new doc.TransactWriteCommand({ ClientRequestToken: `${run}-js`, TransactItems: [
    { Put: { TableName: USERS, Item: { name: "dan", age: 1 } } },
    { Update: { TableName: EVENTS, Key: { who: "dan", at: 1 }, UpdateExpression: "SET what = :x", ExpressionAttributeValues: { ":x": "born" } } },
    { Delete: { TableName: EVENTS, Key: { who: "cid", at: 7 } } },
    { ConditionCheck: { TableName: USERS, Key: { name: "ann" }, ConditionExpression: "attribute_exists(age)" } }] }));
  await read("transact-get", docs, () => new doc.TransactGetCommand({ TransactItems: [{ Get: { TableName: USERS, Key: { name: "dan" } } }, { Get: { TableName: EVENTS, Key: { who: "cid", at: 7 } } }] }));
  await get("get-after-transact", EVENTS, { who: "dan", at: 1 });
  await get("get-after-transact-delete", EVENTS, { who: "cid", at: 7 });
  await call("transact-cancelled", docs, new doc.TransactWriteCommand({ ClientRequestToken: `${run}-js-2`, TransactItems: [
    { Put: { TableName: USERS, Item: { name: "eve" } } },
    { Put: { TableName: USERS, Item: { name: "dan" }, ConditionExpression: "attribute_not_exists(age)", ReturnValuesOnConditionCheckFailure: "ALL_OLD" } }] }));
  await get("get-after-cancel", USERS, { name: "eve" });
}

async function partiql() {
  const statement = (step, Statement, Parameters) => call(step, docs, new doc.ExecuteStatementCommand({ Statement, Parameters }));
  await statement("partiql-insert", `INSERT INTO "${USERS}" VALUE {'name': ?, 'age': ?}`, ["flo", 5]);
  await get("get-after-insert", USERS, { name: "flo" });
  await statement("partiql-update", `UPDATE "${USERS}" SET age = 6 WHERE name = 'flo'`);
  await get("get-after-partiql-update", USERS, { name: "flo" });
  await read("partiql-select", docs, () => new doc.ExecuteStatementCommand({ Statement: `SELECT * FROM "${USERS}" WHERE name = 'flo'` }));
  await call("partiql-batch", docs, new doc.BatchExecuteStatementCommand({ Statements: [{ Statement: `UPDATE "${USERS}" SET age = 7 WHERE name = 'flo'` }, { Statement: `DELETE FROM "${USERS}" WHERE name = 'nobody'` }] }));
  await get("get-after-partiql-batch", USERS, { name: "flo" });
  await call("partiql-transaction", docs, new doc.ExecuteTransactionCommand({ ClientRequestToken: `${run}-js-3`, TransactStatements: [{ Statement: `UPDATE "${USERS}" SET age = 8 WHERE name = 'flo'` }] }));
  await get("get-after-partiql-transaction", USERS, { name: "flo" });
  await statement("partiql-delete", `DELETE FROM "${USERS}" WHERE name = 'flo'`);
  await get("get-after-partiql-delete", USERS, { name: "flo" });
}

async function rest() {
  await call("ttl-enable", low, new ddb.UpdateTimeToLiveCommand({ TableName: USERS, TimeToLiveSpecification: { AttributeName: "expires", Enabled: true } }));
  await call("ttl-describe", low, new ddb.DescribeTimeToLiveCommand({ TableName: USERS }));
  const { Streams } = await call("streams-list", stream, new streams.ListStreamsCommand({ TableName: EVENTS }));
  const { StreamArn } = Streams[0];
  const { StreamDescription } = await call("streams-describe", stream, new streams.DescribeStreamCommand({ StreamArn }));
  const { ShardIterator } = await call("streams-iterator", stream, new streams.GetShardIteratorCommand({ StreamArn, ShardId: StreamDescription.Shards[0].ShardId, ShardIteratorType: "TRIM_HORIZON" }));
  await call("streams-records", stream, new streams.GetRecordsCommand({ ShardIterator, Limit: 4 }));
  for (const TableName of [USERS, EVENTS]) await call("drop", low, new ddb.DeleteTableCommand({ TableName }));
  await get("get-dropped", USERS, { name: "ann" });
}

(async () => {
  for (const part of [tables, items, batches, queries, transactions, partiql, rest]) await part();
})();
