"""Answers whose words are told while they come are the same as those that come at once."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from functions.agent.app import TurnStep
from functions.agent.model import event_stream
from functions.agent.model.base import ModelReply, ModelRequest
from functions.agent.model.client import ModelClient
from functions.agent.model.streamed_words import StreamedWords
from functions.agent.turn.turn import run_turn
from functions.wiring import AgentRuntime
from tests.fakes.endpoint import ModelEndpoint
from tests.fakes.endpoint_rules import DIALECTS
from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.server import Answer, Recorded, json_answer
from tests.functions.agent.model.endpoints import FIRST, NAMES, settings_of, three_rounds
from tests.functions.agent.talk import event
from tests.selection import sample
from tests.tables import each_row

ASK = [{"role": "user", "content": "hi"}]
TOOL = {
    "type": "function",
    "function": {"name": "sigil_query", "description": "x", "parameters": {"type": "object"}},
}
DONE = b"data: [DONE]\n\n"
Body = bytes | list[bytes]


class Told:
    """Somebody who reads along: what stands there, and all that ever did."""

    hears_words = True

    def __init__(self) -> None:
        self.text = ""
        self.ever = ""
        self.taken_back = 0
        self.kinds: list[str] = []

    def hear(self, words: str | None) -> None:
        if words is None:
            self.taken_back += 1
            self.text = ""
            return
        self.text += words
        self.ever += words

    def __call__(self, step: TurnStep) -> None:
        self.kinds.append(step.kind)
        if step.kind == "ask":
            self.text = ""
        elif step.kind == "words":
            self.hear(None if step.facts.get("anew") else step.text)


@pytest.fixture
def client(model: ScriptedModel) -> Iterator[ModelClient]:
    made = ModelClient(model.url + "/v1", "", "qwen-plus", 1000, pause=lambda seconds: None)
    yield made
    made.close()


def stream(*deltas: dict[str, Any], finish: str | None = "stop") -> bytes:
    """The events of a stream of chat completions; without a `finish` it has no end."""
    chunks: list[dict[str, Any]] = [{"delta": delta} for delta in deltas]
    if finish:
        chunks.append({"delta": {}, "finish_reason": finish})
    return b"".join(event_of({"choices": [chunk]}) for chunk in chunks)


def event_of(data: object) -> bytes:
    return b"data: %s\n\n" % json.dumps(data, ensure_ascii=False).encode()


def pieces(text: str, size: int = 3) -> list[dict[str, Any]]:
    return [{"content": text[start : start + size]} for start in range(0, len(text), size)]


def spoken(text: str) -> bytes:
    return stream(*pieces(text)) + DONE


@pytest.mark.parametrize("dialect", sample(NAMES, 9))
def test_the_words_of_every_family_are_those_of_its_answer(
    runtime: Callable[..., AgentRuntime], dialect: str
) -> None:
    answer = f"{FIRST} 两个都找到了。 And a last word."
    with ModelEndpoint(dialect, script=three_rounds(answer)) as endpoint:
        home = runtime(**settings_of(endpoint, dialect))
        told = Told()

        opened = run_turn(event("find both"), home.app, told)

        assert [reply.text for reply in opened.document.outbox] == [answer]
        assert told.text == answer
        assert "I look for both." in told.ever
        assert "That is all" not in told.ever  # a thought
        if DIALECTS[dialect].thoughts != "closing_tag":  # whose thoughts show only at their end
            assert not told.taken_back
        assert all(asked.body.get("stream") for asked in endpoint.chats)
        assert opened.document.usage.prompt
        assert not opened.document.usage.estimated
        assert told.kinds.count("ask") == len(endpoint.chats)


def test_nobody_who_looks_on_is_asked_for_no_stream(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url)
    steps: list[TurnStep] = []

    run_turn(event("hello"), home.app, steps.append)
    run_turn(event("hello"), runtime(llm_url=model.url, llm_stream="no").app, Told())

    assert len(model.chats) == 2
    assert not any("stream" in body for body in model.chats)
    assert not {"ask", "words"} & {step.kind for step in steps}


USAGE = {"prompt_tokens": 5, "completion_tokens": 2}
ODD: dict[str, Body] = {
    "no end but the finish": stream(*pieces("It is done.")),
    "no finish but the end": stream(*pieces("It is done."), finish=None) + DONE,
    "lines alone": spoken("It is done.").replace(b"\n\n", b"\n"),
    "lines of Windows": spoken("It is done.").replace(b"\n", b"\r\n"),
    "comments": b": PROCESSING\n\n" + spoken("It is done.").replace(b"data", b": x\n\ndata", 2),
    "named events": spoken("It is done.").replace(b"data", b"event: message\nid: 1\ndata"),
    "usage first": event_of({"choices": [], "usage": USAGE}) + spoken("It is done."),
    "two choices": stream(*pieces("It is done."))
    + event_of({"choices": [{"delta": {}}, {"index": 1, "delta": {"content": "No."}}]}),
    "whole messages": event_of({"choices": [{"message": {"content": "It is done."}}]}) + DONE,
    "lists of parts": stream({"content": [{"type": "text", "text": "It is done."}]}),
    "no number": spoken("It is done.").replace(b'"delta"', b'"logprobs": NaN, "delta"'),
    "several lines of data": b'data: {"choices":\ndata: [{"delta": {"content": "It is"}}]}\n\n'
    + spoken(" done."),
    "a thought in a field": stream({"reasoning_content": "Hm, I"}, *pieces("It is done.")),
    "a thought in tags": spoken("<think>Hm,\nI < you</think>\n\nIt is done."),
    "a thought without an end": stream(*pieces("<think>Hm, I do not know. "), finish="length"),
    "many thoughts at once": stream({"content": "<think>Hm, I</think>" * 2_000 + "It is done."}),
    "a reason first": spoken("  <reasoning>Hm, I</reasoning>It is done."),
    "an end of a thought alone": spoken("Hm, I think.\n</think>\nIt is done."),
    "tags that are none": spoken("a <b and <thin> air; x</think> is a tag, 1 < 2."),
    "a call as text": spoken('{"name": "sigil_query", "arguments": {"query": "x"}}'),
    "a call in a fence": spoken('```json\n{"name": "sigil_query", "arguments": {}}\n```'),
    "a call in tags": spoken('<tool_call>{"name": "sigil_query", "arguments": {}}</tool_call>'),
    "a call as markup": spoken("I look. <function=sigil_query><parameter=query>x</function>"),
    "an object": spoken('{"a": 1}'),
    "code": spoken("```py\nprint({1: 2})\n```\nThat is it."),
    "a call": stream(*pieces("I look."), {"tool_calls": [{"id": "1", "function": {"name": "f"}}]}),
    "blanks around": spoken("\n\n  It is done. \n"),
    "no blanks": spoken("已经完成了。没有别的事情要做。"),
    "half a surrogate": spoken("x").replace(b'"x"', b'"x \\ud83d y"'),
    "nothing": stream() + DONE,
    "no text at all": stream(finish="content_filter"),
    "a number of tokens": spoken("one two three " * 300),
}


@pytest.mark.parametrize("seed", range(3))
@each_row("name", ODD)
def test_an_odd_stream_says_what_the_same_answer_says_as_a_whole(
    model: ScriptedModel, client: ModelClient, name: str, seed: int
) -> None:
    body = ODD[name]
    assert isinstance(body, bytes)
    whole = json.dumps(event_stream.read_body(body)).encode()
    request = ModelRequest(ASK, [TOOL], may_write=lambda: True)
    model.start_over(Answer(200, whole), Answer(200, whole))
    expected = client.chat(request)
    chunks = [*cut_anywhere(body, random.Random(f"{name}{seed}"))]
    told = Told()
    streamed = Answer(200, chunks, {"content-type": "text/event-stream"})
    model.start_over(streamed, streamed)

    reply = client.chat(ModelRequest(ASK, [TOOL], may_write=lambda: True, tell=told.hear))

    assert (reply.text, reply.calls, reply.usage) == (expected.text, expected.calls, expected.usage)
    assert told.text.strip() == reply.text
    assert "Hm, I" not in told.text
    if "alone" not in name:
        assert "Hm" not in told.ever
        assert "function" not in told.ever
        assert not told.taken_back


def cut_anywhere(body: bytes, chance: random.Random) -> Iterator[bytes]:
    """Yield the bytes in pieces, some of them within a character or a line's end."""
    while body:
        size = chance.choice([1, 2, 3, 7, 20, 100, 1000])
        yield body[:size]
        body = body[size:]


