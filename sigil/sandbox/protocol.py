"""The protocol between the server and a runner: length-prefixed binary frames over a socket pair,
read strictly on both sides.

    server → runner   RUN; for a NEED one of MODULE (wasm), CODE (a descriptor with native code), SOURCE (JavaScript); for an ASK ANSWER
    runner → server   READY once, then for each RUN at most two NEEDs, at most fifty ASKs, and one of DONE, GUEST, FAILED

Neither side speaks out of turn, so bytes after a frame are a breach. An ASK is a guest's request
that the server answers (`http.fetch`, `kv.*`, `call`); ANSWER is the answer as the guest reads it,
in JSON.

A runner imports this module while it starts, so it uses none of `enum`, `typing`, `socket` and their
like: the numbers and plain classes that stand here instead save each start 13 ms of processor time.
"""

from __future__ import annotations

import _socket  # `socket` is a subclass of it, with a thousand constants that are made at import
import os
import struct
from time import monotonic

FRAME_LIMIT = 4 << 20
INPUT_LIMIT = 1 << 20
OUTPUT_LIMIT = 1 << 20
ASKS = 50
ASK_LIMIT = 1 << 20
"""The most bytes of a request's argument, and of its answer's value."""
LOG_LINES = 100
LOG_CHARACTERS = 1_000
ENGINE = "*"
"""The name by which a runner asks for the JavaScript engine; no program can have it."""

SEALS, POOLED = 1, 2
"""Bits in the payload of READY: the runner locks its system calls, it has a pool of memories."""

_TIMEVAL = struct.Struct("ll")
_HEADER = struct.Struct("!BI")
_RUN = struct.Struct("!BIIIB")
_SIZE = struct.Struct("!I")
_ASK = struct.Struct("!BI")
_DESCRIPTOR = struct.Struct("i")
_CHUNK = 64 << 10
_LINKED = 128
_NO_GRANTS: frozenset[str] = frozenset()
OWN = {"clock": 1, "random": 2, "log": 4}
SERVICES = {"http": 8, "kv": 16, "call": 32, "mcp": 64}
GRANTS = OWN | SERVICES
"""The grants of a run and their bits: those that the runner itself answers, and the services, which
the server answers.
"""
OPERATIONS = ("http.fetch", "kv.get", "kv.put", "kv.list", "kv.delete", "call", "mcp")
"""The operations of an ASK; the word before the dot is the service."""


class FrameKind:
    """The number of each kind of frame."""

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


KINDS = frozenset(range(FrameKind.READY, FrameKind.SOURCE + 1))
_PROGRAMS = frozenset((FrameKind.MODULE, FrameKind.CODE, FrameKind.SOURCE))


class ProtocolBreach(Exception):
    """The other side is gone or does not keep to the protocol: the channel is of no use any more."""


class GrantViolation(ProtocolBreach):
    """The other side asks for something without a grant. It checks its grants itself before it asks,
    so it is no longer the program that was started.
    """


class PeerGone(ProtocolBreach):
    """The other side was gone before it had read what was sent to it."""


class DeadlinePassed(Exception):
    """The deadline passed."""


class RunOrder:
    """An order to run the program `digest` on `data`. `linked`: to the JavaScript engine."""

    __slots__ = (
        "data",
        "digest",
        "grants",
        "linked",
        "memory_bytes",
        "output_bytes",
        "timeout_ms",
    )

    def __init__(  # noqa: PLR0917
        self,
        digest: str,
        linked: bool,
        grants: frozenset[str],
        timeout_ms: int,
        memory_bytes: int,
        output_bytes: int,
        data: bytes,
    ) -> None:
        self.digest = digest
        self.linked = linked
        self.grants = grants
        self.timeout_ms = timeout_ms
        self.memory_bytes = memory_bytes
        self.output_bytes = output_bytes
        self.data = data


def pack_run(run: RunOrder) -> bytes:
    digest = run.digest.encode("ascii")
    flags = _grants_to_bits(run.grants)
    if run.linked:
        flags |= _LINKED
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
        _bits_to_grants(flags),
        timeout_ms,
        memory_bytes,
        output_bytes,
        payload[at:],
    )


def _grants_to_bits(names: frozenset[str]) -> int:
    bits = 0
    for name in names:
        bits |= GRANTS[name]
    return bits


def _bits_to_grants(bits: int) -> frozenset[str]:
    if not bits & ~_LINKED:
        return _NO_GRANTS
    return frozenset([name for name, bit in GRANTS.items() if bits & bit])


def pack_code(gone: tuple[str, ...], body: bytes = b"") -> bytes:
    """Return the payload of MODULE, CODE or SOURCE: the names of the programs that the runner
    forgets, then wasm, the code's size, or source.
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
    """Return the payload of ASK: the operation, the milliseconds that are left of the run's time, the
    argument as JSON.
    """
    return _ASK.pack(OPERATIONS.index(operation), milliseconds) + argument


def unpack_ask(payload: bytes) -> tuple[str, int, bytes]:
    """Return operation, milliseconds and argument; `ProtocolBreach` when there is no such operation
    or the argument is too long.
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
    """Return the payload of DONE or GUEST: the output, then the log lines."""
    parts = [_SIZE.pack(len(output)), output]
    for line in logs:
        text = line.encode("utf-8", "replace")
        parts += (_SIZE.pack(len(text)), text)
    return b"".join(parts)


def unpack_answer(payload: bytes) -> tuple[bytes, list[str]]:
    """Return output and log lines; `ProtocolBreach` unless the sizes add up and are within limits."""
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


