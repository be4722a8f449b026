"""`permissions.web`: pages of any public host, through the whole guard, over real connections.

Public names lead to a public address here, and its connections to a server on this machine.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterable
from typing import Any

import httpcore
import pytest

from sigil.errors import Refused, SigilError
from sigil.manifest.permission_rules import parse_http_rule, parse_secret_rule
from sigil.network.exchange import REPLY_BYTES
from sigil.network.http_transport import GuardedTransport
from sigil.run.host_calls.fetch import CUT, FetchReply, NetworkRights, WebRight, fetch
from sigil.run.host_calls.web_requests import WebRequestCounter
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.clock import Clock
from tests.fakes.server import Answer
from tests.sigil.conftest import Scripted

PUBLIC = "93.184.215.14"
INSIDE = {"inside.example.com": "10.0.0.5", "rebound.example.com": "127.0.0.1"}
HTML = {"content-type": "text/html"}


class OneServer(httpcore.NetworkBackend):
    """Connects every address to one server of this machine, and keeps where it was asked to."""

    def __init__(self, port: int) -> None:
        self.asked: list[tuple[str, int]] = []
        self._port = port
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        self.asked.append((host, port))
        return self._inner.connect_tcp("127.0.0.1", self._port, timeout)


def web(server: Scripted) -> GuardedTransport:
    """The real transport, with the whole guard, before a world that is one server."""
    return GuardedTransport(
        resolve=lambda host, port: [INSIDE.get(host, host if host[0].isdigit() else PUBLIC)],
        inner=OneServer(server.port),
    )


def rights(right: WebRight = WebRight.GRANTED, **more: Any) -> NetworkRights:
    fields: dict[str, Any] = {
        "http": (),
        "http_waiting": (),
        "secrets": (),
        "secrets_waiting": (),
        "values": dict,
        "web": right,
    }
    return NetworkRights("reader", **{**fields, **more})


def ask(
    server: Scripted, url: str, right: NetworkRights | None = None, seconds: float = 5, **more: Any
) -> FetchReply:
    line = web(server)
    try:
        return fetch(line, right or rights(), {"url": url, **more}, seconds)
    finally:
        line.close()


def text_of(reply: FetchReply) -> str:
    return base64.b64decode(reply["body"]).decode()


def header_of(reply: FetchReply, name: str) -> str | None:
    return dict(map(tuple, reply["headers"])).get(name)


def test_any_public_page_is_read_with_an_honest_name_and_no_other_headers(server: Scripted) -> None:
    server.says["/a"] = Answer(200, b"<p>hello", HTML)
    reply = ask(server, "http://news.example.com/a?q=1", headers=[["Accept-Language", "de"]])
    assert (reply["status"], text_of(reply)) == (200, "<p>hello")
    assert header_of(reply, "content-type") == "text/html; charset=utf-8"
    (sent,) = server.requests
    assert (sent.method, sent.path) == ("GET", "/a?q=1")
    assert sent.headers.keys() == {
        *("host", "accept-encoding", "user-agent", "accept", "accept-language"),
    }
    assert "Uncaged" in sent.headers["user-agent"]
    assert ask(server, "http://news.example.com/a", method="HEAD")["body"] == ""


@pytest.mark.parametrize(
    ("right", "url", "more", "words"),
    [
        (WebRight.WAITING, "https://example.com/", {}, "waits for an owner's grant"),
        (WebRight.WAITING, "https://searxng.invalid/search", {}, "a search of the web waits for"),
        (WebRight.UNDECLARED, "https://example.com/", {}, "is not declared"),
        (WebRight.GRANTED, "https://example.com/", {"method": "POST"}, "is not declared"),
        (WebRight.WAITING, "https://example.com/", {"method": "DELETE"}, "is not declared"),
        (WebRight.GRANTED, "https://example.com:8443/", {}, "ports 443 and 80"),
        (WebRight.GRANTED, "http://example.com:443/", {}, "ports 443 and 80"),
        (WebRight.GRANTED, "http://example.com/", {"headers": [["X-Api-Key", "k"]]}, "x-api-key"),
        (
            WebRight.GRANTED,
            "http://example.com/",
            {"headers": [["Authorization", "Bearer x"]]},
            "authorization does not go out",
        ),
        (WebRight.GRANTED, "http://127.0.0.1/", {}, "not on the public internet"),
        (WebRight.GRANTED, "http://[::1]/", {}, "not on the public internet"),
        (WebRight.GRANTED, "http://169.254.169.254/latest/", {}, "not on the public internet"),
        (WebRight.GRANTED, "http://inside.example.com/", {}, "not on the public internet"),
        (WebRight.GRANTED, "http://localhost/", {}, "not on the public internet"),
        (WebRight.GRANTED, "http://0x7f.1/", {}, "not an address"),
        (WebRight.GRANTED, "http://user:pw@example.com/", {}, "no user or password"),
        (WebRight.GRANTED, "file:///etc/passwd", {}, "EINVAL"),
    ],
)
def test_what_the_permission_does_not_cover_sends_nothing(
    server: Scripted, right: WebRight, url: str, more: dict[str, Any], words: str
) -> None:
    line = GuardedTransport(
        resolve=lambda host, port: [
            INSIDE.get(host, "127.0.0.1" if host == "localhost" else host.strip("[]"))
        ],
        inner=OneServer(server.port),
    )
    with pytest.raises(SigilError, match=words):
        fetch(line, rights(right), {"url": url, **more}, 5)
    line.close()
    assert not server.requests


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("http://127.0.0.1/", "not on the public internet"),
        ("http://rebound.example.com/", "not on the public internet"),
        ("http://example.com:8080/", "ports 443 and 80"),
        ("http://10.1.2.3:80/admin", "not on the public internet"),
    ],
)
def test_a_page_that_redirects_inside_is_not_followed(
    server: Scripted, location: str, words: str
) -> None:
    server.says["/a"] = Answer(302, b"", {"location": location})
    with pytest.raises(Refused, match=words):
        ask(server, "http://example.com/a")
    assert [sent.path for sent in server.requests] == ["/a"]


def test_a_redirect_from_a_granted_api_to_a_page_carries_nothing_along(server: Scripted) -> None:
    api = f"127.0.0.1:{server.port}"
    server.says["/v1"] = Answer(303, b"", {"location": "/page"})
    server.says["/page"] = Answer(200, b"ok", {"content-type": "text/plain"})
    line = GuardedTransport(loopback=True)
    right = rights(
        http=(parse_http_rule(f"POST {api}/v1"),),
        secrets=(parse_secret_rule(f"KEY@{api}"),),
        values=lambda: {"KEY": "s3cret-value"},
    )
    headers = [["x-note", "1"], ["accept", "text/plain"]]
    reply = fetch(line, right, {"url": f"{server.url}/v1", "method": "POST", "headers": headers}, 5)
    line.close()
    assert text_of(reply) == "ok"
    assert server.requests[0].headers["x-note"] == "1"
    assert "x-note" not in server.requests[1].headers


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/html; charset=gb2312", "你好".encode("gbk"), "你好"),
        ("text/html", b'<meta charset="Shift_JIS">' + "日本".encode("cp932"), "日本"),
        ("text/html", b"<meta http-equiv=x content='text/html; charset=x-nonsense'>\xe9", "é"),
        ("text/xml", b"<?xml version='1.0' encoding='koi8-r'?>" + "да".encode("koi8-r"), "да"),
        ("text/plain", "naïve €".encode(), "naïve €"),
        ("text/plain", b"na\xefve \x80", "naïve €"),
        ("text/plain; charset=utf-7", b"+AGEAYg-", "+AGEAYg-"),
        ("text/html; charset=utf-8", "\ufeffx".encode("utf-16"), "x"),
        ("", b"ohne Typ", "ohne Typ"),
    ],
)
def test_a_text_arrives_in_utf_8_whatever_its_charset(
    server: Scripted, kind: str, body: bytes, text: str
) -> None:
    server.says["/"] = Answer(200, body, {"content-type": kind} if kind else {})
    reply = ask(server, "http://example.com/")
    assert text_of(reply).endswith(text)
    assert str(header_of(reply, "content-type")).endswith("; charset=utf-8")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/pdf", b"%PDF-1.7"),
        ("image/png", b"\x89PNG"),
        ("application/octet-stream", b"MZ"),
        ("", b"\x7fELF\0\0\0\0"),
        ("text/html", b"PK\x03\x04\0\0\0\0"),
    ],
)
def test_what_is_no_text_is_refused(server: Scripted, kind: str, body: bytes) -> None:
    server.says["/"] = Answer(200, body, {"content-type": kind} if kind else {})
    with pytest.raises(SigilError, match="which is no text") as caught:
        ask(server, "http://example.com/")
    assert caught.value.code == "EINVAL"


def test_of_a_page_that_does_not_end_only_the_beginning_is_read(server: Scripted) -> None:
    sent: list[int] = []

    def flood() -> Any:
        for number in range(10_000):
            sent.append(number)
            yield b"x" * 65_536

    bomb = gzip.compress(b"y" * 50_000_000)
    server.says["/flood"] = Answer(200, flood(), HTML)
    server.says["/bomb"] = Answer(200, bomb, {**HTML, "content-encoding": "gzip"})
    server.says["/wide"] = Answer(200, b"\xe9" * REPLY_BYTES, HTML)
    server.says["/film"] = Answer(200, flood(), {"content-type": "video/mp4"})
    for path in ("flood", "bomb", "wide"):
        reply = ask(server, f"http://example.com/{path}")
        assert header_of(reply, CUT) == "1"
        assert len(text_of(reply).encode()) == REPLY_BYTES
    with pytest.raises(SigilError, match="which is no text"):
        ask(server, "http://example.com/film")
    assert len(sent) < 1_000


def test_a_server_cannot_claim_that_its_page_was_cut(server: Scripted) -> None:
    server.says["/"] = Answer(200, b"whole", {**HTML, CUT: "1"})
    assert header_of(ask(server, "http://example.com/"), CUT) is None


def test_the_pages_of_a_day_are_counted_and_bounded_for_each_agent(server: Scripted) -> None:
    clock = Clock()
    counter = WebRequestCounter(MemoryKV(clock), clock, most=2)
    right = rights(count_web=lambda: counter.count("main"))
    server.says["/a"] = Answer(302, b"", {"location": "/b"})
    ask(server, "http://example.com/a", right)  # with its redirect it is one
    ask(server, "http://example.com/b", right)
    before = len(server.requests)
    with pytest.raises(Refused, match="2 requests to the web were sent today") as caught:
        ask(server, "http://example.com/b", right)
    assert caught.value.code == "ERATE"
    assert len(server.requests) == before
    assert (counter.sent_today("main"), counter.sent_today("other")) == (2, 0)
    clock.advance(86_400)
    ask(server, "http://example.com/b", right)
    assert counter.sent_today("main") == 1
