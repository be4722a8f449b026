"""`uncaged backup` and `uncaged restore`: a whole deployment in one file, and back."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import typer

from functions.backup.archive import ArchiveReader
from functions.backup.encryption import require_passphrase
from functions.backup.format import Manifest
from functions.backup.restoring import NO_SECRETS, open_secrets, restore_backup, verify_backup
from functions.backup.saving import save_backup
from functions.backup.settings_text import format_settings
from functions.settings import Settings
from sigil.cli.printing import Printer
from sigil.cli.times import format_count, format_time
from sigil.errors import Refused, UsageError
from sigil.settings import read_variable
from sigil.storage import files
from sigil.wiring import open_stores

PASSPHRASE_BYTES = 8_192
NOTE_SECONDS = 2.0
"""A terminal is told how far it is so often."""
QUEUED = "what waits in SQS is not in a backup: `uncaged inbox list` counts it"
SENT_AGAIN = (
    "replies that had not left at the backup leave from here too, once a server runs: stop the"
    " deployment that it was made of first, or they are sent twice"
)


@dataclass(frozen=True, slots=True)
class PassphraseSource:
    """Where a passphrase comes from: a file, a variable of the environment, or else a prompt."""

    file: Path | None = None
    variable: str = ""

    def read(self, *, again: bool) -> str:
        """Return the passphrase; a person types it twice where it is to be typed `again`."""
        if self.file is not None:
            try:
                body = files.read_bounded(self.file, PASSPHRASE_BYTES)
                return body.decode().splitlines()[0]
            except (OSError, ValueError, IndexError):
                raise UsageError("EREAD", f"{self.file} has no passphrase") from None
        if self.variable:
            value = read_variable(self.variable)
            if not value:
                raise UsageError("EUSAGE", f"the variable {self.variable} has no passphrase")
            return value
        if not sys.stdin.isatty():
            raise UsageError(
                "EUSAGE",
                "this asks for a passphrase, and stdin is no terminal",
                suggestion="--passphrase-file FILE, or --passphrase-from VARIABLE",
            )
        return str(typer.prompt("Passphrase", hide_input=True, confirmation_prompt=again, err=True))


def run_backup(
    printer: Printer, path: Path, *, secrets: bool = False, passphrase: PassphraseSource
) -> int:
    """Write a deployment into a new file."""
    settings = Settings.read()
    if settings.store == "memory://":
        raise UsageError(
            "EUSAGE", "a store in memory ends with its process, so there is nothing to back up"
        )
    words = require_passphrase(passphrase.read(again=True)) if secrets else ""
    with printer.progress("making a backup"):
        saved = save_backup(settings, open_stores(settings), path, _tell(printer), passphrase=words)
    manifest = saved.manifest
    lost = len(manifest.missing) - saved.withheld
    if lost > 0:
        printer.note(
            f"{format_count(lost, 'artifact')} that items name are not in the"
            " store, and so not in the backup: `sigil doctor` says more"
        )
    if manifest.queue:
        printer.note(QUEUED)
    if not secrets:
        printer.note("without secrets: --secrets adds them, under a passphrase")
    if saved.redacted:
        printer.note(
            f"{format_count(saved.redacted, 'item')} had a secret in a text, or in their name:"
            " its own name stands there, or the item is left out"
        )
    if saved.withheld:
        printer.note(
            f"{format_count(saved.withheld, 'module')} with a secret in the code are left out, so"
            " that their capabilities do not run after a restore: --secrets keeps them"
        )
    row = {"file": str(path), "bytes": saved.bytes, "sha256": saved.digest}
    printer.result(
        {**row, **_describe(manifest), "redacted": saved.redacted, "withheld": saved.withheld},
        f"{path}: {_count(manifest)}, {saved.bytes:,} bytes",
    )
    return 0


def run_restore(
    printer: Printer,
    path: Path,
    *,
    replace: bool = False,
    secrets: bool = False,
    dry_run: bool = False,
    settings_file: Path | None = None,
    passphrase: PassphraseSource,
) -> int:
    """Put a backup into the store of the settings, and its settings into a new file; or only verify
    it.
    """
    settings = Settings.read()
    if settings.store == "memory://" and not dry_run:
        raise UsageError(
            "EUSAGE",
            "a store in memory ends with this process, so nothing can be restored into it",
            suggestion="set UNCAGED_STORE to the store that is to be filled",
        )
    if settings_file is not None and os.path.lexists(settings_file):
        raise Refused(
            "EEXIST",
            f"{settings_file} exists already",
            suggestion="choose another name for the settings, and compare the two",
        )
    with ArchiveReader(path) as reader:
        manifest = reader.manifest
        if secrets and not manifest.secrets:
            raise UsageError("EUSAGE", f"{path} has no secrets", suggestion="leave out --secrets")
        words = passphrase.read(again=False) if secrets else ""
        watch = _tell(printer)
        with printer.progress("checking the backup"):
            verify_backup(reader, watch)
            opened = open_secrets(reader, words) if secrets else NO_SECRETS
        made = f"made {format_time(manifest.ended)} by uncaged {manifest.made_by}"
        printer.note(f"{path} is whole: {_count(manifest)}, {made}")
        row: dict[str, object] = {"file": str(path), "sha256": reader.digest}
        if dry_run:
            printer.result({**row, **_describe(manifest), "restored": False}, "nothing was changed")
            return 0
        with printer.progress("restoring"):
            restored = restore_backup(settings, reader, opened, watch, replaces=replace)
    if manifest.secrets and not secrets:
        printer.note("its secrets were left out: --secrets restores them too")
    if settings_file is not None:
        text = format_settings(manifest.settings, opened.settings)
        files.write_whole(settings_file, text.encode(), files.OURS, durable=True)
        printer.note(f"its settings are in {settings_file}; look at them before you use them")
    elif manifest.settings:
        printer.note("its settings are not set here: --settings FILE writes them into a file")
    if restored.ended:
        printer.note(f"{format_count(restored.ended, 'item')} had ended since, and are left out")
    printer.note(SENT_AGAIN)
    printer.result(
        {
            **row,
            **_describe(manifest),
            "restored": True,
            "replaced": restored.replaced,
            "ended": restored.ended,
        },
        f"restored: {format_count(restored.items, 'item')},"
        f" {format_count(restored.artifacts, 'artifact')},"
        f" {format_count(restored.secrets, 'secret')}",
    )
    return 0


def _tell(printer: Printer) -> Callable[[str], None]:
    """Return what tells a person at a terminal how far it is, now and then."""
    told = time.monotonic()

    def tell(text: str) -> None:
        nonlocal told
        if printer.json or not sys.stderr.isatty() or time.monotonic() - told < NOTE_SECONDS:
            return
        told = time.monotonic()
        printer.note(text)

    return tell


def _count(manifest: Manifest) -> str:
    words = [
        format_count(manifest.items, "item"),
        format_count(manifest.artifacts, "artifact"),
        "with secrets" if manifest.secrets else "without secrets",
    ]
    return ", ".join(words)


def _describe(manifest: Manifest) -> dict[str, object]:
    return {
        "items": manifest.items,
        "artifacts": manifest.artifacts,
        "artifact_bytes": manifest.artifact_bytes,
        "missing": len(manifest.missing),
        "secrets": manifest.secrets,
        "made_by": manifest.made_by,
        "began": manifest.began,
        "ended": manifest.ended,
        "store": manifest.store,
    }
