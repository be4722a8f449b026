"""The validating endpoint that other tests talk to: it takes what a family gave, sent back as it
came, and refuses what the family is known to refuse.
"""

from __future__ import annotations

import copy
import http.client
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes import endpoint_answers, endpoint_rules, messages_api, responses_api
from tests.fakes.endpoint import ModelEndpoint
from tests.fakes.endpoint_rules import DIALECTS, Dialect, Refusal
from tests.fakes.endpoint_steps import Counts, Step, call, say
from tests.functions.agent.model.endpoints import three_rounds
from tests.tables import each_row

Body = dict[str, Any]
PARAMETERS = {
    "type": "object",
    "properties": {"query": {"type": "string"}},
    "required": ["query"],
}
SYSTEM = "<<IDENTITY>> You are an agent."
NEXT = "and now?"
COUNTS = Counts(100)
CHAT = [row for row in DIALECTS.values() if row.name != "openai-responses"]
KEYED = {"x-api-key": "k", "anthropic-version": "2023-06-01"}


def begin_chat(dialect: Dialect) -> Body:
    function = {
        "name": "sigil_query",
        "description": "Finds.",
        "parameters": copy.deepcopy(PARAMETERS),
    }
    body: Body = {
        "model": dialect.model,
        "messages": [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": "find both"},
        ],
        "tools": [{"type": "function", "function": function}],
    }
    if dialect.name == "qwen":
        body["stream"] = True
    if dialect.name == "openai-6":
        body["reasoning_effort"] = "none"
    return body


def echo_chat(body: Body, dialect: Dialect, step: Step, number: int) -> None:
    whole = endpoint_answers.write_answer(dialect, dialect.model, step, number, COUNTS)
    message = whole["choices"][0]["message"]
    message["content"] = message["content"] or ""
    body["messages"].append(message)
    for called in message.get("tool_calls", ()):
        body["messages"].append(
            {"role": "tool", "tool_call_id": called["id"], "content": "nothing"}
        )
    if not step.calls:
        body["messages"].append({"role": "user", "content": NEXT})


def begin_response(dialect: Dialect) -> Body:
    tool = {"type": "function", "name": "sigil_query", "parameters": copy.deepcopy(PARAMETERS)}
    return {
        "model": dialect.model,
        "instructions": SYSTEM,
        "input": [{"role": "user", "content": "find both"}],
        "tools": [tool],
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }


def echo_response(body: Body, dialect: Dialect, step: Step, number: int) -> None:
    output = responses_api.write_answer(dialect, body, step, number, COUNTS)["output"]
    body["input"] += output
    for item in output:
        if item["type"] == "function_call":
            answer = {"type": "function_call_output", "call_id": item["call_id"], "output": "no"}
            body["input"].append(answer)
    if not step.calls:
        body["input"].append({"role": "user", "content": NEXT})


def begin_message(dialect: Dialect) -> Body:
    tool = {
        "name": "sigil_query",
        "description": "Finds.",
        "input_schema": copy.deepcopy(PARAMETERS),
    }
    return {
        "model": dialect.model,
        "max_tokens": 4096,
        "thinking": {"type": "enabled", "budget_tokens": 2048},
        "system": SYSTEM,
        "messages": [{"role": "user", "content": "find both"}],
        "tools": [tool],
    }


def echo_message(body: Body, dialect: Dialect, step: Step, number: int) -> None:
    content = messages_api.write_answer(dialect, body, step, number, COUNTS)["content"]
    body["messages"].append({"role": "assistant", "content": content})
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "nothing"}
        for block in content
        if block["type"] == "tool_use"
    ]
    body["messages"].append({"role": "user", "content": results or NEXT})


APIS = {
    "completions": (endpoint_rules.judge, begin_chat, echo_chat),
    "responses": (responses_api.judge, begin_response, echo_response),
    "messages": (messages_api.judge, begin_message, echo_message),
}


def converse(api: str, dialect: Dialect, steps: list[Step]) -> Body:
    """Return the request after some answers, each of which was sent back as it came."""
    judge, begin, echo = APIS[api]
    body = begin(dialect)
    for number, step in enumerate(steps):
        assert judge(body, KEYED, dialect) is None
        echo(body, dialect, step, number)
    return body


def judge(api: str, body: Body, dialect: Dialect, headers: dict[str, str] = KEYED) -> str:
    """Return what is said of a request, empty when it is taken."""
    refusal: Refusal | None = APIS[api][0](body, headers, dialect)
    return refusal.message if refusal else ""


