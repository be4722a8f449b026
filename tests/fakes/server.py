"""A small real HTTP server on 127.0.0.1 that records what it is asked; fakes of platforms and
models override `answer`.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request as it came; header names in lower case, `path` with its query string."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Answer:
    """What to reply. An iterable `body` is streamed chunk by chunk; `hang`: no reply until the
    server closes; `cut`: the connection ends without a reply.
    """

    status: int = 200
    body: bytes | Iterable[bytes] = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    hang: bool = False
    cut: bool = False


class Elsewhere(bytes):
    """The body of a file that stands at another address now: who asks for it is led there."""

    address: str

    def __new__(cls, address: str) -> Elsewhere:
        made = super().__new__(cls, b"moved")
        made.address = address
        return made


def json_answer(value: object, status: int = 200) -> Answer:
    """`value` as a JSON reply."""
    return Answer(status, json.dumps(value).encode(), {"content-type": "application/json"})


class RecordingServer:
    """Use as a context manager: `with RecordingServer() as server: … server.url …
    server.requests`.
    """

    def __init__(self) -> None:
        self.requests: list[Recorded] = []
        self.changed = threading.Condition()
        self.closing = threading.Event()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._take_connections, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, request: Recorded) -> Answer:
        """The reply to `request`; called in the connection's own thread, after the request is
        recorded.
        """
        return json_answer({"ok": True})

    def wait_for(self, count: int, timeout: float = 10) -> list[Recorded]:
        """The requests, as soon as there are `count` of them; `AssertionError` when that takes
        longer than `timeout` seconds.
        """
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.requests) >= count, timeout), (
                f"{len(self.requests)} requests, not {count}"
            )
            return list(self.requests)

    def record(self, request: Recorded) -> None:
        with self.changed:
            self.requests.append(request)
            self.changed.notify_all()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        with self.changed:
            self.changed.notify_all()
        with suppress(OSError):  # it wakes the thread that accepts
            self._server.socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()

    def _take_connections(self) -> None:
        """Take connections until the end. `serve_forever` looks for its end only now and then, and
        each test with a server would wait for that.
        """
        while not self.closing.is_set():
            self._server._handle_request_noblock()  # type: ignore[attr-defined]


class ScriptedServer(RecordingServer):
    """Answers with these answers, one after the other, the last one again and again."""

    def __init__(self, *answers: Answer) -> None:
        super().__init__()
        self.answers = [*answers]

    def answer(self, request: Recorded) -> Answer:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # server_close then waits for the connections' threads
    request_queue_size = 128

    def __init__(self, fake: RecordingServer) -> None:
        self.fake = fake
        self.connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def hang_up(self) -> None:
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # already closed by the other side


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        try:
            super().finish()
        except ConnectionError:
            return  # the client left first

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Silent: the tests read `requests`."""

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Recorded(self.command, self.path, headers, body)
        self.server.fake.record(request)
        answer = self.server.fake.answer(request)
        if answer.hang:
            self.server.fake.closing.wait()
        if answer.hang or answer.cut:
            self.close_connection = True
            return
        if isinstance(answer.body, Elsewhere):
            answer = Answer(302, headers={"location": answer.body.address})
        self._reply(answer)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    def _reply(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if isinstance(answer.body, bytes):
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)
            return
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for chunk in answer.body:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        self.wfile.write(b"0\r\n\r\n")
