"""Messages that come while a turn runs are answered by the next one, all together and in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import orjson
import pytest

from functions import worker
from functions.agent.mailbox import Mail, Mailbox
from functions.agent.turn import closing, turn
from functions.agent.turn.gathering import NOTE, SHARE
from functions.queues.base import BEHIND_MOST
from functions.queues.dead_letters import scan_dead_letters
from functions.texts.en import TEXTS as ENGLISH
from sigil.errors import BackendError
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.chats import Chats
from tests.functions.people import GROUP, GUEST, OWNER, update

TWO = NOTE.format(messages="2 more messages")


@pytest.fixture
def open_chats(open_chats: Callable[..., Chats]) -> Callable[..., Chats]:
    return partial(open_chats, telegram_username="sigil_bot")


def list_said(model: ScriptedModel, request: int = -1) -> list[str]:
    """Return what people said in a request, without the stamps."""
    messages = model.bodies[request]["messages"]
    return [
        message["content"].partition("\n")[2] for message in messages if message["role"] == "user"
    ]


def test_messages_that_wait_are_answered_by_one_turn_in_their_order(
    chats: Chats, model: ScriptedModel
) -> None:
    model.then(say("all three"))
    for number, text in enumerate(("one", "two", "three"), 1):
        chats.write(number, text)
    assert chats.work_off() == ["1"]
    assert chats.list_texts() == ["all three"]
    assert list_said(model) == ["one", TWO, "two", "three"]
    assert chats.list_history() == ["one", TWO, "two", "three", "all three"]


def test_what_comes_while_a_turn_runs_is_gathered_into_the_next_one(
    chats: Chats, model: ScriptedModel
) -> None:
    def answer_late(body: dict[str, Any]) -> dict[str, Any]:
        chats.write(2, "two")
        chats.write(3, "three")
        return say("first")

    model.then(answer_late, say("both"))
    chats.write(1, "one")
    assert chats.work_off() == ["1", "2"]
    assert chats.list_texts() == ["first", "both"]
    assert list_said(model)[-3:] == ["two", NOTE.format(messages="another message"), "three"]


def test_each_keeps_what_it_points_at(chats: Chats, model: ScriptedModel) -> None:
    model.then(say("both"))
    for number, word in ((1, "roses"), (2, "tulips")):
        quoted = {"message_id": 90 + number, "date": 1_780_000_000, "text": f"water the {word}"}
        quoted |= {"from": {"id": 9, "is_bot": False, "first_name": "Bob"}}
        quoted |= {"chat": {"id": OWNER, "type": "private"}}
        chats.write(number, f"why {word}?", reply_to_message=quoted)
    chats.work_off()
    first, _, second = list_said(model)
    assert "water the roses" in first
    assert first.endswith("why roses?")
    assert "water the tulips" in second
    assert second.endswith("why tulips?")


@pytest.mark.parametrize("command", ["/language", "\u200b/language", " \ufeff\u200e/language"])
def test_a_command_among_them_is_answered_in_its_place(
    chats: Chats, model: ScriptedModel, command: str
) -> None:
    model.then(say("one and two"), say("three"))
    for number, text in enumerate(("one", "two", command, "three"), 1):
        chats.write(number, text)
    assert chats.work_off() == ["1", "3", "4"]
    texts = chats.list_texts()
    assert texts[0] == "one and two"
    assert texts[1].startswith("I write my own messages")
    assert texts[2] == "three"


def test_what_nobody_can_open_is_told_for_each_of_them(chats: Chats, model: ScriptedModel) -> None:
    model.then(say("both"))
    chats.write(1, "one")
    chats.write(2, "", caption="this one", video={"file_id": "x", "duration": 1})
    chats.work_off()
    assert chats.list_texts()[0].startswith("I cannot open videos yet")


def test_in_a_group_another_persons_message_has_a_turn_of_its_own(
    chats: Chats, model: ScriptedModel
) -> None:
    def to_us(number: int, text: str, sender: int) -> None:
        entity = {"type": "mention", "offset": 0, "length": len("@sigil_bot")}
        chats.write(number, f"@sigil_bot {text}", sender, chat=GROUP, entities=[entity])

    model.then(say("for Ada"), say("for the guest"))
    to_us(1, "one", OWNER)
    to_us(2, "two", OWNER)
    to_us(3, "three", GUEST)
    assert chats.work_off() == ["1", "3"]
    assert chats.list_texts() == ["for Ada", "for the guest"]
    # the answer points at the last message that it answers
    assert [sent["reply_parameters"]["message_id"] for sent in chats.bot.messages] == [2, 3]


def test_so_many_are_gathered_at_most(chats: Chats, model: ScriptedModel) -> None:
    for number in range(1, BEHIND_MOST + 4):
        chats.write(number, f"message {number}")
    assert chats.work_off() == ["1", str(BEHIND_MOST + 2)]
    assert len(list_said(model, 0)) == BEHIND_MOST + 2


def test_together_they_take_a_part_of_the_window_at_most(
    open_chats: Callable[..., Chats], model: ScriptedModel
) -> None:
    chats = open_chats(llm_window=16_000)
    for number in (1, 2, 3):
        chats.write(number, f"{number} " + "word " * int(16_000 * SHARE / 6))
    assert chats.work_off() == ["1", "3"]


def test_the_offline_model_reads_one_at_a_time(open_chats: Callable[..., Chats]) -> None:
    chats = open_chats(llm_url="")
    chats.write(1, "convert 10 km to miles")
    chats.write(2, "hello")
    assert chats.work_off() == ["1", "2"]


def test_one_that_was_answered_long_ago_is_not_answered_again(
    chats: Chats, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closing, "SEEN_MOST", 2)
    for number in (3, 4, 5, 6):
        chats.write(number, f"message {number}")
        chats.work_off()
    asked = len(model.bodies)
    chats.write(3, "message 3")
    chats.write(2, "late")
    assert chats.work_off() == ["2", "3"]
    assert len(model.bodies) == asked + 1
    assert list_said(model)[-1] == "late"


def test_a_turn_that_is_given_up_gives_back_what_it_had_gathered(
    chats: Chats, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    with monkeypatch.context() as patch:

        def kill(*given: Any, **more: Any) -> Any:
            raise Killed

        patch.setattr(type(chats.runtime.app.model), "chat", kill)
        chats.write(1, "one")
        chats.write(2, "two")
        for _ in range(turn.ATTEMPTS):
            delivery = chats.runtime.queue.take(0.0)
            assert delivery is not None
            with pytest.raises(Killed):
                worker.process(delivery, chats.runtime)
            chats.runtime.queue.retry(delivery, 0.0)
    model.then(say("two it is"))
    assert chats.work_off() == ["1", "2"]
    assert chats.list_texts() == [ENGLISH.gave_up, "two it is"]
    assert chats.list_history() == ["one", ENGLISH.gave_up, "two", "two it is"]
    dead = scan_dead_letters(chats.runtime.stores.kv)
    assert [letter.id.rpartition(":")[2] for letter in dead] == ["1"]


def test_a_reply_that_cannot_leave_at_once_is_sent_once_and_ends_all_of_them(
    chats: Chats, model: ScriptedModel
) -> None:
    model.then(say("both"))
    chats.bot.fail(502, "Bad Gateway", times=1)
    chats.write(1, "one")
    chats.write(2, "two")
    delivery = chats.runtime.queue.take(0.0)
    assert delivery is not None
    assert [other.text for other in delivery.behind or ()] == ["two"]
    with pytest.raises(BackendError):
        worker.handle_event(delivery.event, chats.runtime, behind=delivery.behind)
    chats.runtime.queue.retry(replace(delivery, tries=1), 0.0)
    assert chats.work_off() == ["1", "2"]
    assert chats.list_texts() == ["both"]
    assert len(model.bodies) == 1


def test_work_that_nobody_typed_takes_no_message_of_a_person_with_it(
    chats: Chats, model: ScriptedModel
) -> None:
    model.then(say("[SILENT]"), say("hello to you"))
    chats.write(2, "hello")
    (person,) = (
        chats.runtime.channels["telegram"].read_update(orjson.dumps(update(1, "look"))).events
    )
    mailbox = Mailbox(chats.runtime.stores.kv, keys.session_of("main", person.session))
    mailbox.deliver(Mail("1", "alice", "look", person.at))
    chats.runtime.queue.put(replace(person, kind="mail"))
    assert chats.work_off() == ["1", "2"]
    assert chats.list_texts() == ["hello to you"]


def test_stop_ends_the_turn_for_all_that_it_answers(chats: Chats, model: ScriptedModel) -> None:
    def stop(body: dict[str, Any]) -> dict[str, Any]:
        chats.write(3, "/stop")
        control = chats.runtime.control.take(0.0)
        assert control is not None
        worker.process(control, replace(chats.runtime, queue=chats.runtime.control))
        return call(("sigil_query", {"query": "anything"}))

    model.then(stop)
    chats.write(1, "one")
    chats.write(2, "two")
    assert chats.work_off() == ["1"]
    assert chats.list_texts() == [ENGLISH.stopped]
    assert len(chats.document().seen) == 2
