"""A TCP proxy that breaks things on purpose, for any protocol where a client asks and a server
answers.
"""

from __future__ import annotations

import re
import selectors
import socket
import ssl
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Self

CHUNK = 1 << 16


class Mode(Enum):
    """What happens to a request.

    PASS        it is answered DROP_REPLY  the server gets it; its answer is swallowed and the
    connection closed MUTE        the server gets it; its answer is swallowed and the connection
    stays open CUT         the server gets it; half of its answer's first bytes arrive, then the
    connection is closed DELAY       its answer comes late RESET       the server never sees it; the
    client's connection is reset HANG        the server never sees it; the connection stays open,
    silent REFUSE      nobody listens; open connections are reset THROTTLE    the server never sees
    it; it is answered as DynamoDB answers too many requests (HTTP)
    """

    PASS = "pass"
    DROP_REPLY = "drop_reply"
    MUTE = "mute"
    CUT = "cut"
    DELAY = "delay"
    RESET = "reset"
    HANG = "hang"
    REFUSE = "refuse"
    THROTTLE = "throttle"


PASS, DROP_REPLY, MUTE, CUT, DELAY, RESET, HANG, REFUSE, THROTTLE = Mode
_TOO_MANY = (
    b'{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"slow'
    b' down"}'
)
_HEAD = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length:"
    b" %d\r\n\r\n"
)
_THROTTLED = _HEAD % len(_TOO_MANY) + _TOO_MANY
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


@dataclass
class _Trap:
    mode: Mode
    needle: bytes
    times: int
    seconds: float


