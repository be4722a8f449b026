"""The child process that compiles: a module or its text on stdin, the result into a file that the
server holds, a word on stdout.
"""

from __future__ import annotations

import os
import sys

from sigil.sandbox import lockdown, seccomp
from sigil.sandbox.driver import Driver, Invalid

_RESULT_BYTES = 64 << 20


def main(server: str, library: str, *arguments: str) -> None:
    """Do a task (`compile` for a target, or `assemble`). Writes `ok` to stdout, or `invalid` and
    the compiler's words.
    """
    task, descriptor, target, seconds = arguments
    data = sys.stdin.buffer.read()
    driver = Driver(library, pooling=False, target=target)
    sealing = seccomp.available()
    lockdown.lock(
        int(server),
        lockdown.Bounds(data=768 << 20, files=32, written=_RESULT_BYTES, seconds=int(seconds)),
    )
    if sealing:
        seccomp.lock(executable=True)
    try:
        result = (
            driver.assemble(data) if task == "assemble" else driver.serialize(driver.compile(data))
        )
    except Invalid as invalid:
        _say(f"invalid {invalid}")
        os._exit(0)
    rest = memoryview(result)
    while rest:
        rest = rest[os.write(int(descriptor), rest) :]
    _say("ok")
    os._exit(0)  # an orderly end asks the kernel for more than the filter allows


def _say(text: str) -> None:
    sys.stdout.buffer.write(text[:2000].encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
