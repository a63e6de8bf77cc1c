"""Prints the value of a key as Python's clients read it: read.py CLIENT ADDRESS KEY."""

import sys

import memcache
import pylibmc
from pymemcache.client.base import Client
from pymemcache.serde import pickle_serde

name, address, key = sys.argv[1:]
value = {
    "pylibmc": lambda: pylibmc.Client([address], binary=False),
    "python-memcached": lambda: memcache.Client([address]),
    "pymemcache": lambda: Client(address, serde=pickle_serde),
}[name]().get(key)
if not isinstance(value, bytes):
    raise SystemExit(f"{key} is {value!r}")
sys.stdout.buffer.write(value)
