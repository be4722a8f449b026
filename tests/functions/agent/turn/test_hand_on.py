"""A worker whose own time is nearly up hands its turn on: another goes on from the last checkpoint,
and the reply comes once.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from functions.agent.turn import turn
from functions.agent.turn.loop import ROUND_SECONDS
from functions.agent.turn.turn import run_turn
from functions.agent.turn.turn_context import WorkerBudget
from functions.events import Event, decode, encode
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from functions.worker import process
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.own_work import work
from tests.functions.agent.talk import event

KEY = keys.session_of("main", "telegram:7")


def soon() -> float:
    """The end of a worker that has no time for a round."""
    return time.monotonic() + ROUND_SECONDS / 2


def work_off(home: AgentRuntime, until: float = float("inf")) -> list[str]:
    """Let workers take what waits until nothing does; the ids of what they took."""
    taken = []
    while delivery := home.queue.take(0.0):
        taken.append(delivery.event.id)
        process(delivery, home, until)
    return taken


def list_messages(home: AgentRuntime, session: str = "telegram:7") -> list[str]:
    return [
        message.content
        for message in home.app.sessions.open(keys.session_of("main", session)).document.messages
    ]


def test_a_worker_without_time_records_the_message_and_another_answers_it(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(say("hello"))
    first = event("hi")

    left = run_turn(first, home.app, worker=WorkerBudget(soon()))

    assert left.next is not None
    assert left.next.kind == "continue"
    assert left.document.turn is not None
    assert model.bodies == []
    done = run_turn(left.next, home.app)
    assert [reply.text for reply in done.document.outbox] == ["hello"]
    assert [message.role for message in done.document.messages] == ["user", "assistant"]


def test_what_was_done_is_kept_and_not_done_again(home: AgentRuntime, model: ScriptedModel) -> None:
    until = time.monotonic() + ROUND_SECONDS + 3.0

    def slow(body: dict[str, Any]) -> dict[str, Any]:
        # the model's own time, of which too little is left for another round
        time.sleep(max(until - ROUND_SECONDS - time.monotonic(), 0.0) + 0.1)
        return call(("sigil_query", {"query": "anything"}))

    model.then(slow, say("found nothing"))

    left = run_turn(event("look"), home.app, worker=WorkerBudget(until))

    assert left.next is not None
    assert [message.role for message in left.document.messages] == ["user", "assistant", "tool"]
    done = run_turn(left.next, home.app)
    assert [reply.text for reply in done.document.outbox] == ["found nothing"]
    assert done.document.outbox[0].rounds == 2
    assert len(model.bodies) == 2


def test_a_continuation_whose_turn_is_over_does_nothing(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(say("hello"), say("next"))
    left = run_turn(event("hi"), home.app, worker=WorkerBudget(soon()))
    assert left.next is not None
    done = run_turn(left.next, home.app)

    run_turn(left.next, home.app)
    later = run_turn(event("and now?"), home.app, worker=WorkerBudget(soon()))
    run_turn(left.next, home.app)

    assert done.document.outbox[0].text == "hello"
    assert home.app.sessions.open(KEY).document.messages == later.document.messages
    assert len(model.bodies) == 1


def test_a_continuation_goes_on_though_the_turn_has_come_further_since(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(say("hello"))
    left = run_turn(event("hi"), home.app, worker=WorkerBudget(soon()))
    assert left.next is not None
    again = run_turn(left.next, home.app, worker=WorkerBudget(soon()))
    assert again.next is not None
    assert again.next.id != left.next.id

    done = run_turn(left.next, home.app)

    assert [reply.text for reply in done.document.outbox] == ["hello"]
    assert run_turn(again.next, home.app).document.messages == done.document.messages


def test_a_turn_is_handed_on_so_often_and_then_the_person_is_told(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    left = run_turn(event("hi"), home.app, worker=WorkerBudget(soon()))
    hops = 1
    while left.next:
        hops += 1
        left = run_turn(left.next, home.app, worker=WorkerBudget(soon()))

    assert hops == turn.WAITS + 1
    assert [reply.text for reply in left.document.outbox] == [ENGLISH.out_of_time]
    assert model.bodies == []


def test_work_of_its_own_that_is_handed_on_too_often_is_told_as_that_limit(
    home: AgentRuntime,
) -> None:
    event = work(by="terminal:local")
    left = run_turn(event, home.app, worker=WorkerBudget(soon()))
    while left.next:
        left = run_turn(left.next, home.app, worker=WorkerBudget(soon()))

    assert [post.text for post in left.document.posts] == [
        "I ended something that I did by myself: it was handed on 6 times, and one turn may be no"
        " more."
    ]


def test_through_the_queue_the_next_message_waits_behind_the_turn_that_was_handed_on(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(say("one"), say("two"))
    first, second = event("first", session="http:a"), event("second", session="http:a")
    home.queue.put(first)
    delivery = home.queue.take(0.0)
    assert delivery is not None
    process(delivery, home, soon())
    home.queue.put(second)

    taken = work_off(home)

    assert taken[0].startswith("continue:http:a:")
    assert list_messages(home, "http:a") == ["first", "one", "second", "two"]


def test_a_message_that_only_found_the_turn_comes_after_it(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(say("one"), say("two"))
    first, second = event("first", session="http:a"), event("second", session="http:a")
    run_turn(first, home.app, worker=WorkerBudget(soon()))
    home.queue.put(second)
    delivery = home.queue.take(0.0)
    assert delivery is not None

    process(delivery, home, soon())

    waiting = home.queue.take(0.0)
    assert waiting is not None
    assert waiting.event.kind == "continue"
    process(waiting, home)
    assert list_messages(home, "http:a") == ["first", "one"]
    run_turn(second, home.app)
    assert list_messages(home, "http:a") == ["first", "one", "second", "two"]


def test_a_continuation_travels_as_any_event(home: AgentRuntime) -> None:
    left = run_turn(event("hi"), home.app, worker=WorkerBudget(soon()))

    assert left.next is not None
    assert decode(encode(left.next)) == left.next
    assert isinstance(left.next, Event)
    assert replace(left.next, id="", kind="message") != left.next
