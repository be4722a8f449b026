"""Steps that a scripted model takes: calls that fail or go well, and capabilities that fail."""

from __future__ import annotations

import base64
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

from tests.fakes.model import call
from tests.functions.people import Live
from tests.machine import within
from tests.servers.programs import command_of
from tests.sigil.sandbox.modules import guest

FETCH = "return (await fetch('https://{}/')).status"
BROKEN: dict[str, dict[str, Any]] = {
    "spin": {"execute": "for (;;);", "limits": {"timeout_ms": 60}},
    "trap": {"wasm": base64.b64encode(guest("unreachable")).decode()},
    "keep": {"execute": FETCH.format("example.com"), "permissions": {"http": ["GET example.com/"]}},
    "wander": {"execute": FETCH.format("localhost"), "permissions": {"http": ["GET localhost/"]}},
    "inward": {"execute": FETCH.format("example.com"), "permissions": {"http": ["GET localhost/"]}},
    "gone": {"execute": "throw { code: 'ENOENT', message: 'no such file' }"},
    "typed": {
        "execute": "return input.n",
        "schema": {
            "type": "object",
            "required": ["n"],
            "properties": {"n": {"type": "integer"}, "path": {"type": "string"}},
        },
    },
    "grow": {"execute": "const all = []; for (;;) all.push(new Uint8Array(1 << 20).fill(1))"},
    "reach": {"execute": "return await env.KV.get('k')"},
    "fine": {"execute": "return 'fine'"},
}


def deploy(agent: Live, *names: str) -> None:
    """Deploy some of `BROKEN` as the owner, over HTTP, and grant `wander` what it asks for."""
    for name in names:
        spec = {"name": name, "description": f"The ability to {name}.", **BROKEN[name]}
        assert agent.server.post("/_api/deploy", json=spec).status_code == 201
    if "wander" in names:
        assert agent.server.post("/_api/grant", json={"ref": "wander"}).status_code == 200


def find(*names: str) -> dict[str, Any]:
    """A step that makes them resident."""
    return call(*[("sigil_query", {"query": name}) for name in names])


def failing(number: object = 0) -> dict[str, Any]:
    """A call that fails with ENOTOOL."""
    return call(("no_such_tool", {"n": number}))


def going(number: object) -> dict[str, Any]:
    """A call that goes well."""
    return call(("sigil_query", {"query": f"nothing like {number}"}))


def many(*numbers: object) -> dict[str, Any]:
    """A step of several calls that fail, each with ENOTOOL."""
    return call(*[("no_such_tool", {"n": number}) for number in numbers])


def beside_a_success(*numbers: object) -> dict[str, Any]:
    """A step in which one call goes well, and those after it fail."""
    return call(
        ("sigil_query", {"query": f"nothing like {numbers}"}),
        *[("no_such_tool", {"n": number}) for number in numbers],
    )


def cascade() -> list[dict[str, Any]]:
    """Steps of one turn that end in an emergency halt: the model has read seven failures of the
    last ten operations, and fails again.
    """
    return [many(0, 1, 2), beside_a_success(3, 4, 5), beside_a_success(6, 7, 8), many(9)]


def shell(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """`uncaged` in a process of its own, on the store of the test's server; forked where `more` has
    the variables of a `ProgramForker`.
    """
    kept = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.getcwd(),
        "HOME": str(folder),
        "NO_COLOR": "1",
    }
    environment = {**kept, "UNCAGED_DATA": str(folder), **more}
    return subprocess.run(
        [*command_of("functions.cli"), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=within(60),
        stdin=subprocess.DEVNULL,
        check=False,
    )


class Gate:
    """A step of the model that waits until it is opened."""

    def __init__(self, then: dict[str, Any]) -> None:
        self.open = threading.Event()
        self._then = then

    def __call__(self, body: dict[str, Any]) -> dict[str, Any]:
        assert self.open.wait(within(20)), "nobody opened it"
        return self._then
