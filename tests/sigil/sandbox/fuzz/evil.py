"""A runner that says whatever it likes: what a guest could do at worst that took its process
over.
"""

from __future__ import annotations

import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from random import Random

from sigil.sandbox.protocol import KINDS, pack_answer

_HEADER = struct.Struct("!BI")


def frame(kind: int, payload: bytes, size: int | None = None) -> bytes:
    return _HEADER.pack(kind & 0xFF, len(payload) if size is None else size) + payload


def words(random: Random) -> bytes:
    """Return an evil runner's answer to an order: frames that are right, wrong, cut short, too long,
    or too many.
    """
    answer = b"".join(_frame(random) for _ in range(random.choice((1, 1, 1, 2, 5))))
    if random.random() < 0.2:
        return answer[: random.randrange(len(answer) + 1)]
    return answer


def _frame(random: Random) -> bytes:
    payload = random.choice(
        (
            b"",
            random.randbytes(random.randrange(40)),
            pack_answer(b'{"a":1}', ["line"]),
            pack_answer(b"NaN", ["\x1b[31m\u202e" * 10] * 100),
            pack_answer(b'{"code":"EUNAVAILABLE","message":"x"}', []),
            pack_answer(b"x" * 1000, [])[:-3],
            struct.pack("!I", 0xFFFFFFFF) + b"x",
            b"ETIMEDOUT \xff\xfe\n\x1b",
            b"EBUG " + b"x" * 5000,
            b"*",
            b"../../etc/passwd",
            b"\x00\x00\x00\x04call{}",
        )
    )
    kind = random.choice((*KINDS, 0, 99, 255))
    size = random.choice((None, None, None, None, 0, len(payload) + 1, 1 << 20, 0xFFFFFFFF))
    return frame(kind, payload, size)


@contextmanager
def runners(
    answer: Callable[[], bytes], ready: bytes
) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Yield a substitute for `spawn.start`: each runner is a thread that sends `ready`, answers its
    first order with `answer` and waits.
    """
    ends: list[socket.socket] = []

    def serve(end: socket.socket) -> None:
        with suppress(OSError):
            end.sendall(ready)
            end.recv(1 << 16)
            end.sendall(answer())
            while end.recv(1 << 16):
                pass

    def start(
        _room: str, *_arguments: str, passing: tuple[int, ...] = (), pipes: bool = False
    ) -> subprocess.Popen[bytes]:
        end = socket.socket(fileno=socket.dup(passing[0]))
        ends.append(end)
        threading.Thread(target=serve, args=(end,), daemon=True).start()
        return subprocess.Popen(["/bin/sleep", "60"], start_new_session=True)

    try:
        yield start
    finally:
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
