"""Keeps what the tests write in memory, where the machine has room for it.

Nearly every test opens a store in a folder of its own. On a disk, the files that it makes, syncs and
leaves behind cost a tenth of all CPU seconds and a quarter of the time. `--basetemp` and
`PYTEST_DEBUG_TEMPROOT` choose another place.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

IN_MEMORY = Path("/dev/shm")
"""Where Linux has files in memory."""
ROOM_BYTES = 1 << 30
"""Free bytes that are room enough: only the folders of tests that fail outlast them."""


def pytest_configure(config: pytest.Config) -> None:
    if has_room(IN_MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))


def has_room(folder: Path) -> bool:
    """Return whether tests can write into a folder and run the programs that they write there. That
    of a container often has 64 MB, and runs none.
    """
    try:
        found = os.statvfs(folder)
    except OSError:  # not on this system
        return False
    runs_programs = not found.f_flag & os.ST_NOEXEC
    is_large = found.f_bavail * found.f_frsize >= ROOM_BYTES
    return runs_programs and is_large and os.access(folder, os.W_OK)
