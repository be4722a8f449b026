"""Finds the folders in which compilers cache files, and locks them: one compiler works in a folder
at a time, of all processes.
"""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from sigil.errors import BackendError

PATIENCE_SECONDS = 60.0


def user_folder(tool: str) -> Path:
    """Return the folder of one compiler in the user's cache folder, which need not exist yet."""
    from sigil.settings import Settings

    if cache := Settings.read().cache:
        return Path(cache).expanduser() / tool
    from platformdirs import user_cache_path

    return user_cache_path("sigil") / tool


def make_writable(folder: Path) -> Path | None:
    """Make `folder` when it is not there, and return it; None when nothing can be written to it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder.resolve()
    except OSError:
        return None


@contextmanager
def hold_lock(
    folder: Path, compiler: str, name: str, patience: Callable[[], float] = lambda: PATIENCE_SECONDS
) -> Iterator[None]:
    """Hold the lock of `folder`. `BackendError` EBUSY when others hold it for longer than
    `patience()` seconds, which may change meanwhile.
    """
    begin = monotonic()
    with open(folder / "lock", "wb") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                pass
            if monotonic() - begin > patience():
                raise BackendError(
                    "EBUSY",
                    f"the {compiler} compiler is busy with others",
                    source=name,
                    suggestion="try again in a minute",
                )
            sleep(0.02)
        yield
