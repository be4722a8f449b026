"""A registry over a real store and the real sandbox, with a clock that tests set; and servers for a
capability's requests, on loopback, with and without TLS.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from sigil.network.http_transport import GuardedTransport, open_transport
from sigil.registry import LocalRegistry, RegistryRules
from sigil.run.mcp_client.servers import Servers
from sigil.sandbox.pool import Sandbox
from sigil.storage.artifacts import FolderArtifacts, MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.kv.sqlite import SqliteKV
from tests.fakes.clock import Clock
from tests.fakes.mcp import FakeMcp
from tests.fakes.server import Answer, Recorded, RecordingServer
from tests.servers.certificates import Authority, authority
from tests.sigil.registries import Open
from tests.sigil.tool_importer import ToolImporter


class Scripted(RecordingServer):
    """Answers each path with what `says` maps it to; everything else is an empty 200. With a
    `context` it speaks TLS.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        super().__init__()
        self.says: dict[str, Answer | Callable[[Recorded], Answer]] = {}
        self._tls = context is not None
        if context:
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def answer(self, request: Recorded) -> Answer:
        said = self.says.get(request.path.partition("?")[0], Answer())
        return said if isinstance(said, Answer) else said(request)


@pytest.fixture
def server() -> Iterator[Scripted]:
    """A plain server."""
    with Scripted() as made:
        yield made


@pytest.fixture(scope="session")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """An authority that the lines of these tests trust."""
    return authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def secure(trust: Authority) -> Iterator[Callable[..., Scripted]]:
    """Starts servers with TLS: `secure("api.example.test")`."""
    with ExitStack() as stack:
        yield lambda *names: stack.enter_context(Scripted(trust.server(*names)))


@pytest.fixture
def lines(trust: Authority) -> Iterator[Callable[..., GuardedTransport]]:
    """Opens lines that trust the authority and find `*.example.test` here: `lines(resolve=…,
    loopback=…)`.
    """
    context = ssl.create_default_context(cafile=str(trust.certificate))
    with ExitStack() as stack:

        def opened(**given: object) -> GuardedTransport:
            made = GuardedTransport(
                **{"loopback": True, "context": context, "resolve": here, **given}
            )  # type: ignore[arg-type]
            stack.callback(made.close)
            return made

        yield opened


def here(host: str, port: int) -> list[str]:
    """Every name is this machine's."""
    return [host] if host[0].isdigit() else ["127.0.0.1"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def kv(tmp_path: Path, clock: Clock) -> Iterator[SqliteKV]:
    made = SqliteKV(tmp_path / "store.db", clock)
    yield made
    made.close()


@pytest.fixture
def opened(tmp_path: Path, kv: SqliteKV, sandbox: Sandbox, clock: Clock) -> Iterator[Open]:
    """Opens registries: each call is another process's view of the same store. `opened(kv,
    quotas=Quotas(…), pause=5.0)`.
    """
    with ExitStack() as stack:

        def made(store: Any = None, **rules: Any) -> LocalRegistry:
            if store is None:
                store = SqliteKV(tmp_path / "store.db", clock)
                stack.callback(store.close)
            return LocalRegistry(
                store,
                FolderArtifacts(tmp_path / "artifacts"),
                sandbox,
                clock,
                rules=RegistryRules(**rules),
            )

        yield made


@pytest.fixture
def registry(opened: Open, kv: SqliteKV) -> LocalRegistry:
    return opened(kv)


@pytest.fixture
def open_importer(sandbox: Sandbox) -> Iterator[Callable[..., ToolImporter]]:
    """Opens registries: `open_importer(web=…, servers=…)`."""
    with ExitStack() as stack:

        def opened(
            web: Callable[[], GuardedTransport] | None = None, servers: Servers | None = None
        ) -> ToolImporter:
            here = servers or Servers({"PATH": os.environ["PATH"], "HOME": "/"})
            line = web or (lambda: open_transport(loopback=True))

            def network() -> GuardedTransport:
                made = line()
                stack.callback(made.close)
                return made

            registry = LocalRegistry(
                MemoryKV(), MemoryArtifacts(), sandbox, web=network, servers=here
            )
            stack.callback(here.close)
            return ToolImporter(registry)

        yield opened


@pytest.fixture
def importer(open_importer: Callable[..., ToolImporter]) -> ToolImporter:
    return open_importer()


@pytest.fixture
def fake() -> Iterator[FakeMcp]:
    """A server over HTTP."""
    with FakeMcp() as server:
        yield server