def test_an_answer_that_is_no_stream_tells_nothing_and_is_read_as_ever(
    model: ScriptedModel, client: ModelClient
) -> None:
    told = Told()
    model.then(say("as a whole"))

    assert client.chat(ModelRequest(ASK, tell=told.hear)).text == "as a whole"
    assert told.ever == ""
    assert model.bodies[0]["stream"] is True
    assert model.bodies[0]["stream_options"] == {"include_usage": True}


def test_what_a_stream_has_lost_is_asked_for_once_more_as_a_whole(
    model: ScriptedModel, client: ModelClient
) -> None:
    def breaks_off() -> Iterator[bytes]:
        yield stream(*pieces("It is nearly "), finish=None)
        raise ConnectionError

    for body in (breaks_off(), stream(*pieces("It is nearly "), finish=None)):
        told = Told()
        before = len(model.bodies)
        model.then(Answer(200, body), say("It is done."), spoken_answer("It is done."))

        reply = client.chat(ModelRequest(ASK, tell=told.hear, chat=str(before)))

        assert (reply.text, reply.tries) == ("It is done.", 1)
        assert told.ever == "It is nearly "
        assert (told.text, told.taken_back) == ("", 1)
        streams = [body.get("stream") for body in model.bodies[before:]]
        assert streams == [True, None]
        # for a while nobody asks for a stream in this chat
        client.chat(ModelRequest(ASK, tell=told.hear, chat=str(before)))
        assert "stream" not in model.bodies[-1]
        assert "stream_options" not in model.bodies[-1]


