"""Redaction takes secrets out of what a backup has: where somebody wrote one into a document, a
message or a file, its name stands there, as in an export.

A body is named by its digest. So a body that is changed gets another name, and what names it is
changed with it. Compiled code cannot be changed: it is left out.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import orjson

from functions.backup import contents
from functions.settings import Settings
from sigil.catalog.audit import Audit
from sigil.errors import BackendError
from sigil.json_fields import as_mapping, as_sequence
from sigil.run.host_calls.scrubbing import Values, scrub, scrub_text
from sigil.storage.artifacts import Artifacts, artifact_name
from sigil.storage.kv import KV, Key, keys
from sigil.storage.kv.base import ScannedItem
from sigil.storage.kv.update import scan_all
from sigil.storage.setting_secrets import find_known, reveal
from sigil.wiring import data_folder

TOKEN: Final = "token"
"""The file of the data folder with the admin's token."""
MIN_SECRET: Final = 8
"""A shorter value is a word that texts have by chance."""
_WASM: Final = b"\0asm"
_PACKED: Final = b"x"
"""How what zlib compressed begins."""


def read_token(settings: Settings) -> str:
    """Return the admin's token that this machine has made, empty where a setting has one."""
    path = data_folder(settings) / TOKEN
    if settings.token or not path.is_file():
        return ""
    return path.read_text(encoding="ascii").strip()


def list_secret_values(settings: Settings, kv: KV) -> dict[str, str]:
    """Return the secrets of the settings and of capabilities by name.

    `BackendError` for a setting whose secret is elsewhere and cannot be read.
    """
    found = {
        facts.name: reveal(value)
        for facts, value in settings.list_values()
        if facts.secret and value
    }
    found.setdefault("UNCAGED_TOKEN", read_token(settings))
    for namespace in Audit(kv).list_namespaces():
        for name, item in scan_all(kv, keys.secret(namespace, "").partition):
            value = _read_object(item.value).get("value")
            if isinstance(value, str):
                found[name if name not in found else f"{name}_{len(found)}"] = find_known(value)
    return {name: value for name, value in found.items() if len(value) >= MIN_SECRET}


@dataclass(slots=True)
class Redactor:
    """Takes secrets out of items and bodies, and knows which bodies have another name since.

    `items` counts the items that were changed or left out. `withheld` are the names of the bodies
    of compiled code that are left out.
    """

    values: Values
    kv: KV
    artifacts: Artifacts
    items: int = 0
    withheld: set[str] = field(default_factory=set)
    _renamed: dict[str, str] = field(default_factory=dict)
    _known: set[bytes] = field(default_factory=set)

    def redact_item(self, item: ScannedItem) -> ScannedItem | None:
        """Return an item without secrets, None for one whose key has one."""
        if not self.values:
            return item
        names = {
            name: new
            for name in contents.find_artifacts(item, is_trusted=True)
            if (new := self._rename_artifact(name)) != name
        }
        names |= self._rename_skill_files(item)
        place = f"{item.key.partition}\0{item.key.sort}\0".encode(errors="surrogatepass")
        body = _unpack(item.value)
        if not names and scrub(place + body, self.values) == place + body:
            return item
        self.items += 1
        if scrub(place, self.values) != place:
            return None
        redacted = self._redact_text(body)
        for old, new in names.items():
            redacted = redacted.replace(old.encode(), new.encode())
        value = zlib.compress(redacted, 1) if body is not item.value else redacted
        key = item.key
        if contents.kind_of(key) == "skill-file":
            key = Key(key.partition, hashlib.sha256(value).hexdigest())
        return replace(item, key=key, value=value)

    def redact_artifact(self, name: str, body: bytes) -> tuple[str, bytes]:
        """Return a body without secrets, and its name."""
        if name not in self._renamed:
            return name, body
        redacted = self._redact_body(body)
        return artifact_name(redacted), redacted

    def _rename_artifact(self, name: str) -> str:
        """Return the name of a body without its secrets; it is read when it is first named."""
        digest = bytes.fromhex(name)
        if digest in self._known:
            return self._renamed.get(name, name)
        self._known.add(digest)
        try:
            body = self.artifacts.get(name)
        except BackendError:
            return name  # it is told as missing where it would be written
        redacted = self._redact_body(body)
        if redacted == body:
            return name
        if body.startswith(_WASM):
            self.withheld.add(name)
            return name
        self._renamed[name] = artifact_name(redacted)
        return self._renamed[name]

    def _rename_skill_files(self, item: ScannedItem) -> dict[str, str]:
        """Return the new digests of the files that stand beside a skill's text, by the old ones."""
        kind, _, scope = item.key.partition.partition("#")
        if kind not in ("doc", "doc-version") or b'"files"' not in item.value:
            return {}
        renamed = {}
        for row in as_sequence(_read_object(item.value).get("files")):
            digest = str(as_mapping(row).get("digest"))
            stored = self.kv.get(keys.skill_file(scope, digest))
            if stored:
                redacted = self._redact_text(stored.value)
                if redacted != stored.value:
                    renamed[digest] = hashlib.sha256(redacted).hexdigest()
        return renamed

    def _redact_body(self, body: bytes) -> bytes:
        text = _unpack(body)
        redacted = self._redact_text(text)
        if redacted == text:
            return body
        return redacted if text is body else zlib.compress(redacted, 1)

    def _redact_text(self, text: bytes) -> bytes:
        """Return a text without secrets; JSON stays JSON."""
        redacted = scrub(text, self.values)
        if redacted == text or text[:1] not in (b"{", b"[", b'"'):
            return redacted
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            return redacted
        try:
            orjson.loads(redacted)
        except orjson.JSONDecodeError:
            # a number, or what stands between two texts, reads as the secret
            return orjson.dumps(self._redact_value(value))
        return redacted

    def _redact_value(self, value: object) -> object:
        if isinstance(value, str):
            return scrub_text(value, self.values)
        if isinstance(value, list):
            return [self._redact_value(each) for each in value]
        if isinstance(value, dict):
            return {
                scrub_text(name, self.values): self._redact_value(each)
                for name, each in value.items()
            }
        return value


def _unpack(value: bytes) -> bytes:
    """Return what a value is without its compression, or the value itself."""
    if value[:1] != _PACKED:
        return value
    try:
        return zlib.decompress(value)
    except zlib.error:
        return value


def _read_object(value: bytes) -> Mapping[str, object]:
    try:
        return as_mapping(orjson.loads(value))
    except orjson.JSONDecodeError:
        return {}
