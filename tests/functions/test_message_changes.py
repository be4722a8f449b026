"""What people change or delete while it waits is answered as it is then; afterwards it is not."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
import pytest

from functions import message_changes, overheard
from functions.agent.session.document import Document, GatheredMessage, Outgoing, Turn
from functions.agent.turn.turn import ATTEMPTS
from functions.channels.base import Busy
from functions.channels.message_changes import make_deleted, receive_deletion
from functions.events import Event
from functions.ingress.ingress import Ingress
from functions.texts.en import TEXTS
from functions.wiring import AgentRuntime
from functions.worker import process
from sigil.errors import Conflict
from sigil.storage.kv import keys
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, say
from tests.functions.people import GROUP, GUEST, OWNER, platform, update
from tests.functions.queues.workers import process_all

SESSION = keys.session_of("main", f"telegram:{OWNER}")
LISTENED = keys.session_of("main", "telegram:-100")


@dataclass
class Chat:
    """An agent on Telegram: what people do comes in as updates, and is worked on when told to."""

    runtime: AgentRuntime
    bot: BotApi
    model: ScriptedModel
    now: int = field(default_factory=lambda: int(time.time()) - 100)
    updates: int = 500

    def receive(self, body: dict[str, Any]) -> tuple[Event, ...]:
        received = self.runtime.channels["telegram"].read_update(orjson.dumps(body))
        Ingress(self.runtime.channels, self.runtime.queue, self.runtime.stores.kv).enqueue(
            received, "telegram"
        )
        return received.events

    def write(self, number: int, text: str, **message: Any) -> tuple[Event, ...]:
        return self.receive(update(number, text, **{"date": self.now + number, **message}))

    def edit(self, number: int, text: str, **message: Any) -> dict[str, Any]:
        self.updates += 1
        message = {"date": self.now + number, "edit_date": self.now + self.updates, **message}
        body = update(number, text, **message)
        edited = {"update_id": self.updates, "edited_message": body["message"]}
        self.receive(edited)
        return edited

    def delete(self, event: Event) -> None:
        gone = make_deleted(event.id, event.agent, event.session, event.at, event.order)
        gone = replace(gone, private=event.private, reply_to=event.reply_to)
        received = receive_deletion([gone], time.time())
        Ingress(self.runtime.channels, self.runtime.queue, self.runtime.stores.kv).enqueue(
            received, "telegram"
        )

    def take_change(self) -> None:
        """Work on the change that came last, and on nothing else."""
        delivery = self.runtime.control.take(0.0)
        assert delivery
        process(delivery, replace(self.runtime, queue=self.runtime.control))

    def asked(self) -> list[str]:
        """What people said in the requests to the model."""
        return [
            "\n".join(str(row["content"]) for row in body["messages"] if row["role"] == "user")
            for body in self.model.chats
        ]

    def sent(self) -> list[str]:
        return [message["text"] for message in self.bot.messages]


@pytest.fixture
def chat(runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel) -> Chat:
    home = runtime(llm_url=model.url, **platform(bot))
    return Chat(home, bot, model)


def test_a_changed_message_that_waits_is_answered_once_with_its_new_words(chat: Chat) -> None:
    chat.model.then(say("done"))
    chat.write(1, "encode hallo")
    edited = chat.edit(1, "encode hello")
    chat.receive(edited)
    chat.take_change()
    chat.receive(edited)  # the platform tells it again
    process_all(chat.runtime)
    assert chat.sent() == ["done"]
    [asked] = chat.asked()
    assert "encode hello" in asked
    assert "hallo" not in asked


def test_of_two_changes_the_last_counts_in_whatever_order_they_come(chat: Chat) -> None:
    chat.model.then(say("done"))
    chat.write(1, "one")
    first = update(1, "two", date=chat.now + 1, edit_date=chat.now + 2)
    chat.edit(1, "three", edit_date=chat.now + 3)
    chat.take_change()
    chat.receive({"update_id": 400, "edited_message": first["message"]})
    process_all(chat.runtime)
    assert chat.sent() == ["done"]
    assert "three" in chat.asked()[0]

    chat.model.then(say("again"))
    chat.write(2, "four")
    for text in ("five", "six"):
        chat.edit(2, text)
        chat.take_change()
    process_all(chat.runtime)
    assert chat.sent() == ["done", "again"]
    assert "six" in chat.asked()[1]
    assert "five" not in chat.asked()[1]


def test_a_change_that_comes_before_its_message_is_answered_alone(chat: Chat) -> None:
    chat.model.then(say("done"))
    chat.edit(1, "encode hello")
    process_all(chat.runtime)
    chat.write(1, "encode hallo")
    process_all(chat.runtime)
    assert chat.sent() == ["done"]


def test_what_is_changed_later_is_told_once_a_chat_and_day(chat: Chat) -> None:
    chat.model.then(say("done"), say("done too"))
    chat.write(1, "hi")
    process_all(chat.runtime)
    chat.edit(1, "hi")  # Telegram tells of changes that nobody sees
    chat.edit(1, "hi there")
    process_all(chat.runtime)
    chat.edit(1, "hi all")
    process_all(chat.runtime)
    assert chat.sent() == ["done", TEXTS.changed_too_late]
    # the chat goes on
    chat.write(2, "and this?")
    process_all(chat.runtime)
    assert chat.sent()[2:] == ["done too"]


def test_an_answered_message_that_becomes_a_command_is_not_obeyed(chat: Chat) -> None:
    chat.model.then(say("done"))
    chat.write(1, "hello")
    process_all(chat.runtime)
    chat.edit(1, f"/pair telegram:{GUEST} member")
    process_all(chat.runtime)
    assert chat.runtime.app.people.find_member(f"telegram:{GUEST}") is None
    assert chat.sent() == ["done", TEXTS.changed_too_late]


def test_a_change_of_a_message_of_last_week_starts_nothing(chat: Chat) -> None:
    chat.edit(1, "hi there", date=chat.now - 8 * 86_400)
    process_all(chat.runtime)
    assert chat.sent() == [TEXTS.changed_too_late]


def test_the_turn_that_just_begins_takes_the_old_words_or_the_new_and_never_both(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker has read the session and has not saved its turn when the change comes."""
    chat.model.then(say("done"))
    chat.write(1, "encode hallo")
    sessions = chat.runtime.app.sessions
    save = type(sessions).save
    pending = [1]

    def save_late(self: Any, opened: Any, document: Any) -> Any:
        if pending and document.turn:
            pending.clear()
            chat.edit(1, "encode hello")
            chat.take_change()
        return save(self, opened, document)

    monkeypatch.setattr(type(sessions), "save", save_late)
    monkeypatch.setattr("functions.worker.CONFLICT_SECONDS", 0.0)
    process_all(chat.runtime)
    assert chat.sent() == ["done"]
    [asked] = chat.asked()
    assert ("hallo" in asked) != ("hello" in asked)


