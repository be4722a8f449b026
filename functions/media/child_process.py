"""Starts a child process that opens one file, and takes its answer: it trusts nothing that comes
back, and ends the child when it is late or breaks the protocol.
"""

from __future__ import annotations

import math
import os
import selectors
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Final

from functions.media.limits import CHILD_BYTES, CHILD_SECONDS, MAX_ANSWER_BYTES
from functions.media.protocol import BrokenFrame, pack, unpack
from functions.media.results import Reason, UnreadableFile
from sigil.errors import BackendError
from sigil.sandbox import spawn

PROGRAM: Final = (
    'import sys; sys.path += sys.argv[1].split("\\n"); '
    "from functions.media.child.main import main; main(*sys.argv[2:])"
)
"""What a child runs; its arguments are folders, one a line, and those of its `main`."""
_MAX_CHILDREN: Final = 2
PATIENCE_SECONDS: Final = 30.0
_CHUNK: Final = 256 << 10
_STARVED: Final = 0.1
"""A child that is late and had less than this share of the time had it too late."""
_PACKAGES: Final = {
    "scaling": ("PIL",),
    "terminal_picture": ("PIL",),
    "pdf_text": ("pypdfium2", "pypdfium2_raw"),
    "pdf_look": ("pypdfium2", "pypdfium2_raw", "PIL"),
    "sheet_text": ("python_calamine",),
    "foreign_text": ("charset_normalizer",),
    "drawing": ("resvg_py",),
}
"""The packages that a job needs; the others need none."""
_DEATHS: Final = {
    -signal.SIGXCPU: Reason.TOO_SLOW,
    -signal.SIGSYS: Reason.TOO_LARGE,  # an allocator gave up, under the filter of system calls
    -signal.SIGABRT: Reason.TOO_LARGE,  # so it did, without one
    -signal.SIGTRAP: Reason.TOO_LARGE,  # so did pdfium's, by an instruction that no processor has
    -signal.SIGILL: Reason.TOO_LARGE,
    -signal.SIGKILL: Reason.TOO_LARGE,  # the kernel had no memory left
}
"""Why a child ended by which signal; by any other one, the file is taken for a broken one."""


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """What a child may take: bytes of private memory, seconds of processor time, and seconds from
    its start to its answer.
    """

    memory: int = CHILD_BYTES
    seconds: int = CHILD_SECONDS
    wall: float = float(CHILD_SECONDS)


USUAL_LIMITS: Final = ChildLimits()


class FileChildren:
    """Runs jobs, each in a child of its own, at most two at a time. A child starts with its job and
    ends with it, so none ever meets the files of two chats.
    """

    def __init__(self, limits: ChildLimits = USUAL_LIMITS, program: str = PROGRAM) -> None:
        self._limits = limits
        self._program = program
        self._turns = threading.BoundedSemaphore(_MAX_CHILDREN)

    def run(
        self,
        job: str,
        order: Mapping[str, object],
        data: bytes,
        readable: Sequence[Path] = (),
    ) -> tuple[bytes, bytes]:
        """Return the header of the answer, in JSON that was not read yet, and its bytes.

        `job`: a module of `functions.media.child`; `readable`: the files that it may read.
        `UnreadableFile` says why there is none; `BackendError` EBUSY that every child was busy for
        30 s, or that the machine is; EUNAVAILABLE that none can be started.
        """
        folders = _find_folders(job)
        with self._hold_turn():
            child = spawn.start_interpreter(
                self._program,
                "\n".join(folders),
                str(os.getpid()),
                job,
                str(self._limits.seconds),
                str(self._limits.memory),
                *map(str, readable),
                pipes=True,
            )
            try:
                answer = _exchange(child, pack(order, data), monotonic() + self._limits.wall)
            except _Late:
                if _read_seconds(child.pid) < self._limits.wall * _STARVED:
                    raise spawn.make_starved_error("what opens files") from None
                raise UnreadableFile(Reason.TOO_SLOW) from None
            except BrokenFrame:
                raise UnreadableFile(Reason.BROKEN) from None
            finally:
                status = spawn.kill(child)
        try:
            return unpack(answer)
        except BrokenFrame:
            raise UnreadableFile(_DEATHS.get(status, Reason.BROKEN)) from None

    @contextmanager
    def _hold_turn(self) -> Iterator[None]:
        if not self._turns.acquire(timeout=PATIENCE_SECONDS):
            raise BackendError(
                "EBUSY",
                "other files are being opened",
                source="media",
                suggestion="try again in a moment",
            )
        try:
            yield
        finally:
            self._turns.release()


class _Late(Exception):
    """The child did not answer in time."""


def _exchange(child: subprocess.Popen[bytes], order: bytes, deadline: float) -> bytes:
    """Return all that the child says until it closes its output; `_Late` at the deadline,
    `BrokenFrame` for an answer that is too long.
    """
    assert child.stdin
    assert child.stdout
    os.set_blocking(child.stdin.fileno(), False)
    rest = memoryview(order)
    pieces: list[bytes] = []
    size = 0
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdin, selectors.EVENT_WRITE)
        selector.register(child.stdout, selectors.EVENT_READ)
        while True:
            left = deadline - monotonic()
            if left <= 0:
                raise _Late
            for key, _ in selector.select(left):
                if key.fileobj is child.stdin:
                    rest = _write_some(child, rest)
                    if not rest:
                        selector.unregister(child.stdin)
                        child.stdin.close()
                    continue
                piece = os.read(child.stdout.fileno(), _CHUNK)
                size += len(piece)
                if not piece:
                    return b"".join(pieces)
                if size > MAX_ANSWER_BYTES:
                    raise BrokenFrame("an answer that is too long")
                pieces.append(piece)


def _write_some(child: subprocess.Popen[bytes], rest: memoryview) -> memoryview:
    """Return what is left to be written; nothing for a child that reads no more."""
    assert child.stdin
    try:
        return rest[os.write(child.stdin.fileno(), rest[:_CHUNK]) :]
    except BlockingIOError:
        return rest
    except BrokenPipeError:
        return rest[:0]


def _read_seconds(pid: int) -> float:
    """Return the processor time of a child that runs; infinity where nothing tells it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return math.inf
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _find_folders(job: str) -> tuple[str, ...]:
    """Return the folders of our own code and of the packages that a job needs; `UnreadableFile`
    where one of them is not installed.
    """
    folders = {str(Path(__file__).parents[2]): None}
    for name in ("sigil", *_PACKAGES.get(job, ())):
        package = find_spec(name)
        if package is None or not package.submodule_search_locations:
            raise UnreadableFile(Reason.PACKAGE_MISSING)
        folders[str(Path(package.submodule_search_locations[0]).parent)] = None
    return tuple(folders)
