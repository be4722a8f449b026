"""Notices when something in a few folders changes: looks at times and sizes, twenty times a second.

A capability's folder holds a handful of files, so looking costs a fraction of a percent of a
processor, and works alike on every file system, whatever an editor does to save a file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

PAUSE_SECONDS = 0.05
SETTLED_SECONDS = 0.02
FILES_MOST = 2_000
DEEPEST = 3
_PASSED_OVER = frozenset({"node_modules", "target", "__pycache__", "build", "dist"})

Look = Mapping[str, tuple[int, int, int]]
"""By path: the time of the last change in nanoseconds, the size, and the file's number."""


NOTHING: Look = {}


def look(folders: Iterable[Path]) -> Look:
    """What lies in `folders` now; what vanishes while it is looked at is not there."""
    found: dict[str, tuple[int, int, int]] = {}
    for folder in folders:
        _look_into(str(folder), DEEPEST, found)
    return found


def settled(folders: Iterable[Path]) -> Look:
    """What lies there once nobody is writing: two looks that agree, or the last one after a
    second.
    """
    places = list(folders)
    before = look(places)
    for _ in range(int(1 / SETTLED_SECONDS)):
        time.sleep(SETTLED_SECONDS)
        now = look(places)
        if now == before:
            break
        before = now
    return before


def wait(folders: Iterable[Path], seen: Look) -> None:
    """Return when what lies there is not what was `seen`."""
    places = list(folders)
    while look(places) == seen:
        time.sleep(PAUSE_SECONDS)


def _look_into(folder: str, deep: int, found: dict[str, tuple[int, int, int]]) -> None:
    try:
        with os.scandir(folder) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in inside:
        if len(found) >= FILES_MOST or entry.name.startswith(".") or entry.name in _PASSED_OVER:
            continue
        try:
            if entry.is_dir(follow_symlinks=False):
                if deep:
                    _look_into(entry.path, deep - 1, found)
                continue
            facts = entry.stat()
        except OSError:
            continue
        found[entry.path] = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