def spoken_answer(text: str) -> Answer:
    return Answer(200, spoken(text), {"content-type": "text/event-stream"})


def test_an_error_within_a_stream_is_that_error(model: ScriptedModel, client: ModelClient) -> None:
    told = Told()
    error = event_of({"error": {"message": "overloaded", "code": 503}})
    begun = stream(*pieces("It is nearly "), finish=None)
    model.then(Answer(200, begun + error), spoken_answer("It is done."))

    reply = client.chat(ModelRequest(ASK, tell=told.hear))

    assert (reply.text, reply.tries, told.text) == ("It is done.", 1, "It is done.")
    assert told.taken_back == 1
    assert model.bodies[-1]["stream"]


REFUSALS = {
    "Unsupported parameter: 'stream_options'": ["stream"],
    "Unrecognized request argument supplied: stream_options": ["stream"],
    "stream_options: Extra inputs are not permitted": ["stream"],
    "include_usage is not supported": ["stream"],
    "This model does not support streaming": [],
    "stream is not allowed together with tools": [],
    "Streaming is disabled for your organization": [],
}


@each_row("words, left", REFUSALS.items())
def test_what_refuses_streams_is_asked_without_and_remembered(
    model: ScriptedModel, words: str, left: list[str]
) -> None:
    def judge(body: dict[str, Any]) -> Answer | dict[str, Any]:
        asked = [name for name in ("stream", "stream_options") if name in body]
        if set(asked) - set(left):
            return json_answer({"error": {"message": words}}, 400)
        return spoken_answer("It is done.") if asked else say("It is done.")

    model.start_over(*[judge] * 4)
    before = len(model.bodies)
    client = ModelClient(model.url, "", "m", 1000)
    for _ in range(2):
        told = Told()
        reply = client.chat(ModelRequest(ASK, [TOOL], tell=told.hear))
        assert (reply.text, told.text) == ("It is done.", "It is done." if left else "")
    client.close()

    assert len(model.bodies) == before + 3
    assert "tools" in model.bodies[-1]


