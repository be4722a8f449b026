"""One version of a capability as it is stored, and a name's head with it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Final, Literal

import orjson

from sigil import heads
from sigil.heads import Standing
from sigil.kv import ABSENT, Expect
from sigil.manifest import STORED, Manifest
from sigil.protocol import Offer
from sigil.stored import Shape, damaged

OFFERED_CHARACTERS = 1_024
"""Of a tool's description: endpoints refuse longer ones, and with them the whole chat."""


@dataclass(frozen=True, slots=True)
class Record:
    """One version of a capability. `wasm` and `source` name artifacts, `size` counts their bytes; times are seconds since the epoch.

    `store`: the chat's namespace in which its own store began, when it was published from there; empty for its own namespace.
    """

    namespace: str
    name: str
    version: int
    digest: str
    kind: Literal["js", "sigil", "wasi"]
    wasm: str
    source: str
    manifest: Manifest
    author: str
    session: str
    at: float
    expires_at: float | None = None
    size: int = 0
    store: str = ""

    @property
    def offer(self) -> Offer:
        """What a caller is offered: the description carries the examples, since the model sees nothing else."""
        manifest, description = self.manifest, self.manifest.description
        for example in manifest.examples[:3]:
            more = f" Example: {example}." if len(description) + len(example) < OFFERED_CHARACTERS - 12 else ""
            description += more
        return Offer(self.name, self.version, self.digest, description, manifest.input, manifest.pure, manifest.kind)


@dataclass(frozen=True, slots=True)
class Head:
    """A name's active record, how the name stands, and the store's version of the head itself."""

    record: Record
    standing: Standing
    token: str

    @property
    def latest(self) -> int:
        return self.standing.latest

    @property
    def removed(self) -> bool:
        return self.standing.removed

    @property
    def yanked(self) -> bool:
        """Whether the version that would run is yanked, since there was no other to take its place."""
        return self.record.version in self.standing.yanked


_RECORD: Final = Shape[Record](Record)


def encode(record: Record) -> bytes:
    """The record as JSON."""
    return orjson.dumps(asdict(replace(record, manifest=None)) | {"manifest": record.manifest.model_dump(mode="json", exclude_unset=True)})  # type: ignore[arg-type]


def decode(data: bytes) -> Record:
    """The record that `encode` wrote."""
    return _record(data)


@lru_cache(maxsize=1024)
def head_of(data: bytes, token: str) -> Head:
    """The head that is stored as `data` under the store's version `token`."""
    standing, fields = heads.split(data)
    return Head(_record(orjson.dumps(fields)), standing, token)


def absent(head: Head | None) -> Expect:
    """The `expect` for a write over `head`."""
    return head.token if head else ABSENT


def _record(data: bytes) -> Record:
    try:
        return _RECORD.read(data, STORED)
    except ValueError:
        raise damaged() from None
