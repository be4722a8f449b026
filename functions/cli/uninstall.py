"""`uncaged uninstall`: removes the service and, when asked, exactly what this program stored in its
data folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from functions.backup.restoring import UNFINISHED as DRAFT
from functions.cli.setup.container import NAME, find_containers
from functions.cli.setup.questions import Questions
from functions.cli.setup.service import MARK, UserServices, find_user_services, remove_service
from functions.cli.upgrade.backup import NAME as BACKUP
from functions.cli.upgrade.backup import UNFINISHED
from functions.cli.upgrade.installation import find_installation
from functions.settings import Settings
from sigil.cli.printing import Printer
from sigil.cli.times import format_count
from sigil.errors import BackendError, Refused, SigilError
from sigil.settings import without_userinfo
from sigil.storage.files import make_write_error
from sigil.storage.kv.sqlite_backup import count_items, read_schema, require_unused
from sigil.wiring import artifacts_folder, sqlite_path

_STORE = r"uncaged\.db(-wal|-shm|-journal)?"
_ARTIFACT = r"artifacts/[0-9a-f]{2}/([0-9a-f]{64}|tmp[a-z0-9_]{8})"
_COPY = rf"backups/({BACKUP.pattern}|{re.escape(UNFINISHED)}[^/]+)"
_DRAFT = rf"{re.escape(DRAFT)}[a-z0-9_]{{8}}"
_COMPILERS = r"compiled/(c|assemblyscript|rust)"
KINDS: Mapping[str, re.Pattern[str]] = {
    "store": re.compile(rf"({_DRAFT}/)?{_STORE}"),
    "artifacts": re.compile(_ARTIFACT),
    "token": re.compile(r"token"),
    "compiled code": re.compile(
        rf"compiled/([0-9a-f]{{64}}\.code|key|\.[a-z0-9_]{{8}}\.part)|{_COMPILERS}/.+"
    ),
    "locks": re.compile(r"locks/[0-9a-f]{32}"),
    "backups": re.compile(rf"{_COPY}/({_STORE}|{_ARTIFACT}|backup\.json|uncaged\.zip)"),
}
"""The files that this program makes in its data folder, by kind: their paths within it."""
_FOLDERS = re.compile(
    rf"(artifacts|{_COPY}/artifacts)(/[0-9a-f]{{2}})?|compiled|{_COMPILERS}(/.+)?|locks|backups"
    rf"|{_COPY}|{_DRAFT}"
)
_NAMED = 10
"""The files of others that are named; the rest is counted."""


@dataclass(frozen=True, slots=True)
class DataFiles:
    """What is in a data folder: our files by kind, and the paths of everything else."""

    folder: Path
    ours: Mapping[str, list[Path]]
    others: list[Path]

    def list_sizes(self) -> dict[str, tuple[int, int]]:
        """Return how many files there are of each kind, and their bytes."""
        return {
            kind: (len(paths), sum(path.lstat().st_size for path in paths))
            for kind, paths in self.ours.items()
        }


def run_uninstall(questions: Questions, *, data: bool, dry_run: bool) -> int:
    """Remove the service, and with `data` what is in the data folder; tell how the package is
    removed. `dry_run`: only tell.
    """
    printer = questions.printer
    settings = Settings.read()
    installation = find_installation()
    services = _find_own_service(printer)
    containers = find_containers()
    if containers and not containers.state:
        containers = None
    found = find_data_files(settings) if data else None
    if services:
        printer.note(f"the service: {services.unit}")
    if containers:
        printer.note(f"the container: {NAME}")
    if found:
        _print_files(printer, found, settings)
        if not dry_run and not questions.yes:
            question = f"Remove {_describe(found)} from {found.folder}?"
            if not questions.confirm(question, default=False):
                raise SigilError("EDECLINED", "nothing was removed")
    sizes = {kind: size for kind, (_, size) in found.list_sizes().items()} if found else {}
    if not dry_run:
        remove_service(printer, services, containers)
        if found:
            description = _describe(found)
            remove_data_files(found)
            printer.note(f"removed from {found.folder}: {description}")
    if not data:
        printer.note(f"what it stored stays in {settings.data_folder}; --data removes it")
    own = Settings.find_own_file()
    if own.exists():
        printer.note(f"your settings stay: {own} (they may have keys)")
    row: dict[str, object] = {
        "removed": not dry_run,
        "service": services is not None or containers is not None,
        "data": sizes,
        "others": [str(path) for path in found.others] if found else [],
        "package": installation.removal,
    }
    last = f"the package itself: {installation.removal}"
    printer.result(row, f"nothing was removed; {last}" if dry_run else last)
    return 0


def find_data_files(settings: Settings) -> DataFiles:
    """Return what is in the data folder; `Refused` for a folder that holds more than our data."""
    folder = settings.data_folder.absolute()
    home = Path.home().resolve()
    if folder.is_symlink() or folder.resolve() in (home, *home.parents):
        what = "a link to a folder" if folder.is_symlink() else "no folder of this program alone"
        raise Refused(
            "EUNSAFE",
            f"{folder} is {what}; nothing was removed",
            suggestion="remove uncaged.db, artifacts, compiled, locks, backups and token yourself",
        )
    ours: dict[str, list[Path]] = {kind: [] for kind in KINDS}
    others = []
    is_ours = _is_our_store(folder / "uncaged.db")
    for place, folders, names in os.walk(folder):
        for name in sorted([*names, *folders]):
            path = Path(place) / name
            if path.is_dir() and not path.is_symlink():
                continue
            kind = "" if path.is_symlink() or not path.is_file() else _find_kind(folder, path)
            if not kind or (kind == "store" and not is_ours):
                others.append(path)
            else:
                ours[kind].append(path)
    return DataFiles(folder, {kind: paths for kind, paths in ours.items() if paths}, others)


def remove_data_files(found: DataFiles) -> None:
    """Remove our files, and the folders of ours that are empty then.

    `Refused` while another process uses the store.
    """
    store = found.folder / "uncaged.db"
    if store in found.ours.get("store", []):
        require_unused(store)
    try:
        for paths in found.ours.values():
            for path in paths:
                path.unlink(missing_ok=True)
    except OSError as problem:
        raise make_write_error(found.folder, problem) from None
    for place, _, _ in os.walk(found.folder, topdown=False):
        within = Path(place).relative_to(found.folder).as_posix()
        if within == "." or _FOLDERS.fullmatch(within):
            with suppress(OSError):  # it is not empty
                os.rmdir(place)


def _find_kind(folder: Path, path: Path) -> str:
    within = path.relative_to(folder).as_posix()
    return next((kind for kind, pattern in KINDS.items() if pattern.fullmatch(within)), "")


def _is_our_store(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    try:
        read_schema(path)
    except SigilError:
        return False
    return True


def _find_own_service(printer: Printer) -> UserServices | None:
    """Return the service that `uncaged setup` made; somebody else's unit stays and is named."""
    services = find_user_services()
    if services is None or not services.unit.is_file():
        return None
    if services.unit.read_text(errors="replace").startswith(MARK):
        return services
    printer.note(f"{services.unit} stays: `uncaged setup` did not write it")
    return None


