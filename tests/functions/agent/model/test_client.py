"""The model's client against a real server that does what endpoints do."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.agent.context import format_message
from functions.agent.conversation.messages import Message, ToolCall
from functions.agent.model import (
    call_names,
    chat_wire,
    event_stream,
    messages_wire,
    refusals,
    responses_wire,
    written_calls,
)
from functions.agent.model.base import ModelReply, ModelRequest, is_native_call
from functions.agent.model.client import ModelClient
from functions.agent.model.dialect import Dialect
from functions.agent.model.lessons import Lessons
from functions.wiring import AgentRuntime
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.model import ScriptedModel, call, completion, say
from tests.fakes.server import Answer, json_answer
from tests.machine import within
from tests.tables import each_row

TOOLS = [
    {
        "type": "function",
        "function": {"name": "sigil_query", "description": "x", "parameters": {"type": "object"}},
    }
]
ASK = [{"role": "user", "content": "hi"}]


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def client(model: ScriptedModel, pauses: list[float]) -> Iterator[ModelClient]:
    made = ModelClient(model.url + "/v1", "sk-secret", "qwen-plus", 1000, pause=pauses.append)
    yield made
    made.close()


def read(body: bytes) -> ModelReply:
    """The reply in a body with 200."""
    return chat_wire.read_reply(event_stream.read_body(body))


def soon(seconds: float = 20.0) -> float:
    return time.monotonic() + seconds


def test_a_request_names_model_messages_and_tools_and_leaves_out_an_automatic_choice(
    client: ModelClient, model: ScriptedModel
) -> None:
    model.then(say("hello"))

    reply = client.chat(ModelRequest(ASK, TOOLS))

    assert reply.text == "hello"
    assert model.bodies == [{"model": "qwen-plus", "messages": ASK, "tools": TOOLS}]
    assert model.requests[0].path == "/v1/chat/completions"
    assert model.requests[0].headers["authorization"] == "Bearer sk-secret"


def test_no_tools_means_no_tools_and_no_choice(client: ModelClient, model: ScriptedModel) -> None:
    client.chat(ModelRequest(ASK, (), tool_choice={"type": "function"}))

    assert set(model.bodies[0]) == {"model", "messages"}


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503])
def test_what_may_pass_is_tried_again_with_growing_pauses(
    client: ModelClient, model: ScriptedModel, pauses: list[float], status: int
) -> None:
    model.then(Answer(status), Answer(status), say("at last"))

    assert client.chat(ModelRequest(ASK)).text == "at last"
    first, *second = pauses
    assert first < sum(second)
    assert len(model.bodies) == 3


def test_retry_after_is_honoured_within_the_deadline(
    client: ModelClient, model: ScriptedModel, pauses: list[float]
) -> None:
    model.then(
        Answer(429, headers={"retry-after": "7"}),
        say("ok"),
        Answer(429, headers={"retry-after": "900"}),
    )

    assert client.chat(ModelRequest(ASK, deadline=soon())).text == "ok"
    assert sum(pauses) == 7.0
    assert max(pauses) <= 1.0  # it listens meanwhile
    late = client.chat(ModelRequest(ASK, deadline=soon()))
    assert (late.finish, late.transient) == ("error", True)
    assert sum(pauses) == 7.0


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_what_cannot_pass_is_not_tried_again(
    client: ModelClient, model: ScriptedModel, pauses: list[float], status: int
) -> None:
    model.then(json_answer({"error": {"message": "no sk-secret\nline"}}, status))

    reply = client.chat(ModelRequest(ASK))

    assert (reply.finish, reply.transient, len(model.bodies)) == ("error", False, 1)
    assert "sk-secret" not in reply.text
    assert "\n" not in reply.text
    assert not pauses


def test_three_attempts_are_all(client: ModelClient, model: ScriptedModel) -> None:
    model.then(Answer(500), Answer(500), Answer(500), say("too late"))

    assert client.chat(ModelRequest(ASK)).transient
    assert len(model.bodies) == 3


@pytest.mark.parametrize(
    "marker",
    [
        "tool_choice is bad",
        "ToolChoice",
        "the model does not support this",
        'should be ["none", "auto"]',
        "incompatible with thinking enabled",
    ],
)
def test_a_refused_tool_choice_becomes_the_models_own(
    client: ModelClient, model: ScriptedModel, marker: str
) -> None:
    forced = {"type": "function", "function": {"name": "sigil_query"}}
    model.then(Answer(400, marker.encode()), call(("sigil_query", {"query": "x"})))
    assert [
        made.name for made in client.chat(ModelRequest(ASK, TOOLS, tool_choice=forced)).calls
    ] == ["sigil_query"]
    assert [body.get("tool_choice") for body in model.bodies] == [forced, "auto"]

    again = ModelClient(model.url, "", "qwen-plus", 1000)
    model.then(
        Answer(400, marker.encode()),
        Answer(400, marker.encode()),
        call(("sigil_query", {"query": "x"})),
        call(("sigil_query", {"query": "x"})),
    )
    for _ in range(2):
        reply = again.chat(ModelRequest(ASK, TOOLS, tool_choice=forced))
        assert [made.name for made in reply.calls] == ["sigil_query"]
    again.close()
    assert [body.get("tool_choice") for body in model.bodies[2:]] == [forced, "auto", None, None]


@pytest.mark.parametrize("status", [200, 403, 500, 501, 503])
def test_a_gateway_may_tell_of_a_refused_choice_with_any_status(
    client: ModelClient, model: ScriptedModel, status: int
) -> None:
    forced = {"type": "function", "function": {"name": "sigil_query"}}
    said = (
        b'{"error":{"message":"tool_choice \'specified\' is incompatible with thinking enabled"}}'
    )
    model.then(Answer(status, said), call(("sigil_query", {"query": "x"})))

    assert [
        made.name for made in client.chat(ModelRequest(ASK, TOOLS, tool_choice=forced)).calls
    ] == ["sigil_query"]
    assert [body.get("tool_choice") for body in model.bodies] == [forced, "auto"]


EFFORT_REFUSED = json_answer(
    {
        "error": {
            "message": "Function tools with reasoning_effort are not supported for gpt-5.6-terra in"
            " /v1/chat/completions. To use function tools, use /v1/responses or set"
            " reasoning_effort to 'none'.",
            "type": "invalid_request_error",
            "param": "reasoning_effort",
            "code": None,
        }
    },
    400,
)
"""What OpenAI says of its models that reason by default."""


def test_a_model_that_takes_no_tools_while_it_reasons_is_asked_without_from_then_on(
    model: ScriptedModel,
) -> None:
    store = MemoryKV()

    def ask(tools: list[Any], name: str = "") -> str:
        """Ask as a new process does."""
        client = ModelClient(
            model.url, "", "gpt-5.6-terra", 1000, lessons=Lessons(model.url, kv=store)
        )
        reply = client.chat(ModelRequest(ASK, tools, model=name))
        client.close()
        return reply.text

    model.then(EFFORT_REFUSED, say("a"), say("b"), say("c"), say("d"))
    assert [ask(TOOLS), ask(TOOLS), ask([]), ask(TOOLS, "another")] == ["a", "b", "c", "d"]

    efforts = [body.get("reasoning_effort") for body in model.bodies]
    assert efforts == [None, "none", "none", None, None]


def test_a_model_that_takes_tools_nowhere_else_is_asked_in_the_form_of_responses(
    model: ScriptedModel,
) -> None:
    client = ModelClient(model.url, "", "gpt-6.1-sol", 1000)
    said = {
        "status": "completed",
        "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "at last"}]},
        ],
        "usage": {"input_tokens": 9, "output_tokens": 3},
    }
    model.then(EFFORT_REFUSED, EFFORT_REFUSED, said, said)

    first, second = (client.chat(ModelRequest(ASK, TOOLS)) for _ in range(2))
    client.close()

    assert first.failure
    assert (first.text, first.failure.kind, first.reduced) == ("at last", "adapted", 2)
    assert "the form of Responses" in first.failure.detail
    assert (second.text, second.failure, second.usage.prompt) == ("at last", None, 9)
    chat = "/chat/completions"
    assert [each.path for each in model.requests] == [chat, chat, "/responses", "/responses"]


def test_a_refused_image_is_left_out_once(client: ModelClient, model: ScriptedModel) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    asked = [{"role": "user", "content": [{"type": "text", "text": "what is this?"}, picture]}]
    model.then(Answer(400, b"no images"), say("I cannot see it"))

    assert client.chat(ModelRequest(asked)).text == "I cannot see it"
    assert "image_url" not in json.dumps(model.bodies[1])
    assert "what is this?" in json.dumps(model.bodies[1])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>bad gateway</html>",
        b"[]",
        b"null",
        b'{"choices":[]}',
        b'{"choices":null}',
        b'{"choices":[5]}',
        b'{"error":"busy"}',
        b"{" * 3000,
    ],
)
def test_a_200_without_an_answer_is_tried_once_more_and_then_said(
    client: ModelClient, model: ScriptedModel, body: bytes
) -> None:
    model.then(*[Answer(200, body) for _ in range(3)])

    reply = client.chat(ModelRequest(ASK))

    assert (reply.finish, len(model.bodies)) == ("error", 2)
    assert "<html>" not in reply.text


def test_a_drip_does_not_outlast_the_deadline(client: ModelClient, model: ScriptedModel) -> None:
    def drip() -> Iterator[bytes]:
        for _ in range(200):
            if model.closing.wait(0.05):
                return
            yield b" "

    model.then(Answer(200, drip()))
    started = time.monotonic()

    reply = client.chat(ModelRequest(ASK, deadline=soon(0.4)))

    assert (reply.finish, reply.transient) == ("error", True)
    assert time.monotonic() - started < within(5)  # all that drips takes ten seconds


def test_headers_that_drip_do_not_outlast_the_deadline() -> None:
    import socket

    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as door:

        def drip() -> None:
            connection, _ = door.accept()
            with connection:
                for letter in b"HTTP/1.1 200 OK\r\nx-slow: " + b"y" * 200:
                    if over.wait(0.05):
                        return
                    connection.send(bytes([letter]))

        thread = threading.Thread(target=drip)
        thread.start()
        client = ModelClient(f"http://127.0.0.1:{door.getsockname()[1]}", "", "m", 1000)
        started = time.monotonic()
        reply = client.chat(ModelRequest(ASK, deadline=soon(0.5)))
        over.set()
        thread.join()
        client.close()
    assert (reply.finish, reply.transient) == ("error", True)
    # each piece comes before a read would time out, so only the deadline ends it
    assert time.monotonic() - started < within(5)


def test_a_request_takes_no_longer_than_the_settings_say(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, llm_seconds=0.3)
    model.then(Answer(hang=True))
    started = time.monotonic()
    reply = home.app.model.chat(ModelRequest(ASK, deadline=soon(60)))
    assert (reply.finish, reply.transient) == ("error", True)
    assert time.monotonic() - started < within(10)  # far from the minute that it is given


def test_a_request_that_is_told_to_stop_lets_go_while_it_waits_and_while_it_pauses(
    model: ScriptedModel,
) -> None:
    client = ModelClient(model.url, "", "m", 1000)
    model.then(Answer(hang=True), Answer(503, headers={"retry-after": "30"}))
    for _ in range(2):
        started = time.monotonic()
        assert (
            client.chat(ModelRequest(ASK, deadline=soon(60), stopped=lambda: True)).finish
            == "stopped"
        )
        assert time.monotonic() - started < within(10)  # far from the minute that it is given
    client.close()


def test_an_answer_that_drips_does_not_keep_a_request_from_stopping(
    client: ModelClient, model: ScriptedModel
) -> None:
    asked = threading.Event()

    def drip() -> Iterator[bytes]:
        while not asked.wait(0.05) and not model.closing.is_set():
            yield b" "

    def stop() -> bool:
        asked.set()
        return True

    model.then(Answer(200, drip()))
    reply = client.chat(ModelRequest(ASK, deadline=soon(within(20)), stopped=stop))
    assert reply.finish == "stopped"


def test_a_connection_that_is_cut_or_refused_is_a_transient_failure(
    client: ModelClient, model: ScriptedModel
) -> None:
    model.then(Answer(cut=True), say("there"))
    assert client.chat(ModelRequest(ASK)).text == "there"

    nowhere = ModelClient("http://127.0.0.1:9", "", "m", 1000, pause=lambda seconds: None)
    reply = nowhere.chat(ModelRequest(ASK))
    nowhere.close()
    assert (reply.finish, reply.transient) == ("error", True)
    assert "cannot be reached" in reply.text
    assert "127.0.0.1" not in reply.text
    assert reply.failure is not None
    assert reply.failure.detail.startswith("the model cannot be reached at 127.0.0.1:9: ")
    assert "refused" in reply.failure.detail


def test_a_page_in_place_of_an_answer_says_that_the_address_is_wrong(
    client: ModelClient, model: ScriptedModel
) -> None:
    model.then(*[Answer(200, b"<html>hello</html>")] * 3, Answer(404, b"<html>nothing</html>"))
    said = [client.chat(ModelRequest(ASK)).failure for _ in range(2)]
    assert [failure and failure.detail for failure in said] == [
        "the model sent no answer, but a web page: check the address of its endpoint",
        "the model answered 404, but a web page: check the address of its endpoint",
    ]


@pytest.mark.parametrize(
    "url", ["", "ftp://127.0.0.1", "http://", "not a url", "http://127.0.0.1:99999"]
)
def test_a_url_that_cannot_be_is_said_and_not_raised(url: str) -> None:
    made = ModelClient(url, "", "m", 1000, pause=lambda seconds: None)
    assert made.chat(ModelRequest(ASK)).finish == "error"
    made.close()


def written_in(text: str) -> ModelReply:
    return written_calls.find_written_calls(reply_of({"content": text}), ASK, in_prose=True)


def reply_of(message: dict[str, Any], finish: str = "stop", **more: Any) -> Any:
    return read(json.dumps(completion(message, finish, **more)).encode())


def test_thinking_is_never_shown_and_reasoning_is_kept_apart() -> None:
    assert reply_of({"content": "<think>\nsecret</think>\nhello"}).text == "hello"
    assert reply_of({"content": "<think>never closed"}).text == ""
    kept = reply_of({"content": "hello", "reasoning_content": "because"})
    assert (kept.text, kept.reasoning) == ("hello", "because")


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"name": "sigil_query", "arguments": {"query": "x"}}\n```',
        '{"name": "sigil_query", "parameters": {"query": "x"}}',
        '<tool_call>{"name": "sigil_query", "arguments": "{\\"query\\": \\"x\\"}"}</tool_call>',
    ],
)
def test_a_call_written_as_text_counts_when_tools_were_offered_to_a_chat_that_may(
    client: ModelClient, model: ScriptedModel, text: str
) -> None:
    model.then(*[say(text)] * 3)
    made = client.chat(ModelRequest(ASK, TOOLS, may_write=lambda: True))
    assert [(one.name, json.loads(one.arguments)) for one in made.calls] == [
        ("sigil_query", {"query": "x"})
    ]
    assert (made.text, made.finish) == ("", "tool_calls")
    kept = client.chat(ModelRequest(ASK, (), may_write=lambda: True))
    assert (kept.calls, kept.text) == ((), text), "without tools it is an answer"


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "sigil_query", "parameters": {"query": "x"}}',
        '<tool_call>{"name": "sigil_query", "arguments": {"query": "x"}}</tool_call>',
        "<tool_call>\n<function=sigil_query>\n<parameter=query>\nx\n</parameter>\n</function>\n"
        "</tool_call>",
        '<function_calls><invoke name="sigil_query"><parameter name="query">x</parameter></invoke>'
        "</function_calls>",
    ],
)
def test_a_written_call_is_a_call_where_it_counts_and_elsewhere_no_answer(
    client: ModelClient, model: ScriptedModel, text: str
) -> None:
    model.then(say(text), say(text), say(text), say("a\n" + text if "<" in text else text))
    made = client.chat(ModelRequest(ASK, TOOLS, may_write=lambda: True))
    assert [(one.name, json.loads(one.arguments)) for one in made.calls] == [
        ("sigil_query", {"query": "x"})
    ]

    kept = client.chat(ModelRequest(ASK, TOOLS))
    assert (kept.calls, kept.text, kept.tries) == ((), "", 1), "it is asked once more"
    assert "sigil_query" not in client.chat(ModelRequest(ASK, TOOLS)).text

    quote = [*ASK, {"role": "user", "content": f"repeat this: {text}"}]
    model.then(say(text))
    assert client.chat(ModelRequest(quote, TOOLS)).text == text


@each_row(
    ("written", "meant"),
    [
        ("functions.cap_encode", "cap_encode"),
        ("default_api.cap_encode", "cap_encode"),
        ("functions.cap_encode:0", "cap_encode"),
        ("cap-encode", "cap_encode"),
        ("Cap_Encode", "cap_encode"),
        ("encode", "cap_encode"),
        ("tools/sigil-query", "sigil_query"),
        ("cap_encode<|channel|>commentary", "cap_encode"),
        ("cap_encode(text)", "cap_encode"),
        ("unit", "unit"),
        ("cap_unit_convert", "cap_unit_convert"),
        ("functions.nothing", "functions_nothing"),
        ("", "unnamed_tool"),
    ],
)
def test_a_name_that_is_almost_right_means_the_one_tool_that_it_can(
    written: str, meant: str
) -> None:
    offered = ("sigil_query", "sigil_deploy", "cap_encode", "cap_unit_convert", "cap_unit-convert")
    assert call_names.resolve_name(written, offered) == meant


def test_calls_that_run_together_are_taken_apart() -> None:
    offered = ("cap_encode", "cap_hash")
    one = ToolCall("1", "cap_encode", '{"text":"a"}{"text":"b"}')
    two = ToolCall("1", "cap_encodecap_hash", '{"text":"a"}\n{"text":"b"}')
    strange = ToolCall("1", "cap_encode", '{"text":"a"} and {"text":"b"}')

    made = [(call.name, call.arguments) for call in call_names.resolve_calls((one, two), offered)]

    assert made == [
        ("cap_encode", '{"text":"a"}'),
        ("cap_encode", '{"text":"b"}'),
        ("cap_encode", '{"text":"a"}'),
        ("cap_hash", '{"text":"b"}'),
    ]
    assert [*call_names.resolve_calls((strange,), offered)] == [strange]


def test_a_native_call_cannot_pass_for_a_written_one() -> None:
    made = reply_of(
        {
            "tool_calls": [
                {"id": "written_0", "function": {"name": "sigil_query", "arguments": "{}"}}
            ]
        }
    ).calls
    assert [is_native_call(one.id) for one in made] == [True]


def test_json_that_is_no_call_stays_text() -> None:
    text = '```json\n{"name": "Ada", "arguments": 5}\n```'
    assert written_in(text).text == text


def test_empty_and_repeated_call_ids_become_distinct() -> None:
    calls = [
        {"id": name, "function": {"name": "sigil_query", "arguments": "{}"}}
        for name in ("", "a", "a", None, "a")
    ]
    made = reply_of({"content": None, "tool_calls": calls}, "tool_calls").calls
    assert len({one.id for one in made}) == 5


def test_arguments_may_come_as_an_object_or_not_at_all() -> None:
    calls = [
        {"id": "1", "function": {"name": "f", "arguments": {"a": 1}}},
        {"id": "2", "function": {"name": "g"}},
    ]
    made = reply_of({"content": "", "tool_calls": calls}).calls
    assert [one.arguments for one in made] == ['{"a":1}', "{}"]


def test_length_content_parts_and_lone_surrogates() -> None:
    assert reply_of({"content": "cut"}, "length").finish == "length"
    assert (
        reply_of(
            {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, 5]}
        ).text
        == "ab"
    )
    assert (
        chat_wire.read_reply(
            event_stream.read_body(b'{"choices":[{"message":{"content":"x\\ud83d"}}]}')
        ).text
        == "x\ufffd"
    )


def test_usage_is_read_with_its_cached_part() -> None:
    usage = {
        "prompt_tokens": 7,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 5},
    }
    read = reply_of({"content": "x"}, usage=usage).usage
    assert (read.prompt, read.completion, read.cached, read.estimated) == (7, 2, 5, False)
    assert reply_of({"content": "x"}, usage={"prompt_tokens": "many"}).usage.estimated


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["content", "tool_calls", "function", "name", "id"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(JSON, JSON)
def test_no_answer_raises(message: Any, usage: Any) -> None:
    body = json.dumps({"choices": [{"message": message}], "usage": usage}).encode()
    reply = written_calls.find_written_calls(read(body), (), in_prose=True)
    assert len({one.id for one in reply.calls}) == len(reply.calls)


CALLED = {"id": "a", "type": "function", "function": {"name": "cap_a", "arguments": "{}"}}
SIGNED = {"extra_content": {"google": {"thought_signature": "s"}}}
FORMS: list[tuple[Any, Any]] = [
    (
        chat_wire,
        {
            "choices": [
                {
                    "finish_reason": "tool_calls",
                    "message": {
                        "content": [{"type": "text", "text": "I look."}],
                        "reasoning_content": "look",
                        "reasoning_details": [{"type": "x"}],
                        "tool_calls": [{**CALLED, **SIGNED}, CALLED],
                    },
                }
            ],
            "usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 3}},
        },
    ),
    (
        responses_wire,
        {
            "status": "completed",
            "incomplete_details": {"reason": "x"},
            "output": [
                {"type": "reasoning", "id": "r", "encrypted_content": "s"},
                {"type": "function_call", "call_id": "a", "name": "cap_a", "arguments": "{}"},
                {"type": "message", "content": [{"type": "output_text", "text": "hello"}]},
            ],
            "usage": {"input_tokens": 9, "output_tokens": 1, "input_tokens_details": {}},
        },
    ),
    (
        messages_wire,
        {
            "stop_reason": "tool_use",
            "content": [
                {"type": "thinking", "thinking": "look", "signature": "s"},
                {"type": "tool_use", "id": "a", "name": "cap_a", "input": {"text": "x"}},
                {"type": "text", "text": "hello"},
            ],
            "usage": {"input_tokens": 9, "output_tokens": 1},
        },
    ),
    (
        chat_wire,
        [
            {"choices": [{"index": 0, "delta": {"content": "a", "tool_calls": [CALLED]}}]},
            {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": "b"}}]}}]},
            {"choices": [], "usage": {"prompt_tokens": 9}},
        ],
    ),
    (
        messages_wire,
        [
            {"type": "message_start", "message": {"usage": {"input_tokens": 9}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use"}},
            {"type": "content_block_delta", "index": 0, "delta": {"partial_json": "{}"}},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        ],
    ),
]
"""A whole answer of each form, and as the events of a stream."""
DEEP: Any = json.loads("[" * 300 + "]" * 300)
ODD_VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=9), st.sampled_from([[], {}, DEEP])
)


def replace_node(value: Any, place: list[int], odd: Any) -> Any:
    """The value with one of its nodes replaced, that before which so many others stand."""
    place[0] -= 1
    if place[0] == -1:
        return odd
    if isinstance(value, dict):
        return {name: replace_node(part, place, odd) for name, part in value.items()}
    if isinstance(value, list):
        return [replace_node(part, place, odd) for part in value]
    return value


@given(st.sampled_from(FORMS), st.integers(0, 45), ODD_VALUES)
def test_whatever_stands_in_an_answer_is_read_and_can_be_sent_back(
    form: tuple[Any, Any], place: int, odd: Any
) -> None:
    wire, answer = form
    changed = replace_node(answer, [place], odd)
    if isinstance(answer, list):
        events = changed if isinstance(changed, list) else [changed]
        body = b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events)
    else:
        body = json.dumps(changed).encode()
    data = event_stream.read_body(body)
    reply = wire.read_reply(data, ("cap_a",)) if data is not None else ModelReply()

    assert len({one.id for one in reply.calls}) == len(reply.calls)
    beside = replace(reply.beside, endpoint="e", model="m") if reply.beside else None
    said = Message(
        "assistant", reply.text, calls=reply.calls, reasoning=reply.reasoning, beside=beside
    )
    results = [Message("tool", "ok", call_id=call.id) for call in reply.calls]
    messages = [format_message(each) for each in (said, *results)]
    for dialect in (Dialect(wire=WIRES[wire]), Dialect(wire=WIRES[wire], is_toolless=True)):
        assert orjson.dumps(wire.write_request(ModelRequest(messages, model="m"), dialect, "e"))


WIRES: dict[Any, Any] = {chat_wire: "chat", responses_wire: "responses", messages_wire: "messages"}


def test_a_place_that_is_none_in_a_refusal_names_no_tool() -> None:
    request = ModelRequest(ASK, TOOLS)
    refusal = refusals.Refusal(400, "tools[00000012345678]: something is wrong", request)
    assert refusals.adapt(Dialect(), refusal)


@given(st.binary(max_size=200))
def test_no_bytes_raise(body: bytes) -> None:
    assert read(body).finish in {
        "error",
        "stop",
        "length",
        "tool_calls",
    }


def test_what_is_nested_too_deep_or_long_is_read_without_trouble() -> None:
    deep = "[" * 300 + "]" * 300
    assert written_in('```json\n{"name": "sigil_query", "arguments": ' + deep + "}\n```").finish
    nested: Any = 1
    for _ in range(300):
        nested = [nested]
    body = json.dumps(
        completion(
            {"tool_calls": [{"id": "1", "function": {"name": "f", "arguments": nested}}]}, "stop"
        )
    ).encode()
    assert read(body).calls[0].arguments == "{}"
    started = time.process_time()
    for text in (
        "```" + "\n" * 40_000 + "x",
        "<tool_call>" * 4_000,
        "```" * 16_000,
        "<think>" * 100_000,
    ):
        written_in(text)
    # what is quadratic in these texts takes minutes
    assert time.process_time() - started < within(5)


def test_many_calls_are_bounded() -> None:
    calls: list[dict[str, Any]] = [
        {"id": str(number), "function": {"name": "f"}} for number in range(500)
    ]
    assert len(reply_of({"tool_calls": calls}).calls) == chat_wire.CALLS_MOST


def _stream(*deltas: dict[str, Any]) -> bytes:
    events = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    return b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events)


HELLO = json.dumps(say("hello")).encode()
QUERY = {"name": "sigil_query", "arguments": '{"query":"x"}'}
RETRY_INFO = [
    {
        "error": {
            "code": 429,
            "message": "You exceeded your current quota, please check your plan and billing details.",
            "status": "RESOURCE_EXHAUSTED",
            "details": [
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2.5s"}
            ],
        }
    }
]
ODD_ANSWERS = {
    "a rate of Gemini's": (json_answer(RETRY_INFO, 429), "hello", 2, 2.5),
    "milliseconds": (Answer(429, b"{}", {"retry-after-ms": "1500"}), "hello", 2, 1.5),
    "a reset of tokens": (
        Answer(429, b"{}", {"x-ratelimit-reset-tokens": "1m2.5s"}),
        "hello",
        2,
        62.5,
    ),
    "a stream": (Answer(200, _stream({"content": "hel"}, {"content": "lo"})), "hello", 1, 0),
    "a stream of calls": (
        Answer(
            200,
            b": keep-alive\n\n"
            + _stream(
                {"tool_calls": [{"index": 0, "id": "a", "function": {**QUERY, "arguments": ""}}]},
                {"tool_calls": [{"index": 0, "id": "", "function": {"arguments": '{"query":'}}]},
                {"tool_calls": [{"index": 0, "function": {"arguments": '"x"}'}}]},
                {"tool_calls": [{"index": 0, "id": "b", "function": QUERY}]},
            )
            + b"data: [DONE]\n\n",
        ),
        [QUERY, QUERY],
        1,
        0,
    ),
    "comments before it": (Answer(200, b": OPENROUTER PROCESSING\n\n\n" + HELLO), "hello", 1, 0),
    "a number that is none": (Answer(200, HELLO[:-1] + b',"timings":{"n":NaN}}'), "hello", 1, 0),
    "a call of the older form": (
        completion({"role": "assistant", "content": None, "function_call": QUERY}, "function_call"),
        [QUERY],
        1,
        0,
    ),
    "a broken network": (completion({"content": None}, "network_error"), "hello", 2, 0),
    "a call that is none": (
        completion({"content": None}, "MALFORMED_FUNCTION_CALL"),
        "hello",
        2,
        0,
    ),
    "a slip of the model": (
        json_answer({"error": {"message": "no", "code": "tool_use_failed"}}, 400),
        "hello",
        2,
        0,
    ),
    "thoughts alone": (say("", reasoning_content="I wonder"), "hello", 2, 0),
    "money in a 200": (json_answer({"error": {"message": "no", "code": 402}}), "money", 1, 0),
    "money beside an empty choice": (
        {**say(""), "error": {"message": "no", "code": 402}},
        "money",
        1,
        0,
    ),
    "a busy one in a choice": (
        {"choices": [{"error": {"code": 502, "message": "bad gateway"}, "message": {}}]},
        "hello",
        2,
        0,
    ),
    "MiniMax without money": (
        json_answer({"base_resp": {"status_code": 1008, "status_msg": "no"}}),
        "money",
        1,
        0,
    ),
    "a filter": (completion({"content": ""}, "sensitive"), "", 1, 0),
    "no room at all": (
        completion({"content": ""}, "model_context_window_exceeded"),
        "window",
        1,
        0,
    ),
    "a retired model": (
        json_answer({"error": {"message": "The model `m` has been deprecated", "code": "x"}}, 404),
        "model",
        1,
        0,
    ),
}


@pytest.mark.parametrize(
    ("answer", "wanted", "requests", "waited"), ODD_ANSWERS.values(), ids=ODD_ANSWERS
)
def test_an_odd_answer_is_read_or_costs_no_more_than_it_must(
    client: ModelClient,
    model: ScriptedModel,
    pauses: list[float],
    monkeypatch: pytest.MonkeyPatch,
    answer: Any,
    wanted: str | list[dict[str, str]],
    requests: int,
    waited: float,
) -> None:
    monkeypatch.setattr("functions.agent.model.client.backoff_seconds", lambda _: 0.0)
    model.then(answer, say("hello"))

    reply = client.chat(ModelRequest(ASK, TOOLS))

    came: object = [{"name": call.name, "arguments": call.arguments} for call in reply.calls]
    if not came:
        came = reply.failure.kind if reply.finish == "error" and reply.failure else reply.text
    assert (came, len(model.bodies), sum(pauses)) == (wanted, requests, waited)
    assert len({call.id for call in reply.calls}) == len(reply.calls)