class FrameChannel:
    """One end of the socket pair."""

    def __init__(self, end: _socket.socket) -> None:
        self._end = end
        self._waits = {_socket.SO_RCVTIMEO: 0, _socket.SO_SNDTIMEO: 0}

    def close(self) -> None:
        self._end.close()

    def hang_up(self) -> None:
        """Shut the channel down from another thread; the one that waits on it gets a
        `ProtocolBreach`.
        """
        try:
            self._end.shutdown(_socket.SHUT_RDWR)
        except OSError:
            return  # it is closed already

    def send(
        self,
        kind: int,
        payload: bytes = b"",
        *,
        deadline: float | None = None,
        descriptor: int | None = None,
    ) -> None:
        """Send one frame until `deadline` (monotonic seconds), with a file `descriptor` if there is
        one.

        `DeadlinePassed` when the deadline passes, `PeerGone` when the other side is gone.
        """
        frame = _HEADER.pack(kind, len(payload)) + payload
        try:
            self._set_timeout(_socket.SO_SNDTIMEO, deadline)
            if descriptor is None:
                sent = self._end.send(frame)
            else:
                rights = _DESCRIPTOR.pack(descriptor)
                sent = self._end.sendmsg(
                    [frame], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)]
                )
            while sent < len(frame):
                self._set_timeout(_socket.SO_SNDTIMEO, deadline)
                sent += self._end.send(memoryview(frame)[sent:])
        except BlockingIOError:
            raise DeadlinePassed from None
        except OSError as problem:
            raise PeerGone(f"cannot send: {problem.strerror}") from None

    def receive(
        self, expected: frozenset[int], *, deadline: float | None = None
    ) -> tuple[int, bytes]:
        """Receive the next frame, one of `expected`; return its kind and its payload.

        `DeadlinePassed` when `deadline` (monotonic seconds) passes, `ProtocolBreach` for anything
        but such a frame.
        """
        kind, payload, descriptors = self._receive_frame(expected, 0, deadline)
        _close_all(descriptors)
        return kind, payload

    def receive_code(self) -> tuple[int, bytes, int | None]:
        """Receive the answer to a NEED; return its kind, its payload, and the file descriptor that
        comes with CODE.
        """
        kind, payload, descriptors = self._receive_frame(_PROGRAMS, 1, None)
        if len(descriptors) != (kind == FrameKind.CODE):
            _close_all(descriptors)
            raise ProtocolBreach("a descriptor too few or too many")
        return kind, payload, descriptors[0] if descriptors else None

    def _receive_frame(
        self, expected: frozenset[int], descriptors: int, deadline: float | None
    ) -> tuple[int, bytes, list[int]]:
        """Receive one frame, with at most `descriptors` file descriptors beside it."""
        passed: list[int] = []
        if descriptors:
            try:
                first, passed = self._receive_descriptors(descriptors)
            except OSError as problem:
                raise ProtocolBreach(f"cannot receive: {problem.strerror}") from None
            if not first:
                raise ProtocolBreach("the other side is gone")
        else:
            first = self._receive_part(_CHUNK, deadline)
        while len(first) < _HEADER.size:
            first += self._receive_part(_HEADER.size - len(first), deadline)
        number, size = _HEADER.unpack_from(first)
        if number not in expected or size > FRAME_LIMIT:
            raise ProtocolBreach("an unexpected frame")
        missing = _HEADER.size + size - len(first)
        if missing < 0:
            raise ProtocolBreach("speaks out of turn")
        payload = first[_HEADER.size :]
        if missing:
            rest = bytearray()
            while len(rest) < missing:
                rest += self._receive_part(min(missing - len(rest), _CHUNK), deadline)
            payload += rest
        return number, payload, passed

    def _receive_descriptors(self, most: int) -> tuple[bytes, list[int]]:
        """Receive between one and 64 KiB bytes, and the descriptors beside them; no bytes are the
        end.
        """
        # CMSG_SPACE would have room for one descriptor more.
        first, ancillary, _, _ = self._end.recvmsg(
            _CHUNK, _socket.CMSG_LEN(most * _DESCRIPTOR.size)
        )
        descriptors = [
            descriptor
            for level, kind, rights in ancillary
            if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS)
            for (descriptor,) in _DESCRIPTOR.iter_unpack(
                rights[: len(rights) - len(rights) % _DESCRIPTOR.size]
            )
        ]
        return first, descriptors

    def _receive_part(self, size: int, deadline: float | None) -> bytes:
        """Receive between one and `size` bytes."""
        try:
            self._set_timeout(_socket.SO_RCVTIMEO, deadline)
            part = self._end.recv(size)
        except BlockingIOError:
            raise DeadlinePassed from None
        except ConnectionResetError:
            # Linux answers so when the other end was closed before it had read everything.
            raise PeerGone("the other side is gone") from None
        except OSError as problem:
            raise ProtocolBreach(f"cannot receive: {problem.strerror}") from None
        if not part:
            raise ProtocolBreach("the other side is gone")
        return part

    def _set_timeout(self, option: int, deadline: float | None) -> None:
        """Have the kernel watch the deadline: Python's own timeouts cost two more system calls each
        time.
        """
        if deadline is None:
            return
        left = -int((monotonic() - deadline) * 1000 // 1)  # rounded up
        if left <= 0:
            raise DeadlinePassed
        if left != self._waits[option]:
            self._waits[option] = left
            self._end.setsockopt(
                _socket.SOL_SOCKET, option, _TIMEVAL.pack(left // 1000, left % 1000 * 1000)
            )


def _close_all(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
