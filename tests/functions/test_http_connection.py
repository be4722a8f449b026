"""The connections to a model: what is kept, what an answer looks like, and how it fails."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from time import monotonic

import httpcore
import pytest

from functions.http_connection import HttpAnswer, HttpConnections

CONTINUES = b"HTTP/1.1 100 Continue\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nX-Kind: plain\r\nContent-Length: 2\r\n\r\nhi"
CHUNKS = (
    b"HTTP/1.1 200 OK\r\nX-Kind: plain\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"1\r\nh\r\n1;a=b\r\ni\r\n0\r\nX-End: 1\r\n\r\n"
)
UNTIL_THE_END = b"HTTP/1.1 200 OK\r\nX-Kind: plain\r\n\r\nhi"


class RawServer:
    """Answers each request with the same bytes, whatever they are, and may close after that."""

    def __init__(self, answer: bytes, *, closes: bool = False) -> None:
        self.answer = answer
        self.closes = closes
        self.requests: list[bytes] = []
        self.connections: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                taken, _ = self._listener.accept()
                self.connections.append(taken)
                threading.Thread(target=self._serve, args=(taken,), daemon=True).start()

    def _serve(self, taken: socket.socket) -> None:
        with taken, suppress(OSError):
            received = b""
            while data := taken.recv(65536):
                received += data
                if received.endswith(b"\r\n\r\n{}"):
                    self.requests.append(received)
                    received = b""
                    taken.sendall(self.answer)
                    if self.closes:
                        return

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        for taken in self.connections:
            with suppress(OSError):
                taken.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def opened() -> Iterator[list[RawServer | HttpConnections]]:
    """What a test opens, closed at its end."""
    made: list[RawServer | HttpConnections] = []
    yield made
    for each in made:
        each.close()


def post(connections: HttpConnections, most: int = 1_000, key: str = "none") -> HttpAnswer:
    return connections.post(b"{}", {"x-key": key}, most, monotonic() + 5, lambda: False)


@pytest.mark.parametrize(
    ("answer", "closes", "used"),
    [
        (ANSWER, False, 1),
        (CHUNKS, False, 1),
        (CONTINUES + ANSWER, False, 1),
        (ANSWER.replace(b"HTTP/1.1", b"HTTP/1.0"), False, 2),
        (ANSWER.replace(b"X-Kind", b"Connection: close\r\nX-Kind"), False, 2),
        (UNTIL_THE_END, True, 2),
        (ANSWER + ANSWER, False, 2),  # nobody takes the second one for that of the next request
    ],
)
def test_an_answer_is_read_to_its_end_and_the_connection_kept_where_it_may_be(
    answer: bytes, closes: bool, used: int, opened: list[RawServer | HttpConnections]
) -> None:
    server = RawServer(answer, closes=closes)
    connections = HttpConnections(server.url)
    opened += [server, connections]

    for _ in range(2):
        found = post(connections)
        assert (found.status, found.body, found.headers["x-kind"]) == (200, b"hi", "plain")
    assert len(server.connections) == used
    assert server.requests[0].startswith(b"POST /v1 HTTP/1.1\r\nhost: 127.0.0.1:")


@pytest.mark.parametrize(
    ("answer", "most", "key", "error"),
    [
        (b"what?\r\n\r\n", 9, "none", httpcore.RemoteProtocolError),
        (b"HTTP/1.1 200", 9, "none", httpcore.RemoteProtocolError),
        (b"", 9, "none", httpcore.RemoteProtocolError),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", 9, "none", httpcore.RemoteProtocolError),
        (ANSWER[:-1], 9, "none", httpcore.RemoteProtocolError),
        (ANSWER, 1, "none", httpcore.ReadError),
        (ANSWER, 9, "a\nb", httpcore.LocalProtocolError),
    ],
)
def test_what_is_no_whole_answer_is_an_error_and_the_next_request_begins_anew(
    answer: bytes,
    most: int,
    key: str,
    error: type[Exception],
    opened: list[RawServer | HttpConnections],
) -> None:
    server = RawServer(answer, closes=True)
    connections = HttpConnections(server.url)
    opened += [server, connections]

    with pytest.raises(error):
        post(connections, most, key)
    server.answer = ANSWER
    assert post(connections).body == b"hi"
    assert len(server.connections) == 2


def test_a_connection_that_the_server_has_closed_meanwhile_is_not_used_again(
    opened: list[RawServer | HttpConnections],
) -> None:
    server = RawServer(ANSWER)
    connections = HttpConnections(server.url)
    opened += [server, connections]
    post(connections)
    server.connections[0].shutdown(socket.SHUT_RDWR)

    assert post(connections).body == b"hi"
    assert len(server.connections) == 2


def test_a_request_goes_through_the_proxy_of_the_system(
    opened: list[RawServer | HttpConnections], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = RawServer(CHUNKS)
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.delenv("no_proxy", raising=False)
    connections = HttpConnections("http://model.invalid/v1")
    opened += [server, connections]

    assert post(connections).body == b"hi"
    assert server.requests[0].startswith(b"POST http://model.invalid/v1 HTTP/1.1\r\n")
    with pytest.raises(httpcore.ReadError):
        post(connections, most=1)
