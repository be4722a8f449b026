"""The capabilities of the store: a head for each name, a record for each version, and what is visible to whom."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Literal

import orjson

from sigil.errors import UsageError
from sigil.kv import ABSENT, KV, Expect, keys
from sigil.manifest import STORED, Manifest
from sigil.protocol import Caller, Offer, Ref

PAGE = 500
OFFERED_CHARACTERS = 1_024
"""Of a tool's description: endpoints refuse longer ones, and with them the whole chat."""


@dataclass(frozen=True, slots=True)
class Record:
    """One version of a capability. `wasm` and `source` name artifacts; times are seconds since the epoch."""

    namespace: str
    name: str
    version: int
    digest: str
    kind: Literal["js", "sigil"]
    wasm: str
    source: str
    manifest: Manifest
    author: str
    session: str
    at: float
    expires_at: float | None = None

    @property
    def offer(self) -> Offer:
        """What a caller is offered: the description carries the examples, since the model sees nothing else."""
        manifest, description = self.manifest, self.manifest.description
        for example in manifest.examples[:3]:
            more = f" Example: {example}." if len(description) + len(example) < OFFERED_CHARACTERS - 12 else ""
            description += more
        return Offer(self.name, self.version, self.digest, description, manifest.input, manifest.pure)


@dataclass(frozen=True, slots=True)
class Head:
    """A name's active record, the number of its latest version, and the store's version of the head itself."""

    record: Record
    latest: int
    token: str
    removed: bool = False


def encode(record: Record) -> bytes:
    """The record as JSON."""
    return orjson.dumps(asdict(replace(record, manifest=None)) | {"manifest": record.manifest.model_dump(mode="json", exclude_unset=True)})  # type: ignore[arg-type]


def decode(data: bytes) -> Record:
    """The record that `encode` wrote."""
    return _record(orjson.loads(data))


def _record(fields: dict[str, object]) -> Record:
    return Record(**{**fields, "manifest": Manifest.model_validate_json(orjson.dumps(fields["manifest"]), strict=True, context=STORED)})  # type: ignore[arg-type]


class Catalog:
    """The store's capabilities; every verb reads and writes the store and keeps nothing."""

    def __init__(self, kv: KV, clock: Callable[[], float] = time.time) -> None:
        self._kv = kv
        self._clock = clock

    def head(self, namespace: str, name: str) -> Head | None:
        """The head of a name, None when there never was one; a removed one says so."""
        item = self._kv.get(keys.capability(namespace, name))
        return _head(item.value, item.version) if item else None

    def active(self, namespace: str, name: str) -> Record | None:
        """The record that the plain name runs."""
        head = self.head(namespace, name)
        return head.record if head and not head.removed and self.alive(head.record) else None

    def find(self, ref: Ref, caller: Caller) -> Record | None:
        """What the caller means by `ref`: the nearest namespace wins."""
        found = (self._in(namespace, ref) for namespace in caller.sees)
        return next((record for record in found if record), None)

    def resolve(self, ref: Ref, caller: Caller) -> Record:
        """Like `find`; `UsageError` with ENOENT when there is none."""
        record = self.find(ref, caller)
        if record is None and ref != Ref(ref.name) and self.find(Ref(ref.name), caller):
            wanted = f"version {ref.version}" if ref.version is not None else f"version {ref.digest}"
            raise UsageError(
                "ENOENT", f"there is no {wanted} of {ref.name}", source=ref.name, suggestion=f"`sigil inspect {ref.name}` shows what runs"
            )
        if record is None:
            raise UsageError(
                "ENOENT", "no such capability", source=ref.name, suggestion="`sigil list` and `sigil query` show what there is"
            )
        return record

    def save(self, record: Record, expect: Expect) -> None:
        """Write a new version and make it the active one; `Conflict` when the head changed or the number is taken."""
        body = encode(record)
        self._kv.put(keys.version(record.namespace, record.name, record.version), body, expect=ABSENT, ttl=self._ttl(record))
        self._kv.put(keys.digest(record.namespace, record.name, record.digest), b"%d" % record.version, ttl=self._ttl(record))
        head = b'{"latest":%d,"removed":false,"record":%b}' % (record.version, body)
        self._kv.put(keys.capability(record.namespace, record.name), head, expect=expect, ttl=self._ttl(record))
        self.touch(record.namespace)

    def remove(self, head: Head) -> None:
        """Leave a tombstone: the name is gone, its number goes on, its versions stay."""
        record = head.record
        tombstone = b'{"latest":%d,"removed":true,"record":%b}' % (head.latest, encode(record))
        self._kv.put(keys.capability(record.namespace, record.name), tombstone, expect=head.token)
        for number in range(1, head.latest + 1):
            self._kv.delete(keys.version(record.namespace, record.name, number))
        self.touch(record.namespace)

    def names(self, namespace: str) -> Iterator[Record]:
        """The active records of a namespace, by name."""
        after = ""
        while page := self._kv.scan(keys.capability(namespace, "").partition, after=after, limit=PAGE):
            for sort, item in page:
                head = _head(item.value, item.version)
                if not head.removed and self.alive(head.record):
                    yield head.record
                after = sort

    def generation(self, namespace: str) -> str:
        """A token that changes whenever the namespace's capabilities do."""
        item = self._kv.get(keys.generation(namespace))
        return item.version if item else ""

    def touch(self, namespace: str) -> None:
        """Tell every reader that the namespace changed."""
        self._kv.put(keys.generation(namespace), b"")

    def _in(self, namespace: str, ref: Ref) -> Record | None:
        head = self.head(namespace, ref.name)
        if head is None or head.removed:
            return None
        if ref.version is None and ref.digest is None:
            return head.record if self.alive(head.record) else None
        if ref.digest == head.record.digest or ref.version == head.record.version:
            return head.record if self.alive(head.record) else None
        number = ref.version if ref.version is not None else self._number(namespace, ref)
        item = self._kv.get(keys.version(namespace, ref.name, number)) if number else None
        return decode(item.value) if item else None

    def _number(self, namespace: str, ref: Ref) -> int | None:
        item = self._kv.get(keys.digest(namespace, ref.name, ref.digest or ""))
        return int(item.value) if item else None

    def alive(self, record: Record) -> bool:
        """Whether its time has not run out."""
        return record.expires_at is None or record.expires_at > self._clock()

    def _ttl(self, record: Record) -> float | None:
        return None if record.expires_at is None else max(record.expires_at - self._clock(), 1.0)


@lru_cache(maxsize=1024)
def _head(data: bytes, token: str) -> Head:
    fields = orjson.loads(data)
    return Head(_record(fields["record"]), fields["latest"], token, fields["removed"])


def absent(head: Head | None) -> Expect:
    """The `expect` for a write over `head`."""
    return head.token if head else ABSENT
