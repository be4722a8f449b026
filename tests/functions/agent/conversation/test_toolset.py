"""The model reads of its tools what is short, and true when it is tried."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from functions.agent.conversation.tokens import CHARACTERS_A_TOKEN
from functions.agent.conversation.toolset import DEPLOY, STATIC, define_tools
from functions.wiring import AgentRuntime
from sigil.errors import ToolError
from sigil.protocol import Caller
from sigil.strict_json import canonical

MODEL = Caller("main", "telegram:1", owner=True, author="model")
TEXT: str = next(
    tool["function"]["description"] for tool in STATIC if tool["function"]["name"] == DEPLOY
)


def deployed(home: AgentRuntime, name: str, execute: str, **more: Any) -> Any:
    return home.app.registry.deploy(
        {"name": name, "description": f"The {name} thing.", "execute": execute, **more}, MODEL
    )


def run(home: AgentRuntime, name: str, **arguments: Any) -> Any:
    return json.loads(home.app.registry.run(name, arguments, MODEL).output)


def test_how_to_make_a_capability_is_told_in_few_words() -> None:
    assert len(TEXT.split()) <= 160
    tokens = len(canonical(STATIC[1])) / CHARACTERS_A_TOKEN
    assert tokens <= 480


def test_where_nobody_may_deploy_its_tool_says_so_in_one_line() -> None:
    names = [tool["function"]["name"] for tool in define_tools((), deploys=False)]
    assert names == [tool["function"]["name"] for tool in STATIC]
    assert len(canonical(define_tools((), deploys=False)[1])) / CHARACTERS_A_TOKEN <= 60


def test_the_example_is_one(runtime: Callable[..., AgentRuntime]) -> None:
    home = runtime()
    schema, execute, tests = re.findall(
        r'schema (\{.*\}),\nexecute "(.*)", tests (\[.*\])\.', TEXT
    )[0]
    done = deployed(
        home, "reverse-text", execute, schema=json.loads(schema), tests=json.loads(tests)
    )
    assert done.passed == 1
    assert run(home, "reverse-text", text="hello") == "olleh"


def test_a_module_does_as_well(runtime: Callable[..., AgentRuntime]) -> None:
    home = runtime()
    module = (
        "export default { async fetch(request, env) { const input = await request.json();"
        " return Response.json(input); } }"
    )
    deployed(home, "echo", module)
    assert run(home, "echo", word="語") == {"word": "語"}


def test_a_store_lasts_and_calls_are_answered_at_once(runtime: Callable[..., AgentRuntime]) -> None:
    home = runtime()
    count = (
        'const n = 1 + Number(await env.KV.get("n")); await env.KV.put("n", String(n)); return [n,'
        " (await env.KV.list()).keys.length]"
    )
    deployed(home, "count", count, permissions={"kv": True})
    deployed(home, "outer", 'return await env.call("count", {})', requires=["count"])
    deployed(home, "other", 'return await env.call("count", {})', permissions={"call": ["count"]})
    assert [run(home, name) for name in ("count", "outer", "other")] == [[1, 1], [2, 1], [3, 1]]


def test_a_request_waits_for_an_owner_and_says_which_capability_does(
    runtime: Callable[..., AgentRuntime],
) -> None:
    home = runtime()
    execute, told = (
        'return (await fetch("https://api.example.com/v1/x")).status',
        [{"url": "https://api.example.com/v1/x", "body": {}}],
    )
    permissions = {"http": ["GET api.example.com/v1/"]}
    done = deployed(
        home,
        "far",
        execute,
        permissions=permissions,
        tests=[{"input": {}, "output": 200, "http": told}],
    )
    assert (done.passed, done.pending) == (1, ("http:GET api.example.com/v1/",))
    with pytest.raises(ToolError, match=r"EPERM: .* waits for an owner's grant: `sigil grant far`"):
        run(home, "far")
