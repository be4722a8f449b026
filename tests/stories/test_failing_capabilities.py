"""Failures as a chat over the webhook meets them: real capabilities that fail in every way, and
what the model reads.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest

from functions.agent.safety.call_facts import Fact, fingerprint
from functions.agent.safety.failure_codes import CODES
from functions.agent.safety.guides import ALERT
from functions.wiring import AgentRuntime
from sigil.protocol import Found, Registry
from tests.fakes.bot_api import BotApi
from tests.fakes.model import Reply, ScriptedModel, call, results, say
from tests.functions.model_steps import BROKEN, beside_a_success, deploy, failing, find, going, many
from tests.functions.people import GUEST, OWNER, Live, platform, reason
from tests.functions.serving import serving

Lives = Callable[..., AbstractContextManager[Live]]
CLAIMS = {
    "name": "claims",
    "description": "Claims a failure.",
    "execute": "throw { code: input.code, message: 'mine' }",
    "schema": {"type": "object", "properties": {"code": {"type": "string"}}},
}
FATAL = [name for name, code in CODES.items() if code.kind == "fatal"]
CASCADE, FRUSTRATION = (reason(name, owner=True) for name in ("cascade", "frustration"))
BREACH, STARVED = (
    Fact(
        "cap_reach",
        "",
        "EBREACH",
        "the sandbox process asked for what it was not granted, and was ended",
    ),
    Fact("sigil_query", "", "EHOSTMEM", "the machine has no memory left for this call"),
)
LOW, MEDIUM, CRITICAL = "💧 Low Pain", "⚡ Medium Pain", "🔥🔥🔥 Critical Pain"
FAILURES = [
    (("cap_spin", {}), "ETIMEDOUT (Timed Out): timed out after 60 ms", LOW),
    (("cap_trap", {}), "ETRAP (Trapped): unreachable code was reached", LOW),
    (
        ("cap_keep", {}),
        (
            "EPERM (Permission Denied): GET https://example.com/ waits for an owner's grant: `sigil"
            " grant keep`"
        ),
        CRITICAL,
    ),
    (
        ("cap_wander", {}),
        "EPERM (Permission Denied): localhost is not on the public internet",
        CRITICAL,
    ),
    (("cap_inward", {}), "EPERM (Permission Denied): ", CRITICAL),
    (("cap_gone", {}), "ENOENT (Not Found): no such file", MEDIUM),
    (("cap_typed", {"n": "x", "path": "/etc/passwd"}), "EINVAL (Invalid Argument): ", LOW),
    (("cap_typed", "{bad"), "EJSON (Invalid JSON): the arguments are not JSON", LOW),
    (("cap_typed", "[1]"), "EJSON (Invalid JSON): the arguments are not a JSON object", LOW),
    (("no_such_tool", {}), "ENOTOOL (No Such Tool): there is no such tool", LOW),
    (("cap_grow", {}), "ENOMEM (Out Of Memory): ", LOW),
]


@pytest.fixture
def read(live: Lives, model: ScriptedModel) -> list[str]:
    """What the model read of each of `FAILURES`, every one in a chat of its own."""
    found = []
    with live() as agent:
        rules = 'format = 1\nrules = ["deny everybody grant *"]'
        agent.server.runtime.app.policy_versions.write("main", "policy", rules, by="terminal:local")
        deploy(agent, *BROKEN)
        for chat, (made, _, _) in enumerate(FAILURES, 100):
            name = made[0].removeprefix("cap_")
            model.then(*([find(name)] if name in BROKEN else []), call(made), say("What now?"))
            assert agent.ask("go", chat) == "What now?"
            found.append(
                next(result for result in results(model.bodies[-1]) if '"error"' in result)
            )
    return found


def test_a_call_that_takes_too_much_memory_halts_nobody_and_the_model_may_mend_it(
    live: Lives, model: ScriptedModel
) -> None:
    model.then(
        find("grow"), call(("cap_grow", {})), find("fine"), call(("cap_fine", {})), say("mended")
    )
    with live() as agent:
        deploy(agent, "grow", "fine")
        assert agent.ask("go", GUEST) == "mended"
        assert agent.state(GUEST) == "WAITING_FOR_EVENT"
    assert [
        json.loads(result.partition("\n")[0]).get("error", {}).get("code")
        for result in results(model.bodies[-1])[1:2]
    ] == ["ENOMEM"]


def test_a_capability_cannot_claim_what_is_fatal(live: Lives, model: ScriptedModel) -> None:
    model.then(
        find("claims"), call(*[("cap_claims", {"code": code}) for code in FATAL]), say("What now?")
    )
    with live() as agent:
        assert agent.server.post("/_api/deploy", json=CLAIMS).status_code == 201
        assert agent.ask("go") == "What now?"
    read = [
        json.loads(result.partition("\n")[0])["error"]["code"]
        for result in results(model.bodies[-1])[1:]
    ]
    assert read == ["EGUEST"] * len(FATAL)


def test_a_breach_of_the_sandbox_halts_the_chat_at_once(
    live: Lives, model: ScriptedModel, breached: None
) -> None:
    model.then(find("reach"), call(("cap_reach", {})), say("never said"))
    with live() as agent:
        deploy(agent, "reach")
        assert agent.ask("go") == reason("fatal", BREACH, owner=True)
        report = agent.status()
        assert (report["state"], report["failures"][0]["code"]) == ("ERROR_PAUSED", "EBREACH")
        assert agent.ask("hello?") == reason("fatal", BREACH, owner=True)
    assert len(model.bodies) == 2


class Starved:
    """A registry on a machine that has no memory left."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def __getattr__(self, name: str) -> Any:
        return getattr(self._registry, name)

    def query(self, *_: object, **__: object) -> Found:
        return Found(total=len(bytearray(1 << 62)))


