"""A session's largest bodies live beside the store, so that its document stays below what any store
takes for one item.

DynamoDB ends at 400 KB an item. The document names the bodies in one field of its own, `spilled`:
which place of it each body was taken from. Nothing but `spill` writes that field, so no text of a
chat can name a body of another session.
"""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Protocol

import orjson

LIMIT = 200 * 1024
"""Bytes, compressed, up to which a document is kept whole."""
AIM = 150 * 1024
"""Bytes that a document is brought down to, so that a few more messages do not spill at once again.
"""
LEAST = 1024
"""A body of fewer bytes stays: it takes more room beside the document than in it."""
CACHED = 16 * 1024 * 1024

_MESSAGE, _REPLY = ("content", "calls", "loads", "reasoning"), ("text",)


class Shelf(Protocol):
    """Where bodies are kept by the hash of what they are (`sigil.storage.artifacts`)."""

    def put(self, body: bytes) -> str:
        """Store the body and return its name."""

    def get(self, name: str) -> bytes:
        """The body; `BackendError` when it is missing."""


class Bodies:
    """A shelf whose bodies of late are at hand: those of a session in progress are neither stored
    nor read twice. `shelf` None: no room.
    """

    def __init__(self, shelf: Shelf | None) -> None:
        self._shelf = shelf
        self._lock = threading.Lock()
        self._cache: OrderedDict[str, bytes] = OrderedDict()
        self._names: dict[bytes, str] = {}
        self._size = 0

    @property
    def open(self) -> bool:
        return self._shelf is not None

    def put(self, body: bytes) -> str:
        assert self._shelf is not None, "there is a shelf"
        with self._lock:
            name = self._names.get(body, "")
        if not name:
            name = self._shelf.put(body)
            self._keep(name, body)
        return name

    def get(self, name: str) -> bytes:
        assert self._shelf is not None, "what was spilled has a shelf"
        with self._lock:
            body = self._cache.get(name)
            if body is not None:
                self._cache.move_to_end(name)
                return body
        body = self._shelf.get(name)
        self._keep(name, body)
        return body

    def _keep(self, name: str, body: bytes) -> None:
        with self._lock:
            if name in self._cache or len(body) > CACHED:
                return
            self._cache[name], self._names[body] = body, name
            self._size += len(body)
            while self._size > CACHED:
                _, oldest = self._cache.popitem(last=False)
                del self._names[oldest]
                self._size -= len(oldest)


def packed(body: bytes) -> bytes:
    """`body` compressed."""
    return zlib.compress(body, 1)


def spill(body: bytes, bodies: Bodies) -> bytes:
    """The document's JSON with its largest bodies on the shelf, until it is small enough;
    compressed.
    """
    fields = orjson.loads(body)
    size, spilled = len(packed(body)), {}
    for path in sorted(_places(fields), key=lambda path: -_length(_at(fields, path))):
        whole = orjson.dumps(_at(fields, path))
        if size <= AIM or len(whole) < LEAST:
            break
        spilled["/".join(map(str, path))] = bodies.put(packed(whole))
        _set(fields, path, None)
        size -= len(packed(whole))
    return packed(orjson.dumps({**fields, "spilled": spilled}))


def restore(fields: dict[str, Any], bodies: Bodies) -> dict[str, Any]:
    """The document's fields with what was spilled back in its places; `BackendError` when a body is
    gone, `ValueError` when it is none.
    """
    for path, name in fields.pop("spilled", {}).items():
        _set(
            fields,
            [int(part) if part.isdigit() else part for part in path.split("/")],
            orjson.loads(zlib.decompress(bodies.get(name))),
        )
    return fields


def _places(fields: dict[str, Any]) -> Iterator[tuple[str | int, ...]]:
    """Where large bodies can be."""
    for number in range(len(fields["messages"])):
        yield from (("messages", number, part) for part in _MESSAGE)
    yield from (("noted", number, "content") for number in range(len(fields["noted"])))
    for number in range(len(fields["outbox"])):
        yield from (("outbox", number, part) for part in _REPLY)
    if fields["turn"]:
        yield "turn", "event", "text"


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str) else len(orjson.dumps(value))


def _at(fields: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        fields = fields[part]
    return fields


def _set(fields: Any, path: tuple[str | int, ...] | list[str | int], value: Any) -> None:
    for part in path[:-1]:
        fields = fields[part]
    fields[path[-1]] = value
