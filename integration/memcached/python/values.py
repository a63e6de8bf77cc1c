"""Writes values in each of the forms that pylibmc has: values.py ADDRESS FILE."""

import sys

import pylibmc

address, path = sys.argv[1:]
with open(path, "rb") as f:
    data = f.read()
text = data.decode()
client = pylibmc.Client([address], binary=False)


def store(key, value, **options):
    if not client.set(key, value, **options):
        raise SystemExit(f"{key} is not stored")


store("pylibmc-bytes", data)
store("pylibmc-text", text)
store("pylibmc-zlib", data, min_compress_len=100)
store("pylibmc-text-zlib", text, min_compress_len=100)
store("pylibmc-text-zlib9", text, min_compress_len=100, compress_level=9)
store("pylibmc-int", 1000)
store("pylibmc-long", 10**40)
store("pylibmc-true", True)
store("pylibmc-pickle", [text])
store("pylibmc-pickle-zlib", [text], min_compress_len=100)