def test_a_machine_without_memory_halts_the_chat_at_once(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, **platform(bot))
    model.then(going(1), say("never said"))
    with serving(
        replace(home, app=replace(home.app, registry=Starved(home.app.registry)))
    ) as server:
        agent = Live(server, bot)
        assert agent.ask("go") == reason("fatal", STARVED, owner=True)
        report = agent.status()
    assert (report["state"], report["failures"][0]["code"]) == ("ERROR_PAUSED", "EHOSTMEM")
    assert len(model.bodies) == 1


def test_every_failure_has_one_shape_and_its_pain(read: list[str]) -> None:
    for result, (made, message, level) in zip(read, FAILURES, strict=True):
        assert_pain(result, made[0], message, level)


def assert_pain(result: str, tool: str, message: str, level: str) -> None:
    """Assert that a tool's result is the error as one line of JSON, and the pain below it."""
    fact, *pain = result.split("\n")
    error = json.loads(fact)["error"]
    assert set(json.loads(fact)) == {"error"}
    assert set(error) == {"source", "code", "message", "suggestion"}
    assert all(isinstance(value, str) for value in error.values())
    assert error["source"] in (tool, tool.removeprefix("cap_"))
    code, _, phrase = message.partition(" ")
    assert error["code"] == code
    assert error["message"].startswith(phrase.partition(": ")[2])
    assert pain == [
        "【System Pain Alert】",
        "Execution anomaly detected!",
        f"Source: {tool}",
        f"Message: {code} {phrase.partition(': ')[0]}: {error['message']}",
        f"Pain Level: {level}",
        'Status: Your action has been blocked. This causes "discomfort."',
        "",
        "Stop repeating this attempt. Analyze the pain source.",
        "Adjust your strategy in the next tick.",
    ]


def test_arguments_that_are_none_never_run_as_none_and_count(
    live: Lives, model: ScriptedModel
) -> None:
    odd = ["{bad", "[1]", '"text"', "null", "5"]
    model.then(find("fine"), *[call(("cap_fine", arguments)) for arguments in odd])
    with live() as agent:
        deploy(agent, "fine")
        wrong = Fact("cap_fine", "", "EJSON", "the arguments are not a JSON object")
        assert agent.ask("go") == reason("frustration", wrong, owner=True)
        report = agent.status()

    assert [
        json.loads(result.partition("\n")[0])["error"]["code"]
        for result in results(model.bodies[-1])[1:]
    ] == ["EJSON"] * 4
    assert (report["state"], report["consecutive"], report["failed"]) == ("PAUSED", 5, 5)
    assert report["failures"][0]["fingerprint"] == fingerprint("cap_fine", "{bad")


