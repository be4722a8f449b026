"""The words between the server and a runner: length-prefixed binary frames over a socket pair, read
strictly on both sides.

    server → runner   RUN; for a NEED one of MODULE (wasm), CODE (a descriptor with native code), SOURCE (JavaScript); for an ASK ANSWER
    runner → server   READY once, then for each RUN at most two NEEDs, at most fifty ASKs, and one of DONE, GUEST, FAILED

Neither side speaks out of turn, so bytes after a frame are a breach. An ASK is a guest's request
that the server answers (`http.fetch`, `kv.*`, `call`); ANSWER is what the guest reads, as JSON.

What a runner imports is counted in its start: named tuples instead of data classes here save it 10
ms.
"""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from enum import IntEnum
from functools import cache
from math import ceil
from time import monotonic
from typing import NamedTuple

FRAME_LIMIT = 4 << 20
INPUT_LIMIT = 1 << 20
OUTPUT_LIMIT = 1 << 20
ASKS = 50
ASK_LIMIT = 1 << 20
"""Bytes of a request's argument, and of its answer's value."""
LOG_LINES = 100
LOG_CHARACTERS = 1_000
ENGINE = "*"
"""The name under which a runner asks for the JavaScript engine: no program can have it."""

SEALS, POOLED = 1, 2
"""What a runner says of itself in its first READY, as bits: it locks its system calls, it has a
pool of memories.
"""

_TIMEVAL = struct.Struct("ll")
_HEADER = struct.Struct("!BI")
_RUN = struct.Struct("!BIIIB")
_SIZE = struct.Struct("!I")
_ASK = struct.Struct("!BI")
_CHUNK = 64 << 10
_LINKED = 128
OWN = {"clock": 1, "random": 2, "log": 4}
SERVICES = {"http": 8, "kv": 16, "call": 32, "mcp": 64}
GRANTS = OWN | SERVICES
"""What a run may ask for and its bit: what the runner itself answers, and what the server does for
it.
"""
OPERATIONS = ("http.fetch", "kv.get", "kv.put", "kv.list", "kv.delete", "call", "mcp")
"""What an ASK may ask for; the word before the dot is the service."""


class FrameKind(IntEnum):
    READY = 1
    RUN = 2
    NEED = 3
    MODULE = 4
    CODE = 5
    DONE = 6
    GUEST = 7
    FAILED = 8
    ASK = 9
    ANSWER = 10
    SOURCE = 11


_KINDS = {int(kind): kind for kind in FrameKind}
_PROGRAMS = frozenset((FrameKind.MODULE, FrameKind.CODE, FrameKind.SOURCE))


class ProtocolBreach(Exception):
    """The other side is gone or does not keep to the protocol: nothing more can be said to it."""


class GrantViolation(ProtocolBreach):
    """The other side asks for what it was not granted. It checks that itself before it asks, so it
    is no longer what was started.
    """


class PeerGone(ProtocolBreach):
    """The other side was gone before it had read what was said to it."""


class DeadlinePassed(Exception):
    """The deadline passed."""


class RunOrder(NamedTuple):
    """An order: run `digest` on `data`. `linked`: to the engine."""

    digest: str
    linked: bool
    grants: frozenset[str]
    timeout_ms: int
    memory_bytes: int
    output_bytes: int
    data: bytes


def pack_run(run: RunOrder) -> bytes:
    digest = run.digest.encode("ascii")
    flags = _bits(run.grants) | (_LINKED if run.linked else 0)
    head = _RUN.pack(flags, run.timeout_ms, run.memory_bytes, run.output_bytes, len(digest))
    return b"".join((head, digest, run.data))


def unpack_run(payload: bytes) -> RunOrder:
    try:
        flags, timeout_ms, memory_bytes, output_bytes, size = _RUN.unpack_from(payload)
        at = _RUN.size + size
        digest = payload[_RUN.size : at].decode("ascii")
    except (struct.error, UnicodeDecodeError):
        raise ProtocolBreach("not an order") from None
    if len(payload) < at:
        raise ProtocolBreach("an order is cut short")
    return RunOrder(
        digest,
        bool(flags & _LINKED),
        _names(flags),
        timeout_ms,
        memory_bytes,
        output_bytes,
        payload[at:],
    )


