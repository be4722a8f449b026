"""The official SDK beside the product: its client as a function, its servers as processes."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.project.tree import ROOT
from tests.servers.lambda_runtime import tool
from tests.servers.process import Process, free_port

PEER, SERVER = (
    ROOT / "tests" / "servers" / "mcp_peer.py",
    ROOT / "tests" / "servers" / "mcp_server.py",
)
NEW, OLD = "mcp", "handshake"
"""The SDK of today, and the last one that knew the handshake alone."""


def client(*steps: list[Any], mode: str = "auto", **target: Any) -> dict[str, Any]:
    """What the SDK's client saw: `{"revision", "results", "heard"}`. `target`: `url` with
    `headers`, or `command` with `environment`.
    """
    wanted = json.dumps({**target, "mode": mode, "steps": steps})
    done = subprocess.run(
        [tool(NEW) / "python", str(PEER), wanted],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def command(sdk: str) -> list[str]:
    """The command line of the SDK's server on a pipe."""
    return [str(tool(sdk) / "python"), str(SERVER), "stdio"]


@contextmanager
def server(sdk: str, kind: str) -> Iterator[str]:
    """The address of the SDK's server, `stateful` or `stateless`."""
    port = free_port()
    process = Process(
        [str(tool(sdk) / "python"), str(SERVER), kind, str(port)], {"PATH": "/usr/bin:/bin"}
    )
    try:
        process.wait_until(lambda: _listens(port))
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.stop()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
