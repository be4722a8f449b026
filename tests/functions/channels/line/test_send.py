"""What LINE is sent, and what it is asked."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from functions.channels.about import ChannelSettings
from functions.channels.base import AttachedFile, Busy, MessagesUsedUp, Reply
from functions.channels.isolated_channels import IsolatedChannels
from functions.channels.line.channel import Line
from functions.channels.line.reply_address import LineReplyAddress
from functions.channels.platforms import PLATFORMS, open_channels
from functions.channels.render.plain import render_parts
from functions.channels.webhooks import WebhookRegistration
from functions.events import Button
from sigil.errors import BackendError, Refused, UsageError
from sigil.storage.kv import keys
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.line import (
    GROUP,
    MONTHLY,
    PERSON,
    RATE,
    SECRET,
    TOKEN,
    LineServer,
    make_body,
    make_event,
    make_message,
    sign,
)
from tests.fakes.server import Answer
from tests.tables import each_row

SESSION = f"line:{PERSON}"
REPLY = "/v2/bot/message/reply"
PUSH = "/v2/bot/message/push"
BUTTONS = (Button("Approve", "/approve 0123abcd"), Button("Deny", "/deny 0123abcd"))

PDF = AttachedFile("report.pdf", "application/pdf", lambda: b"%PDF")


@pytest.fixture
def line() -> Iterator[LineServer]:
    with LineServer() as server:
        yield server


@pytest.fixture
def channel(line: LineServer) -> Iterator[Line]:
    opened = Line(TOKEN, SECRET, line.url)
    yield opened
    opened.close()


def address(token: str = "reply1", seconds: float = 50.0, quote: str = "") -> str:
    return LineReplyAddress(token, int(time.time() + seconds), quote).write()


def say(channel: Line, text: str, session: str = SESSION, **fields: Any) -> list[int]:
    """Send a reply; the numbers of parts that left and were followed by others."""
    sent: list[int] = []
    channel.send(Reply(session, text, **{"to": address(), "key": "0a" * 16, **fields}), sent.append)
    return sent


def sent_by(line: LineServer) -> list[str]:
    return [message["by"] for message in line.messages]


@each_row(
    ("markdown", "expected"),
    [
        ("# Title\n\n**bold** _it_ ~~no~~ `code`", "Title\n\nbold it ~no~ code"),
        ("|a|b|\n|-|-|\n|x|1|\n|y||\n\nend", "a: b\n• x: 1\n• y\n\nend"),
        ("||€|\n|-|-|\n|x|1|", "€\n• x: 1"),
        ("|a||\n|-|-|\n|x|1|\n||2|", "a\n• x: 1\n• 2"),
        ("|||\n|-|-|\n|x|1|", "• x: 1"),
        ("|a|\n|-|\n|x|", "a\n• x"),
        ("|a|b|c|\n|-|-|-|\n\nend", "a – b – c\n\nend"),
        ("|||\n|-|-|\n\nend", "end"),
        ("|a|b|c|\n|-|-|-|\n|x|1|2|\n|y||3|\n||4||", "• x – b: 1; c: 2\n• y – c: 3\n• b: 4"),
        ("- in\n\n  |a|b|\n  |-|-|\n  |x|1|\n\n- out", "• in\n\n  a: b\n  • x: 1\n• out"),
        ("2*3*4*5*6 and 2**3**2 and un*frigging*real", "2*3*4*5*6 and 2**3**2 and unfriggingreal"),
        ("[here](https://a.example/b)", "here (https://a.example/b)"),
        ("<https://a.example>", "https://a.example"),
        ("> one\n> two", "> one\n> two"),
        ("```py\nx = 1\n```", "x = 1"),
        ("- a\n- b", "• a\n• b"),
        ("@All @Kerry {user} $", "@All @Kerry {user} $"),
    ],
)
def test_markdown_becomes_plain_text(markdown: str, expected: str) -> None:
    assert render_parts(markdown, 5000, len) == [expected]


def read_rest(line: LineServer) -> int:
    """How many characters the note says are left, 0 without a note."""
    found = re.search(r"([0-9,]+) more", line.texts()[-1] if line.texts() else "")
    return int(found[1].replace(",", "")) if found else 0


def test_all_messages_of_an_answer_are_one_reply(channel: Line, line: LineServer) -> None:
    assert say(channel, "\n\n".join(f"{n} " + "\U0001f34e" * 2000 for n in range(3))) == []
    assert sent_by(line) == ["reply"] * 3
    assert line.count(REPLY) == 1
    assert line.count(PUSH) == 0


def test_what_is_longer_than_a_reply_ends_with_a_note(channel: Line, line: LineServer) -> None:
    text = "\n\n".join(f"{n} " + "word " * 900 for n in range(9))
    say(channel, text, buttons=BUTTONS)
    kinds = [message["type"] for message in line.messages]
    assert kinds == ["text", "text", "text", "text", "flex"]
    assert read_rest(line) == pytest.approx(6 * 4500, rel=0.05)


@pytest.mark.parametrize(("number", "rest"), [(5, 0), (6, 10_000)])
def test_a_long_answer_uses_the_five_messages_of_a_reply(
    channel: Line, line: LineServer, number: int, rest: int
) -> None:
    say(channel, "x" * 5000 * number)
    assert (len(line.messages), read_rest(line), line.count(REPLY)) == (5, rest, 1)
    line.messages.clear()
    say(channel, "x" * 5000 * number, files=(PDF,), to="")
    assert (len(line.messages), read_rest(line), line.count(PUSH)) == (5, 5000 * number - 20_000, 1)
    assert "report.pdf" in line.texts()[-1]


@pytest.mark.parametrize("to", ["", "reply1|5|", "reply1", "|99999999999|"])
def test_without_a_good_reply_token_a_message_is_pushed(
    to: str, channel: Line, line: LineServer
) -> None:
    say(channel, "late", to=to)
    assert sent_by(line) == ["push"]
    assert line.count(REPLY) == 0


def test_a_reply_token_that_is_refused_is_followed_by_a_push(
    channel: Line, line: LineServer
) -> None:
    say(channel, "one", key="01" * 16)
    say(channel, "two", key="02" * 16)
    assert sent_by(line) == ["reply", "push"]
    assert line.texts() == ["one", "two"]


def test_an_answer_of_unknown_fate_is_not_sent_twice(channel: Line, line: LineServer) -> None:
    line.lose(REPLY)
    with pytest.raises(BackendError):
        say(channel, "once")
    say(channel, "once")
    assert line.texts() == ["once"]


def test_an_answer_that_a_crash_interrupted_is_not_sent_twice(
    channel: Line, line: LineServer
) -> None:
    say(channel, "once")
    # nobody lived to note that it left, and another process sends it again
    again = Line(TOKEN, SECRET, line.url)
    say(again, "once", is_repeated=True)
    again.close()
    assert line.count(REPLY) == 2
    assert sent_by(line) == ["reply"]


def test_an_answer_whose_first_try_failed_is_still_sent(channel: Line, line: LineServer) -> None:
    line.tokens.add("reply1")
    line.fail(PUSH, 500)
    with pytest.raises(BackendError):
        say(channel, "once")
    say(channel, "once", is_repeated=True)
    line.fail(REPLY, 500)
    with pytest.raises(BackendError):
        say(channel, "two", to=address("t2"), key="0b" * 16)
    say(channel, "two", to=address("t2"), key="0b" * 16, is_repeated=True)
    assert [(message["text"], message["by"]) for message in line.messages] == [
        ("once", "push"),
        ("two", "reply"),
    ]


def test_a_push_of_unknown_fate_is_not_sent_twice(channel: Line, line: LineServer) -> None:
    line.lose(PUSH)
    with pytest.raises(BackendError):
        say(channel, "once", to="")
    # after a crash nobody remembers, and LINE says that it was taken
    again = Line(TOKEN, SECRET, line.url)
    say(again, "once", to="")
    again.close()
    assert line.count(PUSH) == 2
    assert line.texts() == ["once"]


def test_an_answer_in_a_group_shows_what_it_answers(channel: Line, line: LineServer) -> None:
    say(channel, "hi", f"line:{GROUP}", to=address("t1", quote="q1"))
    say(channel, "hi", f"line:{GROUP}", to=address("t2", quote="bad"))
    say(channel, "hi", to=address("t3", quote="q3"))
    assert [message.get("quoteToken") for message in line.messages] == ["q1", None, None]


def test_a_month_without_messages_left_is_no_slowdown(channel: Line, line: LineServer) -> None:
    line.fail(PUSH, 429, MONTHLY)
    with pytest.raises(MessagesUsedUp):
        say(channel, "never", to="")
    line.fail(PUSH, 429, RATE, retry_after="7")
    with pytest.raises(Busy) as busy:
        say(channel, "later", to="")
    assert busy.value.retry_after == 7
    # answers cost nothing
    say(channel, "but this")
    assert line.texts() == ["but this"]


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (401, "Authentication failed", "EUNAVAILABLE"),
        (403, "Access to this API is not available for your account", "EBLOCKED"),
        (500, "", "EUNAVAILABLE"),
    ],
)
def test_refusals_say_whether_to_try_again(
    status: int, message: str, code: str, channel: Line, line: LineServer
) -> None:
    line.fail(REPLY, status, message)
    with pytest.raises((BackendError, Refused)) as problem:
        say(channel, "hi")
    assert problem.value.code == code


def test_a_chat_that_we_left_never_gets_it(channel: Line, line: LineServer) -> None:
    line.left.add(GROUP)
    with pytest.raises(Refused) as problem:
        say(channel, "hi", f"line:{GROUP}", to="")
    assert problem.value.code == "EBLOCKED"
    assert line.count(PUSH) == 1


def test_words_that_line_does_not_take_become_a_note(channel: Line, line: LineServer) -> None:
    say(channel, "forbidden", buttons=BUTTONS)
    [note] = line.texts()
    assert "did not take this part" in note


def test_buttons_stand_below_the_text(channel: Line, line: LineServer) -> None:
    say(channel, "May I?", buttons=(*BUTTONS, Button("x" * 50, "/deny 0123abce")))
    text, below = line.messages
    actions = [row["action"] for row in below["contents"]["body"]["contents"]]
    assert text["text"] == "May I?"
    assert [action["data"] for action in actions][:2] == [each.command for each in BUTTONS]
    assert (actions[0]["type"], actions[2]["label"]) == ("postback", "x" * 20)


def test_files_are_told_of_in_words(channel: Line, line: LineServer) -> None:
    svg = "```svg\n<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'></svg>\n```"
    say(channel, f"Look:\n\n{svg}", files=(PDF,))
    first, note = line.texts()
    assert first == "Look:"
    assert "picture.svg" in note
    assert "report.pdf" in note


def test_what_left_before_is_not_sent_again(channel: Line, line: LineServer) -> None:
    say(channel, "one\n\n" + "x" * 5000, start=1)
    assert sent_by(line) == ["push"]
    assert line.texts() == ["x" * 5000]


def test_other_sessions_are_refused(channel: Line) -> None:
    for session in ("line:", "line:U12", "telegram:5", f"line:{PERSON}/../x"):
        with pytest.raises(UsageError):
            say(channel, "hi", session)


def test_an_answer_to_our_message_is_for_us(channel: Line, line: LineServer) -> None:
    say(channel, "Which one?", f"line:{GROUP}")
    answer = make_message(1, "the red one", chat=GROUP, quotedMessageId="900001")
    [event] = channel.receive(sign(make_body(answer))).events
    [quote] = event.quotes
    assert (quote.relation, quote.text, quote.ours) == ("reply", "Which one?", True)


def test_an_answer_to_a_message_of_another_process_is_for_us(line: LineServer) -> None:
    kv = MemoryKV()
    values = {"LINE_TOKEN": TOKEN, "LINE_SECRET": SECRET, "LINE_API": line.url}
    described = ChannelSettings("line", PLATFORMS["line"], values=values)
    sender = open_channels([described], kv)["line"]
    # the worker of a function
    receiver = IsolatedChannels([described], lambda _: described, by_worker=True, kv=kv)["line"]
    assert isinstance(sender, Line)
    assert isinstance(receiver, Line)
    say(sender, "Which one?", f"line:{GROUP}")
    say(sender, "A secret", f"line:{PERSON}")
    answers = [
        make_message(number, "that one", chat=GROUP, quotedMessageId=id)
        for number, id in enumerate(("900001", "77", "../900001"))
    ]
    ours, theirs = receiver.receive(sign(make_body(*answers))).events
    assert receiver.accept(theirs) is None
    for _ in range(2):
        accepted = receiver.accept(ours)
        assert accepted is not None
        [quote] = accepted.quotes
        assert (quote.relation, quote.text, quote.ours) == ("reply", "Which one?", True)
        assert accepted.addressed == ()
    kept = keys.session_of("main", f"line:{GROUP}")
    assert [kv.get(keys.sent_message(kept, id)) is not None for id in ("900001", "900002")] == [
        True,
        False,
    ]
    kv.put(keys.sent_message(kept, "77"), b"damaged")
    accepted = receiver.accept(theirs)
    assert accepted is not None
    assert accepted.quotes[0].ours
    sender.close()
    receiver.close()


def test_people_have_their_names_for_a_day(channel: Line, line: LineServer) -> None:
    stranger = "U" + "9" * 32
    rows = [make_message(1), make_message(2), make_message(3, chat=GROUP)]
    rows.append(make_message(4) | {"source": {"type": "user", "userId": stranger}})
    rows.append(make_event("join", 5, source={"type": "group", "groupId": GROUP}))
    private, again, group, unknown, joined = channel.receive(sign(make_body(*rows[:2]))).events + (
        channel.receive(sign(make_body(make_message(3, "/help", chat=GROUP), *rows[3:]))).events
    )
    events = [channel.accept(each) for each in (private, again, group, unknown)]
    assert [event.sender.name for event in events] == ["Kerry", "Kerry", "Kerry", stranger]
    assert private.sender.id == events[0].sender.id
    assert events[0].language == "de"
    assert channel.accept(joined).addressed == ("Sigil",)
    assert line.count(f"/v2/bot/profile/{PERSON}") == 1


def test_without_line_people_are_their_ids_for_now(channel: Line, line: LineServer) -> None:
    line.fail(f"/v2/bot/profile/{PERSON}", 500)
    [event] = channel.receive(sign(make_body(make_message(1)))).events
    assert channel.accept(event).sender.name == PERSON
    assert channel.accept(event).sender.name == "Kerry"


def test_waiting_shows_in_private_chats(channel: Line, line: LineServer) -> None:
    [private] = channel.receive(sign(make_body(make_message(1)))).events
    [group] = channel.receive(sign(make_body(make_message(2, "/help", chat=GROUP)))).events
    assert channel.show_waiting(private) > 0
    assert channel.show_waiting(group) == 0
    assert line.loading == [PERSON]


def test_files_of_people_are_fetched(channel: Line, line: LineServer) -> None:
    line.files["500001"] = b"# The plan"
    assert channel.fetch({"file_id": "500001"}, 99) == b"# The plan"
    for id, most, code in (("500001", 9, "ETOOBIG"), ("5", 99, "ENOENT"), ("../5", 9, "EINVAL")):
        with pytest.raises(UsageError) as problem:
            channel.fetch({"file_id": id}, most)
        assert problem.value.code == code
    line.fail("/v2/bot/message/500001/content", 202)
    with pytest.raises(BackendError):
        channel.fetch({"file_id": "500001"}, 99)


def test_the_webhook_is_set_and_tested(channel: Line, line: LineServer) -> None:
    webhook = channel.webhook
    assert not webhook.read_state().url
    webhook.register(WebhookRegistration("https://bot.example.com/webhook/line"))
    state = webhook.read_state()
    assert (state.url, state.works) == ("https://bot.example.com/webhook/line", True)
    line.test = {
        "success": False,
        "statusCode": 401,
        "reason": "ERROR_STATUS_CODE",
        "detail": "401",
    }
    state = webhook.read_state()
    assert (state.works, "401" in state.error, "LINE_SECRET" in state.advice) == (False, True, True)
    line.is_active = False
    state = webhook.read_state()
    assert (state.works, "Use webhook" in state.advice) == (False, True)
    for refused in ("http://bot.example.com", "https://bot.example.com/" + "x" * 500):
        with pytest.raises(UsageError):
            webhook.register(WebhookRegistration(refused))
    with pytest.raises(Refused) as problem:
        webhook.remove()
    assert "Use webhook" in problem.value.suggestion


def test_an_odd_answer_of_line_is_no_crash(channel: Line, line: LineServer) -> None:
    line.reply(REPLY, Answer(400, b"\xff<html>"))
    with pytest.raises(Refused):
        say(channel, "hi")


def test_a_picture_whose_address_is_refused_is_its_address(channel: Line, line: LineServer) -> None:
    link = "https://agent.example.org/refused/a.png"
    picture = AttachedFile("a.png", "image/png", lambda: b"", link, size=10)
    say(channel, f"One\n![a]({link})\nTwo", files=(picture,))
    assert line.texts() == ["One", link, "Two"]