def test_another_refusal_costs_no_try_without_a_stream(
    model: ScriptedModel, client: ModelClient
) -> None:
    model.then(json_answer({"error": {"message": "no such key"}}, 401))

    assert client.chat(ModelRequest(ASK, tell=Told().hear)).finish == "error"
    assert len(model.bodies) == 1


@each_row("secret", ["sk-live-3f9a0c77d1", "sk-l<ive-3f<9a0c77d1"])
def test_a_secret_is_never_told_wherever_the_stream_is_cut(
    runtime: Callable[..., AgentRuntime], secret: str
) -> None:
    answer = f"The key is {secret}, and that is all."
    with ModelEndpoint("openai") as endpoint:
        home = runtime(**{**settings_of(endpoint), "llm_key": secret})
        for place in range(1, len(secret)):
            cut = answer.index(secret) + place
            body = stream({"content": answer[:cut]}, {"content": answer[cut:]})
            endpoint.before = answer_with(body)
            told = Told()
            run_turn(event("what is it?", session=f"telegram:{place}"), home.app, told)

            assert told.text.endswith("and that is all.")
            assert secret[:4] not in told.ever


def answer_with(body: bytes) -> Callable[[Recorded], Answer | None]:
    return lambda request: Answer(200, [*cut_anywhere(body, random.Random(len(body)))])


def test_an_answer_that_is_verified_is_taken_back(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url)
    told = Told()
    model.then(
        call(("no_such_tool", {})),
        spoken_answer("All went well."),
        spoken_answer("No, the tool is missing."),
    )

    run_turn(event("do it"), home.app, told)

    assert "All went well." in told.ever
    assert told.taken_back == 1
    assert told.text.startswith("No, the tool is missing.")


def test_who_stops_keeps_what_was_told(model: ScriptedModel, client: ModelClient) -> None:
    told = Told()

    def goes_on() -> Iterator[bytes]:
        for _ in range(1000):
            yield stream({"content": "on and "}, finish=None)
            if model.closing.wait(0.01):
                return

    model.then(Answer(200, goes_on()))

    reply = client.chat(ModelRequest(ASK, tell=told.hear, stopped=lambda: bool(told.text)))

    assert reply == ModelReply(finish="stopped")
    assert told.text.startswith("on and on")
    assert len(told.text) < 7 * 500


def test_a_long_word_is_read_in_time_and_told_at_its_end() -> None:
    told = Told()
    words = StreamedWords(told.hear)
    for _ in range(2000):
        words.take(stream({"content": "x" * 100}, finish=None))
    words.take(stream({"content": " end"}))
    words.settle("x" * 200_000 + " end")

    assert told.text == "x" * 200_000 + " end"


@each_row(
    "first, rest, count",
    [("", "word ", 21_000), ("", "x", 3_000), ("```", "x", 3_000), ("<think>", "hm ", 34_000)],
)
def test_what_would_cost_more_with_each_word_is_told_at_the_end(
    first: str, rest: str, count: int
) -> None:
    told = Told()
    words = StreamedWords(told.hear)
    words.take(stream({"content": first}, finish=None))
    for _ in range(count):
        words.take(stream({"content": rest}, finish=None))
    words.take(stream({"content": "</think> and an end "}))

    assert len(told.text) <= 100_000
    assert "end" not in told.text
    assert words.is_stream
    assert not words.is_cut_off
    words.settle(f"{told.text}and an end")
    assert told.text.endswith("and an end")
