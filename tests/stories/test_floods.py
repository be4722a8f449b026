"""Strangers send a real server what they like: it costs little, ends in time and leaves no trace of
a mistake in the log.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from select import select
from urllib.parse import urlsplit

import httpx
import pytest

from tests.fakes.bot_api import BotApi
from tests.machine import until, within
from tests.servers.programs import ProgramForker, command_of

SECRET = "the-secret-of-the-webhook"
TOKEN = "an-admin-token-of-the-tests-0123456789"
MEGABYTE = 1_000_000
PATIENCE = within(20.0)
UPDATE = json.dumps({"update_id": 1, "callback_query": {}}).encode()


@dataclass(frozen=True)
class Server:
    """A server in a process of its own, and its log."""

    pid: int
    log: Path
    url: str

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    @property
    def resident(self) -> int:
        """The bytes of memory that it holds."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return next(
            int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmRSS")
        )

    @property
    def files(self) -> int:
        """How many files it holds open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def connect(self) -> socket.socket:
        where = urlsplit(self.url)
        return socket.create_connection((where.hostname, where.port), PATIENCE)

    def begin(
        self, path: str, *headers: str, body: bytes = b"", length: int = MEGABYTE
    ) -> socket.socket:
        """A connection on which a request of `length` bytes was begun and not ended."""
        lines = (f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {length}", *headers, "", "")
        opened = self.connect()
        opened.sendall("\r\n".join(lines).encode() + body)
        return opened


def status_of(opened: socket.socket) -> int:
    """The status that the server answers with; 0 when it closes the connection without a word."""
    received = opened.recv(4096)
    return int(received.split()[1]) if received else 0


def ended(opened: socket.socket) -> bool:
    """Whether the server ends this connection, read to its end."""
    try:
        while opened.recv(65_536):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


@contextmanager
def serving(
    tmp_path: Path,
    bot: BotApi,
    forker: ProgramForker,
    module: str = "functions.cli",
    **more: str,
) -> Iterator[Server]:
    environment = {
        **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        "UNCAGED_DATA": str(tmp_path / "data"),
        "UNCAGED_LIBRARY": "none",
        "UNCAGED_TOKEN": TOKEN,
        "TELEGRAM_TOKEN": bot.token,
        "TELEGRAM_SECRET": SECRET,
        "TELEGRAM_API": bot.url,
        **forker.environment,
        **more,
    }
    log = tmp_path / "log"
    words = [*command_of(module), "serve", "--port", "0"]
    with log.open("wb") as file:
        process = subprocess.Popen(words, env=environment, stdout=file, stderr=file, cwd=tmp_path)
    try:
        until(
            lambda: "http://127.0.0.1:" in log.read_text() or process.poll() is not None,
            "it listens",
        )
        words = log.read_text().split()
        url = next((word for word in words if word.startswith("http://127.0.0.1:")), "")
        assert url, words
        until(lambda: _answers(url), "it answers")
        yield Server(forker.find_child(tmp_path), log, url)
    finally:
        process.kill()
        process.wait()


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/_health").status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, forked: ProgramForker) -> Iterator[Server]:
    """A server that everybody attacks: what one client did to it must not show to the next."""
    folder = tmp_path_factory.mktemp("server")
    slack = {"SLACK_TOKEN": "xoxb-1", "SLACK_SECRET": SECRET, "SLACK_API": "http://127.0.0.1:9"}
    with BotApi() as bot, serving(folder, bot, forked, **slack) as started:
        yield started


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory, forked: ProgramForker) -> Iterator[Server]:
    """A server that gives its clients a second, keeps few connections and trusts a proxy."""
    folder = tmp_path_factory.mktemp("strict")
    settings = {
        "UNCAGED_REQUEST_SECONDS": "1",
        "UNCAGED_CONNECTIONS": "8",
        "UNCAGED_PROXIES": "10.0.0.0/8, 127.0.0.1",
    }
    with BotApi() as bot, serving(folder, bot, forked, **settings) as started:
        yield started


def secret(value: str = SECRET) -> str:
    return f"X-Telegram-Bot-Api-Secret-Token: {value}"


BEARER = f"Authorization: Bearer {TOKEN}"


def test_a_stranger_is_refused_before_any_of_the_body_came(
    server: Server, subtests: pytest.Subtests
) -> None:
    requests = (
        ("/webhook/telegram", secret("wrong")),
        ("/webhook/telegram", "X-None: 1"),
        ("/webhook/slack", "X-None: 1"),
        ("/hooks/builds", "X-Hook-Token: wrong"),
        ("/chat", "Authorization: Bearer wrong"),
        ("/wakeups", "Authorization: Bearer wrong"),
        ("/run/encode", "Authorization: Bearer wrong"),
        ("/_api/deploy", "Authorization: Bearer wrong"),
        ("/mcp", "Authorization: Bearer wrong"),
    )
    with ExitStack() as stack:  # all at once: the server gives each of them two seconds to leave
        begun = [stack.enter_context(closing(server.begin(*request))) for request in requests]
        for request, opened in zip(requests, begun, strict=True):
            with subtests.test(request=request):
                assert status_of(opened) == 401
                assert ended(opened)


def test_an_unknown_platform_is_told_before_any_of_the_body_came(server: Server) -> None:
    with closing(server.begin("/webhook/nowhere", secret())) as opened:
        assert status_of(opened) == 404


def test_a_body_without_an_end_is_refused_before_its_signature_can_be_checked(
    server: Server,
) -> None:
    signed = (f"X-Slack-Request-Timestamp: {int(time.time())}", "X-Slack-Signature: v0=" + 64 * "0")
    lines = ("POST /webhook/slack HTTP/1.1", "Host: x", "Transfer-Encoding: chunked", *signed)
    with closing(server.connect()) as opened:
        opened.sendall("\r\n".join((*lines, "", "")).encode())
        with suppress(ConnectionError):
            for _ in range(64):
                opened.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
        assert status_of(opened) == 413
        assert ended(opened)


def test_a_flood_of_forged_posts_costs_no_memory_is_closed_and_writes_no_traceback(
    server: Server,
) -> None:
    before = server.resident
    with ExitStack() as stack:
        flood = []
        for _ in range(150):
            opened = stack.enter_context(
                closing(server.begin("/webhook/telegram", secret("wrong")))
            )
            flood.append(opened)
            try:
                opened.sendall(b" " * (MEGABYTE - 1))
            except ConnectionError:  # it was closed meanwhile, which is as good
                continue
        grown = server.resident - before
        assert httpx.get(f"{server.url}/health", timeout=PATIENCE).status_code == 200
        assert all(ended(opened) for opened in flood)

    assert grown < 20 * MEGABYTE
    assert "Traceback" not in server.said


@pytest.mark.parametrize(
    "path", ["/webhook/telegram", "/chat", "/run/encode", "/_api/deploy", "/halt"]
)
def test_a_client_that_leaves_before_its_body_ended_is_no_mistake_of_ours(
    server: Server, path: str
) -> None:
    for _ in range(3):
        server.begin(path, secret(), BEARER, body=b"{").close()
    with closing(server.begin(path, secret(), BEARER, body=b"{")) as opened:
        opened.shutdown(socket.SHUT_WR)
        ended(opened)

    assert httpx.get(f"{server.url}/health", timeout=PATIENCE).status_code == 200
    assert "Traceback" not in server.said


def test_a_body_that_drips_is_told_408_in_time(strict: Server, subtests: pytest.Subtests) -> None:
    paths = ("/webhook/telegram", "/chat", "/run/encode", "/_api/deploy", "/halt")
    with ExitStack() as stack:
        begun = [
            stack.enter_context(closing(strict.begin(path, secret(), BEARER, body=b"{")))
            for path in paths
        ]
        deadline = time.monotonic() + PATIENCE
        while not select(begun, (), (), 0.1)[0] and time.monotonic() < deadline:
            for opened in begun:
                opened.sendall(b" ")
        for path, opened in zip(paths, begun, strict=True):
            received = b""
            while more := opened.recv(4096):
                received += more
            with subtests.test(path=path):
                assert received.split()[1] == b"408"
                assert b"ESLOW" in received


@pytest.mark.parametrize(
    "said",
    [b"", b"POST /chat HTTP/1.1\r\nHost: x\r\n", b"GET /health HTTP/1.1\r\nHost: x\r\n\r\nGET /he"],
)
def test_a_connection_that_does_not_end_its_request_is_closed(strict: Server, said: bytes) -> None:
    with closing(strict.connect()) as opened:
        opened.sendall(said)
        assert ended(opened)


def test_a_client_that_does_not_read_its_answers_is_let_go(strict: Server) -> None:
    asked = b"GET /_api/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 400
    where = urlsplit(strict.url)
    with closing(socket.socket()) as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        opened.settimeout(PATIENCE)
        opened.connect((where.hostname, where.port))
        opened.sendall(asked)
        reset = errno.ECONNRESET
        until(
            lambda: opened.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == reset, "it is closed"
        )


def test_idle_connections_make_room_for_whoever_asks_something(strict: Server) -> None:
    with ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(closing(strict.connect()))
        answer = httpx.post(
            f"{strict.url}/webhook/telegram",
            content=UPDATE,
            headers=dict([secret().split(": ")]),
            timeout=PATIENCE,
        )

    assert answer.status_code == 200


def test_beyond_the_bound_others_are_told_503_and_health_still_answers(
    tmp_path: Path, bot: BotApi, forked: ProgramForker
) -> None:
    with (
        serving(tmp_path, bot, forked, UNCAGED_CONNECTIONS="8") as server,
        ExitStack() as stack,
    ):
        for _ in range(8):
            opened = stack.enter_context(
                closing(server.begin("/webhook/telegram", secret(), "Expect: 100-continue"))
            )
            assert status_of(opened) == 100  # its body is waited for
        for _ in range(100):
            stack.enter_context(closing(server.connect()))
        with closing(server.begin("/webhook/telegram", secret(), body=b"{}", length=2)) as opened:
            refused = opened.recv(4096)
        assert refused.split()[1] == b"503"
        assert b"retry-after: " in refused.lower()
        assert httpx.get(f"{server.url}/health", timeout=PATIENCE).status_code == 200
        assert httpx.get(f"{server.url}/_health", timeout=PATIENCE).status_code == 200


def test_out_of_file_descriptors_the_log_stays_small_and_the_server_comes_back(
    server: Server,
) -> None:
    soft, hard = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
    before = len(server.said)
    with ExitStack() as stack:
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (server.files + 2, hard))
        for _ in range(60):
            stack.enter_context(closing(server.begin("/webhook/telegram", secret(), body=b"{")))
        until(lambda: len(server.said) > before, "it says that it is out of them")
        time.sleep(2.5)  # it tries again each second, and says no more about it
        grown = len(server.said) - before
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (soft, hard))

    assert httpx.get(f"{server.url}/health", timeout=PATIENCE).status_code == 200
    assert grown < 2_000


def test_what_is_no_http_does_not_fill_the_log(server: Server) -> None:
    before = len(server.said)
    for said in (
        b"\x16\x03\x01nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    ):
        for _ in range(40):
            with closing(server.connect()) as opened:
                opened.sendall(said)
                status_of(opened)

    assert len(server.said) - before < 1_500


def test_a_request_with_two_lengths_is_refused_and_smuggles_none(server: Server) -> None:
    smuggled = b"0\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    secret = f"X-Telegram-Bot-Api-Secret-Token: {SECRET}"
    headers = ("Transfer-Encoding: chunked", secret)

    with closing(
        server.begin("/webhook/telegram", *headers, body=smuggled, length=len(smuggled))
    ) as opened:
        received = b""
        while part := opened.recv(4096):
            received += part

    assert received.count(b"HTTP/1.1") == 1
    assert received.startswith(b"HTTP/1.1 400")


def test_a_repeated_secret_is_refused(server: Server) -> None:
    for headers in ((secret(), secret("wrong")), (secret("wrong"), secret()), (secret(), secret())):
        with closing(
            server.begin("/webhook/telegram", *headers, body=UPDATE, length=len(UPDATE))
        ) as opened:
            assert status_of(opened) == 401
    for bearers in (
        (BEARER, "Authorization: Bearer wrong"),
        ("Authorization: Bearer wrong", BEARER),
        (BEARER, BEARER),
    ):
        with closing(server.begin("/chat", *bearers, body=b"{}", length=2)) as opened:
            assert status_of(opened) == 401
    with closing(
        server.begin("/webhook/telegram", secret(), body=UPDATE, length=len(UPDATE))
    ) as opened:
        assert status_of(opened) == 200


FORWARDED = {"x-forwarded-for": "203.0.113.7, 198.51.100.9", "authorization": "Bearer wrong"}


def addresses(server: Server) -> list[str]:
    """The addresses that the log names for a request that is turned away."""
    before = len(server.said)
    httpx.get(f"{server.url}/_api/list", headers=FORWARDED, timeout=PATIENCE)
    until(lambda: "turned away" in server.said[before:], "it was turned away")
    lines = [json.loads(line) for line in server.said[before:].splitlines() if line.startswith("{")]
    return [line["address"] for line in lines if line["step"] == "turned away"]


def test_nobody_chooses_the_address_that_stands_in_the_log(server: Server) -> None:
    assert addresses(server) == ["127.0.0.1"]


def test_a_trusted_proxy_tells_whose_request_it_passes_on(strict: Server) -> None:
    assert addresses(strict) == ["198.51.100.9"]


def test_the_registry_alone_bounds_its_clients_as_well(
    tmp_path: Path, bot: BotApi, forked: ProgramForker
) -> None:
    settings = {"UNCAGED_REQUEST_SECONDS": "1"}
    with (
        serving(tmp_path, bot, forked, "sigil.cli", **settings) as server,
        closing(server.connect()) as opened,
    ):
        assert ended(opened)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("UNCAGED_PROXIES", "somebody"),
        ("UNCAGED_PROXIES", "*"),
        ("UNCAGED_CONNECTIONS", "0"),
        ("UNCAGED_REQUEST_SECONDS", "0"),
    ],
)
def test_a_bound_that_is_none_is_refused_at_the_start(
    tmp_path: Path, forked: ProgramForker, name: str, value: str
) -> None:
    environment = {
        **forked.environment,
        "PATH": os.defpath,
        "UNCAGED_DATA": str(tmp_path),
        "UNCAGED_LIBRARY": "none",
        name: value,
    }
    words = [*command_of("functions.cli"), "serve", "--port", "0"]
    done = subprocess.run(
        words,
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=within(60),
    )

    assert done.returncode == 2
    assert name in done.stderr
