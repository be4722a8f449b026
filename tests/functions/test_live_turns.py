"""A client over HTTP that accepts a stream sees a turn while it goes on."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from functions import local
from functions.agent.app import TurnStep
from functions.live_turns import LiveTurns
from functions.wiring import AgentRuntime
from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.server import Answer
from tests.functions.agent.talk import event
from tests.functions.serving import Served, serving
from tests.machine import until, within

STREAM = {"accept": "text/event-stream"}


@dataclass(frozen=True, slots=True)
class Shown:
    """An event of a stream."""

    kind: str
    id: str
    data: dict[str, Any]


class Pieces:
    """An answer of the model in pieces, each of which comes when it is let go."""

    def __init__(self, *texts: str) -> None:
        self._texts = texts
        self._gates = [threading.Semaphore(0) for _ in texts]

    def let_go(self, *places: int) -> None:
        for place in places:
            self._gates[place].release()

    def answer(self) -> Answer:
        return Answer(200, self._speak(), {"content-type": "text/event-stream"})

    def _speak(self) -> Iterator[bytes]:
        for text, gate in zip(self._texts, self._gates, strict=True):
            assert gate.acquire(timeout=within(20))
            yield piece(text)
        yield b"data: [DONE]\n\n"


def piece(text: str) -> bytes:
    return b"data: %s\n\n" % json.dumps({"choices": [{"delta": {"content": text}}]}).encode()


@pytest.fixture
def server(runtime: Callable[..., AgentRuntime], model: ScriptedModel) -> Iterator[Served]:
    with serving(runtime(llm_url=model.url)) as served:
        yield served


@contextmanager
def ask(server: Served, text: str) -> Iterator[Iterator[Shown]]:
    body = {"session": "s1", "text": text}
    with server.client.stream("POST", "/chat", json=body, headers=STREAM) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        yield read(response)


@contextmanager
def join(server: Served, event: str) -> Iterator[Iterator[Shown]]:
    with server.client.stream("GET", f"/chat/s1/{event}", headers=STREAM) as response:
        assert response.status_code == 200
        yield read(response)


def read(response: httpx.Response) -> Iterator[Shown]:
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            yield Shown(fields["event"], fields["id"], json.loads(fields["data"]))
            fields = {}


def hear(shown: Iterator[Shown], words: str) -> str:
    """Read on until these words are there, and return all that were told."""
    told = ""
    for each in shown:
        if each.kind == "words":
            told = "" if each.data.get("anew") else told + each.data["text"]
        if words in told:
            return told
    raise AssertionError(f"{told!r} ended without {words!r}")


def list_unread(server: Served) -> list[str]:
    found = server.client.get("/chat/s1").json()
    return [each["reply"] for each in found["replies"]]


def test_words_come_while_the_model_writes_them_and_the_reply_is_as_ever(
    server: Served, model: ScriptedModel
) -> None:
    pieces = Pieces("It is ", "do", "ne. ", "Really.")
    model.then(call(("sigil_query", {"query": "something"})), pieces.answer())

    with ask(server, "do it") as shown:
        pieces.let_go(0)
        assert hear(shown, "It is ") == "It is "
        pieces.let_go(1, 2)
        assert hear(shown, "done. ") == "done. "
        pieces.let_go(3)
        *rest, reply = shown
    again = server.post("/chat", json={"session": "s1", "text": "again"}).json()

    assert [each.kind for each in rest if each.kind == "words"] == ["words"]
    assert reply.kind == "reply"
    assert reply.data["reply"] == "It is done. Really."
    assert set(reply.data) == set(again)
    assert reply.id.startswith("http:")
    assert list_unread(server) == []


def test_steps_are_shown_with_their_texts_but_not_with_results(
    server: Served, model: ScriptedModel
) -> None:
    model.then(call(("sigil_query", {"query": "something"})), say("It is done."))

    with ask(server, "do it") as shown:
        steps = [each.data for each in shown if each.kind == "step"]

    kinds = [(step["kind"], step["name"]) for step in steps]
    assert kinds == [
        ("request", "qwen-plus"),
        ("call", "sigil_query"),
        ("answer", "sigil_query"),
        ("request", "qwen-plus"),
    ]
    assert steps[1]["text"] == '{"query": "something"}'
    assert not {"text"} & steps[2].keys()
    assert steps[2]["ms"] > 0


def test_who_leaves_loses_nothing_and_who_comes_again_reads_from_the_beginning(
    server: Served, model: ScriptedModel
) -> None:
    pieces = Pieces("It is ", "done. ", "Really.")
    model.then(pieces.answer())

    with ask(server, "do it") as shown:
        pieces.let_go(0)
        first = next(each for each in shown if each.kind == "words")
    with join(server, first.id.removeprefix("http:")) as shown:
        pieces.let_go(1)
        assert hear(shown, "done. ") == "It is done. "
    pieces.let_go(2)
    until(lambda: list_unread(server) == ["It is done. Really."])
    with join(server, first.id.removeprefix("http:")) as shown:
        assert [each.data["reply"] for each in shown if each.kind == "reply"] == [
            "It is done. Really."
        ]
    until(lambda: list_unread(server) == [])


def test_words_of_a_try_that_failed_are_taken_back(server: Served, model: ScriptedModel) -> None:
    overloaded = b'data: {"error": {"message": "overloaded", "code": 503}}\n\n'
    model.then(Answer(200, [piece("It is nea"), piece("rly "), overloaded]), say("It is done."))

    with ask(server, "do it") as shown:
        told = [each.data for each in shown if each.kind in ("words", "reply")]

    place = told.index({"anew": True})
    assert "".join(each["text"] for each in told[:place]) == "It is nearly "
    assert [each["reply"] for each in told if "reply" in each] == ["It is done."]


def test_what_cannot_be_streamed_is_answered_as_without_a_stream(server: Served) -> None:
    refused = httpx.post(f"{server.url}/chat", json={"text": "x"}, headers=STREAM)
    wrong = server.post("/chat", json={"text": ""}, headers=STREAM)
    unknown = server.client.get("/chat/s1/nothing", headers=STREAM)

    assert [each.status_code for each in (refused, wrong, unknown)] == [401, 400, 404]
    assert unknown.json()["error"]["code"] == "ENOENT"


def test_a_client_that_reads_nothing_costs_no_more_than_the_answer(
    server: Served, model: ScriptedModel
) -> None:
    text = "word " * 20_000
    model.then(Answer(200, [piece("word ")] * 20_000 + [b"data: [DONE]\n\n"]))

    with ask(server, "do it") as shown:
        entries = [*shown]

    told = "".join(each.data["text"] for each in entries if each.kind == "words")
    assert told.strip() == text.strip()
    assert len(entries) < 1_000
    assert entries[-1].data["reply"] == text.strip()


def test_a_server_that_stops_says_where_the_answer_will_be(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    pieces = Pieces("It is ", "done.")
    model.then(pieces.answer())
    home = runtime(llm_url=model.url)
    ended: list[Callable[[], None]] = []
    build = local.build_app

    with pytest.MonkeyPatch.context() as patch:

        def build_and_note(*given: Any) -> Any:
            made = build(*given)
            ended.append(made.state.end_streams)
            return made

        patch.setattr(local, "build_app", build_and_note)
        with serving(home) as server, ask(server, "do it") as shown:
            pieces.let_go(0)
            hear(shown, "It is ")
            ended[0]()
            *_, last = shown
            pieces.let_go(1)
            until(lambda: list_unread(server) == ["It is done."])

    assert last.kind == "waiting"
    assert last.data == {"waiting": True, "poll": f"/chat/s1/{last.id.removeprefix('http:')}"}


def test_a_signal_may_end_the_streams_while_one_is_told_of_a_step() -> None:
    live = LiveTurns()
    asked = event("do it")

    def wake() -> None:
        if not live.is_closed:
            live.close()  # as a signal would that comes here

    live.watch(asked.session, asked.id, wake)
    telling = threading.Thread(
        target=live.note_step, args=(asked, TurnStep("words", text="It ")), daemon=True
    )

    telling.start()
    telling.join(within(5))

    assert not telling.is_alive()
    assert live.is_closed
