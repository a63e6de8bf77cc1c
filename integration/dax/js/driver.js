// Reads steps from its input, one JSON object per line, and executes them with a DAX client
// and, concurrently, with the SDK itself. Prints the answers of each side, one JSON object
// per line. Arguments: the client (v2, v3 or document), the DAX front, the HTTP endpoint,
// and the texts that replace "RUN-" in the names of tables on either side.
"use strict";

const fs = require("fs");

const [kind, daxEndpoint, endpoint, daxPrefix, plainPrefix] = process.argv.slice(2);
const region = "us-east-1";

// each returns value with its attribute values of types B and BS converted by f.
function each(value, f) {
  if (Array.isArray(value)) return value.map((v) => each(v, f));
  if (!value || typeof value !== "object") return value;
  const names = Object.keys(value);
  if (names.length === 1 && names[0] === "B" && typeof value.B === "string") return { B: f(value.B) };
  if (names.length === 1 && names[0] === "BS" && Array.isArray(value.BS)) return { BS: value.BS.map(f) };
  return Object.fromEntries(names.map((name) => [name, each(value[name], f)]));
}

// native converts base64 in JSON to bytes.
const native = (params) => each(params, (text) => Buffer.from(text, "base64"));

// plain converts an answer to JSON types, and keeps its types distinguishable.
function plain(value) {
  if (value instanceof Uint8Array) return kind === "document" ? { bytes: Buffer.from(value).toString("base64") } : Buffer.from(value).toString("base64");
  if (value instanceof Set) return { set: [...value].map((v) => JSON.stringify(plain(v))).sort() };
  if (typeof value === "bigint") return { bigint: value.toString() };
  if (Array.isArray(value)) return value.map(plain);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.keys(value).filter((k) => k !== "$metadata" && value[k] !== undefined).map((k) => [k, plain(value[k])]));
  }
  return value;
}

const lower = (operation) => operation[0].toLowerCase() + operation.slice(1);

// Each maker returns the function that executes an operation on one side.
const makers = {
  v2(side) {
    const AWS = require("aws-sdk");
    AWS.config.update({ region });
    const Dax = require("amazon-dax-client");
    const client = side === "dax" ? new Dax({ endpoints: [daxEndpoint], region }) : new AWS.DynamoDB({ endpoint, region, maxRetries: 0 });
    return (operation, params) => client[lower(operation)](native(params)).promise();
  },
  v3(side) {
    const { DynamoDB } = require("@aws-sdk/client-dynamodb");
    const { Dax } = require("@amazon-dax-sdk/client-dax");
    const client = side === "dax" ? new Dax({ endpoints: [daxEndpoint], region }) : new DynamoDB({ endpoint, region, maxAttempts: 1 });
    return (operation, params) => client[lower(operation)](native(params));
  },
  document(side) {
    const { DynamoDB } = require("@aws-sdk/client-dynamodb");
    const { DynamoDBDocument } = require("@aws-sdk/lib-dynamodb");
    const { DaxDocument } = require("@amazon-dax-sdk/lib-dax");
    const client = side === "dax" ? new DaxDocument({ endpoints: [daxEndpoint], region }) : DynamoDBDocument.from(new DynamoDB({ endpoint, region, maxAttempts: 1 }));
    const named = (operation) => lower(operation.replace(/Items?$/, ""));
    return (operation, params) => client[named(operation)](unmarshalled(params));
  },
};

// number returns a number as an application would write it. The document clients refuse
// numbers that JavaScript can't represent exactly.
function number(text) {
  return Math.max(-1e12, Math.min(1e12, Number(text)));
}

// unmarshalled returns a request with plain values in place of attribute values.
function unmarshalled(params) {
  const { unmarshall } = require("@aws-sdk/util-dynamodb");
  const item = (value) => unmarshall(native(value), { wrapNumbers: number });
  const walk = (value) => {
    if (Array.isArray(value)) return value.map(walk);
    if (!value || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => {
      if (["Item", "Key", "ExclusiveStartKey", "ExpressionAttributeValues"].includes(name)) return [name, item(inner)];
      if (name === "Keys") return [name, inner.map(item)];
      return [name, walk(inner)];
    }));
  };
  return walk(params);
}

// ask makes one call, or the calls for all pages. Wait is not an operation: it waits for an
// answer over HTTP.
async function ask(call, step, params) {
  if (step.op === "Wait") return { waited: await (await fetch(params.URL)).text() };
  if (!step.pages) return call(step.op, params);
  const pages = [];
  for (let start; ;) {
    const page = await call(step.op, start ? { ...params, ExclusiveStartKey: start } : params);
    pages.push(page);
    if (!page.LastEvaluatedKey) return { pages };
    // The answer has the client's types already; Keys in JSON don't.
    start = again(page.LastEvaluatedKey);
  }
}

// again converts a key in an answer to one that params may contain.
function again(key) {
  if (kind !== "document") return each(JSON.parse(JSON.stringify(plain(key))), (text) => text);
  const { marshall } = require("@aws-sdk/util-dynamodb");
  return JSON.parse(JSON.stringify(marshall(key), (name, value) => value && value.type === "Buffer" ? Buffer.from(value.data).toString("base64") :
    name === "B" && value && typeof value === "object" ? Buffer.from(Object.values(value)).toString("base64") : value));
}

async function answer(call, step, params) {
  try {
    return { answer: plain(await ask(call, step, params)) };
  } catch (error) {
    const failure = { code: error.code || error.name, message: error.message };
    const reasons = error.cancellationReasons || error.CancellationReasons;
    if (reasons) failure.reasons = plain(reasons);
    return { error: failure };
  }
}

async function side(name, prefix, lines) {
  const call = makers[kind](name);
  for (const line of lines) {
    const step = JSON.parse(line.replaceAll("RUN-", prefix));
    const result = await answer(call, step, step.params);
    console.log(JSON.stringify({ side: name, step: step.step, ...result }));
  }
}

const lines = fs.readFileSync(0, "utf8").split("\n").filter((line) => line.trim());
Promise.all([side("dax", daxPrefix, lines), side("plain", plainPrefix, lines)]).then(() => process.stdout.write("", () => process.exit(0)), (error) => {
  console.error(error);
  process.exit(1);
});