def test_the_model_reads_what_failed_in_one_step_before_anything_ends(
    live: Lives, model: ScriptedModel
) -> None:
    model.then(many(*range(8)), say("What now?"))
    with live() as agent:
        assert agent.ask("go") == "What now?"
        report = agent.status()
    assert [
        json.loads(result.partition("\n")[0])["error"]["code"]
        for result in results(model.bodies[1])
    ] == ["ENOTOOL"] * 8
    assert (report["state"], report["consecutive"], report["failed"]) == ("WAITING_FOR_EVENT", 8, 3)


def test_the_failure_after_those_that_the_model_read_pauses_it(
    live: Lives, model: ScriptedModel
) -> None:
    model.then(many(*range(5)), failing(5), say("never said"))
    with live() as agent:
        assert agent.ask("go") == FRUSTRATION
        assert agent.status()["consecutive"] == 6
    assert len(model.bodies) == 2


def test_a_model_that_mends_what_failed_in_one_step_goes_on(
    live: Lives, model: ScriptedModel
) -> None:
    model.then(many(0), many(*range(1, 6)), going(1), many(*range(6, 10)), say("What now?"))
    with live() as agent:
        assert agent.ask("go") == "What now?"
        report = agent.status()
    assert (report["state"], report["consecutive"], report["failed"]) == ("WAITING_FOR_EVENT", 4, 7)


def test_failures_of_several_steps_halt_it_at_the_next_one_and_a_success_does_not(
    live: Lives, model: ScriptedModel
) -> None:
    with live() as agent:
        for chat in (OWNER, GUEST):
            model.then(
                many(0, 1, 2),
                beside_a_success(3, 4, 5),
                beside_a_success(6, 7, 8),
                say("What now?"),
            )
            assert agent.ask("go", chat) == "What now?"
            report = agent.status(chat)
            assert (report["state"], report["failed"], report["operations"]) == (
                "WAITING_FOR_EVENT",
                8,
                10,
            )
        model.then(going("that"), say("well"))
        assert agent.ask("try that", GUEST) == "well"
        model.then(failing(9), say("never said"))
        assert agent.ask("try that") == CASCADE
        assert (agent.state(), agent.state(GUEST)) == ("ERROR_PAUSED", "WAITING_FOR_EVENT")


def test_each_of_many_failures_in_one_step_counts_for_its_own_call(
    live: Lives, model: ScriptedModel
) -> None:
    model.then(
        many(*range(5)), going(1), many(*range(5)), going(2), many(*range(5)), say("What now?")
    )
    with live() as agent:
        assert agent.ask("go") == "What now?"
        assert agent.status()["failed"] == 8
    assert [ALERT in result for result in results(model.bodies[-1]) if '"error"' in result] == [
        *[False] * 10,
        *[True] * 5,
    ]


def test_a_failed_call_is_known_by_a_fingerprint_that_is_blind_to_the_order_of_keys(
    live: Lives, model: ScriptedModel
) -> None:
    orders = [
        '{"path":"/etc/secret.txt","b":2}',
        '{ "b": 2, "path": "/etc/secret.txt" }',
        '{"b":2,"path":"\\/etc\\/secret.txt"}',
    ]
    model.then(*[call(("no_such_tool", arguments)) for arguments in orders], say("What now?"))
    with live() as agent:
        agent.ask("go")
        failures = agent.status()["failures"]
        shown = agent.ask("/status all")

    assert {failure["fingerprint"] for failure in failures} == {
        fingerprint("no_such_tool", orders[0])
    }
    assert {failure["line"] for failure in failures} == {
        'Tool "no_such_tool" failed with ENOTOOL at /etc/secret.txt.'
    }
    assert [ALERT in result for result in results(model.bodies[-1])] == [False, False, True]
    assert failures[0]["fingerprint"] in shown