class Proxy:
    """Listens on a free port of 127.0.0.1 and hands everything on to `target`, a `host:port` or a
    socket's path.

    Use as a context manager. `tls`: the certificate with which clients are received; the target is
    spoken to in the clear. `hits` counts the requests that met another mode than PASS,
    `connections` those that came.
    """

    def __init__(self, target: str, *, tls: ssl.SSLContext | None = None) -> None:
        self.target, self.tls = target, tls
        self.hits = self.connections = self.port = 0
        self._mode, self._seconds = PASS, 0.0
        self._traps: list[_Trap] = []
        self._lock = threading.Lock()
        self._open: set[_Connection] = set()
        self._listener: socket.socket | None = None
        self._held: socket.socket | None = None
        self._threads: list[threading.Thread] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def mode(self) -> Mode:
        """What happens to every request from now on. Set it; a delay is set with `delay`."""
        return self._mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        was, self._mode = self._mode, mode
        if mode is REFUSE:
            self._deafen()
            self._hold_port()
            self.reset_all()
        elif was is REFUSE:
            self._listen()

    def delay(self, seconds: float) -> None:
        """From now on every answer comes `seconds` late."""
        self._seconds = seconds
        self.mode = DELAY

    def arm(self, mode: Mode, needle: bytes = b"", *, times: int = 1, seconds: float = 0.0) -> None:
        """Do `mode` to the next request (the next `times` ones) that holds `needle`; the others go
        on as they did.
        """
        with self._lock:
            self._traps.append(_Trap(mode, needle, times, seconds))

    def reset_all(self) -> None:
        """Reset the connections that are open now."""
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            connection.reset()

    def mute_all(self) -> None:
        """Swallow from now on what the server says on the connections that are open, and close
        none of them, as a network does that has forgotten them.
        """
        with self._lock:
            for connection in self._open:
                connection.mode = MUTE

    def close(self) -> None:
        self._deafen()
        self._release_port()
        self.reset_all()
        for thread in self._threads:
            thread.join(5.0)

    def __enter__(self) -> Self:
        self._listen()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def chosen(self, request: bytes | bytearray) -> tuple[Mode, float]:
        """What happens to `request`, and its delay in seconds."""
        with self._lock:
            trap = next((trap for trap in self._traps if trap.needle in request), None)
            mode, seconds = (trap.mode, trap.seconds) if trap else (self._mode, self._seconds)
            if trap:
                trap.times -= 1
                self._traps = [trap for trap in self._traps if trap.times]
            self.hits += mode is not PASS
            return mode, seconds

    def throttles(self) -> bool:
        """Whether a request that comes now may be throttled."""
        with self._lock:
            return self._mode is THROTTLE or any(trap.mode is THROTTLE for trap in self._traps)

    def _listen(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=128)
        self.port = self._listener.getsockname()[1]
        self._release_port()
        self._spawn(self._accept, self._listener)

    def _hold_port(self) -> None:
        """Keep the port from others while nobody listens: a socket that is bound refuses."""
        self._held = socket.socket()
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._held.bind(("127.0.0.1", self.port))

    def _release_port(self) -> None:
        if self._held:
            self._held.close()
            self._held = None

    def _deafen(self) -> None:
        listener, self._listener = self._listener, None
        if listener:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
            listener.close()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                client, _ = listener.accept()
                self.connections += 1
                self._spawn(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        with (
            suppress(OSError),
            client,
            self._dial() as server,
            self._received(client) as ours,
        ):  # either side may go away
            connection = _Connection(self, ours, server)
            with self._lock:
                self._open.add(connection)
            try:
                connection.run()
            finally:
                with self._lock:
                    self._open.discard(connection)

    def _received(self, client: socket.socket) -> socket.socket:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not self.tls:
            return client
        client.settimeout(5.0)
        secure = self.tls.wrap_socket(client, server_side=True)
        secure.settimeout(None)
        return secure

    def _dial(self) -> socket.socket:
        if "/" in self.target:
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.target)
            return server
        host, _, port = self.target.rpartition(":")
        server = socket.create_connection((host, int(port)))
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return server

    def _spawn(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()


@dataclass(eq=False)
class _Connection:
    """One client's way through. A request is all that the client sends between two answers."""

    proxy: Proxy
    client: socket.socket
    server: socket.socket
    mode: Mode = PASS
    seconds: float = 0.0
    asked: bytearray = field(default_factory=bytearray)
    held: bytearray = field(default_factory=bytearray)
    answered: bool = False

    def run(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self.client, selectors.EVENT_READ, self.ask)
            selector.register(self.server, selectors.EVENT_READ, self.answer)
            while all(key.data() for key, _ in selector.select()):
                pass

    def ask(self) -> bool:
        """Hand on what the client says; False when the connection is over."""
        data = self.read(self.client)
        if not data:
            return False
        if self.answered:
            self.asked.clear()
            self.mode, self.answered = PASS, False
        self.asked += data
        self.held += data
        if self.proxy.throttles() and not self.whole():
            # a server that had got the head would read the next request as the rest of this one
            return True
        if self.mode is PASS:
            self.mode, self.seconds = self.proxy.chosen(self.asked)
        if self.mode is RESET:
            self.reset()
            return False
        if self.mode is THROTTLE:
            self.answered = True
            self.client.sendall(_THROTTLED)
        elif self.mode is not HANG:
            self.server.sendall(self.held)
        self.held.clear()
        return True

    def whole(self) -> bool:
        """Whether all of the HTTP request has come."""
        head, end, body = self.asked.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        return bool(end) and len(body) >= (int(length[1]) if length else 0)

    def answer(self) -> bool:
        """Hand on what the server says; False when the connection is over."""
        data = self.read(self.server)
        if not data or self.mode is DROP_REPLY:
            return False
        if self.mode is MUTE:
            return True
        if self.mode is CUT:
            self.client.sendall(data[: len(data) // 2])
            return False
        if self.mode is DELAY and not self.answered:
            time.sleep(self.seconds)
        self.answered = True
        self.client.sendall(data)
        return True

    @staticmethod
    def read(source: socket.socket) -> bytes:
        data = source.recv(CHUNK)
        while isinstance(source, ssl.SSLSocket) and source.pending():
            data += source.recv(CHUNK)
        return data

    def reset(self) -> None:
        """Wake the thread that serves it; when that closes the client's socket, a reset leaves
        instead of an end.
        """
        with suppress(OSError):
            self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.server.shutdown(socket.SHUT_RDWR)
