"""A lock that lets one terminal at a time run a turn; it ends when its holder dies."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path


@contextmanager
def alone(folder: Path, session: str, tell: Callable[[str], None]) -> Iterator[None]:
    """Hold the conversation for one turn; while another terminal has it, say so and wait."""
    locks = folder / "locks"
    locks.mkdir(mode=0o700, exist_ok=True)
    with (locks / sha256(session.encode()).hexdigest()[:32]).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("another terminal is in the middle of a turn here; waiting for it, Ctrl-C leaves")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
