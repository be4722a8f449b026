"""The trial of a new version: it starts once, over a copy of the store and without any settings
that reach others.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from functions.backup.archive import ArchiveReader
from functions.backup.restoring import NO_SECRETS, restore_backup
from functions.cli.upgrade.backup import ARTIFACTS, STORE, Backup, link_artifacts
from functions.settings import Settings
from sigil.errors import BackendError, one_line
from sigil.storage.files import make_write_error
from sigil.wiring import cache_folder, ignore_progress

TRIAL_SECONDS = 300.0
"""A start compiles the engine, on a slow machine for a minute, and reads the records."""
OF_THE_MACHINE = frozenset({"disk", "compilers", "environment"})
"""What the doctor finds that no version of ours changes."""
_READ_SETTINGS = "from functions.settings import Settings; Settings.read()"


def require_start(python: Path, settings: Settings, backup: Backup | None) -> None:
    """Start a new version over a copy of the store; `BackendError` when it does not start, does not
    take the settings, or finds a failure that this version does not find.
    """
    _run(python, ["-c", _READ_SETTINGS], None, None, "does not take the settings")
    with _copy(settings, backup) as folder:
        failures = _examine(python, settings, folder)
        if failures:
            known = _examine(Path(sys.executable), settings, folder)
            failures = {name: found for name, found in failures.items() if name not in known}
    if failures:
        found = "; ".join(f"{name}: {text}" for name, text in failures.items())
        raise BackendError("EUNAVAILABLE", one_line(f"the new version fails: {found}", 1_000))


@contextmanager
def _copy(settings: Settings, backup: Backup | None) -> Iterator[Path]:
    """Make a data folder with a copy of the backup, for the time of the trial."""
    place = backup.folder.parent if backup else None
    try:
        with tempfile.TemporaryDirectory(prefix=".unfinished-trial-", dir=place) as name:
            folder = Path(name)
            if backup and backup.archive.is_file():
                with ArchiveReader(backup.archive) as reader:
                    restore_backup(Settings(data=str(folder)), reader, NO_SECRETS, ignore_progress)
            elif backup:
                shutil.copyfile(backup.store, folder / STORE)
                (folder / STORE).chmod(0o600)
                link_artifacts(backup.artifacts, folder / ARTIFACTS)
            yield folder
    except OSError as problem:
        raise make_write_error(place or Path(tempfile.gettempdir()), problem) from None


def _examine(python: Path, settings: Settings, folder: Path) -> dict[str, str]:
    """Return what `uncaged doctor` of a version finds broken in a data folder, by the names of the
    checks.
    """
    cache = cache_folder(settings)
    environment = {
        **settings.surroundings,
        "XDG_CONFIG_HOME": str(folder / "no-settings"),
        "UNCAGED_DATA": str(folder),
        "UNCAGED_AGENT": settings.agent,
        # code is kept by its digest, so the next start finds what the trial compiled
        **({"UNCAGED_CACHE": str(cache.absolute())} if cache else {}),
    }
    words = ["-m", "functions.cli", "doctor", "--json"]
    answer = _run(python, words, environment, folder, "does not start")
    try:
        checks = json.loads(answer)["checks"]
        return {
            str(check["name"]): str(check["found"])
            for check in checks
            if check["state"] == "fail" and check["name"] not in OF_THE_MACHINE
        }
    except (ValueError, KeyError, TypeError):
        raise BackendError("EUNAVAILABLE", "the new version's doctor answers nothing") from None


def _run(
    python: Path,
    words: list[str],
    environment: Mapping[str, str] | None,
    folder: Path | None,
    failure: str,
) -> str:
    """Return what a version prints; `BackendError` when it ends in another way than the doctor."""
    try:
        done = subprocess.run(
            [str(python), "-P", *words],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TRIAL_SECONDS,
            check=False,
        )
    except OSError as problem:
        reason = problem.strerror
    except subprocess.TimeoutExpired:
        reason = f"it takes more than {TRIAL_SECONDS:.0f} s"
    else:
        # the doctor ends with 1 when it found something, and then has printed what
        if done.returncode == 0 or (done.returncode == 1 and done.stdout):
            return done.stdout
        reason = _find_reason(done.stderr) or f"exit code {done.returncode}"
    raise BackendError("EUNAVAILABLE", one_line(f"the new version {failure}: {reason}", 1_000))


def _find_reason(stderr: str) -> str:
    """Return the message of an error, or the last line of what else was printed."""
    last = stderr.strip().rpartition("\n")[2]
    try:
        return str(json.loads(last)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return last
