"""Deployments for backups: empty ones on each kind of store, and one with something of everything."""

from __future__ import annotations

import os
import time
import zlib
from pathlib import Path
from typing import Any

import orjson
import pytest

from functions.settings import Settings
from sigil.storage import aws
from sigil.storage.kv import KV, Key, keys
from sigil.storage.kv.base import scan_everything
from sigil.storage.kv.dynamodb_table import create_table
from sigil.wiring import Stores, open_stores
from tests.servers.ministack import unique
from tests.servers.valkey import shared

S = keys.session_of("main", "telegram:42")
GROUPS = (S, keys.control_of(S), keys.memory_of(S))
BODY = zlib.compress(orjson.dumps("a long answer " * 40), 1)
CHUNK = zlib.compress(b"[]", 1)
PASSPHRASE = "correct horse battery staple"
Items = dict[Key, tuple[bytes, float | None]]


def open_place(kind: str, folder: Path, request: pytest.FixtureRequest) -> Settings:
    """The settings of an empty deployment. DynamoDB comes with S3, Redis keeps artifacts itself."""
    data = str(folder / kind)
    if kind == "redis":
        shared().do("FLUSHALL")
        return Settings(data=data, store=shared().url)
    if kind == "dynamodb":
        request.getfixturevalue("aws_here")
        endpoint = request.getfixturevalue("ministack").url
        create_table(table := unique("backup"))
        aws.client("s3").create_bucket(Bucket=(bucket := unique("backup")))
        return Settings(
            data=data,
            store=f"dynamodb://{table}?endpoint={endpoint}",
            artifacts=f"s3://{bucket}/bodies?endpoint={endpoint}",
        )
    return Settings(data=data)


def variables(settings: Settings) -> dict[str, str]:
    """What a command's environment needs to use a deployment."""
    return {
        "UNCAGED_DATA": settings.data,
        "UNCAGED_STORE": settings.store,
        "UNCAGED_ARTIFACTS": settings.artifacts,
    }


def fill(stores: Stores, large: int = 150_000) -> Items:
    """Put something of everything into a store, the largest item of `large` bytes, and return what
    a backup has to bring back.
    """
    kv, now = stores.kv, time.time()
    wasm, source = stores.artifacts.put(b"\0asm of encode"), stores.artifacts.put(b"return input")
    body, chunk = stores.artifacts.put(BODY), stores.artifacts.put(CHUNK)
    picture = stores.artifacts.put(b"a picture that a tool returned")
    record = {"wasm": wasm, "source": source, "name": "encode"}
    document = {"messages": [], "outbox": [], "spilled": {"messages/0/content": body}}
    lasting: dict[Key, bytes] = {
        keys.session_head(S): zlib.compress(orjson.dumps(document), 1),
        keys.archive_chunk(S, 1): orjson.dumps([{"content": "语言 \u2028 \0"}]),
        keys.archive_chunk(S, 21): orjson.dumps({"spilled": chunk}),
        keys.inbox_event(S, "0001#a"): b'{"due":0,"event":{"id":"a"}}',
        keys.inbox_event(keys.control_of(S), "0001#b"): b'{"due":0,"event":{"id":"b"}}',
        keys.inbox_event(keys.memory_of(S), "0001#c"): b'{"due":0,"event":{"id":"c"}}',
        keys.version("main", "encode", 1): orjson.dumps(record),
        keys.capability("main", "encode"): orjson.dumps({"latest": 1, "record": record}),
        keys.document("main", "soul"): '{"text": "dry 😀"}'.encode(),
        keys.stored_value("main", "main", "notes", "x"): b'{"format": 7}',
        keys.token("d" * 64): b"{}",
        Key("odd}%#", "\0 \U0001f98a"): bytes(range(256)),
        Key("empty", "one"): b"",
        Key("large", "one"): os.urandom(large),
    }
    ending = {
        keys.seen_event(S, "telegram:1:1"): (b"", 600.0),
        keys.chat_file(S, "1"): (orjson.dumps({"artifact": picture}), 900.0),
        keys.token_file("main", "t", "2"): (orjson.dumps({"artifact": picture}), 900.0),
        keys.event_reply(S, "e"): (b'{"reply": "x"}', 60.0),
    }
    left_out: dict[Key, tuple[bytes, float | None]] = {
        keys.session_claim(S): (b"somebody", 30.0),
        keys.first_owner("main"): (b"{}", 600.0),
        keys.snapshot("main"): (orjson.dumps({"artifact": "f" * 64}), None),
        keys.secret("main", "API_KEY"): (b'{"value": "sk-of-a-capability"}', None),
    }
    for group in GROUPS:
        kv.put(keys.ready_session(group), b'{"due":0.0}')
    for key, value in lasting.items():
        kv.put(key, value)
    for key, (value, ttl) in {**ending, **left_out}.items():
        kv.put(key, value, ttl=ttl)
    return {
        **{key: (value, None) for key, value in lasting.items()},
        **{key: (value, now + ttl) for key, (value, ttl) in ending.items()},
    }


def read_all(kv: KV) -> Items:
    """Everything in a store but artifacts, the index of the inboxes, and notes of backups."""
    without = ("artifact", *keys.READY_INDEXES, "backup")
    return {
        item.key: (item.value, item.expires)
        for item in scan_everything(kv)
        if item.key.partition.partition("#")[0] not in without
    }


def require_same(found: Items, expected: Items) -> None:
    """Fail unless the items are the same, and end at the same times (within a few seconds)."""
    assert found.keys() == expected.keys()
    for key, (value, expires) in expected.items():
        assert found[key][0] == value, key
        ends: Any = expires and pytest.approx(expires, abs=5.0)
        assert found[key][1] == ends, key


def open_again(settings: Settings) -> Stores:
    """The stores of a deployment, as one more process has them."""
    return open_stores(settings)
