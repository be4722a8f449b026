"""A registry over HTTP with little in it, and requests as they are on the wire."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

import sigil
from sigil.access.authentication import Authenticator
from sigil.http import app as sigil_http
from sigil.protocol import LIBRARY, Caller
from sigil.registry import LocalRegistry, RegistryRules
from sigil.sandbox.pool import Sandbox
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV
from tests.machine import within
from tests.sigil.serving import served

TOKEN = "an-admin-token-for-tests"
ENGINE = Path(sigil.__file__).parent / "sandbox" / "engine" / "engine.wasm"


@dataclass(frozen=True, slots=True)
class Web:
    """Where it listens, a client with the admin token, and the registry behind."""

    url: str
    client: httpx.Client
    registry: LocalRegistry

    def key(self, kind: str, *scopes: str) -> httpx.Client:
        """A client with a new token."""
        made = self.client.post("/_api/keys", json={"kind": kind, "scopes": [*scopes]})
        return httpx.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {made.json()['token']}"},
            timeout=within(60),
        )

    def deploy(self, name: str, code: str = "return 1;", **more: Any) -> httpx.Response:
        return self.client.post("/_api/deploy", json={"name": name, "execute": code, **more})


@contextmanager
def web(compiled: Path, *, rate: float = 6_000, children: int = 1) -> Iterator[Web]:
    """A live registry with one capability of the library."""
    sandbox = Sandbox(engine=ENGINE, cache=compiled, children=children)
    registry = LocalRegistry(MemoryKV(), MemoryArtifacts(), sandbox, rules=RegistryRules(pause=0))
    registry.deploy(
        {"name": "standard", "description": "Of the library.", "execute": "return 's';"},
        Caller(LIBRARY, author="library"),
    )
    gate = Authenticator(TOKEN, lambda: registry.keys, "main", rate)
    with (
        served(sigil_http.build_app(lambda: registry, gate)) as url,
        httpx.Client(base_url=url, timeout=within(60)) as client,
    ):
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        yield Web(url, client, registry)
    registry.close()


def raw(url: str, request: bytes) -> bytes:
    """What a server answers to these very bytes, until it closes the connection or is silent."""
    parts = urlsplit(url)
    with socket.create_connection(
        (parts.hostname or "", parts.port or 0), timeout=within(10)
    ) as line:
        line.sendall(request)
        answer = b""
        while chunk := line.recv(65_536):
            answer += chunk
        return answer


def error(response: httpx.Response) -> str:
    """`STATUS CODE` of a failure that has the shape of every failure."""
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"source", "code", "message", "suggestion"}
    return f"{response.status_code} {body['error']['code']}"
