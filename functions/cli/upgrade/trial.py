"""The trial of a new version: it starts once, over a copy of the store, without network, without
secrets and without any settings that reach others.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from functions.backup.archive import ArchiveReader
from functions.backup.restoring import NO_SECRETS, restore_backup
from functions.cli.upgrade.backup import ARTIFACTS, STORE, Backup, link_artifacts
from functions.cli.upgrade.confinement import Confinement
from functions.settings import Settings
from sigil.errors import BackendError, one_line
from sigil.storage.files import make_write_error
from sigil.wiring import ignore_progress

TRIAL_SECONDS = 300.0
"""A start compiles the engine, on a slow machine for a minute, and reads the records."""
OF_THE_MACHINE = frozenset({"disk", "compilers", "environment"})
"""What the doctor finds that no version of ours changes."""
_SECRETS = (b"secret#", b"secret$")
"""The partitions of secrets are from the first on, and before the second."""
_READ_SETTINGS = "from functions.settings import Settings; Settings.read()"


def require_start(python: Path, settings: Settings, backup: Backup | None) -> None:
    """Start a new version over a copy of the store; `BackendError` when it does not start, does not
    take the settings, or finds a failure that this version does not find.
    """
    with _copy(settings, backup) as folder:
        trial = _confine(settings, folder)
        refusal = _refuse_settings(python, settings, trial, folder)
        # without the secrets something may be missing, and then this version misses it as well
        if refusal and not _refuse_settings(Path(sys.executable), settings, trial, folder):
            raise refusal
        failures = _examine(python, trial, folder)
        if failures:
            known = _examine(Path(sys.executable), trial, folder)
            failures = {name: found for name, found in failures.items() if name not in known}
    if failures:
        found = "; ".join(f"{name}: {text}" for name, text in failures.items())
        raise BackendError("EUNAVAILABLE", one_line(f"the new version fails: {found}", 1_000))


def _confine(settings: Settings, folder: Path) -> Confinement:
    """Return what a version gets that is tried in a folder: no secret, no file of the person, and
    no network.
    """
    temporary = folder / "tmp"
    temporary.mkdir(mode=0o700)
    environment = {
        **settings.surroundings,
        "TMPDIR": str(temporary),
        "XDG_CONFIG_HOME": str(folder / "no-settings"),
        "UNCAGED_DATA": str(folder),
        # it compiles for itself: whoever writes where our code is kept makes what runners load
        "UNCAGED_CACHE": str(folder / "compiled"),
        "UNCAGED_AGENT": settings.agent,
    }
    return Confinement(write=(folder,), environment=environment)


def _refuse_settings(
    python: Path, settings: Settings, trial: Confinement, folder: Path
) -> BackendError | None:
    """Return the error of a version that does not take the settings without their secrets."""
    given = {
        facts.name: facts.format_value(value)
        for facts, value in settings.list_values()
        if value != facts.default and not facts.secret and facts.name not in trial.environment
    }
    known = replace(trial, environment={**given, **trial.environment})
    try:
        _run(python, ["-c", _READ_SETTINGS], known, folder, "does not take the settings")
    except BackendError as problem:
        return problem
    return None


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
                _remove_secrets(folder / STORE)
                link_artifacts(backup.artifacts, folder / ARTIFACTS, is_copy=True)
            yield folder
    except OSError as problem:
        raise make_write_error(place or Path(tempfile.gettempdir()), problem) from None


def _remove_secrets(store: Path) -> None:
    """Take the values of secrets out of a store that a version is tried with."""
    try:
        with closing(sqlite3.connect(store)) as database, database:
            database.execute("PRAGMA secure_delete = ON")
            database.execute("DELETE FROM item WHERE partition >= ? AND partition < ?", _SECRETS)
    except sqlite3.Error:
        raise BackendError(
            "EUNAVAILABLE", "the secrets cannot be taken out of the copy of the store"
        ) from None


def _examine(python: Path, trial: Confinement, folder: Path) -> dict[str, str]:
    """Return what `uncaged doctor` of a version finds broken in a data folder, by the names of the
    checks.
    """
    words = ["-m", "functions.cli", "doctor", "--json"]
    answer = _run(python, words, trial, folder, "does not start")
    try:
        checks = json.loads(answer)["checks"]
        return {
            str(check["name"]): str(check["found"])
            for check in checks
            if check["state"] == "fail" and check["name"] not in OF_THE_MACHINE
        }
    except (ValueError, KeyError, TypeError):
        raise BackendError("EUNAVAILABLE", "the new version's doctor answers nothing") from None


def _run(python: Path, words: Sequence[str], trial: Confinement, folder: Path, failure: str) -> str:
    """Return what a version prints; `BackendError` when it ends in another way than the doctor."""
    try:
        done = trial.run(python, words, folder, TRIAL_SECONDS)
    except OSError as problem:
        reason = problem.strerror
    except subprocess.SubprocessError as problem:
        reason = f"it takes more than {TRIAL_SECONDS:.0f} s"
        if not isinstance(problem, subprocess.TimeoutExpired):
            reason = "it cannot be confined"
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
