"""Servers that speak the protocol to do harm, and capabilities that would take what others need."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import httpcore
import pytest

from sigil.errors import ToolError
from sigil.network.connection_pool import MOST, PER_HOST, PER_NAMESPACE
from sigil.network.exchange import HttpAnswer, HttpRequest, RequestSource
from sigil.network.guarded_connections import LOOKUPS, LOOKUPS_PER_NAMESPACE
from sigil.network.http_transport import GuardedTransport
from sigil.network.urls import Target
from tests.fakes.server import Answer as Said
from tests.machine import within
from tests.servers.certificates import Authority
from tests.sigil.conftest import Scripted

Lines = Callable[..., GuardedTransport]
Speak = Callable[[socket.socket], None]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
MINE = RequestSource("main", "main/far")
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Raw:
    """A server that says what it likes: `speak` has a connection as soon as a request came over it,
    again for each.
    """

    def __init__(self, speak: Speak) -> None:
        self.speak = speak
        self.opened = 0
        self.connections: list[socket.socket] = []
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.threads = [threading.Thread(target=self._accept)]
        self.threads[0].start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listening.getsockname()[1]}/"

    def close(self) -> None:
        self.listening.shutdown(socket.SHUT_RDWR)
        self.threads[0].join()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()
        self.listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self.listening.accept()
                self.opened += 1
                self.connections.append(connection)
                self.threads.append(threading.Thread(target=self._talk, args=(connection,)))
                self.threads[-1].start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while connection.recv(65_536):
                self.speak(connection)


@pytest.fixture
def raw() -> Iterator[Callable[[Speak], Raw]]:
    with ExitStack() as stack:

        def started(speak: Speak) -> Raw:
            made = Raw(speak)
            stack.callback(made.close)
            return made

        yield started


def send(
    line: GuardedTransport, url: str, seconds: float = 10, source: RequestSource = MINE
) -> HttpAnswer:
    return line.send(HttpRequest("GET", Target.parse(url), (), b"", source), seconds)


def endless(head: bytes, unit: bytes) -> Speak:
    def speak(connection: socket.socket) -> None:
        connection.sendall(head)
        while True:
            connection.sendall(unit * 1_000)

    return speak


FLOODS = {
    "answers that are none yet": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "chunks of a byte": endless(CHUNKED, b"1\r\na\r\n"),
    "chunks with long heads": endless(CHUNKED, b"0" * 10 + b"1;x=y\r\na\r\n"),
    "blocks of nothing": endless(
        CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Encoding: deflate\r\n\r\n")
        + b"2\r\n\x78\x01\r\n",
        b"5\r\n\0\0\0\xff\xff\r\n",
    ),
    "larger blocks of nothing": endless(
        CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Encoding: deflate\r\n\r\n")
        + b"2\r\n\x78\x01\r\n",
        b"1388\r\n" + b"\0\0\0\xff\xff" * 1_000 + b"\r\n",
    ),
}


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_is_cut_off_long_before_its_time_is_over(
    raw: Callable[[Speak], Raw], lines: Lines, flood: str
) -> None:
    with pytest.raises(ToolError, match=r"ENET: .*(more than an answer may take|too many pieces)"):
        send(lines(), raw(FLOODS[flood]).url, seconds=60)


def test_an_answer_in_many_pieces_is_read(server: Scripted, lines: Lines) -> None:
    server.says["/"] = Said(200, (b"a line of text\n" for _ in range(5_000)))
    assert send(lines(), server.url).body == b"a line of text\n" * 5_000


@pytest.mark.parametrize("later", [False, True])
def test_an_answer_that_nobody_asked_for_is_given_to_nobody(
    raw: Callable[[Speak], Raw], lines: Lines, later: bool
) -> None:
    poison = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
    said, read = threading.Semaphore(0), threading.Semaphore(0)

    def speak(connection: socket.socket) -> None:
        connection.sendall(OK if later else OK + poison)
        if later:
            read.acquire(timeout=within(10))
            connection.sendall(poison)
        said.release()

    server, line = raw(speak), lines()
    for _ in range(3):
        assert send(line, server.url).body == b"ok"
        read.release()
        assert said.acquire(timeout=within(10))
    assert server.opened == 3


def test_a_connection_is_used_again_by_the_same_capability_alone(
    raw: Callable[[Speak], Raw], lines: Lines
) -> None:
    server, line = raw(lambda connection: connection.sendall(OK)), lines()
    sources = [
        RequestSource("main", "main/far"),
        RequestSource("main", "main/near"),
        RequestSource("bob", "bob/far"),
    ]
    for source in sources * 3:
        send(line, server.url, source=source)
    assert server.opened == len(sources)


class Slow:
    """What a server says that answers when it is let."""

    def __init__(self) -> None:
        self.arrived, self.let = threading.Semaphore(0), threading.Event()

    def __call__(self, connection: socket.socket) -> None:
        self.arrived.release()
        self.let.wait(within(30))
        connection.sendall(OK)


@contextmanager
def hanging(
    line: GuardedTransport, slow: Slow, urls: list[str], source: Callable[[int], RequestSource]
) -> Iterator[None]:
    """Requests that get no answer for as long as this lasts."""

    def wait(url: str, who: RequestSource) -> None:
        with suppress(ToolError):
            send(line, url, 30, who)

    threads = [
        threading.Thread(target=wait, args=(url, source(number))) for number, url in enumerate(urls)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        slow.let.set()
        for thread in threads:
            thread.join()


def test_one_namespace_does_not_take_every_connection(
    raw: Callable[[Speak], Raw], lines: Lines
) -> None:
    slow, line, server = Slow(), lines(), raw(lambda connection: connection.sendall(OK))
    several = [raw(slow) for _ in range(3)]
    with hanging(
        line,
        slow,
        [each.url for each in several] * (MOST // 2),
        lambda _: RequestSource("bob", "bob/slow"),
    ):
        assert all(slow.arrived.acquire(timeout=within(10)) for _ in range(PER_NAMESPACE))
        with pytest.raises(ToolError, match="too many requests at the same time"):
            send(line, server.url, 0.1, RequestSource("bob", "bob/other"))
        assert send(line, server.url).body == b"ok"


def test_one_host_does_not_take_every_connection(raw: Callable[[Speak], Raw], lines: Lines) -> None:
    slow, line, server = Slow(), lines(), raw(lambda connection: connection.sendall(OK))
    hangs = raw(slow)
    with hanging(
        line, slow, [hangs.url] * (MOST + 1), lambda number: RequestSource(f"n{number}", "far")
    ):
        assert all(slow.arrived.acquire(timeout=within(10)) for _ in range(PER_HOST))
        with pytest.raises(ToolError, match="too many requests at the same time"):
            send(line, hangs.url, 0.1)
        assert send(line, server.url).body == b"ok"


def test_names_that_are_not_found_in_time_do_not_keep_others_from_being_found(
    server: Scripted, lines: Lines
) -> None:
    found, asked = threading.Event(), []

    def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        if host.startswith("slow"):
            found.wait(within(30))
        return ["127.0.0.1"]

    line = lines(resolve=resolve)
    try:
        for number in range(LOOKUPS):
            for host in ("slow.example.test", f"slow{number}.example.test"):
                with pytest.raises(ToolError, match="did not answer in time"):
                    send(line, f"https://{host}/", 0.01, RequestSource("bob", "bob/slow"))
        assert len(asked) == len(set(asked)) == LOOKUPS_PER_NAMESPACE
        local = server.url.replace("127.0.0.1", "quick.example.test")
        assert send(line, local).status == 200
    finally:
        found.set()
    assert (
        send(
            line,
            server.url.replace("127.0.0.1", "other.example.test"),
            source=RequestSource("bob", "bob/slow"),
        ).status
        == 200
    )


def test_an_authority_of_ones_own_is_trusted_when_the_environment_names_it(
    secure: Callable[..., Scripted], lines: Lines, trust: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = secure("api.example.test")
    url = f"https://api.example.test:{api.port}/"
    with pytest.raises(ToolError, match="its certificate is not valid"):
        send(lines(context=None), url)
    monkeypatch.setenv("SSL_CERT_FILE", str(trust.certificate))
    assert send(lines(context=None), url).status == 200


def test_a_connection_that_cannot_be_opened_gives_its_share_back(lines: Lines) -> None:
    class Dead(httpcore.NetworkBackend):
        def connect_tcp(self, *_: object, **__: object) -> httpcore.NetworkStream:
            raise httpcore.ConnectError("refused")

    line = lines(inner=Dead())
    for _ in range(PER_NAMESPACE + 1):
        with pytest.raises(ToolError, match="the connection failed"):
            send(line, "https://dead.example.test/")
