"""A room of two shows an answer while it is written, where an owner wants that; nothing is left of
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from functions import worker
from functions.channels.base import Busy, Draft, Reply
from functions.channels.matrix.channel import Matrix
from functions.events import Event, Sender
from functions.wiring import AgentRuntime
from sigil.errors import BackendError, Refused, SigilError, UsageError
from sigil.storage.kv.base import scan_everything
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.matrix import ADA, BOT, DIRECT, GROUP, NOW, SECRET, TOKEN, Homeserver, text
from tests.fakes.matrix import make_event as make_room_event
from tests.fakes.server import Answer
from tests.fakes.speaking_model import SpeakingModel, speak
from tests.fakes.virtual_time import VirtualTime
from tests.tables import each_row

LONG = " ".join(f"word{number:03d}" for number in range(400))
LIVE = "org.matrix.msc4357.live"


@pytest.fixture
def kv() -> MemoryKV:
    return MemoryKV()


@pytest.fixture
def open_matrix(server: Homeserver, kv: MemoryKV) -> Iterator[Callable[[], Matrix]]:
    """Opens the account as another process would."""
    opened: list[Matrix] = []

    def open_account() -> Matrix:
        channel = Matrix(server.url, BOT, TOKEN, SECRET, drafts="on", now=lambda: NOW)
        channel.use_store(kv)
        opened.append(channel)
        return channel

    yield open_account
    for channel in opened:
        channel.close()


@pytest.fixture
def drafting(open_matrix: Callable[[], Matrix]) -> Matrix:
    return open_matrix()


def make_event(message: str = "$m1", **fields: Any) -> Event:
    sender = Sender(f"matrix:{ADA}")
    event = Event("e", "message", "main", f"matrix:{DIRECT}", sender, "hi", 0.0, "0")
    return replace(event, **{"reply_to": message, "private": True, **fields})


def open_draft(channel: Matrix, message: str = "$m1") -> Draft:
    draft = channel.open_draft(make_event(message))
    assert draft
    return draft


def send(channel: Matrix, said: str, to: str = "$m1", key: str = "k1") -> None:
    channel.send(Reply(f"matrix:{DIRECT}", said, to, key=key), lambda _: None)


def list_texts(server: Homeserver) -> list[str]:
    return [message["content"]["body"] for message in server.messages]


def test_a_draft_is_a_live_message_that_is_redacted_before_the_answer(
    drafting: Matrix, server: Homeserver, kv: MemoryKV
) -> None:
    draft = open_draft(drafting)
    draft.show("It is a **long** story")
    draft.show("It is a **long** story\n```py\nprint(1)\n```")
    (shown,) = server.messages
    assert shown["content"]["body"].startswith("It is a **long** story\n")
    assert all(LIVE in each.json() for each in server.asked("/send/"))
    assert LIVE in shown["content"]
    draft.take_away()
    send(drafting, "It is short.")
    assert list_texts(server) == ["It is short."]
    assert LIVE not in server.messages[0]["content"]
    assert not [row.key for row in scan_everything(kv) if row.key.partition == "draft"]


def test_drafts_are_off_unless_somebody_wants_them(matrix: Matrix, kv: MemoryKV) -> None:
    matrix.use_store(kv)
    assert matrix.open_draft(make_event()) is None
    with pytest.raises(UsageError):
        Matrix("", BOT, TOKEN, drafts="yes")


NOWHERE = [
    {"private": False},
    {"private": False, "session": f"matrix:{GROUP}"},
    {"session": f"matrix:{DIRECT}:$thread"},
    {"session": f"matrix:{ADA}"},
    {"reply_to": ""},
]


@each_row("event", NOWHERE)
def test_only_rooms_of_two_have_drafts(drafting: Matrix, event: dict[str, Any]) -> None:
    assert drafting.open_draft(make_event(**event)) is None


def test_nothing_is_shown_in_an_encrypted_room(drafting: Matrix, server: Homeserver) -> None:
    draft = open_draft(drafting)
    server.rooms[DIRECT].encrypted = True
    with pytest.raises(Refused):
        draft.show("It is a long story")
    assert server.messages == []
    assert drafting.open_draft(make_event()) is None


@each_row("ends", ["answer", "silence", "next draft"])
def test_what_a_crash_leaves_is_redacted_by_the_next_process(
    open_matrix: Callable[[], Matrix], server: Homeserver, ends: str
) -> None:
    server.messages.clear()
    open_draft(open_matrix()).show("It is a long story")
    other = open_matrix()
    if ends == "answer":
        send(other, "It is short.")
    elif ends == "silence":
        other.end_waiting(make_event())
    else:
        draft = open_draft(other, "$m2")
        draft.show("Another story")
        draft.take_away()
    assert list_texts(server) == (["It is short."] if ends == "answer" else [])


def test_another_reply_leaves_a_draft_that_grows(drafting: Matrix, server: Homeserver) -> None:
    draft = open_draft(drafting)
    draft.show("It is a long story")
    send(drafting, "the status", to="$m2")
    draft.show("It is a long story, and a sad one")
    assert list_texts(server) == ["It is a long story, and a sad one", "the status"]
    draft.take_away()
    assert list_texts(server) == ["the status"]


def test_a_draft_that_may_have_come_is_redacted_as_well(
    drafting: Matrix, server: Homeserver
) -> None:
    server.reply("/send/", Answer(cut=True))
    draft = open_draft(drafting)
    with pytest.raises(BackendError):
        draft.show("It is a long story")
    late = server.asked("/send/")[-1]
    server.answer(late)
    assert list_texts(server) == ["It is a long story"]
    draft.take_away()
    assert list_texts(server) == []


def test_one_that_could_not_be_redacted_goes_with_the_answer(
    drafting: Matrix, server: Homeserver
) -> None:
    draft = open_draft(drafting)
    draft.show("It is a long story")
    server.fail("/redact/", "M_LIMIT_EXCEEDED", 429, retry_after_ms=100)
    with pytest.raises(Busy):
        draft.take_away()
    send(drafting, "It is short.")
    assert list_texts(server) == ["It is short."]


FAILURES: list[tuple[tuple[str, int, dict[str, Any]], type[SigilError]]] = [
    (("M_LIMIT_EXCEEDED", 429, {"retry_after_ms": 4_000}), Busy),
    (("M_FORBIDDEN", 403, {}), Refused),
    (("M_UNKNOWN", 500, {}), BackendError),
]


@each_row("failure, error", FAILURES)
def test_a_failure_is_followed_by_no_other_message(
    drafting: Matrix,
    server: Homeserver,
    failure: tuple[str, int, dict[str, Any]],
    error: type[SigilError],
) -> None:
    code, status, fields = failure
    server.fail("/send/", code, status, **fields)
    before = len(server.asked("/send/"))
    with pytest.raises(error):
        open_draft(drafting).show("It is a long story")
    assert len(server.asked("/send/")) == before + 1


def test_an_answer_in_a_room_of_two_makes_at_most_twenty_events(
    runtime: Callable[..., AgentRuntime], drafting: Matrix, server: Homeserver
) -> None:
    clock = VirtualTime({"draft"}).clock
    model = SpeakingModel(clock)
    opened = runtime(owners=(f"matrix:{ADA}",), llm_url="http://127.0.0.1:9", turn_seconds=600)
    app = replace(opened.app, clock=clock, model=model)
    home = replace(opened, channels={"matrix": drafting}, app=app)
    for number, (seconds, most) in enumerate([(20.0, 10), (100.0, 20)]):
        asked = server.say(make_room_event(text("tell me"), ADA))
        before = len(server.asked("/send/"))
        model.script[:] = [speak(LONG, seconds)]
        event = make_event(asked["event_id"], id=f"e{number}", order=f"{number}")
        worker.handle_event(event, home)
        events = len(server.asked("/send/")) - before - 1
        assert most - 1 <= events <= most
        assert list_texts(server) == [LONG] * (number + 1)
