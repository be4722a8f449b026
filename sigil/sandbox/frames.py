"""The words between the server and a runner: length-prefixed binary frames over a socket pair, read strictly on both sides.

    server → runner   RUN, and in answer to NEED either MODULE (wasm) or CODE (a descriptor with native code)
    runner → server   READY once, then for each RUN at most two NEEDs and one of DONE, GUEST, FAILED

Neither side speaks out of turn, so bytes after a frame are a breach. Operations that the server has to answer (`http.fetch`,
`kv.*`, `call`) will be a pair of frames between RUN and its answer.

What a runner imports is counted in its start: named tuples instead of data classes here save it 10 ms.
"""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from enum import IntEnum
from time import monotonic
from typing import NamedTuple

FRAME_LIMIT = 4 << 20
INPUT_LIMIT = 1 << 20
OUTPUT_LIMIT = 1 << 20
LOG_LINES = 100
LOG_CHARACTERS = 1_000
ENGINE = "*"
"""The name under which a runner asks for the JavaScript engine: no program can have it."""

_HEADER = struct.Struct("!BI")
_RUN = struct.Struct("!BBIIIB")
_SIZE = struct.Struct("!I")
_CHUNK = 64 << 10
_LINKED = 128
GRANTS = {"clock": 1, "random": 2, "log": 4}
PENDING = {"http": 1, "kv": 2, "call": 4}


class Kind(IntEnum):
    READY = 1
    RUN = 2
    NEED = 3
    MODULE = 4
    CODE = 5
    DONE = 6
    GUEST = 7
    FAILED = 8


class Breach(Exception):
    """The other side is gone or does not keep to the protocol: nothing more can be said to it."""


class Unheard(Breach):
    """The other side was gone before it had read what was said to it."""


class Late(Exception):
    """The deadline passed."""


class Run(NamedTuple):
    """An order: run `digest` on `data`. `linked`: to the engine. `grants` hold operations, `pending` permissions without an owner's yes."""

    digest: str
    linked: bool
    grants: frozenset[str]
    pending: frozenset[str]
    timeout_ms: int
    memory_bytes: int
    output_bytes: int
    data: bytes


def pack_run(run: Run) -> bytes:
    digest = run.digest.encode("ascii")
    flags = _bits(GRANTS, run.grants) | (_LINKED if run.linked else 0)
    head = _RUN.pack(flags, _bits(PENDING, run.pending), run.timeout_ms, run.memory_bytes, run.output_bytes, len(digest))
    return b"".join((head, digest, run.data))


def unpack_run(payload: bytes) -> Run:
    try:
        flags, waiting, timeout_ms, memory_bytes, output_bytes, size = _RUN.unpack_from(payload)
        at = _RUN.size + size
        digest = payload[_RUN.size : at].decode("ascii")
    except (struct.error, UnicodeDecodeError):
        raise Breach("not an order") from None
    if len(payload) < at:
        raise Breach("an order is cut short")
    grants, pending = _names(GRANTS, flags), _names(PENDING, waiting)
    return Run(digest, bool(flags & _LINKED), grants, pending, timeout_ms, memory_bytes, output_bytes, payload[at:])


def _bits(table: dict[str, int], names: frozenset[str]) -> int:
    return sum(bit for name, bit in table.items() if name in names)


def _names(table: dict[str, int], bits: int) -> frozenset[str]:
    return frozenset(name for name, bit in table.items() if bits & bit)


def pack_code(weight: int, wasm: bytes = b"") -> bytes:
    """The payload of MODULE and CODE: what the program weighs in a runner (bytes), then its wasm."""
    return _SIZE.pack(weight) + wasm


def pack_answer(output: bytes, logs: list[str]) -> bytes:
    """The payload of DONE and GUEST: the output, then the log lines."""
    parts = [_SIZE.pack(len(output)), output]
    for line in logs:
        text = line.encode("utf-8", "replace")
        parts += (_SIZE.pack(len(text)), text)
    return b"".join(parts)


