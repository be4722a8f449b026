"""One version of a capability as it is stored, and a name's head with it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Final, Literal

import orjson
from pydantic import BaseModel

from sigil.catalog import heads
from sigil.catalog.heads import HeadState
from sigil.manifest.languages import BUNDLE, HOST
from sigil.manifest.model import STORED, Manifest
from sigil.protocol import Offer, add_examples
from sigil.storage.kv import ABSENT, Expect
from sigil.storage.stored import Shape, Stored, damaged

STORED_WEB = "GET,HEAD *"
"""How `permissions.web` is stored: as one of `http`, which no manifest can ask for.

Version 0.1.0 refuses records with a field that it does not know, and lists none that stand beside
them. It reads this one, and then refuses the capability's requests.
"""


@dataclass(frozen=True, slots=True)
class Record(Stored):
    """One version of a capability.

    `wasm` and `source` name artifacts, and `size` counts their bytes; times are seconds since 1970.
    `store` is the chat's namespace in which its own store began, when it was published from there;
    it is empty for its own namespace.
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
        """The offer to a caller; its description carries the examples, for people who search."""
        manifest = self.manifest
        return Offer(
            self.name,
            self.version,
            self.digest,
            add_examples(manifest.description, manifest.examples),
            manifest.input,
            manifest.pure,
            manifest.kind,
            background=manifest.is_background,
        )


@dataclass(frozen=True, slots=True)
class Head:
    """A name's active record and its state; `token` is the store's version of the head itself."""

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
        """True when the version that would run is yanked, since no other could take its place."""
        return self.record.version in self.state.yanked


def _read_manifest(kind: type, raw: object) -> object:
    """Read the manifest within a record, with the fields of it that a newer version wrote."""
    if kind is Manifest:
        return Manifest.model_validate_json(
            orjson.dumps(_read_bundle(_read_web(raw))), strict=True, extra="allow", context=STORED
        )
    raise NotImplementedError(kind)


_RECORD: Final = Shape[Record](Record, read_part=_read_manifest)
_PLAIN_FIELDS: Final = tuple(
    each.name for each in fields(Record) if each.name not in ("manifest", "_rest")
)


def encode(record: Record) -> bytes:
    """Return the record as JSON."""
    fields = {name: getattr(record, name) for name in _PLAIN_FIELDS}
    dumped = record.manifest.model_dump(mode="json", exclude_unset=True)
    manifest = _store_bundle(_store_web(_add_extra(record.manifest, dumped)))
    return orjson.dumps({**fields, "manifest": manifest, **(record._rest or {})})


def _store_web(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a dumped manifest with `permissions.web` as it is stored, see `STORED_WEB`."""
    permissions = dict(manifest.get("permissions") or {})
    if not permissions.pop("web", False):
        return manifest
    http = [STORED_WEB, *permissions.get("http", ())]
    return {**manifest, "permissions": {**permissions, "http": http}}


def _read_web(raw: object) -> object:
    """Return a stored manifest with `permissions.web` where `_store_web` put it among `http`."""
    permissions = raw.get("permissions") if isinstance(raw, dict) else None
    http = permissions.get("http") if isinstance(permissions, dict) else None
    if not isinstance(raw, dict) or not isinstance(permissions, dict):
        return raw
    if not isinstance(http, list) or STORED_WEB not in http:
        return raw
    others = {name: value for name, value in permissions.items() if name != "http"}
    rules = [rule for rule in http if rule != STORED_WEB]
    if rules:
        others["http"] = rules
    return {**raw, "permissions": {**others, "web": True}}


def _store_bundle(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a dumped manifest with the members of a bundle as they are stored.

    Version 0.1.0 knows no bundles. It reads a function of the agent that requires its members,
    which no manifest can ask for, and offers what nobody answers.
    """
    if manifest.get("lang") != BUNDLE:
        return manifest
    others = {name: value for name, value in manifest.items() if name != "members"}
    return {**others, "lang": HOST, "requires": manifest["members"]}


def _read_bundle(raw: object) -> object:
    """Return a stored manifest as it was before `_store_bundle`."""
    if not isinstance(raw, dict) or raw.get("lang") != HOST or not raw.get("requires"):
        return raw
    others = {name: value for name, value in raw.items() if name != "requires"}
    return {**others, "lang": BUNDLE, "members": raw["requires"]}


def _add_extra(model: BaseModel, dumped: dict[str, Any]) -> dict[str, Any]:
    """Return a dumped model with the fields that it does not know, those of its parts too."""
    for name in dumped.keys() & model.model_fields_set:
        part = getattr(model, name)
        if isinstance(part, BaseModel):
            dumped[name] = _add_extra(part, dumped[name])
        elif isinstance(part, tuple) and part and isinstance(part[0], BaseModel):
            rows = zip(part, dumped[name], strict=True)
            dumped[name] = [_add_extra(each, row) for each, row in rows]
    return {**dumped, **(model.model_extra or {})}


def decode(data: bytes) -> Record:
    """Return the record that `encode` wrote; `BackendError` EDAMAGED for anything else."""
    try:
        return _RECORD.read(data)
    except ValueError:
        raise damaged() from None


@lru_cache(maxsize=1024)
def parse_head(data: bytes, token: str) -> Head:
    """Return the head that is stored as `data` under the store's version `token`."""
    state, fields = heads.decode_head(data)
    return Head(decode(heads.encode_record(fields)), state, token)


def expect_head(head: Head | None) -> Expect:
    """Return the `expect` for a write over `head`, which is None when there is none."""
    return head.token if head else ABSENT