@each_row(
    ("api", "dialect"),
    [
        *[("completions", row) for row in CHAT],
        *[("responses", row) for row in DIALECTS.values() if "responses" in row.apis],
        ("messages", DIALECTS["anthropic"]),
    ],
)
def test_what_came_is_taken_when_it_is_sent_back(api: str, dialect: Dialect) -> None:
    steps = [*three_rounds(), call(("sigil_query", {"query": "more"})), say("Enough.")]

    assert judge(api, converse(api, dialect, steps), dialect) == ""


def set_field(*path: str | int, to: object) -> Callable[[Body], None]:
    """Return a change of a request that sets the field at a path."""

    def change(body: Body) -> None:
        part: Any = body
        for step in path[:-1]:
            part = part[step]
        part[path[-1]] = to

    return change


def drop(*path: str | int) -> Callable[[Body], None]:
    """Return a change of a request that leaves out what is at a path."""

    def change(body: Body) -> None:
        part: Any = body
        for step in path[:-1]:
            part = part[step]
        del part[path[-1]]

    return change


def add_user(body: Body) -> None:
    body["messages"].append({"role": "user", "content": "be quick"})


def rename_call(body: Body) -> None:
    body["messages"][2]["tool_calls"][0]["id"] = "c" * 41
    body["messages"][3]["tool_call_id"] = "c" * 41