@cache
def _bits(names: frozenset[str]) -> int:
    return sum(bit for name, bit in GRANTS.items() if name in names)


@cache
def _names(bits: int) -> frozenset[str]:
    return frozenset(name for name, bit in GRANTS.items() if bits & bit)


def pack_code(gone: tuple[str, ...], body: bytes = b"") -> bytes:
    """The payload of MODULE, CODE and SOURCE: the programs that the runner forgets, then wasm, the
    code's size, or source.
    """
    names = "\n".join(gone).encode("ascii")
    return b"".join((_SIZE.pack(len(names)), names, body))


def pack_size(size: int) -> bytes:
    return _SIZE.pack(size)


def unpack_size(body: bytes) -> int:
    if len(body) != _SIZE.size:
        raise ProtocolBreach("code without its size")
    return int(_SIZE.unpack(body)[0])


def unpack_code(payload: bytes) -> tuple[list[str], bytes]:
    try:
        at = _SIZE.unpack_from(payload)[0] + _SIZE.size
        names = payload[_SIZE.size : at].decode("ascii")
    except (struct.error, UnicodeDecodeError):
        raise ProtocolBreach("a program without its head") from None
    if len(payload) < at:
        raise ProtocolBreach("a program is cut short")
    return names.split("\n") if names else [], payload[at:]


def service_of(operation: str) -> str:
    return operation.partition(".")[0]


def pack_ask(operation: str, milliseconds: int, argument: bytes) -> bytes:
    """The payload of ASK: the operation, what is left of the run's time, the argument as JSON."""
    return _ASK.pack(OPERATIONS.index(operation), milliseconds) + argument


def unpack_ask(payload: bytes) -> tuple[str, int, bytes]:
    """Operation, milliseconds and argument; `ProtocolBreach` when there is no such operation or the
    argument is too long.
    """
    argument = payload[_ASK.size :]
    try:
        number, milliseconds = _ASK.unpack_from(payload)
        operation = OPERATIONS[number]
    except (struct.error, IndexError):
        raise ProtocolBreach("not a request") from None
    if len(argument) > ASK_LIMIT:
        raise ProtocolBreach("a request is too long")
    return operation, milliseconds, argument


def pack_answer(output: bytes, logs: list[str]) -> bytes:
    """The payload of DONE and GUEST: the output, then the log lines."""
    parts = [_SIZE.pack(len(output)), output]
    for line in logs:
        text = line.encode("utf-8", "replace")
        parts += (_SIZE.pack(len(text)), text)
    return b"".join(parts)


def unpack_answer(payload: bytes) -> tuple[bytes, list[str]]:
    """Output and log lines; `ProtocolBreach` unless the sizes add up and the limits are kept."""
    parts: list[bytes] = []
    at = 0
    try:
        while (at < len(payload) or not parts) and len(parts) <= LOG_LINES + 1:
            (size,) = _SIZE.unpack_from(payload, at)
            at += _SIZE.size + size
            parts.append(payload[at - size : at])
    except struct.error:
        raise ProtocolBreach("an answer is cut short") from None
    if at != len(payload) or len(parts) > LOG_LINES + 1:
        raise ProtocolBreach("an answer does not add up")
    return parts[0], [part.decode("utf-8", "replace") for part in parts[1:]]


