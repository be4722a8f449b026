"""`POST /mcp` wherever the API is served: beside the agent, and as a function, which starts no
programs.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from mangum import Mangum

from functions.wiring import AgentRuntime
from sigil.errors import Refused
from sigil.protocol import Caller
from sigil.settings import Settings
from sigil.wiring import local_registry, open_stores
from tests.functions.serving import serving
from tests.functions.test_registry import ask as invoke
from tests.functions.test_registry import data, handler
from tests.sigil.mcp.test_server_stdio import SHOUT, ask, call

__all__ = ["data", "handler"]


def test_the_server_beside_the_agent_answers(runtime: Callable[..., AgentRuntime]) -> None:
    with serving(runtime()) as server:
        made = server.post("/mcp", json=call(1, "sigil_deploy", **SHOUT)).json()["result"]
        said = server.post(
            "/mcp", json=call(2, "sigil_run", capability="shout", input={"text": "hi"})
        ).json()

    assert not made["isError"]
    assert said == {
        "jsonrpc": "2.0",
        "id": 2,
        "result": {"content": [{"type": "text", "text": "HI"}], "isError": False},
    }


def test_the_function_answers(handler: Mangum) -> None:
    invoke(handler, "POST", "/_api/deploy", SHOUT)
    status, said = invoke(
        handler, "POST", "/mcp", call(1, "sigil_run", capability="shout", input={"text": "hi"})
    )

    assert (status, said["result"]["content"][0]["text"]) == (200, "HI")
    assert invoke(handler, "POST", "/mcp", ask(1, "tools/list"), token="wrong")[0] == 401


def test_a_function_starts_no_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "registry")
    monkeypatch.setenv("SIGIL_PROGRAMS", "yes")
    monkeypatch.setenv("UNCAGED_STORE", "memory://")
    monkeypatch.setenv("UNCAGED_LIBRARY", "none")
    settings = Settings.read()
    registry = local_registry(settings, open_stores(settings))
    try:
        with pytest.raises(Refused, match="starts no programs"):
            registry.importing.tools(
                {"name": "local", "command": ["/bin/cat"]}, Caller("main", owner=True)
            )
    finally:
        registry.close()