def unpack_answer(payload: bytes) -> tuple[bytes, list[str]]:
    """Output and log lines; `Breach` unless the sizes add up and the limits are kept."""
    parts: list[bytes] = []
    at = 0
    try:
        while at < len(payload) or not parts:
            (size,) = _SIZE.unpack_from(payload, at)
            at += _SIZE.size + size
            parts.append(payload[at - size : at])
    except struct.error:
        raise Breach("an answer is cut short") from None
    if at != len(payload) or len(parts) > LOG_LINES + 1:
        raise Breach("an answer does not add up")
    return parts[0], [part.decode("utf-8", "replace") for part in parts[1:]]


class Channel:
    """One end of the socket pair."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def close(self) -> None:
        self._end.close()

    def hang_up(self) -> None:
        """End the talk from another thread: whoever waits here gets a `Breach`."""
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)

    def send(self, kind: Kind, payload: bytes = b"", *, deadline: float | None = None, descriptor: int | None = None) -> None:
        """Send one frame until `deadline` (monotonic seconds). `Late` when it passes, `Breach` when nobody listens."""
        frame = _HEADER.pack(kind, len(payload)) + payload
        try:
            self._bound(deadline)
            if descriptor is not None:
                frame = frame[socket.send_fds(self._end, [frame], [descriptor]) :]
            self._end.sendall(frame)
        except TimeoutError:
            raise Late from None
        except OSError as problem:
            raise Unheard(f"cannot send: {problem.strerror}") from None

    def receive(self, expected: frozenset[Kind], *, deadline: float | None = None) -> tuple[Kind, bytes]:
        """The next frame, one of `expected`. `Late` when `deadline` passes, `Breach` at everything else."""
        kind, payload, descriptors = self._receive(expected, 0, deadline)
        _close(descriptors)
        return kind, payload

    def receive_code(self) -> tuple[int, bytes, int | None]:
        """The answer to a NEED: what the program weighs in a runner, its bytes, or a descriptor with its native code."""
        kind, payload, descriptors = self._receive(frozenset((Kind.MODULE, Kind.CODE)), 1, None)
        if len(descriptors) != (kind is Kind.CODE):
            raise Breach("a descriptor is missing")
        if len(payload) < _SIZE.size:
            raise Breach("a weight is missing")
        return _SIZE.unpack_from(payload)[0], payload[_SIZE.size :], descriptors[0] if descriptors else None

    def _receive(self, expected: frozenset[Kind], descriptors: int, deadline: float | None) -> tuple[Kind, bytes, list[int]]:
        first, passed = self._first(descriptors, deadline)
        while len(first) < _HEADER.size:
            first += self._more(_HEADER.size - len(first), deadline)
        number, size = _HEADER.unpack_from(first)
        if number not in expected or size > FRAME_LIMIT:
            raise Breach("an unexpected frame")
        missing = _HEADER.size + size - len(first)
        if missing < 0:
            raise Breach("speaks out of turn")
        payload = first[_HEADER.size :] + self._rest(missing, deadline) if missing else first[_HEADER.size :]
        return Kind(number), payload, passed

    def _first(self, descriptors: int, deadline: float | None) -> tuple[bytes, list[int]]:
        if not descriptors:
            return self._more(_CHUNK, deadline), []
        try:
            first, passed, _, _ = socket.recv_fds(self._end, _CHUNK, descriptors)
        except OSError as problem:
            raise Breach(f"cannot receive: {problem.strerror}") from None
        if not first:
            raise Breach("the other side is gone")
        return first, passed

    def _rest(self, missing: int, deadline: float | None) -> bytes:
        rest = bytearray()
        while len(rest) < missing:
            rest += self._more(min(missing - len(rest), _CHUNK), deadline)
        return bytes(rest)

    def _more(self, size: int, deadline: float | None) -> bytes:
        try:
            self._bound(deadline)
            part = self._end.recv(size)
        except TimeoutError:
            raise Late from None
        except ConnectionResetError:  # Linux says so when an end is closed with bytes in it that were never read
            raise Unheard("the other side is gone") from None
        except OSError as problem:
            raise Breach(f"cannot receive: {problem.strerror}") from None
        if not part:
            raise Breach("the other side is gone")
        return part

    def _bound(self, deadline: float | None) -> None:
        if deadline is None:
            return
        left = deadline - monotonic()
        if left <= 0:
            raise Late
        self._end.settimeout(left)


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        socket.close(descriptor)
