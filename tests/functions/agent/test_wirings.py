"""One account, two wirings: an agent over the registry in its process and one over its URL have the
same conversations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from functions.wiring import AgentRuntime
from sigil.client.registry import RemoteRegistry
from sigil.http import app
from sigil.registry import LocalRegistry
from tests.fakes.model import ScriptedModel, call, results, say
from tests.functions.agent.talk import tell
from tests.sigil.serving import served

TOKEN = "a-token-of-this-test"
SHOUT = {
    "name": "shout",
    "description": "Say a text in capital letters.",
    "schema": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}},
    "execute": "return input.text.toUpperCase()",
    "tests": [{"input": {"text": "a"}, "output": "A"}],
}


@pytest.fixture(params=["in this process", "by its address"])
def home(
    request: pytest.FixtureRequest, runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> Iterator[AgentRuntime]:
    settings = {"llm_url": model.url, "owners": ("terminal:local",), "library": "builtin"}
    local = runtime(**settings)
    if request.param == "in this process":
        yield local
        return
    assert isinstance(local.app.registry, LocalRegistry)
    with served(app.build_registry_app(local.app.registry, TOKEN)) as url:
        remote = runtime(**settings, registry_url=url, registry_token=TOKEN)
        assert isinstance(remote.app.registry, RemoteRegistry)
        yield remote


def outcome(model: ScriptedModel) -> Any:
    """The result of the last call, as the model read it."""
    return json.loads(results(model.bodies[-1])[-1].splitlines()[0])


def tools(model: ScriptedModel) -> list[str]:
    """The tools of the last request."""
    return [tool["function"]["name"] for tool in model.bodies[-1]["tools"]]


def test_what_a_query_finds_is_a_tool_of_the_next_round(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(
        call(("sigil_query", {"query": "encode text in base64"})),
        call(("cap_encode", {"text": "hello world", "format": "base64"})),
        say("there it is"),
    )

    assert tell(home, "encode hello world") == ["there it is"]
    assert outcome(model) == {"ok": "aGVsbG8gd29ybGQ="}
    assert "cap_encode" in tools(model)


def test_what_the_model_deploys_is_a_tool_of_the_next_round(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(call(("sigil_deploy", SHOUT)), call(("cap_shout", {"text": "hi"})), say("HI"))

    assert tell(home, "shout hi") == ["HI"]
    assert outcome(model) == {"ok": "HI"}
    assert tools(model) == ["sigil_query", "sigil_deploy", "cap_shout"]


@pytest.mark.parametrize("name", [{}, {"name": None}])
def test_what_the_model_gives_no_name_has_one_of_its_code(
    home: AgentRuntime, model: ScriptedModel, name: dict[str, Any]
) -> None:
    unnamed = {field: value for field, value in SHOUT.items() if field != "name"} | name
    model.then(call(("sigil_deploy", unnamed)), say("made"))
    tell(home, "shout hi")
    made = outcome(model)["ok"]["tool"]
    assert re.fullmatch(r"cap_t_[0-9a-f]{6}", made)
    model.then(call((made, {"text": "hi"})), say("HI"))
    tell(home, "again")
    assert outcome(model) == {"ok": "HI"}


def test_an_end_is_no_field_of_a_models_deploy(home: AgentRuntime, model: ScriptedModel) -> None:
    model.then(call(("sigil_deploy", {**SHOUT, "ttl": 60})), say("no"))
    tell(home, "shout hi")
    assert outcome(model)["error"]["code"] == "EINVAL"
    assert "'ttl'" in outcome(model)["error"]["message"]


def test_failures_reach_the_model_in_the_same_words(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(
        call(("cap_encode", {"text": "x", "format": "base64"})),
        call(("sigil_deploy", {**SHOUT, "tests": [{"input": {"text": "a"}, "output": "wrong"}]})),
        call(("sigil_deploy", {**SHOUT, "name": "encode"})),
        say("so be it"),
        say("so be it"),
    )

    assert tell(home, "try") == [
        "so be it\n\n(`sigil_deploy` failed: the name is somebody else's.)"
    ]
    said = [json.loads(line.splitlines()[0])["error"] for line in results(model.bodies[-1])]
    assert [(error["code"], error["source"]) for error in said] == [
        ("ENOTRESIDENT", "cap_encode"),
        ("ETESTS", "shout"),
        ("EEXIST", "encode"),
    ]