class Channel:
    """One end of the socket pair."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._waits = {socket.SO_RCVTIMEO: 0, socket.SO_SNDTIMEO: 0}

    def close(self) -> None:
        self._end.close()

    def hang_up(self) -> None:
        """End the talk from another thread: whoever waits here gets a `ProtocolBreach`."""
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)

    def send(
        self,
        kind: FrameKind,
        payload: bytes = b"",
        *,
        deadline: float | None = None,
        descriptor: int | None = None,
    ) -> None:
        """Send one frame until `deadline` (monotonic seconds). `DeadlinePassed` when it passes, `ProtocolBreach` when
        nobody listens.
        """
        frame = _HEADER.pack(kind, len(payload)) + payload
        try:
            self._bound(socket.SO_SNDTIMEO, deadline)
            sent = (
                self._end.send(frame)
                if descriptor is None
                else socket.send_fds(self._end, [frame], [descriptor])
            )
            while sent < len(frame):
                self._bound(socket.SO_SNDTIMEO, deadline)
                sent += self._end.send(memoryview(frame)[sent:])
        except BlockingIOError:
            raise DeadlinePassed from None
        except OSError as problem:
            raise PeerGone(f"cannot send: {problem.strerror}") from None

    def receive(
        self, expected: frozenset[FrameKind], *, deadline: float | None = None
    ) -> tuple[FrameKind, bytes]:
        """The next frame, one of `expected`. `DeadlinePassed` when `deadline` passes, `ProtocolBreach` at everything
        else.
        """
        kind, payload, descriptors = self._receive(expected, 0, deadline)
        _close(descriptors)
        return kind, payload

    def receive_code(self) -> tuple[FrameKind, bytes, int | None]:
        """The answer to a NEED: its kind, its payload, and the descriptor that comes with CODE."""
        kind, payload, descriptors = self._receive(_PROGRAMS, 1, None)
        if len(descriptors) != (kind is FrameKind.CODE):
            _close(descriptors)
            raise ProtocolBreach("a descriptor too few or too many")
        return kind, payload, descriptors[0] if descriptors else None

    def _receive(
        self, expected: frozenset[FrameKind], descriptors: int, deadline: float | None
    ) -> tuple[FrameKind, bytes, list[int]]:
        first, passed = self._first(descriptors, deadline)
        while len(first) < _HEADER.size:
            first += self._more(_HEADER.size - len(first), deadline)
        number, size = _HEADER.unpack_from(first)
        if number not in expected or size > FRAME_LIMIT:
            raise ProtocolBreach("an unexpected frame")
        missing = _HEADER.size + size - len(first)
        if missing < 0:
            raise ProtocolBreach("speaks out of turn")
        payload = (
            first[_HEADER.size :] + self._rest(missing, deadline)
            if missing
            else first[_HEADER.size :]
        )
        return _KINDS[number], payload, passed

    def _first(self, descriptors: int, deadline: float | None) -> tuple[bytes, list[int]]:
        if not descriptors:
            return self._more(_CHUNK, deadline), []
        try:
            first, passed, _, _ = socket.recv_fds(self._end, _CHUNK, descriptors)
        except OSError as problem:
            raise ProtocolBreach(f"cannot receive: {problem.strerror}") from None
        if not first:
            raise ProtocolBreach("the other side is gone")
        return first, passed

    def _rest(self, missing: int, deadline: float | None) -> bytes:
        rest = bytearray()
        while len(rest) < missing:
            rest += self._more(min(missing - len(rest), _CHUNK), deadline)
        return bytes(rest)

    def _more(self, size: int, deadline: float | None) -> bytes:
        try:
            self._bound(socket.SO_RCVTIMEO, deadline)
            part = self._end.recv(size)
        except BlockingIOError:
            raise DeadlinePassed from None
        except (
            ConnectionResetError
        ):  # Linux says so when an end is closed with bytes in it that were never read
            raise PeerGone("the other side is gone") from None
        except OSError as problem:
            raise ProtocolBreach(f"cannot receive: {problem.strerror}") from None
        if not part:
            raise ProtocolBreach("the other side is gone")
        return part

    def _bound(self, option: int, deadline: float | None) -> None:
        """Let the kernel keep the time: Python's own timeouts cost two system calls more each
        time.
        """
        if deadline is None:
            return
        left = ceil((deadline - monotonic()) * 1000)
        if left <= 0:
            raise DeadlinePassed
        if left != self._waits[option]:
            self._waits[option] = left
            self._end.setsockopt(
                socket.SOL_SOCKET, option, _TIMEVAL.pack(left // 1000, left % 1000 * 1000)
            )


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        socket.close(descriptor)
