"""Whether a message is for us, and who wrote it, the homeserver tells when it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from functions.channels.base import Busy, Reply
from functions.channels.matrix.answer_runs import QUICK_SECONDS, RUN_MOST
from functions.channels.matrix.channel import Matrix
from functions.channels.matrix.events import AGENT_MARK
from functions.channels.matrix.rooms import GROUP_SECONDS, PRIVATE_SECONDS, RoomDirectory
from functions.events import ENCRYPTED, Event
from sigil.errors import BackendError, UsageError
from tests.fakes.matrix import (
    ADA,
    BOB,
    BOT,
    DIRECT,
    GROUP,
    NOW,
    SECRET,
    TOKEN,
    FakeRoom,
    Homeserver,
    answer_to,
    encode,
    in_thread,
    invitation,
    make_event,
    push,
    text,
)
from tests.fakes.server import Answer
from tests.tables import each_row

NEW = "!new:example.org"
FILE = {"msgtype": "m.file", "body": "plan.bin", "url": "mxc://example.org/plan"}


def receive(matrix: Matrix, event: dict[str, Any]) -> Event:
    (found,) = matrix.receive(push(encode(event))).events
    return found


def accept(matrix: Matrix, event: dict[str, Any]) -> Event:
    found = matrix.accept(receive(matrix, event))
    assert found is not None
    return found


def is_for_us(matrix: Matrix, event: dict[str, Any]) -> bool:
    """Whether a message is an event at all, and one for us."""
    events = matrix.receive(push(encode(event))).events
    return any(matrix.accept(each) for each in events)


def test_in_a_room_of_two_everything_is_for_us(matrix: Matrix, server: Homeserver) -> None:
    event = accept(matrix, make_event(text("hi")))
    assert (event.private, event.addressed, event.sender.name) == (True, (), "Ada")
    thread = accept(matrix, make_event(text("Sigil: !new", **in_thread("$root"))))
    assert (thread.private, thread.text) == (True, "/new")
    assert len(server.asked("joined_members")) == 1


def test_in_a_group_only_what_names_us_is_for_us(matrix: Matrix) -> None:
    silent = [
        make_event(text("lunch?"), BOB, GROUP),
        make_event(text("I like Sigil Bot"), BOB, GROUP),
        make_event(text("Ada: hi", ADA), BOB, GROUP),
    ]
    assert matrix.accept(receive(matrix, silent[0])) is None  # before anything is known of the room
    assert not any(is_for_us(matrix, each) for each in silent)
    named = accept(matrix, make_event(text("Sigil Bot, !help"), BOB, GROUP))
    assert (named.private, named.text, named.sender.name) == (False, "/help", BOB)
    older = {"msgtype": "m.text", "body": "what says Sigil Bot?"}
    assert accept(matrix, make_event(older, BOB, GROUP)).text == "what says Sigil Bot?"


def test_what_people_of_a_known_group_say_to_each_other_is_overheard_with_their_names(
    matrix: Matrix, server: Homeserver
) -> None:
    accept(matrix, make_event(text("sigil: hi"), ADA, GROUP))
    older = {"msgtype": "m.text", "body": "Sigil Bot?"}
    said = [
        make_event(text("lunch?"), ADA, GROUP),
        make_event(text("Sigil Bot: now?"), ADA, GROUP),
        make_event(text("yes", **answer_to({"event_id": "$x"})), BOB, GROUP),
        make_event(older, BOB, GROUP),
        make_event(text("in another room"), BOB, DIRECT),
        make_event({"ciphertext": "AwgA"}, BOB, GROUP, "m.room.encrypted"),
        invitation(NEW, BOB),
    ]
    received = matrix.receive(push(encode(*said)))
    (heard,) = received.overheard
    assert (heard.session, heard.sender.name, heard.text) == (f"matrix:{GROUP}", "Ada", "lunch?")
    assert [event.id for event in received.events] == [
        f"matrix:{each['event_id']}" for each in said[1:]
    ]


def test_an_answer_to_our_message_is_for_us_and_quotes_it(
    matrix: Matrix, server: Homeserver
) -> None:
    matrix.send(Reply(f"matrix:{GROUP}", "It is **four**.", key="k"), lambda _: None)
    (ours,) = server.messages
    event = accept(matrix, make_event(text("sure?", **answer_to(ours)), BOB, GROUP))
    (quote,) = event.quotes
    assert (quote.relation, quote.text, quote.ours) == ("reply", "It is **four**.", True)
    theirs = server.say(make_event(text("lunch?"), ADA, GROUP))
    answer = make_event(text("at noon", **answer_to(theirs)), BOB, GROUP)
    assert matrix.accept(receive(matrix, answer)) is None
    unknown = make_event(text("hm", **answer_to({"event_id": "$gone"})))
    assert accept(matrix, unknown).quotes == ()


def test_who_is_called_like_another_is_told_from_them(matrix: Matrix, server: Homeserver) -> None:
    server.rooms[GROUP].members |= {"@eve:evil.org": "ADA", "@mal:evil.org": BOB}
    names = [
        accept(matrix, make_event(text("sigil: hi"), who, GROUP)).sender.name
        for who in (ADA, "@eve:evil.org", "@mal:evil.org", "@gone:example.org")
    ]
    assert names == [
        f"Ada ({ADA})",
        "ADA (@eve:evil.org)",
        f"{BOB} (@mal:evil.org)",
        "@gone:example.org",
    ]


def test_a_room_is_private_no_longer_when_a_third_comes_in(
    matrix: Matrix, server: Homeserver
) -> None:
    assert accept(matrix, make_event(text("hi"))).private
    server.rooms[DIRECT].members[BOB] = "Bob"
    joined = make_event({"membership": "join"}, BOB, kind="m.room.member", state_key=BOB)
    arrival = accept(matrix, joined)
    assert (arrival.private, arrival.text) == (False, "")
    assert not is_for_us(matrix, make_event(text("hi")))


def test_members_are_asked_again_after_a_while(matrix: Matrix, server: Homeserver) -> None:
    now = 0.0
    directory = RoomDirectory(BOT, "matrix", lambda: now)
    for room, seconds in ((DIRECT, PRIVATE_SECONDS), (GROUP, GROUP_SECONDS)):
        before = len(server.asked("joined_members"))
        for at in (0.0, seconds - 1, seconds + 1):
            now = at
            directory.find_room(matrix.api, room)
        assert len(server.asked("joined_members")) == before + 2


def test_who_has_left_is_nobody_with_whom_we_are_alone(matrix: Matrix, server: Homeserver) -> None:
    server.rooms[DIRECT].members = {BOT: None, BOB: "Bob"}
    assert matrix.accept(receive(matrix, make_event(text("hi"), ADA))) is None


def test_a_room_of_too_many_members_is_a_group_of_ids(
    matrix: Matrix, server: Homeserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("functions.channels.matrix.rooms.MEMBERS_BYTES", 10)
    event = accept(matrix, make_event(text("sigil: hi"), ADA, DIRECT))
    assert (event.private, event.sender.name) == (False, ADA)


def test_what_comes_from_a_room_that_we_have_left_is_nothing(matrix: Matrix) -> None:
    gone = make_event(text("sigil: hi"), room="!gone:example.org")
    assert matrix.accept(receive(matrix, gone)) is None


def test_an_invitation_into_a_group_is_taken_and_greeted(
    matrix: Matrix, server: Homeserver
) -> None:
    server.rooms[NEW] = FakeRoom({ADA: "Ada", BOB: None}, {BOT})
    event = accept(matrix, invitation(NEW))
    assert event.joined
    assert (event.addressed, event.sender.name, event.private) == (("Sigil Bot",), "Ada", False)
    assert BOT in server.rooms[NEW].members
    (registered,) = server.asked("/register")
    assert registered.json()["username"] == "sigil"
    assert accept(matrix, invitation(NEW)).joined  # taken once more


def test_an_invitation_by_one_person_begins_a_private_chat(
    matrix: Matrix, server: Homeserver
) -> None:
    server.rooms[NEW] = FakeRoom({ADA: "Ada"}, {BOT})
    event = accept(matrix, invitation(NEW))
    assert (event.text, event.private, event.joined, event.addressed) == ("/start", True, False, ())
    assert server.account_data == {"m.direct": {ADA: [NEW]}}
    matrix.send(Reply(f"matrix:{ADA}", "a word to you", key="k"), lambda _: None)
    assert [message["room_id"] for message in server.messages] == [NEW]


def test_an_invitation_that_was_taken_back_is_nothing(matrix: Matrix, server: Homeserver) -> None:
    server.rooms[NEW] = FakeRoom({ADA: "Ada"})
    assert matrix.accept(receive(matrix, invitation(NEW))) is None
    server.fail("/join", "M_UNKNOWN", 502)
    with pytest.raises(BackendError):
        matrix.accept(receive(matrix, invitation(NEW)))


def tell(matrix: Matrix, event: Event) -> None:
    """Say what is said in a room where an event cannot be read."""
    reply = Reply(event.session, "encrypted", event.reply_to, key=event.id)
    matrix.send(reply, lambda count: None)


def test_an_encrypted_room_is_told_once_that_nothing_can_be_read(
    matrix: Matrix, server: Homeserver
) -> None:
    server.rooms[NEW] = FakeRoom({ADA: "Ada"}, {BOT}, encrypted=True)
    invited = accept(matrix, invitation(NEW))
    assert invited.data == {ENCRYPTED: True}
    tell(matrix, invited)
    (told,) = server.messages
    assert told["room_id"] == NEW
    unreadable = make_event({"ciphertext": "AwgA"}, room=NEW, kind="m.room.encrypted")
    assert matrix.receive(push(encode(unreadable))).events == ()
    # another process knows it as well
    other = Matrix(server.url, BOT, matrix._token, SECRET)
    assert other.accept(receive(other, unreadable)) is None
    other.close()


def test_a_room_that_becomes_encrypted_is_told_so_at_once(
    matrix: Matrix, server: Homeserver
) -> None:
    turned = make_event({}, room=GROUP, kind="m.room.encryption", state_key="")
    event = receive(matrix, turned)
    server.fail("account_data/app", "M_UNKNOWN", 500, times=2)
    for _ in range(2):
        with pytest.raises(BackendError):
            matrix.accept(event)
    told = accept(matrix, turned)
    server.fail("account_data/app", "M_UNKNOWN", 500)
    with pytest.raises(BackendError):  # it was said, and could not be noted
        tell(matrix, told)
    tell(matrix, accept(matrix, turned | {"event_id": "$another"}))
    assert matrix.accept(event) is None
    assert len(server.messages) == 1


def test_a_busy_homeserver_lets_a_message_wait(matrix: Matrix, server: Homeserver) -> None:
    server.fail("joined_members", "M_LIMIT_EXCEEDED", 429, retry_after_ms=1500)
    with pytest.raises(Busy) as busy:
        matrix.accept(receive(matrix, make_event(text("hi"))))
    assert busy.value.retry_after == 1.5


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (Answer(401, b'{"errcode":"M_UNKNOWN_TOKEN","error":"?"}'), "MATRIX_TOKEN"),
        (Answer(404, b"<html>"), "MATRIX_HOMESERVER"),
        (Answer(200, b"[]"), "MATRIX_HOMESERVER"),
        (Answer(403, b'{"errcode":"M_CONSENT_NOT_GIVEN","error":"sign"}'), ""),
        (Answer(502, b'{"errcode":"M_UNKNOWN","error":"?"}'), ""),
        (Answer(cut=True), ""),
    ],
)
def test_what_the_owner_can_mend_is_tried_again(
    answer: Answer, hint: str, matrix: Matrix, server: Homeserver
) -> None:
    server.reply("joined_members", answer)
    event = receive(matrix, make_event(text("hi")))
    with pytest.raises(BackendError) as problem:
        matrix.accept(event)
    assert hint in problem.value.suggestion
    assert matrix.accept(event)


def test_the_name_of_the_account_is_told_and_a_token_of_another_is_noticed(
    matrix: Matrix, server: Homeserver
) -> None:
    assert matrix.fetch_bot_name() == "Sigil"
    server.fail("/profile", "M_NOT_FOUND", 404)
    assert matrix.fetch_bot_name() == "sigil"
    server.reply("whoami", Answer(200, b'{"user_id":"@else:example.org"}'))
    with pytest.raises(BackendError, match="@else:example"):
        matrix.fetch_bot_name()


def test_a_setting_that_cannot_be_right_is_refused() -> None:
    for homeserver, user in (("example.org", BOT), ("https://example.org", "sigil")):
        with pytest.raises(UsageError):
            Matrix(homeserver, user, "t", "s")
    with pytest.raises(BackendError, match="MATRIX_TOKEN"):
        Matrix("https://example.org", BOT, "").fetch_bot_name()


def test_the_same_message_is_accepted_again(matrix: Matrix) -> None:
    event = receive(matrix, make_event(text("hi")))
    accepted = matrix.accept(event)
    assert accepted == matrix.accept(event)
    assert replace(event, sender=accepted.sender, private=True, addressed=()) == accepted  # type: ignore[union-attr]


def test_a_thread_below_a_message_of_ours_is_for_us(matrix: Matrix, server: Homeserver) -> None:
    matrix.send(Reply(f"matrix:{GROUP}", "It is **four**.", key="k"), lambda _: None)
    (ours,) = server.messages
    below = in_thread(ours["event_id"])
    first = receive(matrix, make_event(text("and why?", **below), BOB, GROUP))
    for _ in range(2):  # it may be handled again
        event = matrix.accept(first)
        assert event is not None
        (quote,) = event.quotes
        assert (quote.text, quote.ours, event.private) == ("It is **four**.", True, False)
    # the thread is a session of its own, which has that message by now
    assert accept(matrix, make_event(text("really?", **below), ADA, GROUP)).quotes == ()
    theirs = server.say(make_event(text("lunch?"), ADA, GROUP))["event_id"]
    before = len(server.asked("/event/"))
    for _ in range(3):
        assert not is_for_us(matrix, make_event(text("at noon", **in_thread(theirs)), BOB, GROUP))
    assert len(server.asked("/event/")) == before + 1
    named = accept(matrix, make_event(text("sigil: when?", **in_thread(theirs)), BOB, GROUP))
    assert [(each.text, each.ours) for each in named.quotes] == [("lunch?", False)]
    server.fail("/event/", "M_UNKNOWN", 502)
    unknown = receive(matrix, make_event(text("hm", **in_thread("$other")), BOB, GROUP))
    with pytest.raises(BackendError):
        matrix.accept(unknown)


def test_what_another_agent_writes_starts_nothing_and_what_a_person_forwards_does(
    matrix: Matrix,
) -> None:
    marked = text("sigil: hi", BOT) | {AGENT_MARK: BOB}
    assert not is_for_us(matrix, make_event(marked, BOB, GROUP))
    assert not is_for_us(matrix, make_event(marked, BOB, DIRECT))
    assert is_for_us(matrix, make_event(marked, ADA, GROUP))


def test_a_program_that_answers_at_once_is_answered_so_often_and_no_more(
    matrix: Matrix, server: Homeserver
) -> None:
    def answer(who: str, said: str = "and you?", seconds: float = 1.0) -> Event | None:
        """Let somebody write some seconds after our last answer, and answer them."""
        at = int((NOW + seconds) * 1000)
        made = make_event(text(f"sigil: {said}"), who, GROUP, origin_server_ts=at)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(matrix, "_now", lambda: NOW + seconds)
            found = matrix.accept(receive(matrix, made))
        if found:
            matrix.send(Reply(f"matrix:{GROUP}", said, key=found.id), lambda _: None)
        return found

    for _ in range(2):  # somebody else is a person, for all we know
        assert all(answer(BOB) for _ in range(RUN_MOST))
        assert answer(ADA)
    assert all(answer(BOB) for _ in range(RUN_MOST))
    assert [answer(BOB) for _ in range(3)] == [None] * 3
    notices = [each for each in server.messages if each["content"]["msgtype"] == "m.notice"]
    assert len(notices) == 1
    stop = answer(BOB, "!stop")
    assert stop
    assert answer(BOB, seconds=QUICK_SECONDS + 1)


class Chat:
    """A room of two in which somebody writes and we answer, on a clock of its own."""

    def __init__(self, server: Homeserver) -> None:
        self.now = NOW
        self.matrix = Matrix(server.url, BOT, TOKEN, SECRET, now=lambda: self.now)
        self.server = server
        self.answers = 0

    def hear(self, pause: float, **content: Any) -> Event | None:
        """Receive a message so many seconds after what was last said; return it if it is answered.

        It was written by a clock of another server, which is five seconds behind.
        """
        self.now += pause
        said = {"msgtype": "m.text", "body": "and what do you think of that?", **content}
        made = make_event(said, origin_server_ts=int((self.now - 5) * 1000))
        return self.matrix.accept(receive(self.matrix, made))

    def answer(self, seconds: float) -> None:
        """Answer after so many seconds."""
        self.now += seconds
        self.answers += 1
        reply = Reply(f"matrix:{DIRECT}", "I think so", key=str(self.answers))
        self.matrix.send(reply, lambda _: None)

    def count_notices(self) -> int:
        return sum(each["content"]["msgtype"] == "m.notice" for each in self.server.messages)


@pytest.fixture
def chat(server: Homeserver) -> Iterator[Chat]:
    opened = Chat(server)
    yield opened
    opened.matrix.close()


def test_a_program_that_echoes_each_answer_gets_three_answers(chat: Chat) -> None:
    assert chat.hear(0)
    while chat.answers < 10:
        chat.answer(seconds=3)
        if not chat.hear(0.15):
            break
    assert chat.answers == 3
    assert chat.count_notices() == 1
    assert [chat.hear(0.15), chat.hear(0.15)] == [None, None]  # the notice is echoed too
    assert chat.count_notices() == 1
    assert chat.hear(0.15, body="!stop")
    assert chat.hear(5)  # a person writes by the same account


@each_row(
    "habit, pause, seconds, content",
    [
        (
            "sends what was pasted before as soon as the answer shows",
            0.6,
            5.0,
            {"body": "x" * 4000},
        ),
        ("pastes a row of commands, each answered at once", 0.3, 0.05, {"body": "!help"}),
        ("drops a row of files, each refused at once", 0.1, 1.5, FILE),
        ("answers a quiz in a word", 1.5, 2.0, {"body": "ja"}),
    ],
)
def test_a_person_at_their_fastest_is_answered(
    habit: str, pause: float, seconds: float, content: dict[str, Any], server: Homeserver
) -> None:
    chat = Chat(server)
    for _ in range(6):
        assert chat.hear(pause, **content), habit
        chat.answer(seconds)
    chat.matrix.close()


def test_answers_to_somebody_else_silence_nobody(chat: Chat) -> None:
    chat.matrix.send(Reply(f"matrix:{GROUP}", "hi", key="0"), lambda _: None)
    chat.now += 60
    flood = [make_event(text("sigil: !help"), BOB, GROUP) for _ in range(6)]
    chat.server.rooms[GROUP].events.update({each["event_id"]: each for each in flood})
    asked = [receive(chat.matrix, each).reply_to for each in flood]
    for number, message in enumerate(asked):
        chat.now += 1
        chat.matrix.send(
            Reply(f"matrix:{GROUP}", "help", key=f"b{number}", to=message), lambda _: None
        )
        chat.now += 0.2
        assert chat.matrix.accept(
            receive(chat.matrix, make_event(text("sigil: and me?"), ADA, GROUP))
        )


def test_a_message_that_takes_its_time_ends_a_run_of_echoes(chat: Chat) -> None:
    mark = make_event({"m.relates_to": {"rel_type": "m.annotation"}}, kind="m.reaction")
    for pause in (0.15, 0.15, 0.15, 2, 0.15, 0.15, 2):
        assert chat.hear(pause)
        chat.answer(seconds=3)
        for _ in range(4):  # marks on the answer count for nothing
            chat.matrix.receive(push(encode(mark)))


def test_messages_that_are_handed_out_again_and_again_count_once_each(
    matrix: Matrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As while the model does not answer, which is tried again with what waits behind it."""
    monkeypatch.setattr(matrix, "_now", lambda: NOW - 15)
    matrix.send(Reply(f"matrix:{DIRECT}", "hi", key="k"), lambda _: None)
    waiting = [receive(matrix, make_event(text(said))) for said in ("one", "two")]
    assert all(matrix.accept(event) for event in waiting * (RUN_MOST + 1))
