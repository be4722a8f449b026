"""Backups of the store in the data folder, each checked when it was made: those of the newest three
upgrades, and of the last attempt that failed.

A store in a file is copied as it is, with its secrets, so that it can take its place again. Any
other one is saved as `uncaged backup` does.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import orjson

from functions.backup.saving import LastBackup, note_backup, save_backup
from functions.settings import Settings
from sigil.errors import BackendError
from sigil.settings import describe_changed_settings, installed_version
from sigil.storage.files import OURS, make_write_error, write_whole
from sigil.storage.kv.sqlite import SqliteKV
from sigil.storage.kv.sqlite_backup import copy_store, read_formats, read_schema
from sigil.wiring import (
    artifacts_folder,
    data_folder,
    ignore_progress,
    open_stores,
    sqlite_path,
)

FOLDER = "backups"
STORE = "uncaged.db"
ARCHIVE = "uncaged.zip"
ARTIFACTS = "artifacts"
FACTS = "backup.json"
SERVED = "became"
"""The field of `FACTS` with the version that an upgrade brought."""
KEPT = 3
NAME = re.compile(r"\d{8}T\d{6}Z-[0-9A-Za-z.+]{1,40}(-\d{1,3})?")
UNFINISHED = ".unfinished-"
ARTIFACT_NAME = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy of a SQLite store with its artifacts and settings, or a file of `uncaged backup`, in a
    folder of its own.
    """

    folder: Path

    @property
    def store(self) -> Path:
        """Return the copy of the store."""
        return self.folder / STORE

    @property
    def archive(self) -> Path:
        """Return the file of a store that is not in a file itself."""
        return self.folder / ARCHIVE

    @property
    def artifacts(self) -> Path:
        """Return the folder of the artifacts; it is empty where they are elsewhere."""
        return self.folder / ARTIFACTS

    @property
    def schema(self) -> int:
        """Return the version of the store's schema."""
        return read_schema(self.store)

    @property
    def has_served(self) -> bool:
        """Return whether the upgrade that it was made for succeeded."""
        return bool(self._read_facts().get(SERVED))

    def note_success(self, version: str) -> None:
        """Write down which version the upgrade brought."""
        _write_facts(self.folder, {**self._read_facts(), SERVED: version})

    def _read_facts(self) -> dict[str, object]:
        """Return what it tells of itself; nothing when it does not, as one that is an archive."""
        try:
            facts = orjson.loads((self.folder / FACTS).read_bytes())
        except (OSError, ValueError):
            return {}
        return facts if isinstance(facts, dict) else {}

    def drop(self) -> None:
        """Remove it."""
        shutil.rmtree(self.folder)


def make_backup(settings: Settings) -> Backup | None:
    """Copy the store, its artifacts and the settings without secrets.

    None when there is nothing to copy.
    """
    path = sqlite_path(settings)
    if settings.store == "memory://" or (path and not path.is_file()):
        return None
    folder = data_folder(settings) / FOLDER
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        for left in folder.glob(f"{UNFINISHED}*"):
            # a backup that was killed; whoever makes one holds the lock of the upgrade
            shutil.rmtree(left)
        name = _choose_name(folder)
        draft = folder / f"{UNFINISHED}{name}"
        draft.mkdir(mode=0o700)
        try:
            if path:
                _copy_file(settings, path, draft, f"{FOLDER}/{name}")
            else:
                save_backup(
                    settings,
                    open_stores(settings),
                    draft / ARCHIVE,
                    ignore_progress,
                    is_exact=True,  # it is what an upgrade goes back to
                )
            draft.replace(folder / name)
        except BaseException:
            with suppress(OSError):
                shutil.rmtree(draft)
            raise
    except OSError as problem:
        raise make_write_error(folder, problem) from None
    return Backup(folder / name)


def _copy_file(settings: Settings, path: Path, draft: Path, name: str) -> None:
    """Copy a store that is a file, and let it tell when that was."""
    copy_store(path, draft / STORE)
    # after the store, so that whatever the copy refers to is there
    link_artifacts(artifacts_folder(settings), draft / ARTIFACTS)
    _write_facts(draft, _describe(settings, path))
    formats = read_formats(draft / STORE)
    if formats.is_readable:
        kv = SqliteKV(path)
        note_backup(kv, LastBackup(at=time.time(), file=name, items=formats.items))
        kv.close()


def forget_old_backups(settings: Settings) -> None:
    """Remove all but those of the newest three upgrades and of the last attempt that failed: no
    number of failures pushes out a good one.
    """
    backups = list_backups(settings)
    good = [backup for backup in backups if backup.has_served]
    others = [backup for backup in backups if not backup.has_served]
    for backup in (*good[:-KEPT], *others[:-1]):
        with suppress(OSError):
            backup.drop()


def list_backups(settings: Settings) -> list[Backup]:
    """Return the complete backups of a data folder, the oldest first."""
    folder = settings.data_folder / FOLDER
    if not folder.is_dir() or folder.is_symlink():
        return []
    found = [
        path
        for path in folder.iterdir()
        if NAME.fullmatch(path.name) and path.is_dir() and not path.is_symlink()
    ]
    return [Backup(path) for path in sorted(found)]


def link_artifacts(source: Path | None, target: Path, *, is_copy: bool = False) -> None:
    """Give every artifact a second name in another folder: their bytes never change.

    On another disk they are copied, and with `is_copy`: for somebody who might change them.
    """
    target.mkdir(mode=0o700)
    if source is None or not source.is_dir():
        return
    for part in source.iterdir():
        if part.is_symlink() or not part.is_dir():
            continue
        for body in part.iterdir():
            if not ARTIFACT_NAME.fullmatch(body.name) or body.is_symlink():
                continue
            (target / part.name).mkdir(mode=0o700, exist_ok=True)
            copy = target / part.name / body.name
            try:
                if is_copy or not _link(body, copy):
                    shutil.copyfile(body, copy)
                    copy.chmod(OURS)
            except FileNotFoundError:
                continue  # it was removed meanwhile, so nothing in the store names it


def _link(body: Path, copy: Path) -> bool:
    """Give a file a second name, and return whether its disk can."""
    try:
        os.link(body, copy)
    except FileNotFoundError:
        raise
    except OSError:
        return False
    return True


def _choose_name(folder: Path) -> str:
    at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    name = f"{at}-{installed_version()}"
    number = 1
    while (folder / name).exists():
        number += 1
        if number > 999:
            raise BackendError("EUNAVAILABLE", f"{folder} has too many backups of this second")
        name = f"{at}-{installed_version()}-{number}"
    return name


def _write_facts(folder: Path, facts: dict[str, object]) -> None:
    body = orjson.dumps(facts, option=orjson.OPT_INDENT_2) + b"\n"
    write_whole(folder / FACTS, body, OURS, durable=True)


def _describe(settings: Settings, path: Path) -> dict[str, object]:
    """Return what a backup tells of itself; of a secret only that it was set."""
    return {
        "version": installed_version(),
        "store": str(path),
        "artifacts": str(artifacts_folder(settings) or settings.artifacts),
        "settings": {name: value for name, value, _ in describe_changed_settings(settings)},
    }