def _print_files(printer: Printer, found: DataFiles, settings: Settings) -> None:
    printer.note(f"the data folder: {found.folder}")
    for kind, (count, size) in found.list_sizes().items():
        printer.note(f"{kind}: {format_count(count, 'file')}, {size:,} bytes")
    for path in found.others[:_NAMED]:
        printer.note(f"stays, as it is not ours: {path}")
    if len(found.others) > _NAMED:
        printer.note(f"and {format_count(len(found.others) - _NAMED, 'more file')} stay")
    store = sqlite_path(settings)
    if store is None or store.parent.absolute() != found.folder:
        printer.note(f"the store stays: {store or without_userinfo(settings.store)}")
    artifacts = artifacts_folder(settings)
    if settings.artifacts and (artifacts or settings.artifacts.startswith("s3://")):
        printer.note(f"the artifacts stay: {artifacts or settings.artifacts}")


def _describe(found: DataFiles) -> str:
    """Return what is removed in one line: how much of it, and how many chats."""
    sizes = found.list_sizes().values()
    files = format_count(sum(count for count, _ in sizes), "file")
    text = f"{files} ({sum(size for _, size in sizes):,} bytes)"
    store = found.folder / "uncaged.db"
    if store in found.ours.get("store", []) and store.exists():
        with suppress(BackendError):  # one of a newer version may be in another form
            return f"{format_count(count_items(store, 'session#', 'head'), 'chat')} in {text}"
    return text
