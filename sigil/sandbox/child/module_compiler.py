"""The child process that compiles a module: it reads the module or its text form from stdin, writes
the result into a file of the server's, and `ok` or a refusal to stdout.
"""

from __future__ import annotations

import os
import sys

from sigil.sandbox.child import lockdown, seccomp
from sigil.sandbox.runtime.driver import Driver, InvalidModule

_RESULT_BYTES = 64 << 20


def main(server: str, library: str, *arguments: str) -> None:
    """Do one task, `compile` for a target or `assemble`; write `ok` to stdout, or `invalid` and the
    compiler's message.
    """
    task, descriptor, target, seconds = arguments
    data = sys.stdin.buffer.read()
    driver = Driver(library, pooling=False, target=target)
    sealing = seccomp.is_available()
    lockdown.lock(
        int(server), data=768 << 20, files=32, written=_RESULT_BYTES, seconds=int(seconds)
    )
    if sealing:
        seccomp.lock(executable=True)
    try:
        if task == "assemble":
            result = driver.assemble(data)
        else:
            result = driver.serialize(driver.compile(data))
    except InvalidModule as invalid:
        _print(f"invalid {invalid}")
        os._exit(0)
    rest = memoryview(result)
    while rest:
        rest = rest[os.write(int(descriptor), rest) :]
    _print("ok")
    os._exit(0)  # an orderly end asks the kernel for more than the filter allows


def _print(text: str) -> None:
    sys.stdout.buffer.write(text[:2000].encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
