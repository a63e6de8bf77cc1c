"""Writes values in each of the forms that python-memcached and pymemcache have, with
keys that begin with their names: others.py ADDRESS FILE."""

import sys

import memcache
from pymemcache.client.base import Client
from pymemcache.serde import CompressedSerde, pickle_serde

address, path = sys.argv[1:]
with open(path, "rb") as f:
    data = f.read()
text = data.decode()


def store(key, stored):
    if not stored:
        raise SystemExit(f"{key} is not stored")


older = memcache.Client([address])
for key, value, threshold in [
    ("bytes", data, 0),
    ("text", text, 0),
    ("text-zlib", text, 100),
    ("int", 1000, 0),
    ("true", True, 0),
    ("pickle", [text], 0),
    ("pickle-zlib", [text], 100),
]:
    store(key, older.set("python-memcached-" + key, value, min_compress_len=threshold))

plain = Client(address, serde=pickle_serde)
packed = Client(address, serde=CompressedSerde(min_compress_len=100))
for key, value, client in [
    ("bytes", data, plain),
    ("text", text, plain),
    ("text-zlib", text, packed),
    ("bytes-zlib", data, packed),
    ("int", 1000, packed),
    ("pickle", [text], plain),
    ("pickle-zlib", [text], packed),
]:
    store(key, client.set("pymemcache-" + key, value, noreply=False))
