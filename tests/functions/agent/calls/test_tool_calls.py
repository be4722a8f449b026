"""A step pages in what fits into the model's window, and names what does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from functions.agent.calls.tool_calls import QUERY_OTHER
from functions.agent.context import FULL
from functions.agent.conversation.messages import RUNTIME_MARK
from functions.wiring import AgentRuntime
from sigil.builtin_tools import CANNOT_WRITE, NO_DEPLOY_TEXT, WRITE_IT
from tests.fakes.model import ScriptedModel, call, offered, results, say
from tests.functions.agent.talk import tell

Open = Callable[..., AgentRuntime]
WINDOW = 6_000
SUBJECTS = (
    *(
        "encode text in base64",
        "convert units",
        "count words",
        "parse a date",
        "hash a text",
        "format json",
    ),
    *(
        "evaluate an expression",
        "compare two texts",
        "make a table",
        "sort lines",
        "validate an address",
        "random numbers",
    ),
)


def find(*subjects: str, limit: int = 10) -> dict[str, Any]:
    """A step that looks for all of these at once."""
    return call(*[("sigil_query", {"query": subject, "limit": limit}) for subject in subjects])


def follow(model: ScriptedModel, *steps: dict[str, Any]) -> None:
    """The model takes these steps one after the other, as long as it may call tools; then it
    answers.
    """
    left = list(steps)

    def step(body: dict[str, Any]) -> dict[str, Any]:
        may_call = "sigil_query" in offered(body) and body.get("tool_choice") != "none"
        return left.pop(0) if left and may_call else say("ok")

    model._script[:] = [step] * (len(steps) + 3)


def sizes(model: ScriptedModel) -> list[int]:
    """The tokens of each request, as the endpoint counts them."""
    return [len(request.body) // 4 for request in model.requests]


def read_ok(result: str) -> dict[str, Any]:
    """Return what a query or a deploy answered that went well."""
    answer = json.loads(result.partition("\n")[0])["ok"]
    assert isinstance(answer, dict)
    return answer


@pytest.fixture
def home(runtime: Open, model: ScriptedModel) -> AgentRuntime:
    return runtime(llm_url=model.url, llm_window=WINDOW, library="builtin")


@pytest.mark.parametrize("limit", [3, 10])
def test_twelve_queries_of_one_step_leave_the_next_request_within_the_window(
    home: AgentRuntime, model: ScriptedModel, limit: int
) -> None:
    follow(model, find(*SUBJECTS, limit=limit))

    assert tell(home, "go") == ["ok"]
    assert max(sizes(model)) <= WINDOW
    assert len(offered(model.bodies[1])) > 2


@pytest.mark.parametrize("each", [4, 12])
def test_steps_of_one_turn_leave_each_request_within_the_window(
    home: AgentRuntime, model: ScriptedModel, each: int
) -> None:
    follow(
        model,
        *[find(*(SUBJECTS * 2)[number : number + each], limit=10) for number in range(0, 12, 2)],
    )

    assert tell(home, "go") == ["ok"]
    assert max(sizes(model)) <= WINDOW


def test_a_turn_that_fills_the_window_ends_with_an_answer_without_tools(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    follow(model, *[find(*SUBJECTS)] * 5)

    assert tell(home, "go") == ["ok"]
    assert 2 < len(model.bodies) < 6
    assert max(sizes(model)) <= WINDOW
    assert model.bodies[-1]["tool_choice"] == "none"
    assert model.bodies[-1]["messages"][-1]["content"] == f"{RUNTIME_MARK}\n{FULL}"


def test_large_results_and_failures_of_several_steps_fit_into_the_window(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    large = {"name": "large", "description": "Large.", "execute": "return 'x y '.repeat(10000)"}
    step = call(
        *[("cap_large", {})] * 8, ("no_such_tool", {}), ("sigil_query", {"query": "base64"})
    )
    follow(model, call(("sigil_deploy", large)), *[step] * 4)

    assert tell(home, "go") == ["ok"]
    assert len(model.bodies) > 3
    assert max(sizes(model)) <= WINDOW


def test_what_is_found_again_stays_paged_in_though_the_window_is_full(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    follow(model, find(*SUBJECTS), find(*SUBJECTS, limit=9))
    tell(home, "go")

    resident = offered(model.bodies[1])[2:]
    rows = [
        row
        for result in results(model.bodies[2])[len(SUBJECTS) :]
        for row in read_ok(result)["items"]
    ]
    assert {row["tool"] for row in rows if "tool" in row} >= set(resident)
    assert set(offered(model.bodies[2])) >= set(resident)


def test_what_does_not_fit_is_told_as_not_paged_in(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    follow(model, find(*SUBJECTS[:6]))
    tell(home, "go")

    tools = set(offered(model.bodies[1]))
    rows = [row for result in results(model.bodies[1]) for row in read_ok(result)["items"]]
    assert {row["tool"] for row in rows if "tool" in row} | {"sigil_query", "sigil_deploy"} == tools
    missing = [row["capability"] for row in rows if "tool" not in row]
    assert missing
    for result in results(model.bodies[1]):
        listed = read_ok(result)
        assert ("note" in listed) == any("tool" not in row for row in listed["items"])
        assert "not paged in" in listed.get("note", "not paged in")


def test_the_best_of_each_query_comes_before_the_rest_of_the_later_ones(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    follow(model, find("encode text in base64", limit=10))
    tell(home, "go")

    rows = read_ok(results(model.bodies[1])[0])["items"]
    paged = ["tool" in row for row in rows]
    assert paged[0]
    assert "cap_encode" in offered(model.bodies[1])


def test_what_was_not_paged_in_can_be_searched_for_alone_in_the_next_turn(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    follow(model, find(*SUBJECTS))
    tell(home, "go")
    rows = [row for result in results(model.bodies[1]) for row in read_ok(result)["items"]]
    missing = next(row["capability"] for row in rows if "tool" not in row)

    follow(model, find(missing, limit=1))
    tell(home, "again")
    assert f"cap_{missing.replace('-', '_')}" in offered(model.chats[-1])
    assert max(sizes(model)) <= WINDOW


def test_a_deploy_that_does_not_fit_is_made_and_told_as_not_paged_in(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    wide = {
        f"field_{number}": {"type": "string", "description": "What stands there. " * 6}
        for number in range(60)
    }
    spec = {
        "name": "wide",
        "description": "Wide.",
        "schema": {"type": "object", "properties": wide},
        "execute": "return 1",
    }
    follow(model, call(("sigil_deploy", spec)))
    tell(home, "go")

    made = read_ok(results(model.bodies[-1])[0])
    assert made["capability"] == "wide"
    assert "tool" not in made
    assert "not paged in" in made["note"]
    assert "cap_wide" not in offered(model.bodies[-1])


def test_a_large_window_pages_in_all_that_is_found(runtime: Open, model: ScriptedModel) -> None:
    home = runtime(llm_url=model.url, library="builtin")
    follow(model, find(*SUBJECTS))
    tell(home, "go")

    rows = [read_ok(result) for result in results(model.bodies[1])]
    assert not any("note" in row for row in rows)
    assert all("tool" in item for row in rows for item in row["items"])


def test_what_is_only_named_becomes_a_tool_when_its_name_is_searched_for(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, library="builtin")
    asked = "what would I pay monthly for a 250000 mortgage over 30 years at 4.2%"
    model.then(
        call(("sigil_query", {"query": asked})),
        call(("sigil_query", {"query": "invest-value"})),
        say("ok"),
    )
    tell(home, asked)

    first, second = (read_ok(result) for result in results(model.bodies[2]))
    assert [row["capability"] for row in first["items"]] == ["loan-plan"]
    assert first["weak"][0]["capability"] == "invest-value"
    assert first["next"] == f"now call cap_loan_plan{QUERY_OTHER}"
    assert [row["capability"] for row in second["items"]] == ["invest-value"]
    tools = [offered(body)[2:] for body in model.bodies]
    assert tools == [[], ["cap_loan_plan"], ["cap_loan_plan", "cap_invest_value"]]


def test_a_query_says_which_tool_to_call_next(runtime: Open, model: ScriptedModel) -> None:
    home = runtime(llm_url=model.url, library="builtin")
    follow(model, find("encode text in base64", limit=1), find("compare two texts", limit=2))
    tell(home, "go")

    one, several = (read_ok(result) for result in results(model.bodies[-1]))
    assert one["next"] == "now call cap_encode"
    best = several["items"][0]["tool"]
    assert several["next"] == f"now call {best}, or whichever of these fits better"


def test_a_query_that_finds_nothing_shows_the_call_that_writes_it(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, library="none")
    model.then(call(("sigil_query", {"query": "reverse a text"})), say("ok"))
    tell(home, "go")

    shown = read_ok(results(model.bodies[-1])[0])["next"]
    shape = json.loads(shown[shown.index("{") :])
    assert "sigil_deploy" in shown
    deploy = next(
        tool["function"]
        for tool in model.bodies[0]["tools"]
        if tool["function"]["name"] == "sigil_deploy"
    )
    assert (
        set(deploy["parameters"]["required"])
        <= set(shape)
        <= set(deploy["parameters"]["properties"])
    )


def test_the_call_that_is_shown_deploys_once_its_gaps_are_filled(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, library="none")
    spec = json.loads(WRITE_IT[WRITE_IT.index("{") :])
    spec.update(name="shout", execute="return input.text.toUpperCase()")
    spec["description"] = "Shout."
    spec["tests"] = [{"input": {"text": "a"}, "output": "A"}]
    model.then(call(("sigil_deploy", spec)), call(("cap_shout", {"value": "hi"})), say("ok"))
    tell(home, "go")

    deployed, ran = results(model.bodies[-1])
    assert read_ok(deployed)["next"] == "now call cap_shout"
    assert ran == '{"ok":"HI"}'


def test_where_nobody_may_deploy_a_query_and_the_tool_say_so_in_one_line(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, library="none", deploy="none")
    model.then(
        call(("sigil_query", {"query": "reverse a text"})),
        call(("sigil_deploy", {"description": "x", "schema": {}, "execute": "return 1"})),
        say("ok"),
    )
    tell(home, "go")

    assert offered(model.bodies[0]) == ["sigil_query", "sigil_deploy"]
    assert model.bodies[0]["tools"][1]["function"]["description"] == NO_DEPLOY_TEXT
    found, refused = results(model.bodies[-1])
    assert read_ok(found)["next"] == CANNOT_WRITE
    assert json.loads(refused.partition("\n")[0])["error"]["code"] == "EPERM"


def test_arguments_that_are_nearly_json_are_taken_and_others_asked_for(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, library="builtin")
    model.then(
        call(("sigil_query", "{'query': 'hash a text', 'limit': 1,}")),
        call(("cap_hash", '```json\n{"text": "x"}\n```'), ("cap_hash", "x")),
        say("ok"),
    )
    tell(home, "go")

    taken, refused = results(model.bodies[-1])[1:]
    assert taken.startswith('{"ok":"2d711642b726b044')
    error = json.loads(refused.partition("\n")[0])["error"]
    assert (error["code"], error["suggestion"]) == ("EJSON", "send one JSON object with text")
