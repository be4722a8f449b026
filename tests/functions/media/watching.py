"""What the children of this process use while they run, for tests and benchmarks."""

from __future__ import annotations

import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PAUSE = 0.003
"""Seconds between two looks; a peak is kept by the kernel, so only that of the last moment is lost."""


@dataclass(slots=True)
class Used:
    """The largest resident memory of a child in bytes, and processor seconds of all that ended."""

    peak_bytes: int = 0
    seconds: float = 0.0


@contextmanager
def watch_children() -> Iterator[Used]:
    """Watch the children that this thread starts, until the end of the block."""
    used = Used()
    own = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    ended = threading.Event()
    thread = threading.Thread(target=_watch, args=(own, used, ended), daemon=True)
    before = _read_seconds()
    thread.start()
    try:
        yield used
    finally:
        ended.set()
        thread.join()
        used.seconds = _read_seconds() - before


def _read_seconds() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def _watch(own: Path, used: Used, ended: threading.Event) -> None:
    while not ended.wait(PAUSE):
        for child in own.read_text().split():
            try:
                # in this order: until it runs its own program, it has its parent's memory
                started = b"functions.media" in Path(f"/proc/{child}/cmdline").read_bytes()
                status = Path(f"/proc/{child}/status").read_text()
            except OSError:  # it has ended
                continue
            _, _, peak = status.partition("VmHWM:")
            if peak and started:
                used.peak_bytes = max(used.peak_bytes, int(peak.split()[0]) * 1_024)