@pytest.mark.parametrize("step", ["put", "fence"])
def test_a_crash_in_a_change_neither_loses_nor_repeats_it(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    chat.model.then(say("done"))
    chat.write(1, "encode hallo")
    edit = chat.edit(1, "encode hello")
    received = chat.runtime.channels["telegram"].read_update(orjson.dumps(edit))
    crashing = replace(chat.runtime, queue=Crashing())
    with monkeypatch.context() as patch:
        if step == "fence":
            patch.setattr(message_changes, "_fence", Crashing().put)
        with pytest.raises(KeyboardInterrupt):
            message_changes.take_edit(received.events[0], received.events[0], crashing)
    process_all(chat.runtime)
    assert chat.sent() == ["done"]
    assert "encode hello" in chat.asked()[0]


class Crashing:
    def put(self, *_: object) -> None:
        raise KeyboardInterrupt


def test_a_turn_in_progress_goes_on_whatever_becomes_of_its_message(chat: Chat) -> None:
    """After a crash its event comes again, which its change must not keep from going on."""
    [event] = chat.write(1, "hi")
    document = chat.runtime.app.sessions.open(SESSION).document
    begun = document.add(), Turn(event, began=time.time())
    opened = chat.runtime.app.sessions.open(SESSION)
    chat.runtime.app.sessions.save(opened, replace(begun[0], turn=begun[1]))
    chat.delete(event)
    chat.edit(1, "hi there")
    chat.model.then(say("done"))
    process_all(chat.runtime)
    assert "done" in chat.sent()


def test_a_message_that_a_turn_has_gathered_keeps_its_own_turn_when_that_is_given_up(
    chat: Chat,
) -> None:
    [first] = chat.write(1, "hi")
    [other] = chat.write(2, "and hallo")
    opened = chat.runtime.app.sessions.open(SESSION)
    gathered = (GatheredMessage(3, replace(other, text="")),)
    turn = Turn(first, began=time.time(), gathered=gathered, attempts=ATTEMPTS)
    chat.runtime.app.sessions.save(opened, replace(opened.document, turn=turn))
    chat.edit(2, "and hello")
    process_all(chat.runtime)
    assert chat.sent() == [TEXTS.changed_too_late, TEXTS.gave_up, "done"]
    assert "and hallo" in chat.asked()[0]


def test_a_change_waits_while_replies_of_its_chat_leave(chat: Chat) -> None:
    opened = chat.runtime.app.sessions.open(SESSION)
    document = Document(outbox=(Outgoing("e", f"telegram:{OWNER}", "hi"),))
    chat.runtime.app.sessions.save(opened, document)
    edit = chat.edit(1, "new")
    [event] = chat.runtime.channels["telegram"].read_update(orjson.dumps(edit)).events
    with pytest.raises(Conflict):
        message_changes.take_edit(event, event, chat.runtime)
    # the platform did not take them: nobody looks twice a second
    opened = chat.runtime.app.sessions.open(SESSION)
    stuck = replace(document, outbox=(replace(document.outbox[0], tries=1),))
    chat.runtime.app.sessions.save(opened, stuck)
    with pytest.raises(Busy) as waits:
        message_changes.take_edit(event, event, chat.runtime)
    assert waits.value.retry_after == message_changes.STUCK_SECONDS


def test_a_command_that_waits_is_changed_and_one_that_is_done_is_not_done_again(
    chat: Chat,
) -> None:
    command = {"entities": [{"type": "bot_command", "offset": 0, "length": 4}]}
    chat.write(1, "/new", **command)
    chat.edit(1, "/whoami", entities=[{"type": "bot_command", "offset": 0, "length": 7}])
    process_all(chat.runtime)
    assert len(chat.sent()) == 1
    assert f"telegram:{OWNER}" in chat.sent()[0]
    chat.edit(1, "/new", **command)
    process_all(chat.runtime)
    assert chat.sent()[1:] == [TEXTS.changed_too_late]


def test_a_deleted_message_that_waits_is_not_answered(chat: Chat) -> None:
    [event] = chat.write(1, "hi")
    chat.delete(event)
    process_all(chat.runtime)
    [event] = chat.write(2, "hi")
    chat.edit(2, "hi there")
    chat.take_change()
    chat.delete(event)
    process_all(chat.runtime)
    assert chat.sent() == []

    chat.model.then(say("done"))
    [event] = chat.write(3, "hi")
    process_all(chat.runtime)
    chat.delete(event)
    process_all(chat.runtime)
    assert chat.sent() == ["done"]


def test_a_mention_that_is_added_later_is_answered_once(chat: Chat) -> None:
    chat.model.then(say("done"))
    mention = {"entities": [{"type": "mention", "offset": 0, "length": 10}]}
    assert chat.write(1, "what is new?", chat=GROUP) == ()
    for text in ("@sigil_bot what is new?", "@sigil_bot what is new today?"):
        chat.edit(1, text, chat=GROUP, **mention)
        process_all(chat.runtime)
    assert chat.sent() == ["done", TEXTS.changed_too_late]


def test_what_people_say_to_each_other_is_kept_as_it_was_changed(chat: Chat) -> None:
    kv = chat.runtime.stores.kv
    overheard.start_listening(kv, LISTENED, "telegram:7", "")
    chat.write(1, "lunch at one", chat=GROUP)
    chat.edit(1, "lunch at two", chat=GROUP)
    chat.edit(51, "another", chat=GROUP)  # it would have the same place
    chat.edit(1, "lunch at three", sender=GUEST, chat=GROUP)
    chat.edit(
        1,
        "@another_bot lunch at four",
        chat=GROUP,
        entities=[{"type": "mention", "offset": 0, "length": 12}],
    )
    process_all(chat.runtime)
    [kept] = overheard.read_messages(kv, LISTENED, "", "9")
    assert kept.text == "@another_bot lunch at four"
    gone = make_deleted("telegram:4242:-100:1", "main", "telegram:-100", kept.at, kept.order)
    # a webhook without a store lets a worker do it
    Ingress({}, chat.runtime.queue, passes_on=True).enqueue(
        receive_deletion([replace(gone, reply_to="1")], time.time()), "telegram"
    )
    process_all(chat.runtime)
    assert overheard.read_messages(kv, LISTENED, "", "9") == []
