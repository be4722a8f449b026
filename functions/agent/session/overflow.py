"""Overflow stores a session's largest bodies beside its document, which no store may refuse as too
large; the history that the model reads is as long as before.

DynamoDB ends at 400 KB an item. The document names the bodies in one field of its own, `spilled`,
by the place of the document that each was taken from. Nothing but this module writes that field, so
no text of a chat can name a body of another session.
"""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterator, MutableMapping
from typing import cast

import orjson

from sigil.json_fields import as_sequence
from sigil.storage.artifacts import Artifacts

LIMIT = 200 * 1024
"""A document of at most so many bytes, compressed, is kept whole."""
AIM = 150 * 1024
"""A larger one is reduced to so many bytes, so that a few more messages do not make it too
large again.
"""
LEAST = 1024
"""A body of fewer bytes stays in the document: beside it, it would take more room."""
CACHED = 16 * 1024 * 1024

_MESSAGE = ("content", "calls", "loads", "reasoning")
"""The fields of a message that may be large."""

Path = tuple[str | int, ...]
"""The place of a value in a document: field names and positions."""


class OverflowStore:
    """The artifacts that keep large bodies, with a cache of the bodies of late.

    The bodies of a session in progress are neither stored nor read twice. Without `artifacts`
    documents stay whole.
    """

    def __init__(self, artifacts: Artifacts | None) -> None:
        self._artifacts = artifacts
        self._lock = threading.Lock()
        self._cache: OrderedDict[str, bytes] = OrderedDict()
        self._names: dict[bytes, str] = {}
        self._size = 0

    @property
    def available(self) -> bool:
        return self._artifacts is not None

    def put(self, body: bytes) -> str:
        """Store a body and return its name."""
        assert self._artifacts is not None, "bodies are only put where there are artifacts"
        with self._lock:
            name = self._names.get(body, "")
        if not name:
            name = self._artifacts.put(body)
            self._remember(name, body)
        return name

    def get(self, name: str) -> bytes:
        """Return a body; `BackendError` EDAMAGED when it is missing or damaged."""
        assert self._artifacts is not None, "a document with overflow was opened with artifacts"
        with self._lock:
            body = self._cache.get(name)
            if body is not None:
                self._cache.move_to_end(name)
                return body
        body = self._artifacts.get(name)
        self._remember(name, body)
        return body

    def _remember(self, name: str, body: bytes) -> None:
        """Put a body into the cache, and take the oldest ones out of it."""
        with self._lock:
            if name in self._cache or len(body) > CACHED:
                return
            self._cache[name] = body
            self._names[body] = name
            self._size += len(body)
            while self._size > CACHED:
                _, oldest = self._cache.popitem(last=False)
                del self._names[oldest]
                self._size -= len(oldest)


def compress(body: bytes) -> bytes:
    """Return a body compressed, fast rather than small."""
    return zlib.compress(body, 1)


def move_bodies_out(body: bytes, overflow: OverflowStore) -> bytes:
    """Return a document's JSON, compressed and small enough, its largest bodies in the overflow."""
    fields = orjson.loads(body)
    spilled: dict[str, str] = {}
    size = len(compress(body))

    def length_at(path: Path) -> int:
        value = _get_at(fields, path)
        return len(value) if isinstance(value, str) else len(orjson.dumps(value))

    for path in sorted(_large_paths(fields), key=length_at, reverse=True):
        whole = orjson.dumps(_get_at(fields, path))
        if size <= AIM or len(whole) < LEAST:
            break
        packed = compress(whole)
        spilled["/".join(map(str, path))] = overflow.put(packed)
        _set_at(fields, path, None)
        size -= len(packed)
    return compress(orjson.dumps({**fields, "spilled": spilled}))


def move_bodies_back(fields: dict[str, object], overflow: OverflowStore) -> dict[str, object]:
    """Return a document's fields with the bodies from the overflow in their places.

    Raises `BackendError` when a body is gone, `ValueError` when it is no body.
    """
    spilled = fields.pop("spilled", {})
    if not isinstance(spilled, dict):
        raise ValueError("`spilled` is no mapping")
    for joined, name in spilled.items():
        path: list[str | int] = []
        for part in joined.split("/"):
            path.append(int(part) if part.isdigit() else part)
        _set_at(fields, tuple(path), orjson.loads(zlib.decompress(overflow.get(name))))
    return fields


def find_bodies(stored: bytes) -> list[str]:
    """Return the names of the bodies that a stored document or archived chunk has in the overflow.

    What cannot be read has none.
    """
    try:
        fields = orjson.loads(stored if stored[:1] in b"{[" else zlib.decompress(stored))
    except (ValueError, zlib.error):
        return []
    spilled = fields.get("spilled") if isinstance(fields, dict) else None
    names = spilled.values() if isinstance(spilled, dict) else [spilled]
    return [name for name in names if isinstance(name, str)]


def _large_paths(fields: dict[str, object]) -> Iterator[Path]:
    """Yield the places of a document where large bodies may be."""
    for number, message in enumerate(as_sequence(fields["messages"])):
        yield from (("messages", number, part) for part in _MESSAGE)
        if isinstance(message, dict) and message.get("beside"):
            yield "messages", number, "beside"
    for number in range(len(as_sequence(fields["noted"]))):
        yield "noted", number, "content"
    for number in range(len(as_sequence(fields["outbox"]))):
        yield "outbox", number, "text"
    for number in range(len(as_sequence(fields.get("posts", [])))):
        yield "posts", number, "text"
    if fields["turn"]:
        yield "turn", "event", "text"


def _get_at(fields: object, path: Path) -> object:
    for part in path:
        fields = _require_container(fields)[part]
    return fields


def _set_at(fields: object, path: Path, value: object) -> None:
    _require_container(_get_at(fields, path[:-1]))[path[-1]] = value


def _require_container(value: object) -> MutableMapping[str | int, object]:
    """Return an object or an array, which are read and changed alike; `TypeError` for the rest."""
    if not isinstance(value, dict | list):
        raise TypeError("no place for a body")
    return cast("MutableMapping[str | int, object]", value)
