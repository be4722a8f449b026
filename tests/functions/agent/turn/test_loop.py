"""The rounds of a turn: at most six, every call answered once and in order, nothing ends in an
exception.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from sigil.protocol import Caller
from tests.fakes.model import ScriptedModel, call, completion, offered, results, say
from tests.fakes.server import Answer
from tests.functions.agent.talk import event, run_event, tell
from tests.machine import within

ECHO = {
    "name": "echo",
    "description": "Give a text back.",
    "schema": {
        "type": "object",
        "properties": {"text": {"type": "string"}, "times": {"type": "integer", "default": 1}},
        "required": ["text"],
    },
    "execute": (
        "if (input.text === 'boom') throw new Error('it broke'); return"
        " input.text.repeat(input.times);"
    ),
}
OWNER = Caller("main", owner=True)


@pytest.fixture
def home(runtime: Callable[..., AgentRuntime], model: ScriptedModel) -> AgentRuntime:
    opened = runtime(llm_url=model.url, owners=("telegram:5",))
    opened.app.registry.deploy(ECHO, OWNER)
    return opened


def find_echo() -> dict[str, Any]:
    return call(("sigil_query", {"query": "echo"}))


def error_of(result: str) -> dict[str, str]:
    found: dict[str, str] = json.loads(result.partition("\n")[0])["error"]
    return found


def test_a_model_that_always_calls_tools_gets_six_rounds_and_one_last_request_for_no_call(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(*[find_echo() for _ in range(6)], say("that is all I know"))

    assert tell(home, "search for ever") == ["that is all I know"]

    assert len(model.bodies) == 7
    assert offered(model.bodies[6]) == offered(model.bodies[5])  # beside calls some must be there
    assert [body.get("tool_choice") for body in model.bodies] == [*[None] * 6, "none"]
    assert [message["role"] for message in model.bodies[6]["messages"]].count("system") == 1


def test_a_last_request_that_still_calls_tools_ends_in_an_honest_text(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(*[find_echo() for _ in range(7)])

    assert tell(home, "search for ever") == [ENGLISH.no_answer]


def test_parallel_calls_are_answered_in_order_and_each_id_once(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(
        find_echo(),
        call(*[("cap_echo", {"text": str(number)}) for number in range(20)]),
        say("done"),
    )

    tell(home, "echo twenty")

    answers = [message for message in model.bodies[2]["messages"] if message["role"] == "tool"][1:]
    asked = [made["id"] for made in model.bodies[2]["messages"][-21]["tool_calls"]]
    assert [answer["tool_call_id"] for answer in answers] == asked
    assert [answer["content"] for answer in answers[:16]] == [
        f'{{"ok":"{number}"}}' for number in range(16)
    ]
    assert {error_of(answer["content"])["code"] for answer in answers[16:]} == {"ELIMIT"}


def test_calls_of_one_round_run_side_by_side(
    home: AgentRuntime, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    meeting = threading.Barrier(2, timeout=within(10))
    run = home.app.registry.run

    class Meeting:
        def __getattr__(self, name: str) -> Any:
            return getattr(home.app.registry, name)

        def run(self, *given: Any) -> Any:
            meeting.wait()
            return run(*given)

    from dataclasses import replace

    both = replace(home, app=replace(home.app, registry=Meeting()))  # type: ignore[arg-type]
    model.then(
        find_echo(), call(("cap_echo", {"text": "a"}), ("cap_echo", {"text": "b"})), say("met")
    )

    assert tell(both, "echo twice") == ["met"]
    assert results(model.bodies[2])[1:] == ['{"ok":"a"}', '{"ok":"b"}']


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("{bad", "EJSON"),
        ("[1]", "EJSON"),
        ('"text"', "EJSON"),
        ({}, "EINVAL"),
        ({"text": {"a": 5}}, "EINVAL"),
        ({"text": "boom"}, "ETHROWN"),
    ],
)
def test_a_call_that_fails_is_answered_so_that_the_model_can_mend_it(
    home: AgentRuntime, model: ScriptedModel, arguments: Any, code: str
) -> None:
    model.then(
        find_echo(),
        call(("cap_echo", arguments)),
        call(("cap_echo", {"text": "mended"})),
        say("mended"),
    )

    assert tell(home, "echo something") == ["mended"]

    failure = error_of(results(model.bodies[2])[1])
    assert failure["code"] == code
    assert failure["source"]
    assert results(model.bodies[3])[2] == '{"ok":"mended"}'


def test_what_a_model_called_wrongly_is_sent_back_in_a_form_that_every_endpoint_takes(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(call(("rm -rf /; ☠", "{bad"), ("x" * 99, "[1]")), say("sorry"))

    tell(home, "misbehave")

    sent = [made["function"] for made in model.bodies[1]["messages"][-3]["tool_calls"]]
    assert [made["arguments"] for made in sent] == ["{}", "{}"]
    assert [made["name"] for made in sent] == ["rm_-rf_____", "x" * 64]
    assert {error_of(answer)["code"] for answer in results(model.bodies[1])} == {"ENOTOOL"}


def test_a_tool_that_does_not_exist_is_told_apart_from_one_that_is_not_resident(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(
        call(
            ("cap_echo", {"text": "x"}),
            ("cap_nothing_like_it", {}),
            ("bash", {"cmd": "ls"}),
            ("cap_Bad__name", {}),
        ),
        say("ok"),
    )

    tell(home, "try")

    answers = results(model.bodies[1])
    assert [error_of(answer)["code"] for answer in answers] == [
        "ENOTRESIDENT",
        "ENOTOOL",
        "ENOTOOL",
        "ENOTOOL",
    ]
    assert 'sigil_query with \\"echo\\"' in answers[0]


def test_a_tool_that_only_the_next_round_offers_is_a_page_fault_in_this_one(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(
        call(("sigil_query", {"query": "echo"}), ("cap_echo", {"text": "too early"})),
        call(("cap_echo", {"text": "now"})),
        say("ok"),
    )

    tell(home, "echo")

    assert error_of(results(model.bodies[1])[1])["code"] == "ENOTRESIDENT"
    assert offered(model.bodies[1]) == ["sigil_query", "sigil_deploy", "cap_echo"]
    assert results(model.bodies[2])[2] == '{"ok":"now"}'


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": ""},
        {"query": 5},
        {"query": "x", "limit": 0},
        {"query": "x", "limit": "many"},
        {"query": "x", "limit": True},
    ],
)
def test_bad_arguments_of_the_query_are_refused_with_a_reason(
    home: AgentRuntime, model: ScriptedModel, arguments: dict[str, Any]
) -> None:
    model.then(call(("sigil_query", arguments)), say("ok"))

    tell(home, "search")

    assert error_of(results(model.bodies[1])[0])["code"] == "EINVAL"


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"name": "Bad_Name", "description": "x", "schema": {}, "execute": "return 1"},
        {
            "name": "x",
            "description": "x",
            "schema": {"$ref": "http://127.0.0.1/"},
            "execute": "return 1",
        },
        {"name": "x", "description": "x", "schema": {}, "execute": "return ("},
        {"name": "x", "description": "x", "schema": "[]", "execute": "return 1"},
        {"name": "x", "description": "x", "schema": {}, "execute": "return 1", "author": "library"},
        {
            "name": "x",
            "description": "x",
            "schema": {"properties": {"a": {"description": "y" * 20_000}}},
            "execute": "return 1",
        },
    ],
)
def test_a_bad_deploy_is_refused_and_leaves_nothing(
    home: AgentRuntime, model: ScriptedModel, spec: dict[str, Any]
) -> None:
    model.then(call(("sigil_deploy", spec)), call(("cap_x", {})), say("ok"))

    tell(home, "make x")

    assert error_of(results(model.bodies[1])[0])["code"] in {"EINVAL", "EMANIFEST", "EMODULE"}
    assert error_of(results(model.bodies[2])[1])["code"] == "ENOTOOL"


def test_schema_and_lists_may_come_as_json_text(home: AgentRuntime, model: ScriptedModel) -> None:
    spec = {
        "name": "one",
        "description": "One.",
        "schema": '{"type":"object"}',
        "execute": "return 1",
        "tags": '["number"]',
    }
    model.then(call(("sigil_deploy", spec)), call(("cap_one", {})), say("ok"))

    tell(home, "make one")

    assert results(model.bodies[2])[1] == '{"ok":1}'


def test_the_models_deploy_never_replaces_what_a_person_deployed(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(
        call(("sigil_deploy", {**ECHO, "execute": "return 'stolen'"})),
        find_echo(),
        call(("cap_echo", {"text": "mine"})),
        say("ok"),
    )

    tell(home, "replace echo")

    assert error_of(results(model.bodies[1])[0])["code"] == "EEXIST"
    assert results(model.bodies[3])[2] == '{"ok":"mine"}'


SECRET = {
    "name": "secret-word",
    "description": "The secret word.",
    "schema": {},
    "execute": "return 'x'",
}


def test_a_guest_may_not_let_the_model_deploy(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, access="open")
    model.then(call(("sigil_deploy", SECRET)), say("no"))

    tell(home, "make it", sender="telegram:9", session="telegram:9")

    assert error_of(results(model.bodies[1])[0])["code"] == "EPERM"


@pytest.mark.parametrize(("private", "seen"), [(True, True), (False, False)])
def test_only_what_is_deployed_in_an_owners_own_chat_is_seen_elsewhere(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, private: bool, seen: bool
) -> None:
    home = runtime(llm_url=model.url, access="open", owners=("telegram:5",))
    model.then(
        call(("sigil_deploy", SECRET)),
        call(("cap_secret_word", {})),
        say("made"),
        call(("sigil_query", {"query": "secret word"})),
        say("?"),
    )
    tell(home, "make it", sender="telegram:5", session="telegram:-100", private=private)
    assert results(model.bodies[2])[1] == '{"ok":"x"}'

    tell(home, "find it", sender="telegram:9", session="telegram:9")

    assert ("secret-word" in results(model.bodies[-1])[-1]) is seen


def test_an_empty_answer_and_a_thinking_one_end_in_an_honest_text(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(
        *[say("")] * 2,
        *[say("<think>I wonder</think>")] * 2,
        *[completion({"role": "assistant", "content": None}, "stop")] * 2,
    )

    assert [tell(home, "hm") for _ in range(3)] == [[ENGLISH.no_answer]] * 3
    assert len(model.bodies) == 6, "each is asked for once more"


def test_a_model_that_refuses_ends_the_turn_with_a_sentence_and_the_next_message_works(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(Answer(401, b'{"error":{"message":"bad key"}}'), say("hello again"))

    assert tell(home, "hi") == [f"I could not get an answer: {ENGLISH.model_failures['key']}."]
    assert tell(home, "hi again") == ["hello again"]


def test_results_that_are_too_long_keep_head_and_tail(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(find_echo(), call(("cap_echo", {"text": "ab", "times": 60_000})), say("long"))

    opened = run_event(home, event("echo long"))

    cut = next(message for message in opened.document.messages if message.cut)
    assert len(cut.content) < 16_200
    assert cut.content.startswith('{"ok":"ab')
    assert cut.content.endswith('ab"}')
    assert cut.cut == 120_009 - 16_000


def test_a_redelivered_event_starts_no_second_turn(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(say("once"))
    happened = event("hi")

    first, second = run_event(home, happened), run_event(home, happened)

    assert [reply.text for reply in first.document.outbox] == ["once"]
    assert second.document.outbox == ()
    assert len(model.bodies) == 1


def test_strangers_never_reach_the_model(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, owners=("telegram:5",))

    replies = tell(home, "hi", sender="telegram:66")

    assert "telegram:66" in replies[0]
    assert "/pair" in replies[0]
    assert not model.bodies


def test_commands_are_answered_without_the_model_and_leave_no_trace(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    assert "/new" in tell(home, "/help")[0]
    assert "Hello" in tell(home, "/start")[0]
    assert tell(home, "/nope")[0].startswith("Unknown command /nope")
    model.then(find_echo(), say("found"), say("again"))
    tell(home, "find echo")
    assert "cap_echo" in tell(home, "/tools")[0]
    assert tell(home, "/new@some_bot") == ["New session started."]
    opened = run_event(home, event("hello"))

    assert offered(model.bodies[-1]) == ["sigil_query", "sigil_deploy"]
    assert [message.role for message in opened.document.messages] == ["user", "assistant"]
    assert len(model.bodies) == 3


def test_what_was_offered_calls_what_it_was_offered_with_though_the_model_redeploys_that(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    """A person's capability, granted by an owner, says what the model's own part gives it: to
    another agent, as to another address.
    """
    other = Caller("bob", owner=True)
    home.app.registry.deploy(
        {
            "name": "say",
            "description": "Say a word.",
            "execute": "return input.what",
            "public": True,
        },
        other,
    )
    part = {"name": "part", "description": "Give a part.", "schema": {"type": "object"}}
    model.then(call(("sigil_deploy", {**part, "execute": "return 'first'"})), say("made"))
    tell(home, "make a part", sender="telegram:5")
    execute = "return await env.call('bob/say', {what: await env.call('part', {})})"
    whole = {
        "name": "whole",
        "description": "Say the whole part.",
        "execute": execute,
        "requires": ["part"],
    }
    home.app.registry.deploy({**whole, "permissions": {"call": ["bob/say"]}}, OWNER)
    home.app.registry.granting.grant("whole", OWNER)  # type: ignore[attr-defined]

    model.then(
        call(("sigil_query", {"query": "say the whole part"})), call(("cap_whole", {})), say("one")
    )
    tell(home, "say it", sender="telegram:5")
    model.then(
        call(("sigil_deploy", {**part, "execute": "return 'another'"})),
        call(("cap_part", {}), ("cap_whole", {})),
        say("two"),
    )
    tell(home, "say it again", sender="telegram:5")

    answers = results(model.bodies[-1])
    assert answers[-2:] == ['{"ok":"another"}', '{"ok":"first"}']


def test_an_example_finds_a_capability_and_the_model_never_reads_it(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    home.app.registry.deploy(
        {**ECHO, "name": "parrot", "examples": ["say cheese to the parrot"]}, OWNER
    )
    model.then(call(("sigil_query", {"query": "cheese"})), say("found"))

    tell(home, "find a parrot")

    (result,) = results(model.bodies[1])
    assert json.loads(result)["ok"]["items"][0]["description"] == "Give a text back."
    assert "cheese" not in result
    tool = next(
        tool["function"]
        for tool in model.bodies[1]["tools"]
        if tool["function"]["name"] == "cap_parrot"
    )
    assert tool["description"] == "Give a text back."
    (hit,) = home.app.registry.query("cheese", OWNER).hits
    assert hit.offer.description == "Give a text back. Example: say cheese to the parrot."


WEATHER = {
    "name": "weather-of",
    "description": "Tell the weather of a city.",
    "schema": {
        "type": "object",
        "properties": {
            "城市": {"type": "string", "description": "which one"},
            "größe": {"enum": ["klein", "groß"]},
            "days": {"type": "integer"},
        },
        "required": ["城市", "days"],
    },
    "execute": "return [input['城市'], input['größe'] ?? null, input.days]",
}


def test_a_parameter_of_another_script_is_told_under_a_name_that_endpoints_take_and_comes_back_as_its_own(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    home.app.registry.deploy(WEATHER, OWNER)

    def calls(body: dict[str, Any]) -> dict[str, Any]:
        parameters = body["tools"][2]["function"]["parameters"]
        city, size, days = parameters["properties"]
        assert parameters["required"] == [city, "days"]
        assert all(re.fullmatch("[a-zA-Z0-9_.-]{1,64}", name) for name in (city, size, days))
        assert [part.get("description") for part in parameters["properties"].values()] == [
            "城市: which one",
            "größe",
            None,
        ]
        return call(
            ("cap_weather_of", {city: "北京", size: "groß", days: 3}),
            ("cap_weather_of", {"城市": "上海", "days": 1}),
            ("cap_weather_of", {}),
        )

    model.then(
        call(("sigil_query", {"query": "weather of a city"})),
        calls,
        call(("sigil_query", {"query": "weather-of"})),
        say("cold"),
    )
    assert tell(home, "how is the weather?") == ["cold"]

    answers = results(model.bodies[2])
    assert answers[1:3] == ['{"ok":["北京","groß",3]}', '{"ok":["上海",null,1]}']
    assert error_of(answers[3])["code"] == "EINVAL"
    tools = [body["tools"][2] for body in model.bodies[1:4]]
    assert tools[0] == tools[1] == tools[2]
