"""A call that is made again is told so, below its result, with what to change."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from functions.agent.conversation.messages import CallResult, Message, ToolCall
from functions.agent.safety import guides
from functions.agent.safety import round_reaction as told
from functions.agent.safety.round_reaction import describe_repeat
from functions.wiring import AgentRuntime
from sigil.builtin_tools import DEPLOY, QUERY
from tests.fakes.model import ScriptedModel, call, results, say
from tests.functions.agent.talk import tell
from tests.tables import each_row

FAILED = '{"error":{"source":"t","code":"EINVAL","message":"no","suggestion":""}}'
REFUSED = '{"error":{"source":"t","code":"EPERM","message":"no","suggestion":""}}'
LATE = '{"error":{"source":"t","code":"ETIMEDOUT","message":"late","suggestion":""}}'
CHANGE = told.CHANGE_ARGUMENTS.format(names="a, b")


def answered(name: str, arguments: str, content: str, id: str = "1") -> tuple[Message, Message]:
    """A step of one call, and its answer."""
    return (
        Message("assistant", "", calls=(ToolCall(id, name, arguments),)),
        Message("tool", content, call_id=id),
    )


def repeat(name: str, arguments: str, content: str, *before: Message) -> str:
    """What is told of a call after these messages; providers without ids give the same ones."""
    made = ToolCall("1", name, arguments)
    code = json.loads(content).get("error", {}).get("code", "")
    asking = Message("assistant", "", calls=(made,))
    return describe_repeat(CallResult(made, content, error=code), [*before, asking])


@each_row(
    ("before", "now", "expected"),
    [
        (("t", '{"b":2,"a":1}', '{"ok":1}'), ("t", '{"a":1, "b":2}', '{"ok":1}'), "same a, b"),
        (("t", '{"a":1}', '{"ok":1}'), ("t", '{"a":2}', '{"ok":1}'), ""),
        (("t", "{}", '{"ok":1}'), ("u", "{}", '{"ok":1}'), ""),
        (("t", "{}", '{"ok":1}'), ("t", "", '{"ok":1}'), "same"),
        (("t", "{}", '{"ok":1}'), ("t", "{}", '{"ok":2}'), "other"),
        (("t", "{}", FAILED + "\nPain"), ("t", "{}", FAILED), "failed"),
        (("t", '{"a":1,"b":2}', FAILED), ("t", '{"a":1,"b":2}', FAILED), "failed a, b"),
        (("t", '{"a":1}', REFUSED), ("t", '{"a":1}', REFUSED), "failed"),
        (("t", "{}", LATE), ("t", "{}", FAILED), ""),
        (("t", "{}", LATE), ("t", "{}", '{"ok":1}'), ""),
        (("t", "{}", '{"ok":1}'), ("t", "{}", FAILED), ""),
        ((QUERY, '{"query":"x"}', '{"ok":{}}'), (QUERY, '{"query":"x"}', '{"ok":{}}'), "search"),
    ],
)
def test_the_same_call_again_is_told_with_what_to_change(
    before: tuple[str, str, str], now: tuple[str, str, str], expected: str
) -> None:
    sentences = {
        "": "",
        "same": f"{told.SAME_RESULT} {told.USE_RESULT}",
        "same a, b": f"{told.SAME_RESULT} {told.USE_OR_CHANGE.format(names='a, b')}",
        "search": f"{told.SAME_RESULT} {told.SEARCH_OTHERWISE}",
        "other": told.OTHER_RESULT,
        "failed": f"{told.SAME_FAILURE} {told.CHANGE_TOOL}",
        "failed a, b": f"{told.SAME_FAILURE} {CHANGE}",
    }

    assert repeat(*now, *answered(*before)) == sentences[expected]


def test_only_the_step_before_counts() -> None:
    first = answered("t", "{}", '{"ok":1}')
    between = answered("u", "{}", '{"ok":1}')

    assert repeat("t", "{}", '{"ok":1}', *first, *between) == ""
    assert repeat("t", "{}", '{"ok":1}', *between, *first) != ""
    assert repeat("t", "{}", '{"ok":1}') == ""


@pytest.fixture
def home(runtime: Callable[..., AgentRuntime], model: ScriptedModel) -> AgentRuntime:
    return runtime(llm_url=model.url, owners=("terminal:local",))


def deploy(execute: str, *tests: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A deploy of code that takes a number `n`."""
    schema = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
    spec = {"name": "twice", "description": "Double it.", "schema": schema, "execute": execute}
    return call((DEPLOY, {**spec, "tests": tests, **fields}))


RIGHT = {"input": {"n": 0}, "output": 0}
WRONG = {"input": {"n": 1}, "output": 2}
"""A test that the code below passes, and one that it fails."""


def test_a_deploy_of_the_same_code_after_failed_tests_is_told_which_failed(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    other = {"input": {"n": 2}, "output": 4}
    model.then(
        deploy("return input.n", RIGHT, WRONG, other),
        call((QUERY, {"query": "double"})),
        deploy("return  input.n\n", RIGHT, WRONG, description="Double a number."),
        deploy("return input.n * 3", RIGHT, WRONG),
        deploy("return input.n * 3", RIGHT),
        say("done"),
    )
    tell(home, "make it")

    last_lines = [result.splitlines()[-1] for result in results(model.bodies[-1])]
    assert [line.startswith("REPEATED") for line in last_lines] == [False, False, True, False, True]
    assert last_lines[2] == told.SAME_CODE_FAILED.format(before="tests 2, 3", now="test 2")
    assert last_lines[4] == told.SAME_CODE_UNTESTED.format(before="test 2")


def test_a_corrected_test_is_no_repeated_deploy(home: AgentRuntime, model: ScriptedModel) -> None:
    model.then(
        deploy("return input.n", RIGHT, WRONG),
        deploy("return input.n", RIGHT, {"input": {"n": 1}, "output": 1}),
        say("done"),
    )
    tell(home, "make it")

    assert json.loads(results(model.bodies[-1])[1])["ok"]["tests"] == {"passed": 2, "failed": 0}


def test_a_repeated_call_runs_again_and_the_third_time_the_system_says_it_alone(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(
        deploy(
            "const n = 1 + Number(await env.KV.get('n')); await env.KV.put('n', String(n));"
            " return input.n ? n : 0",
            permissions={"kv": True},
        ),
        *[call(("cap_twice", {"n": 1}))] * 2,
        *[call(("cap_twice", {"n": 0}))] * 3,
        say("done"),
    )
    tell(home, "count")

    counted = [result.splitlines() for result in results(model.bodies[-1])[1:]]
    same = f"{told.SAME_RESULT} {told.USE_OR_CHANGE.format(names='n')}"
    assert counted == [
        ['{"ok":1}'],
        ['{"ok":2}', told.OTHER_RESULT],
        ['{"ok":0}'],
        ['{"ok":0}', same],
        ['{"ok":0}', guides.REPEATS.format(count=3)],
    ]
