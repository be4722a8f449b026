"""The child process: it loads what one job needs, locks itself down for good, reads one order from
its standard input and writes one answer to its standard output.
"""

from __future__ import annotations

import encodings.ascii
import encodings.cp437
import encodings.latin_1
import encodings.utf_8_sig
import encodings.utf_16
import encodings.utf_16_be
import encodings.utf_16_le
import json
import os
from importlib import import_module

from functions.media.protocol import Unreadable, pack, unpack
from sigil.sandbox.child import landlock, lockdown, seccomp

NEEDED_CODECS = (
    encodings.ascii,
    encodings.cp437,
    encodings.latin_1,
    encodings.utf_16,
    encodings.utf_16_be,
    encodings.utf_16_le,
    encodings.utf_8_sig,
)
"""Codecs of zip files and texts: on first use, when no file can be opened, is too late."""
_MAX_FILES = 64


def main(server: str, job: str, seconds: str, memory: str, *readable: str) -> None:
    """Do one job and end. `job`: a module beside this one; `seconds` of the processor; `memory` in
    bytes; `readable`: the files that the job may read, none but for fonts.

    `server` is the process that started this one, and without which it ends.
    """
    run = import_module(f"functions.media.child.{job}").run
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever a library prints is no answer
    _lock(int(server), int(seconds), int(memory), readable)
    try:
        header, data = unpack(_read_all(0))
        answer = pack(*run(json.loads(header), data))
    except Unreadable as unreadable:
        answer = pack({"problem": unreadable.reason})
    except MemoryError:
        answer = pack({"problem": "too_large"})
    except BaseException:  # noqa: BLE001  entry point: a library in Rust raises no Exception when it panics
        answer = pack({"problem": "broken"})
    rest = memoryview(answer)
    while rest:
        rest = rest[os.write(answers, rest) :]
    os._exit(0)  # an orderly end asks the kernel for more than the filter allows


def _lock(server: int, seconds: int, memory: int, readable: tuple[str, ...]) -> None:
    """Lock this process down: where the kernel can, it opens no file but `readable`."""
    sealing = seccomp.is_available()
    lockdown.lock(server, data=memory, files=_MAX_FILES, written=0, seconds=seconds)
    landlock.restrict(read=readable, write=())
    if sealing:
        seccomp.lock(files="read" if readable else "missing")


def _read_all(descriptor: int) -> bytes:
    pieces = []
    while piece := os.read(descriptor, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)
