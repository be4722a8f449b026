"""The format of a backup: a ZIP archive that ordinary tools open.

    manifest.json          what is in it: counts, digests, versions, settings without secrets
    items/waiting.jsonl    the events that wait, an item of the store on each line
    items/heads.jsonl      the items that name others, such as a conversation's document
    items/rest.jsonl       everything else
    artifacts/DIGEST       a large body, named by its SHA-256
    secrets.json           the secrets, encrypted; only where they were asked for

The archive's comment ends with the SHA-256 of all bytes before it. The files are written in the
order in which they are read from a store, and restored the other way round.
"""

from __future__ import annotations

import hashlib
import math
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec
import orjson

from sigil.errors import BackendError, UsageError
from sigil.storage.kv import Key
from sigil.storage.kv.base import ScannedItem
from sigil.storage.kv.encoding import encode_key
from sigil.storage.stored import Shape, Stored, dumps

KIND: Final = "uncaged-backup"
VERSION: Final = 1
"""The version of the file's own format, and the newest that is read."""
MANIFEST: Final = "manifest.json"
SECRETS: Final = "secrets.json"
WAITING: Final = "waiting"
HEADS: Final = "heads"
POSTED: Final = "posted"
REST: Final = "rest"
PARTS: Final = (WAITING, HEADS, POSTED, REST)
"""The parts of a backup's items, in the order in which they are read from a store."""
ARTIFACT: Final = re.compile(r"artifacts/([0-9a-f]{64})")
LINE_BYTES: Final = 32 << 20
"""The most of an item's line. The largest value that a store takes has 8 MiB."""
ARTIFACT_BYTES: Final = 64 << 20
MANIFEST_BYTES: Final = 4 << 20
SECRETS_BYTES: Final = 16 << 20
MISSING_MOST: Final = 1_000
LATEST: Final = 1e11
"""Seconds since 1970; a calendar has no day for much more."""


@dataclass(frozen=True, slots=True)
class PartFacts(Stored):
    """What the manifest tells of a part: its items, its bytes as they are read, their SHA-256."""

    items: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest(Stored):
    """What a backup tells of itself; times are seconds since 1970.

    `formats` are the formats of the items by the first part of their partitions, where they are not
    the first one. `missing` are the artifacts that an item names and the store did not have.
    `names` is the SHA-256 of the names of all artifacts, sorted, a line each.
    """

    kind: str
    version: int
    made_by: str
    began: float
    ended: float
    agent: str
    store: str
    queue: str
    parts: Mapping[str, PartFacts]
    artifacts: int
    artifact_bytes: int
    names: str
    formats: Mapping[str, int] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    secrets: bool = False

    @property
    def items(self) -> int:
        """Return the number of all items."""
        return sum(part.items for part in self.parts.values())


_MANIFEST: Final = Shape[Manifest](Manifest)


@dataclass(frozen=True, slots=True)
class _Line:
    """An item as it is written: its value as text, or in base64 where it is none."""

    partition: str
    sort: str
    expires: float | None = None
    text: str | None = None
    base64: bytes | None = None


_LINE: Final = msgspec.json.Decoder(_Line)


def encode_item(item: ScannedItem) -> bytes:
    """Return the line of an item, with its end."""
    row: dict[str, object] = {"partition": item.key.partition, "sort": item.key.sort}
    if item.expires is not None:
        row["expires"] = item.expires
    try:
        row["text"] = item.value.decode()
    except UnicodeDecodeError:
        row["base64"] = b64encode(item.value).decode()
    line = orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
    if len(line) > LINE_BYTES:
        raise BackendError(
            "ETOOBIG",
            f"an item of {len(item.value):,} bytes is too large for a backup",
            source=item.key.partition,
        )
    return line


def decode_item(line: bytes) -> ScannedItem:
    """Return the item of a line; `BackendError` EDAMAGED when it is none."""
    try:
        row = _LINE.decode(line)
        key = Key(row.partition, row.sort)
        encode_key(key)
        if (row.text is None) == (row.base64 is None):
            raise ValueError("it has no value, or two")
        if row.expires is not None and not math.isfinite(row.expires):
            raise ValueError("it ends at no time")
        value = row.base64 if row.text is None else row.text.encode()
    except (ValueError, RecursionError, UsageError):
        raise make_damage_error("a line of it is no item") from None
    return ScannedItem(key, value or b"", row.expires)


def encode_manifest(manifest: Manifest) -> bytes:
    """Return a manifest as JSON for people."""
    return orjson.dumps(orjson.loads(dumps(manifest)), option=orjson.OPT_INDENT_2)


def bind_to(manifest: bytes) -> bytes:
    """Return what the secrets are bound to: all that the manifest says, with the digests of every
    item and the names of every artifact.
    """
    return hashlib.sha256(manifest).hexdigest().encode()


def decode_manifest(body: bytes) -> Manifest:
    """Return a manifest; `BackendError` EDAMAGED when it is none, EFORMAT for one of a newer
    format.
    """
    try:
        raw = orjson.loads(body)
        if not isinstance(raw, dict) or raw.get("kind") != KIND:
            raise ValueError("it is no manifest")
        require_version(raw.get("version"))
        manifest = _MANIFEST.convert(raw)
        if set(manifest.parts) != set(PARTS) or len(manifest.missing) > MISSING_MOST:
            raise ValueError("it has other parts")
        if not (0 <= manifest.began <= LATEST and 0 <= manifest.ended <= LATEST):
            raise ValueError("it was made at no time")
    except (ValueError, RecursionError):
        raise make_damage_error("its manifest cannot be read") from None
    return manifest


def require_version(version: object) -> None:
    """Raise `BackendError` EFORMAT for a backup of a newer format."""
    if isinstance(version, int) and version > VERSION:
        raise BackendError(
            "EFORMAT",
            f"the backup has format {version}, and this version reads up to {VERSION}",
            suggestion="restore it with the newer version of uncaged that made it",
        )
    if version != VERSION or isinstance(version, bool):
        raise make_damage_error("its format has no number")


def make_damage_error(what: str) -> BackendError:
    """Return the error for a file that cannot be what was written."""
    return BackendError(
        "EDAMAGED",
        f"the backup cannot be used: {what}",
        suggestion="take another copy of it, or another backup; nothing was changed",
    )
