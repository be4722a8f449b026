"""What WhatsApp is sent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from functions.channels.base import AttachedFile, Busy, Reply
from functions.channels.render.whatsapp import render_parts
from functions.channels.whatsapp.channel import WhatsApp
from functions.events import Button
from sigil.errors import BackendError, Refused, UsageError
from tests.fakes.graph_api import (
    NUMBER,
    PERSON,
    SECRET,
    TOKEN,
    VERIFY_TOKEN,
    GraphApi,
    make_body,
    make_message,
    sign,
)
from tests.fakes.server import Answer
from tests.tables import each_row

SESSION = f"whatsapp:{PERSON}"
BUTTONS = (Button("Approve", "/approve 0123abcd"), Button("Deny", "/deny 0123abcd"))


@pytest.fixture
def graph() -> Iterator[GraphApi]:
    with GraphApi() as api:
        yield api


@pytest.fixture
def channel(graph: GraphApi) -> Iterator[WhatsApp]:
    opened = WhatsApp(NUMBER, TOKEN, SECRET, VERIFY_TOKEN, api=graph.url)
    yield opened
    opened.close()


def say(channel: WhatsApp, text: str, **fields: object) -> list[int]:
    """Send a reply; the numbers of parts that left and were followed by others."""
    sent: list[int] = []
    channel.send(Reply(SESSION, text, **fields), sent.append)
    return sent


def texts(graph: GraphApi) -> list[str]:
    return [message["text"]["body"] for message in graph.messages if message["type"] == "text"]


@each_row(
    ("markdown", "expected"),
    [
        ("**bold** and *italic*", "*bold* and _italic_"),
        ("***both***", "_*both*_"),
        ("~~gone~~ `code`", "~gone~ `code`"),
        ("# Title\n\ntext", "*Title*\n\ntext"),
        ("[here](https://a.example)", "here (https://a.example)"),
        ("<https://a.example>", "https://a.example"),
        ("```python\nx = 1 * 2 * 3\n```", "```x = 1 * 2 * 3```"),
        ("> said\n> twice", "> said\n> twice"),
        ("**two\nlines**", "*two*\n*lines*"),
        ("2 * 3 * 4 and 2*3*4", "2 * 3 * 4 and 2*3*4"),
        ("un**believ**able, 中**文**字", "unbelievable, 中*文*字"),
        ("```\n`a` `b`\n```", "```\n`a` `b`\n```"),
    ],
)
def test_markdown_becomes_marks(markdown: str, expected: str) -> None:
    assert render_parts(markdown) == [expected]


def test_a_long_text_is_cut_and_no_part_is_too_long(channel: WhatsApp, graph: GraphApi) -> None:
    text = "\n\n".join(f"**Paragraph {number}** " + "word " * 150 for number in range(12))
    assert say(channel, text) == [1, 2]
    assert "".join(texts(graph)).count("Paragraph") == 12
    apples = render_parts("\U0001f34e " * 3_000)
    assert [len(part.encode("utf-16-le")) // 2 <= 4096 for part in apples] == [True] * len(apples)


def test_a_reply_goes_on_where_it_was_broken_off(channel: WhatsApp, graph: GraphApi) -> None:
    text = "\n\n".join("word " * 200 for _ in range(12))
    say(channel, text)
    whole = texts(graph)
    graph.messages.clear()
    assert say(channel, text, start=1) == [2]
    assert texts(graph) == whole[1:]


def test_a_text_of_very_many_messages_ends_as_a_file(channel: WhatsApp, graph: GraphApi) -> None:
    text = "word " * 12_000
    say(channel, text)
    assert len(graph.messages) == 10
    last = graph.messages[-1]
    assert last["document"]["filename"] == "answer.md.txt"
    assert graph.uploads[last["document"]["id"]] == ("text/plain", text.encode())


def test_buttons_stand_below_the_text(channel: WhatsApp, graph: GraphApi) -> None:
    say(channel, "May I?", buttons=BUTTONS)
    (message,) = graph.messages
    assert message["interactive"]["body"] == {"text": "May I?"}
    replies = [each["reply"] for each in message["interactive"]["action"]["buttons"]]
    assert [reply["id"] for reply in replies] == [button.command for button in BUTTONS]


def test_a_long_question_has_its_buttons_below_its_end(channel: WhatsApp, graph: GraphApi) -> None:
    text = " ".join(f"word{number}" for number in range(400))
    assert say(channel, text, buttons=BUTTONS) == [1]
    first, second = graph.messages
    shown = f"{first['text']['body']} {second['interactive']['body']['text']}"
    assert shown == text


def test_a_press_comes_back_as_the_buttons_command(channel: WhatsApp, graph: GraphApi) -> None:
    say(channel, "May I?", buttons=BUTTONS)
    reply = graph.messages[0]["interactive"]["action"]["buttons"][0]["reply"]
    pressed = {"type": "button_reply", "button_reply": reply}
    body = make_body(make_message(type="interactive", interactive=pressed))
    (event,) = channel.receive(sign(body)).events
    assert event.text == BUTTONS[0].command


def test_buttons_that_are_refused_stand_in_words(channel: WhatsApp, graph: GraphApi) -> None:
    graph.fail(131009)
    say(channel, "May I?", buttons=BUTTONS)
    lines = (f"- {button.label}: `{button.command}`" for button in BUTTONS)
    assert texts(graph) == ["\n".join(("May I?", "", *lines))]


@pytest.mark.parametrize(
    ("type", "size", "kind", "shown"),
    [
        ("image/png", 100, "image", ""),
        ("image/png", 6 << 20, "document", "plan.txt"),
        ("application/pdf", 100, "document", "plan"),
        ("text/csv", 100, "document", "plan.txt"),
    ],
)
def test_a_file_is_uploaded(
    type: str, size: int, kind: str, shown: str, channel: WhatsApp, graph: GraphApi
) -> None:
    file = AttachedFile("plan", type, lambda: b"x" * size)
    assert say(channel, "Here:", files=(file,)) == [1]
    sent = graph.messages[1]
    assert sent["type"] == kind
    assert sent[kind].get("filename", "") == shown
    assert len(graph.uploads[sent[kind]["id"]][1]) == size


def test_a_file_that_is_gone_is_told(channel: WhatsApp, graph: GraphApi) -> None:
    def read() -> bytes:
        raise UsageError("ENOENT", "gone")

    say(channel, "Here:", files=(AttachedFile("plan.txt", "text/plain", read),))
    assert "plan.txt" in texts(graph)[1]


def test_a_picture_goes_as_a_file(channel: WhatsApp, graph: GraphApi) -> None:
    picture = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>'
    say(channel, f"Look:\n\n```svg\n{picture}\n```")
    assert texts(graph) == ["Look:"]
    assert graph.messages[1]["document"]["filename"] == "picture.svg.txt"


def test_who_hides_their_number_is_written_to_by_their_id(
    channel: WhatsApp, graph: GraphApi
) -> None:
    channel.send(Reply("whatsapp:US.134912", "hello"), lambda count: None)
    assert graph.messages[0]["recipient"] == "US.134912"
    assert "to" not in graph.messages[0]


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        (130429, 400, Busy),
        (131056, 400, Busy),
        (80007, 400, Busy),
        (4, 403, Busy),
        (190, 401, BackendError),
        (2, 500, BackendError),
        (131047, 400, Refused),
        (131026, 400, Refused),
    ],
)
def test_refusals_are_told_apart(
    code: int, status: int, expected: type[Exception], channel: WhatsApp, graph: GraphApi
) -> None:
    graph.fail(code, status)
    with pytest.raises(expected):
        say(channel, "hello")
    assert say(channel, "hello again") == []


def test_it_says_how_long_to_wait(channel: WhatsApp, graph: GraphApi) -> None:
    graph.fail(130429, 429, retry_after="17")
    with pytest.raises(Busy) as problem:
        say(channel, "hello")
    assert problem.value.retry_after == 17


@pytest.mark.parametrize("answer", [Answer(cut=True), Answer(200, b"<html>"), Answer(502, b"")])
def test_an_answer_that_helps_nobody_is_tried_again_later(
    answer: Answer, channel: WhatsApp, graph: GraphApi
) -> None:
    graph.reply(answer)
    with pytest.raises(BackendError):
        say(channel, "hello")


@pytest.mark.parametrize("session", ["whatsapp:", "whatsapp:0", "whatsapp:1/../2", "telegram:5"])
def test_another_session_is_refused(session: str, channel: WhatsApp) -> None:
    with pytest.raises(UsageError):
        channel.send(Reply(session, "hello"), lambda count: None)


def test_it_shows_that_we_write(channel: WhatsApp, graph: GraphApi) -> None:
    (event,) = channel.receive(sign(make_body(make_message()))).events
    assert channel.show_waiting(event) == 20.0
    assert graph.signs[0]["message_id"] == "wamid.TEST1"
    assert graph.signs[0]["typing_indicator"] == {"type": "text"}
    channel.end_waiting(event)


def test_a_file_is_fetched(channel: WhatsApp, graph: GraphApi) -> None:
    graph.sent_files["42"] = b"%PDF"
    assert channel.fetch({"file_id": "42"}, 100) == b"%PDF"
    with pytest.raises(UsageError):
        channel.fetch({"file_id": "42"}, 3)
    with pytest.raises(UsageError):
        channel.fetch({"file_id": "../42"}, 100)


def test_the_token_goes_to_no_other_host(channel: WhatsApp, graph: GraphApi) -> None:
    graph.sent_files["42"] = b"%PDF"
    with GraphApi() as other:
        graph.file_host = other.url
        with pytest.raises(BackendError):
            channel.fetch({"file_id": "42"}, 100)
        assert other.requests == []


@pytest.mark.parametrize(
    "host", ["https://[", "ftp://a", "https://lookaside.fbsbx.com@evil.example"]
)
def test_an_odd_address_of_a_file_is_none(host: str, channel: WhatsApp, graph: GraphApi) -> None:
    graph.sent_files["42"] = b"%PDF"
    graph.file_host = host
    with pytest.raises(BackendError):
        channel.fetch({"file_id": "42"}, 100)


def test_a_name_of_a_file_breaks_no_form(channel: WhatsApp, graph: GraphApi) -> None:
    name = 'a"; x="\r\n\r\nb.txt'
    say(channel, "Here:", files=(AttachedFile(name, "text/plain", lambda: b"body"),))
    sent = graph.messages[1]["document"]
    assert sent["filename"] == name
    assert graph.uploads[sent["id"]] == ("text/plain", b"body")


def test_the_number_has_a_name(channel: WhatsApp) -> None:
    assert channel.fetch_bot_name() == "Sigil +1 631-555-1111"
