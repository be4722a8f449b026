"""What models send a little wrong reaches a capability as it was meant, or is asked about."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from functions.wiring import AgentRuntime
from sigil.protocol import Caller
from tests.fakes.model import ScriptedModel, call, results, say
from tests.functions.agent.talk import tell

Open = Callable[..., AgentRuntime]
OWNER = Caller("main", owner=True)
DATA = Path(__file__).parents[3] / "data" / "sent_arguments.jsonl"
SENT = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
"""Arguments that somebody wrote who had seen the schemas alone; `meant` is null for what has two
meanings or none.
"""
CALLS_OF_A_TURN = 12


def deploy_echoes(home: AgentRuntime) -> list[str]:
    """Deploy a capability for each schema, which returns its input; return that of each row."""
    names: dict[str, str] = {}
    for row in SENT:
        tool, _, description = row["tool"].partition(": ")
        key = json.dumps(row["schema"])
        if key not in names:
            names[key] = f"own-{tool.replace('_', '-')}-{len(names)}"
            spec = {"name": names[key], "description": description, "schema": row["schema"]}
            home.app.registry.deploy({**spec, "execute": "return input"}, OWNER)
    return [names[json.dumps(row["schema"])] for row in SENT]


def answer_calls(
    home: AgentRuntime, model: ScriptedModel, names: list[str], arguments: list[Any]
) -> list[dict[str, Any]]:
    """Let the model look up the capabilities and call them; return what it reads of each call."""
    answers: list[str] = []
    for start in range(0, len(names), CALLS_OF_A_TURN):
        named = names[start : start + CALLS_OF_A_TURN]
        queries = [("sigil_query", {"query": name, "limit": 1}) for name in dict.fromkeys(named)]
        calls = []
        for name, sent in zip(named, arguments[start : start + CALLS_OF_A_TURN], strict=True):
            calls.append((f"cap_{name.replace('-', '_')}", json.dumps(sent)))
        model.then(call(*queries), call(*calls), say("ok"))
        tell(home, "go", session=f"telegram:{start}")
        answers += results(model.bodies[-1])[-len(named) :]
    return [json.loads(answer.partition("\n")[0]) for answer in answers]


def test_what_a_stranger_wrote_is_run_as_it_was_meant_or_asked_about(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, llm_window=200_000)
    names = deploy_echoes(home)

    answers = answer_calls(home, model, names, [row["sent"] for row in SENT])

    ran = [answer.get("ok") for answer in answers]
    assert ran == [row["meant"] for row in SENT]
    asked = [answer["error"]["suggestion"] for answer in answers if "error" in answer]
    assert len(asked) == 14
    assert [text for text in asked if not text or "call it" in text or "…" in text] == []
