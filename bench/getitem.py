"""Reads items one after the other for some seconds and prints how long a read took.

usage: getitem.py http://HOST:PORT|dax://HOST:PORT TABLE ITEMS SECONDS
"""
import json
import random
import sys
import time

import boto3
from amazondax import AmazonDaxClient


def connect(endpoint):
    if endpoint.startswith("dax://"):
        return AmazonDaxClient(endpoint_url=endpoint)
    return boto3.client("dynamodb", endpoint_url=endpoint)


def main(endpoint, table, items, seconds):
    client = connect(endpoint)
    dice = random.Random(1)
    # Few keys: each is asked for before, so that every read that is timed is a hit.
    keys = [{"pk": {"S": "p%08d" % (i // 10)}, "sk": {"S": "s%d" % (i % 10)}} for i in range(min(200, int(items)))]
    for key in keys:
        assert "Item" in client.get_item(TableName=table, Key=key)
    spent, begun = [], time.perf_counter()
    while time.perf_counter() - begun < float(seconds):
        key = dice.choice(keys)
        before = time.perf_counter()
        answer = client.get_item(TableName=table, Key=key)
        spent.append(time.perf_counter() - before)
        assert answer["Item"]["pk"] == key["pk"]
    whole = time.perf_counter() - begun
    spent.sort()
    print(json.dumps({"Requests": len(spent), "Seconds": whole, "P50": spent[len(spent) // 2], "P99": spent[len(spent) * 99 // 100]}))
    client.close()


main(*sys.argv[1:])