FUNCTION = ("tools", 0, "function")
CALLED = ("messages", 2, "tool_calls", 0)
AT_MESSAGE = ("messages", 1, "content")
BARE_LIST = {"type": "object", "properties": {"x": {"type": "array"}}}
UNTYPED = {"type": "object", "properties": {"x": {}}}
FORCED = {"type": "function", "function": {"name": "sigil_query"}}
REFUSED: list[tuple[str, str, Callable[[Body], None], str]] = [
    ("completions", "openai", set_field(*FUNCTION, "parameters", to=BARE_LIST), "missing items"),
    ("completions", "openai", set_field(*FUNCTION, "strict", to=True), "additionalProperties"),
    ("completions", "openai", set_field(*FUNCTION, "name", to="cap.encode"), "does not match"),
    ("completions", "openai", set_field("tools", to=[{}] * 129), "array too long"),
    ("completions", "openai", drop("messages", 3), "did not have response messages"),
    ("completions", "openai", drop("messages", 2), "must be a response to a preceeding"),
    ("completions", "openai", set_field("enable_thinking", to=False), "Unrecognized request"),
    ("completions", "openai", rename_call, "string too long"),
    ("completions", "openai", set_field("temperature", to=0.2), "Unsupported parameter"),
    ("completions", "openai-6", drop("reasoning_effort"), "use /v1/responses"),
    ("completions", "azure", set_field(*FUNCTION, "description", to="x" * 1025), "1024"),
    ("completions", "gemini", drop(*CALLED, "extra_content"), "missing a thought_signature"),
    (
        "completions",
        "gemini",
        set_field(*CALLED, "extra_content", "google", to={"thought_signature": "c2ln"}),
        "not valid",
    ),
    (
        "completions",
        "gemini-native",
        set_field(*FUNCTION, "parameters", "additionalProperties", to=False),
        "Cannot find field",
    ),
    ("completions", "anthropic", set_field("messages", 1, "content", to=" "), "non-empty"),
    ("completions", "deepseek", drop("messages", 2, "reasoning_content"), "must be passed back"),
    ("completions", "deepseek", set_field("tool_choice", to=FORCED), "does not support this"),
    ("completions", "kimi", set_field(*FUNCTION, "parameters", to=UNTYPED), "type is not defined"),
    ("completions", "kimi", drop("messages", 2, "reasoning_content"), "at index 2"),
    ("completions", "qwen", drop("stream"), "non-streaming calls"),
    ("completions", "glm", set_field("tool_choice", to="none"), "only supports auto"),
    ("completions", "minimax", drop(*FUNCTION, "parameters"), "parameters is empty"),
    (
        "completions",
        "minimax",
        set_field(*CALLED, "function", "arguments", to="{"),
        "invalid function arguments",
    ),
    ("completions", "mistral", add_user, "Unexpected role 'user' after role 'tool'"),
    (
        "completions",
        "mistral",
        set_field("messages", 2, "reasoning_content", to=""),
        "Extra inputs",
    ),
    ("completions", "mistral", set_field("tools", to=[]), "Extra inputs"),
    ("completions", "groq", set_field("messages", 2, "reasoning_content", to=""), "is unsupported"),
    ("completions", "groq", set_field("reasoning_effort", to="none"), "must be one of"),
    ("completions", "openrouter", drop("messages", 2, "reasoning_details"), "to be preserved"),
    ("completions", "ollama", set_field("messages", 2, "content", to=None), "<nil>"),
    ("completions", "vllm", set_field("messages", 1, "role", to="system"), "at the beginning"),
    (
        "completions",
        "vllm-gemma",
        lambda body: body["messages"].insert(1, {"role": "user", "content": "x"}),
        "must alternate",
    ),
    (
        "completions",
        "llamacpp-old",
        set_field(*FUNCTION, "parameters", "properties", "query", "maxLength", to=2000),
        "grammar",
    ),
    ("completions", "lmstudio", set_field("tool_choice", to=FORCED), "Supported string values"),
    ("completions", "litellm", drop("tools"), "without `tools=`"),
    ("responses", "openai-responses", drop("input", 1), "without its required 'reasoning' item"),
    ("responses", "openai-responses", drop("input", 1, "encrypted_content"), "not persisted"),
    (
        "responses",
        "openai-responses",
        set_field("input", 1, "encrypted_content", to="c2ln"),
        "could not be verified",
    ),
    ("responses", "openai-responses", drop("input", 3), "No tool output found"),
    ("responses", "openai-responses", set_field("messages", to=[]), "has moved to 'input'"),
    ("responses", "openai-responses", drop("tools", 0, "name"), "'tools[0].name'"),
    (
        "responses",
        "openai-responses",
        set_field("reasoning", to={"effort": "none"}),
        "Unsupported value",
    ),
    (
        "responses",
        "openai-responses",
        set_field("input", 0, "content", to=[{"type": "text", "text": "x"}]),
        "input_text",
    ),
    ("messages", "anthropic", drop("max_tokens"), "max_tokens: Field required"),
    (
        "messages",
        "anthropic",
        set_field("messages", 2, "content", to="x"),
        "without `tool_result` blocks",
    ),
    ("messages", "anthropic", drop(*AT_MESSAGE, 0), "Expected `thinking`"),
    (
        "messages",
        "anthropic",
        set_field(*AT_MESSAGE, 0, "thinking", to="other"),
        "Invalid `signature`",
    ),
    ("messages", "anthropic", set_field(*AT_MESSAGE, 1, "input", to="{}"), "valid dictionary"),
    (
        "messages",
        "anthropic",
        set_field("messages", 0, "content", to=[{"type": "text", "text": ""}]),
        "non-empty",
    ),
    ("messages", "anthropic", add_user, "roles must alternate"),
    (
        "messages",
        "anthropic",
        set_field("messages", 0, "role", to="system"),
        'Unexpected role "system"',
    ),
    ("messages", "anthropic", set_field("tool_choice", to={"type": "any"}), "forces tool use"),
    ("messages", "anthropic", set_field("temperature", to=1), "deprecated for this model"),
    ("messages", "anthropic", drop("tools"), "must define tools"),
    ("messages", "anthropic", drop("tools", 0, "input_schema"), "input_schema: Field required"),
    (
        "messages",
        "anthropic",
        set_field("tools", 0, "input_schema", "anyOf", to=[]),
        "at the top level",
    ),
]


@each_row(
    ("api", "name", "change", "words"),
    REFUSED,
)
def test_what_a_family_is_known_to_refuse_is_refused_in_its_words(
    api: str, name: str, change: Callable[[Body], None], words: str
) -> None:
    dialect = DIALECTS[name]
    body = converse(api, dialect, [call(("sigil_query", {"query": "x"}), thought="I look.")])
    assert judge(api, body, dialect) == ""
    change(body)

    assert words in judge(api, body, dialect)


def test_an_endpoint_of_responses_alone_takes_no_tools_elsewhere() -> None:
    dialect = DIALECTS["openai-responses"]
    for effort in ("low", "none"):
        assert judge("completions", begin_chat(dialect) | {"reasoning_effort": effort}, dialect)


def test_at_most_four_blocks_are_marked_and_a_marked_prefix_is_kept() -> None:
    dialect = DIALECTS["anthropic"]
    body = converse("messages", dialect, [*three_rounds()])
    cache = messages_api.PromptCache()
    mark = {"cache_control": {"type": "ephemeral"}}
    body["tools"][0] |= mark
    first = cache.count(body)
    again = copy.deepcopy(body)
    again["messages"][-1]["content"] = [{"type": "text", "text": "else"} | mark]
    second = cache.count(again)
    third = cache.count(again)

    assert first.cached == 0
    assert 0 < first.kept == second.cached < third.cached
    assert judge("messages", again, dialect) == ""
    again["messages"][0]["content"] = [{"type": "text", "text": "x"} | mark for _ in range(3)]
    assert "Found 5" in judge("messages", again, dialect)


