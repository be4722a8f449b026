"""A registry behind a real server, to which tokens of every kind have access."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from sigil.access.authentication import Authenticator
from sigil.http import app as sigil_http
from sigil.protocol import LIBRARY, Caller
from sigil.registry import LocalRegistry, RegistryRules
from sigil.sandbox.pool import Sandbox
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.clock import Clock
from tests.sigil.serving import served

ADMIN = "an-admin-token-for-tests"
MODEL = {"X-Sigil-Author": "model", "X-Sigil-Session": "telegram%3A1", "X-Sigil-Owner": "0"}


@dataclass(frozen=True, slots=True)
class TokenServer:
    """A server with a registry behind it, its clock, and requests with a token."""

    url: str
    registry: LocalRegistry
    clock: Clock
    client: httpx.Client

    def ask(self, token: str, method: str, path: str, **options: Any) -> httpx.Response:
        headers = {
            **({"Authorization": f"Bearer {token}"} if token else {}),
            **options.pop("headers", {}),
        }
        return self.client.request(method, self.url + path, headers=headers, **options)

    def deploy(
        self, token: str, name: str, execute: str = "return 1;", **more: Any
    ) -> httpx.Response:
        headers = more.pop("headers", {})
        spec = {"name": name, "description": f"The {name} thing.", "execute": execute, **more}
        return self.ask(token, "POST", "/_api/deploy", json=spec, headers=headers)

    def key(self, kind: str, *scopes: str, namespace: str = "", **more: Any) -> str:
        """A new token."""
        body = {"kind": kind, "scopes": list(scopes), "namespace": namespace, **more}
        answer = self.ask(ADMIN, "POST", "/_api/keys", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["token"])


@pytest.fixture
def opened(sandbox: Sandbox) -> Iterator[Callable[..., TokenServer]]:
    """Makes a server over a registry of its own; `rate` for its gate."""
    with ExitStack() as stack, httpx.Client(timeout=60) as client:

        def opening(rate: float = 600) -> TokenServer:
            clock = Clock()
            registry = LocalRegistry(
                MemoryKV(clock), MemoryArtifacts(), sandbox, clock, rules=RegistryRules(pause=0)
            )
            registry.deploy(
                {"name": "standard", "description": "Of the library.", "execute": "return 's';"},
                Caller(LIBRARY, author="library"),
            )
            gate = Authenticator(ADMIN, lambda: registry.keys, "main", rate, clock)
            return TokenServer(
                stack.enter_context(served(sigil_http.build_app(lambda: registry, gate))),
                registry,
                clock,
                client,
            )

        yield opening


@pytest.fixture
def place(opened: Callable[..., TokenServer]) -> TokenServer:
    return opened()
