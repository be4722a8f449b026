"""A registry that may reach this machine, an owner, and a server that behaves as a test wants."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from sigil.network.http_transport import GuardedTransport, open_transport
from sigil.protocol import Caller, Json
from sigil.registry import LocalRegistry
from sigil.run.mcp_client import document
from sigil.run.mcp_client.servers import Servers
from sigil.sandbox.pool import Sandbox
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.mcp import FakeMcp

OWNER = Caller("main", owner=True)
ENGINE = Path(__file__).parents[3] / "sigil" / "sandbox" / "engine" / "engine.wasm"


class Ground:
    """A registry, and short words for what a person does with a server."""

    def __init__(self, registry: LocalRegistry) -> None:
        self.registry = registry

    def told(self, server: dict[str, Json], *only: str) -> list[dict[str, Any]]:
        """The tools of a server."""
        return self.registry.importing.tools(server, OWNER, only)

    def bring(
        self, server: dict[str, Json], *, grant: bool = True, timeout: int = 5_000
    ) -> list[str]:
        """Bring in every tool that can be a capability, and grant it; their names."""
        read = document.parse_server(server)
        names = []
        for row in self.told(server):
            if not row["problem"]:
                self.registry.deploy(spec(read, row, timeout), OWNER)
                if grant:
                    self.registry.granting.grant(row["capability"], OWNER)
                names.append(row["capability"])
        return names

    def run(self, ref: str, /, **given: Json) -> Any:
        """What a capability returns."""
        import json

        return json.loads(self.registry.run(ref, given, OWNER).output)


def spec(server: document.McpServer, row: dict[str, Any], timeout: int = 5_000) -> dict[str, Any]:
    """A tool as a deploy takes it."""
    return {
        "name": row["capability"],
        "description": row["description"],
        "schema": row["schema"],
        "lang": "mcp",
        "code": document.ServerToolDocument(server, row["tool"]).code.decode(),
        "permissions": {
            "http": list(server.http),
            "secrets": list(server.secrets),
            "mcp": list(server.mcp),
        },
        "limits": {"timeout_ms": timeout},
    }


@pytest.fixture
def grounds(sandbox: Sandbox) -> Iterator[Callable[..., Ground]]:
    """Opens registries: `grounds(web=…, servers=…)`."""
    with ExitStack() as stack:

        def opened(
            web: Callable[[], GuardedTransport] | None = None, servers: Servers | None = None
        ) -> Ground:
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
            return Ground(registry)

        yield opened


@pytest.fixture
def ground(grounds: Callable[..., Ground]) -> Ground:
    return grounds()


@pytest.fixture
def fake() -> Iterator[FakeMcp]:
    """A server over HTTP."""
    with FakeMcp() as server:
        yield server
