"""Where compilers keep what they need, and whose turn it is: one compiler at a time in a folder,
whoever else uses it.
"""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import BinaryIO

from sigil.errors import BackendError

PATIENCE_SECONDS = 60.0


def users(tool: str) -> Path:
    """The folder of one compiler in the cache folder; nothing is made yet."""
    from sigil.settings import Settings

    if given := Settings.read().cache:
        return Path(given).expanduser() / tool
    from platformdirs import user_cache_path

    return user_cache_path("sigil") / tool


def kept(folder: Path) -> Path | None:
    """`folder`, made when it is not there; None where nothing can be kept."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder.resolve()
    except OSError:
        return None


@contextmanager
def turn(
    folder: Path, compiler: str, name: str, patience: Callable[[], float] = lambda: PATIENCE_SECONDS
) -> Iterator[None]:
    """Hold the lock of `folder`. `BackendError` EBUSY when others have it for longer than
    `patience`, in seconds, which may change.
    """
    begin = monotonic()
    with open(folder / "lock", "wb") as lock:
        while not _locked(lock):
            if monotonic() - begin > patience():
                raise BackendError(
                    "EBUSY",
                    f"the {compiler} compiler is busy with others",
                    source=name,
                    suggestion="try again in a minute",
                )
            sleep(0.02)
        yield


def _locked(lock: BinaryIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