def test_the_ladder_goes_on_over_webhooks_and_cold_starts(
    live: Lives, model: ScriptedModel
) -> None:
    model.then(
        failing(),
        say("What now?"),
        failing(),
        say("What now?"),
        failing(),
        say("What now?"),
        failing(),
        failing(),
    )
    for count in (1, 2, 3):
        with live() as agent:
            assert agent.ask("go") == "What now?"
            assert agent.status()["consecutive"] == count
        assert [ALERT in result for result in results(model.bodies[-1])] == [False, False, True][
            :count
        ]
    with live() as agent:
        assert agent.ask("go") == FRUSTRATION
        assert agent.state() == "PAUSED"
    assert len(model.bodies) == 8


def test_a_pause_outlives_a_cold_start_and_ends_with_an_answer(
    live: Lives, model: ScriptedModel
) -> None:
    model.aside = say("nothing to save")
    model.then(*map(failing, range(5)), going(1), say("better"), failing(5), say("What now?"))
    with live() as agent:
        assert agent.ask("go") == FRUSTRATION
    with live() as agent:
        assert agent.state() == "PAUSED"
        assert agent.ask("/new") == "New session started."
        assert agent.state() == "PAUSED"
        assert agent.ask("try the other way") == "better"
        report = agent.status()
    assert (report["state"], report["consecutive"], report["failed"], report["operations"]) == (
        "WAITING_FOR_EVENT",
        0,
        5,
        6,
    )


def test_eight_of_ten_halt_it_over_webhooks_and_cold_starts_though_successes_lie_between(
    live: Lives, model: ScriptedModel
) -> None:
    turns: list[list[Reply]] = [
        [*map(failing, range(4)), going(1), say("one")],
        [*map(failing, range(4, 7)), going(2), say("two")],
        [failing(7), say("never said")],
    ]
    for steps in turns:
        model.then(*steps)
    with live() as agent:
        assert agent.ask("go") == "one"
    with live() as agent:
        assert agent.ask("go on") == "two"
        assert agent.state() == "WAITING_FOR_EVENT"
    with live() as agent:
        assert agent.ask("go on") == CASCADE
        assert agent.state() == "ERROR_PAUSED"
        asked = len(model.bodies)
        assert agent.ask("hello?", GUEST) == "never said"  # another chat goes on
        assert agent.ask("hello?") == CASCADE
    with live() as agent:
        assert agent.ask("hello?") == CASCADE
    assert len(model.bodies) == asked + 1


def test_ten_failures_in_a_row_end_in_an_emergency_halt(live: Lives, model: ScriptedModel) -> None:
    model.then(*map(failing, range(12)))
    with live() as agent:
        assert agent.ask("go") == FRUSTRATION
        assert agent.ask("again") == CASCADE
        assert agent.state() == "ERROR_PAUSED"
    assert len(model.bodies) == 8


def test_two_agents_of_one_store_feel_the_same_failure_differently(
    live: Lives, model: ScriptedModel
) -> None:
    forbidden = call(
        ("sigil_deploy", {"name": "mine", "description": "Mine.", "execute": "return 1"})
    )
    model.then(forbidden, say("What now?"), forbidden, say("What now?"))
    with live(guide="security") as careful, live(guide="learner", agent="second") as curious:
        for agent in (careful, curious):
            agent.ask("go", GUEST)

    (first, said), (second, meant) = (
        results(body)[0].split("\n", 1) for body in (model.bodies[1], model.bodies[3])
    )
    assert first == second
    assert json.loads(first)["error"]["code"] == "EPERM"
    assert "你永远不应该尝试这样做。" in said
    assert "这条路径不可用。让我们找另一条。" in meant


def test_a_call_that_fails_answers_its_id_and_nothing_stands_between(
    live: Lives, model: ScriptedModel
) -> None:
    made = call(("no_such_tool", "{"), ("sigil_query", {"query": "x"}), ("no_such_tool", {}))
    for number, each in enumerate(made["choices"][0]["message"]["tool_calls"]):
        each["id"] = f"id-{number}"
    model.then(made, say("What now?"))
    with live() as agent:
        agent.ask("go", OWNER)

    messages = model.bodies[-1]["messages"]
    assert [message["role"] for message in messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "tool",
    ]
    assert [message["tool_call_id"] for message in messages[3:]] == ["id-0", "id-1", "id-2"]