@each_row("dialect", CHAT)
def test_a_stream_has_all_that_the_whole_answer_has(dialect: Dialect) -> None:
    step = call(("one", {"x": "é" * 30}), ("two", {}), text="I look for both.", thought="Both.")
    whole = endpoint_answers.write_answer(dialect, dialect.model, step, 1, COUNTS)
    lines = "".join(endpoint_answers.stream_answer(dialect, whole)).split("\n\n")
    events = [json.loads(each[6:]) for each in lines if each.startswith("data: {")]
    deltas = [part["delta"] for event in events for part in event.get("choices", ())]
    message = whole["choices"][0]["message"]

    given = [delta["content"] for delta in deltas if delta.get("content")]
    assert "".join(map(str, given)).replace("][", ", ") == str(message["content"])
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    arguments = "".join(each["function"].get("arguments", "") for each in calls)
    assert arguments == "".join(each["function"]["arguments"] for each in message["tool_calls"])
    assert lines[-2] == "data: [DONE]"


@pytest.mark.parametrize("api", ["responses", "messages"])
def test_the_streams_of_the_other_two_end_with_the_whole(api: str) -> None:
    dialect = DIALECTS["openai-responses" if api == "responses" else "anthropic"]
    module = responses_api if api == "responses" else messages_api
    step = call(("one", {"x": "é" * 30}), text="I look.", thought="Both.")
    whole = module.write_answer(dialect, APIS[api][1](dialect), step, 1, COUNTS)
    lines = "".join(module.stream_answer(dialect, whole)).split("\n\n")[:-1]
    events = [json.loads(each.partition("\ndata: ")[2]) for each in lines]

    text = "".join(str(_find_text(event)) for event in events)
    assert text.count("I look.") == 1
    assert events[-1]["type"] in ("response.completed", "message_stop")
    if api == "responses":
        assert events[-1]["response"] == whole


def _find_text(event: Body) -> str:
    if event["type"] == "response.output_text.delta":
        return str(event["delta"])
    delta = event.get("delta")
    return str(delta.get("text", "")) if isinstance(delta, dict) else ""


def ask(endpoint: ModelEndpoint, path: str, body: object = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(endpoint.url.removeprefix("http://"))
    method = "GET" if body is None else "POST"
    connection.request(method, path, json.dumps(body), {"content-type": "application/json"})
    answer = connection.getresponse()
    raw = answer.read()
    connection.close()
    return answer.status, raw


def test_a_gateway_judges_each_model_by_its_own_rules_in_its_own_form() -> None:
    with ModelEndpoint("openai", "mistral", "gemini", script=[say("fine")]) as endpoint:
        body = begin_chat(DIALECTS["mistral"])
        assert b'"mistral-medium-3.5"' in ask(endpoint, "/v1/models")[1]
        status, raw = ask(endpoint, "/v1/chat/completions", body)
        assert (status, json.loads(raw)["choices"][0]["message"]["content"]) == (200, "fine")
        status, raw = ask(endpoint, "/v1/chat/completions", body | {"thinking": {}})
        assert (status, json.loads(raw)["message"]["detail"][0]["loc"]) == (
            422,
            ["body", "thinking"],
        )
        body = begin_chat(DIALECTS["gemini"])
        body["tools"][0]["function"]["parameters"] = BARE_LIST
        status, raw = ask(endpoint, "/v1beta/openai/chat/completions", body)
        assert (status, json.loads(raw)[0]["error"]["status"]) == (400, "INVALID_ARGUMENT")
        assert ask(endpoint, "/v1/chat/completions", body | {"model": "x"})[0] == 404
        assert ask(endpoint, "/v1/messages", begin_message(DIALECTS["openai"]))[0] == 404
        status, raw = ask(
            endpoint, "/v1/chat/completions", begin_chat(DIALECTS["openai"]) | {"stream": True}
        )
        assert raw.endswith(b"data: [DONE]\n\n")

    assert [asked.model for asked in endpoint.chats] == ["mistral-medium-3.5", "gpt-5-mini"]
    assert len(endpoint.refused) == 4
