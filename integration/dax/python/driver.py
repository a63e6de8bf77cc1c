"""Reads steps from its input, one JSON object per line, and executes them with the DAX client
and, concurrently, with the SDK itself. Prints the answers of each side, one JSON object per
line. Arguments: the DAX front, the HTTP endpoint, and the texts that replace "RUN-" in the
names of tables on either side."""

import base64
import json
import os
import re
import sys
import threading
import traceback
import urllib.request

import boto3
import botocore.config
import botocore.session
from amazondax import AmazonDaxClient
from botocore.exceptions import ClientError

DAX, HTTP, DAX_PREFIX, PLAIN_PREFIX = sys.argv[1:]
printing = threading.Lock()


def native(value):
    """Converts base64 in JSON to bytes."""
    if isinstance(value, dict):
        if len(value) == 1:
            (kind, inner), = value.items()
            if kind == "B" and isinstance(inner, str):
                return {"B": base64.b64decode(inner)}
            if kind == "BS" and isinstance(inner, list):
                return {"BS": [base64.b64decode(one) for one in inner]}
        return {name: native(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [native(inner) for inner in value]
    return value


def plain(value):
    """Reverses native."""
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items() if name != "ResponseMetadata"}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value


def method(operation):
    return re.sub("(?<!^)([A-Z])", r"_\1", operation).lower()


def ask(client, step, params):
    """Makes one call, or the calls for all pages. Wait is not an operation: it waits for an answer over HTTP."""
    if step["op"] == "Wait":
        return {"waited": urllib.request.urlopen(params["URL"]).read().decode()}
    call = getattr(client, method(step["op"]))
    if not step.get("pages"):
        return plain(call(**params))
    pages = []
    while True:
        page = call(**params)
        pages.append(plain(page))
        if not page.get("LastEvaluatedKey"):
            return {"pages": pages}
        params["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def answer(client, step, params):
    try:
        return {"answer": ask(client, step, params)}
    except ClientError as error:
        response = error.response
        failure = {"code": response["Error"]["Code"], "message": response["Error"].get("Message", "")}
        reasons = response.get("CancellationReasons") or getattr(error, "cancellation_reasons", None)
        if reasons:
            failure["reasons"] = plain(reasons)
        return {"error": failure}
    except Exception as error:  # an error of a DAX client without a reply
        return {"error": {"code": type(error).__name__, "message": str(error)}}


def side(name, client, prefix, lines):
    try:
        for line in lines:
            step = json.loads(line.replace("RUN-", prefix))
            result = {"side": name, "step": step["step"], **answer(client, step, native(step["params"]))}
            with printing:
                print(json.dumps(result), flush=True)
    except Exception:
        traceback.print_exc()
        os._exit(1)


lines = [line for line in sys.stdin if line.strip()]
direct = boto3.client("dynamodb", endpoint_url=HTTP, config=botocore.config.Config(retries={"max_attempts": 1}))
with AmazonDaxClient(botocore.session.get_session(), endpoint_url=DAX) as dax:
    both = [threading.Thread(target=side, args=("dax", dax, DAX_PREFIX, lines)),
            threading.Thread(target=side, args=("plain", direct, PLAIN_PREFIX, lines))]
    for one in both:
        one.start()
    for one in both:
        one.join()
