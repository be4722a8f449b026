"""One version of a capability as it is stored, and a name's head with it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Final, Literal

import orjson
from pydantic import BaseModel

from sigil.catalog import heads
from sigil.catalog.heads import HeadState
from sigil.manifest.model import STORED, Manifest
from sigil.protocol import Offer
from sigil.storage.kv import ABSENT, Expect
from sigil.storage.stored import Shape, Stored, damaged

OFFERED_CHARACTERS = 1_024
"""Of a tool's description: endpoints refuse longer ones, and with them the whole chat."""


@dataclass(frozen=True, slots=True)
class Record(Stored):
    """One version of a capability. `wasm` and `source` name artifacts, `size` counts their bytes;
    times are seconds since the epoch.

    `store`: the chat's namespace in which its own store began, when it was published from there;
    empty for its own namespace.
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
        """Return what a caller is offered: the description carries the examples, since the model
        sees nothing else.
        """
        manifest, description = self.manifest, self.manifest.description
        for example in manifest.examples[:3]:
            more = (
                f" Example: {example}."
                if len(description) + len(example) < OFFERED_CHARACTERS - 12
                else ""
            )
            description += more
        return Offer(
            self.name,
            self.version,
            self.digest,
            description,
            manifest.input,
            manifest.pure,
            manifest.kind,
        )


@dataclass(frozen=True, slots=True)
class Head:
    """A name's active record, how the name stands, and the store's version of the head itself."""

    record: Record
    state: HeadState
    token: str

    @property
    def latest(self) -> int:
        return self.state.latest

    @property
    def removed(self) -> bool:
        return self.state.removed

    @property
    def yanked(self) -> bool:
        """Return whether the version that would run is yanked, since there was no other to take its
        place.
        """
        return self.record.version in self.state.yanked


def _read_part(kind: type, given: Any) -> Any:
    """Read the manifest within a record, with the fields of it that a newer version wrote."""
    if kind is Manifest:
        return Manifest.model_validate_json(
            orjson.dumps(given), strict=True, extra="allow", context=STORED
        )
    raise NotImplementedError(kind)


_RECORD: Final = Shape[Record](Record, read_part=_read_part)


_FIELDS: Final = tuple(
    each.name for each in fields(Record) if each.name not in ("manifest", "_rest")
)


def encode(record: Record) -> bytes:
    """The record as JSON."""
    fields = {name: getattr(record, name) for name in _FIELDS}
    manifest = _with_extra(
        record.manifest, record.manifest.model_dump(mode="json", exclude_unset=True)
    )
    return orjson.dumps({**fields, "manifest": manifest, **(record._rest or {})})


def _with_extra(model: BaseModel, dumped: dict[str, Any]) -> dict[str, Any]:
    """Return what was dumped of a model with the fields that it does not know, its parts' too."""
    for name in dumped.keys() & model.model_fields_set:
        part = getattr(model, name)
        if isinstance(part, BaseModel):
            dumped[name] = _with_extra(part, dumped[name])
        elif isinstance(part, tuple) and part and isinstance(part[0], BaseModel):
            dumped[name] = [
                _with_extra(one, row) for one, row in zip(part, dumped[name], strict=True)
            ]
    return {**dumped, **(model.model_extra or {})}


def decode(data: bytes) -> Record:
    """The record that `encode` wrote."""
    return _record(data)


@lru_cache(maxsize=1024)
def parse_head(data: bytes, token: str) -> Head:
    """The head that is stored as `data` under the store's version `token`."""
    standing, fields = heads.decode_head(data)
    return Head(_record(orjson.dumps(fields)), standing, token)


def expect_head(head: Head | None) -> Expect:
    """The `expect` for a write over `head`."""
    return head.token if head else ABSENT


def _record(data: bytes) -> Record:
    try:
        return _RECORD.read(data)
    except ValueError:
        raise damaged() from None
