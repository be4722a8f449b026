"""Make a backup of a deployment, while it serves."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import orjson

from functions.backup import contents
from functions.backup.archive import ARTIFACTS_MOST, ArchiveWriter, hash_names
from functions.backup.encryption import encrypt, require_passphrase
from functions.backup.format import (
    ARTIFACT_BYTES,
    KIND,
    MISSING_MOST,
    PARTS,
    SECRETS_BYTES,
    VERSION,
    Manifest,
    PartFacts,
    bind_to,
    encode_manifest,
)
from functions.backup.redaction import Redactor, list_secret_values, read_token
from functions.settings import Settings
from sigil.errors import BackendError
from sigil.settings import describe_changed_settings, installed_version
from sigil.storage.kv import KV, Key, keys
from sigil.storage.kv.base import ScannedItem
from sigil.storage.kv.restoration import require_restored
from sigil.storage.stored import FORMAT, Shape, Stored, dumps
from sigil.wiring import Stores

EVERY: Final = 1_000
"""Progress is told after so many items."""
Watch = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SavedBackup:
    """A backup that was made: its file, the digest of that, and what is in it.

    In `redacted` items a secret was replaced by its name, and `withheld` bodies of compiled code
    have one and are left out.
    """

    path: Path
    digest: str
    bytes: int
    manifest: Manifest
    redacted: int = 0
    withheld: int = 0


@dataclass(frozen=True, slots=True)
class LastBackup(Stored):
    """What a store tells of its last backup; `at` in seconds since 1970."""

    at: float
    file: str
    items: int


_LAST: Final = Shape[LastBackup](LastBackup)


@dataclass(slots=True)
class _Tally:
    """What was found while the items were read."""

    names: set[bytes] = field(default_factory=set)
    formats: dict[str, int] = field(default_factory=dict)

    def add(self, item: ScannedItem) -> None:
        self.names.update(map(bytes.fromhex, contents.find_artifacts(item, is_trusted=True)))
        number = contents.format_of(item)
        if number > FORMAT:
            kind = contents.kind_of(item.key)
            self.formats[kind] = max(number, self.formats.get(kind, 0))


def save_backup(
    settings: Settings,
    stores: Stores,
    path: Path,
    watch: Watch,
    *,
    passphrase: str = "",
    is_exact: bool = False,
    clock: Callable[[], float] = time.time,
) -> SavedBackup:
    """Write a deployment into a new file, with its secrets if there is a passphrase for them.

    Without one, secrets that somebody wrote into documents, messages or files are replaced by
    their names, unless the backup `is_exact`: one that stays on this machine.

    Nothing has that name before it is whole. The store then tells when its last backup was made.
    `Refused` EDEGRADED for a store that is filled in part.
    """
    require_restored(stores.kv)
    if passphrase:
        require_passphrase(passphrase)
    began = clock()
    is_whole = bool(passphrase) or is_exact
    values = {} if is_whole else list_secret_values(settings, stores.kv)
    redactor = Redactor(values, stores.kv, stores.artifacts)
    with ArchiveWriter(path) as archive:
        tally = _Tally()
        secrets: list[ScannedItem] = []
        parts: dict[str, PartFacts] = {}
        waiting: set[Key] = set()
        for part in PARTS:
            with archive.write_part(part) as writer:
                for number, item in enumerate(contents.scan_part(stores.kv, part)):
                    if number % EVERY == 0:
                        watch(f"{part}: {number:,} items")
                    if contents.is_waiting(part):
                        if item.key in waiting:
                            continue
                        waiting.add(item.key)
                    if contents.kind_of(item.key) != contents.SECRET:
                        tally.add(item)
                        redacted = redactor.redact_item(item)
                        if redacted:
                            writer.write(redacted)
                    elif passphrase:
                        secrets.append(item)
            parts[part] = writer.facts
        names, size, missing = _write_artifacts(archive, redactor, tally.names, watch)
        manifest = Manifest(
            kind=KIND,
            version=VERSION,
            made_by=installed_version(),
            began=began,
            ended=clock(),
            agent=settings.agent,
            store=settings.store.partition("://")[0] or "sqlite",
            queue=settings.queue.partition("://")[0],
            parts=parts,
            artifacts=len(names),
            artifact_bytes=size,
            names=hash_names(names),
            formats=tally.formats,
            missing=tuple(missing[:MISSING_MOST]),
            settings=list_settings(settings),
            secrets=bool(passphrase),
        )
        if passphrase:
            body = _encode_secrets(settings, secrets)
            archive.write_secrets(encrypt(body, passphrase, bind_to(encode_manifest(manifest))))
        digest = archive.finish(manifest)
    note_backup(stores.kv, LastBackup(at=clock(), file=path.name, items=manifest.items))
    return SavedBackup(
        path,
        digest,
        path.stat().st_size,
        manifest,
        redacted=redactor.items,
        withheld=len(redactor.withheld),
    )


def note_backup(kv: KV, last: LastBackup) -> None:
    """Let a store tell when its last backup was made."""
    kv.put(keys.last_backup(), dumps(last))


def read_last_backup(kv: KV) -> LastBackup | None:
    """Return what a store tells of its last backup; None for a store that had none."""
    item = kv.get(keys.last_backup())
    try:
        return _LAST.read(item.value) if item else None
    except ValueError:
        return None


def list_settings(settings: Settings) -> Mapping[str, str]:
    """Return the settings that differ from their default; of a secret only that it was set."""
    return {name: value for name, value, _ in describe_changed_settings(settings)}


def _write_artifacts(
    archive: ArchiveWriter, redactor: Redactor, found: set[bytes], watch: Watch
) -> tuple[list[str], int, list[str]]:
    """Write the bodies that items name, and return the names of those that were there, their bytes,
    and the names of those that were not.
    """
    if len(found) > ARTIFACTS_MOST:
        raise BackendError(
            "ETOOBIG", f"a backup has at most {ARTIFACTS_MOST:,} artifacts, here are {len(found):,}"
        )
    names: list[str] = []
    missing: list[str] = []
    known: set[str] = set()
    size = 0
    for number, digest in enumerate(sorted(found)):
        if number % 100 == 0:
            watch(f"artifacts: {number:,} of {len(found):,}")
        name = digest.hex()
        if name in redactor.withheld:
            missing.append(name)
            continue
        try:
            body = redactor.artifacts.get(name)
        except BackendError as problem:
            # a damaged store is worth a backup, and what is erased meanwhile is meant to be gone
            if problem.code != "EDAMAGED":
                raise
            missing.append(name)
            continue
        if len(body) > ARTIFACT_BYTES:
            raise BackendError(
                "ETOOBIG", f"artifact {name[:12]} has {len(body):,} bytes, too many for a backup"
            )
        name, body = redactor.redact_artifact(name, body)
        if name in known:
            continue  # two bodies differed in a secret alone
        known.add(name)
        archive.write_artifact(name, body)
        names.append(name)
        size += len(body)
    return sorted(names), size, missing


def _encode_secrets(settings: Settings, found: Sequence[ScannedItem]) -> bytes:
    """Return the secrets of capabilities and of the settings, as JSON."""
    items = [
        {"partition": item.key.partition, "sort": item.key.sort, "text": item.value.decode()}
        for item in found
    ]
    values = {
        facts.name: value for facts, value in settings.list_values() if facts.secret and value
    }
    token = read_token(settings)
    if token:
        values["UNCAGED_TOKEN"] = token
    body = orjson.dumps({"items": items, "settings": values})
    if len(body) > SECRETS_BYTES // 2:
        raise BackendError(
            "ETOOBIG", f"the secrets have {len(body):,} bytes, too many for a backup"
        )
    return body
