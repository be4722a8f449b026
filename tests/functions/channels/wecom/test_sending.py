"""Replies reach the person, whatever WeCom says to them at first."""

from __future__ import annotations

import re
from typing import Any

import pytest

from functions.channels.base import AttachedFile, Busy, Reply
from functions.channels.render.wecom import render_parts
from functions.channels.wecom.channel import WeCom
from functions.events import Button, Event
from sigil.errors import BackendError, Refused, UsageError
from tests.fakes.server import Answer
from tests.fakes.wecom import (
    AGENT,
    ALICE,
    CORP,
    TEXT_BYTES,
    WeComServer,
    make_message,
    make_press,
    pack,
)
from tests.tables import each_row
from tests.threads import in_parallel

TO_ALICE = f"wecom:{ALICE}"
SVG = '```svg\n<svg xmlns="http://www.w3.org/2000/svg"><circle r="4"/></svg>\n```'


def send(wecom: WeCom, text: str, session: str = TO_ALICE, **reply: Any) -> list[int]:
    left: list[int] = []
    wecom.send(Reply(session, text, **reply), left.append)
    return left


def receive(wecom: WeCom, plain: bytes) -> Event:
    (event,) = wecom.receive(pack(plain)).events
    return event


# ---- what it looks like


def test_a_plain_answer_is_a_text_and_a_styled_one_markdown(
    wecom: WeCom, server: WeComServer
) -> None:
    send(wecom, "It is four.")
    send(wecom, "It is **four**, see `x` and [it](https://a.example/b(c)).\n\n> so\n> it is")
    first, second = server.messages
    assert (first["touser"], first["msgtype"], first["agentid"]) == (ALICE, "text", int(AGENT))
    assert second["msgtype"] == "markdown"
    assert server.texts() == [
        "It is four.",
        "It is **four**, see `x` and [it](https://a.example/b%28c%29).\n\n> so\n> it is",
    ]


def test_a_table_is_a_list_and_what_is_struck_out_is_marked() -> None:
    table = "| city | rain | sun |\n|---|--:|---|\n| 北京 | 4 | ~~9~~ |\n\n~~three~~ two"
    (part,) = render_parts(table)
    assert part.written == "• **北京** – rain: 4; sun: 9\n\n~three~ two"
    assert part.plain == "• 北京 – rain: 4; sun: 9\n\n~three~ two"


@each_row(
    "text",
    [
        "<@all> and <@ZhangSan>",
        "**x** <@all>",
        '<a href="https://evil.example">x</a>',
        "[x](wxwork://message?to=a)",
        "**b** [x](javascript:alert)",
        "`[x](wxwork://a)`",
        "```\n[x](wxwork://a) <@all>\n```",
    ],
)
def test_nobody_is_mentioned_and_no_link_leaves_the_web(text: str) -> None:
    (part,) = render_parts(text)
    for written in (part.written, part.plain):
        assert "<@" not in written
        assert "<a" not in written
        assert "](" not in written


@each_row(
    ("markdown", "sent"),
    [
        ("`List<String>` **is** `a[0](b)`", "`List<String>` **is** `a[0](b)`MARK"),
        ("**So**\n\n```c\n# <b>\na[0](b);\n```", "SoMARK\n\n# <b>\na[0](b);"),
        ("```c\n#include <a>\n```\n\nand `x<y>`", "#include <a>\n\nand x<y>MARK"),
        ("```c\n#include <a>\n```", "#include <a>MARK"),
    ],
)
def test_code_is_sent_as_it_was_written(
    wecom: WeCom, server: WeComServer, markdown: str, sent: str
) -> None:
    send(wecom, markdown, key=markdown)
    message = server.messages[-1]
    content = message[message["msgtype"]]["content"]
    assert re.sub("[\u200b\u200c\u200d\u2060]{10}", "MARK", content) == sent


def test_every_message_fits_and_an_answer_goes_on_where_it_stopped(
    wecom: WeCom, server: WeComServer
) -> None:
    text = "\n\n".join(f"**{number}** " + "字" * 600 for number in range(4))
    assert send(wecom, text, key="e1") == [1, 2, 3]
    parts = server.texts()
    sizes = [len(each["markdown"]["content"].encode()) for each in server.messages]
    assert max(sizes) <= TEXT_BYTES
    server.messages.clear()
    assert send(wecom, text, key="e2", start=2) == [3]
    assert server.texts() == parts[2:]


def test_what_is_too_long_for_messages_is_a_file(wecom: WeCom, server: WeComServer) -> None:
    text = "\n\n".join("字" * 600 for _ in range(20))
    send(wecom, text)
    assert [each["msgtype"] for each in server.messages] == ["text"] * 14 + ["file"]
    assert server.uploads[0]["name"] == "answer.md"
    assert server.uploads[0]["file"].decode() == text


def test_buttons_bring_their_command_back(wecom: WeCom, server: WeComServer) -> None:
    buttons = (Button("Approve", "/approve a1b2c3"), Button("Deny", "/deny a1b2c3"))
    send(wecom, "May I?", buttons=buttons, key="e1")
    text, card = server.messages
    assert text["text"]["content"].startswith("May I?")
    rows = card["template_card"]["button_list"]
    assert [row["text"] for row in rows] == ["Approve", "Deny"]
    press = receive(wecom, make_press(rows[0]["key"]))
    assert (press.text, press.session) == ("/approve a1b2c3", TO_ALICE)
    for _ in range(2):  # a code counts once
        wecom.acknowledge(press)
    assert server.ended_cards == ["of-t1"]
    wecom.acknowledge(receive(wecom, make_message(9, "/approve a1b2c3")))
    server.fail(41016, path="/send")
    wecom.send(Reply(TO_ALICE, "May I?", buttons=buttons, key="e2", start=1), lambda n: None)
    assert "- Deny: /deny a1b2c3" in server.messages[-1]["text"]["content"]


# ---- once


def test_a_part_that_was_sent_is_not_shown_twice(wecom: WeCom, server: WeComServer) -> None:
    for _ in range(2):  # a crash between sending and noting
        send(wecom, "once", key="e1")
    send(wecom, "once", key="e2")
    assert server.texts() == ["once", "once"]


# ---- files


def test_files_go_out_as_what_they_are(wecom: WeCom, server: WeComServer) -> None:
    def gone() -> bytes:
        raise UsageError("ENOENT", "gone")

    files = (
        AttachedFile('Umsätze "1".csv', "text/csv", lambda: b"a"),
        AttachedFile("p.png", "image/png", lambda: b"\x89PNG..."),
        AttachedFile("q.png", "image/png", lambda: b"no picture"),
        AttachedFile("x.bin", "application/octet-stream", lambda: b"1"),
        AttachedFile("old.txt", "text/plain", gone),
    )
    send(wecom, f"Here:\n\n{SVG}", files=files, key="e1")
    kinds = [message["msgtype"] for message in server.messages]
    assert kinds == ["text", "file", "file", "image", "file", "text", "text"]
    names = [upload["name"] for upload in server.uploads]
    assert names == ["picture.svg", "Umsätze  1 .csv", "p.png", "q.png"]
    assert "old.txt" in server.texts()[-1]


def test_a_file_of_a_message_is_fetched(wecom: WeCom, server: WeComServer) -> None:
    server.sent_files["m1"] = b'{"errcode": 1}'
    (attachment,) = receive(
        wecom, make_message(1, {"MsgType": "file", "MediaId": "m1", "FileName": "a.json"})
    ).attachments
    assert wecom.fetch(attachment, 100) == b'{"errcode": 1}'
    with pytest.raises(UsageError, match="too large"):
        wecom.fetch(attachment, 3)
    with pytest.raises(Refused):
        wecom.fetch({"kind": "photo", "file_id": "unknown"}, 100)
    with pytest.raises(UsageError):
        wecom.fetch({"kind": "photo", "file_id": "../x"}, 100)


# ---- who speaks


def test_names_are_asked_once_and_never_empty(wecom: WeCom, server: WeComServer) -> None:
    def name_of(sender: str) -> str:
        return wecom.accept(receive(wecom, make_message(1, "hi", FromUserName=sender))).sender.name

    assert [name_of(ALICE), name_of(ALICE), name_of("stranger")] == ["Alice", "Alice", "stranger"]
    assert len(server.calls("/user/get")) == 2
    server.names["eve"] = "Eve\n<x>"
    server.fail(-1, path="/user/get")
    assert name_of("eve") == "eve"
    assert name_of("eve") == "Eve <x>"


# ---- what WeCom refuses


def test_refused_markdown_is_sent_as_text_and_then_as_a_note(
    wecom: WeCom, server: WeComServer
) -> None:
    server.fail(40058, path="/send")
    send(wecom, "**bold** [it](https://a.example)", key="e1")
    assert server.texts() == ["bold it (https://a.example)"]
    server.fail(45002, path="/send", times=2)
    send(wecom, "**secret**")
    assert "secret" not in server.texts()[1]


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, b'{"errcode": 81013, "errmsg": "all invalid"}'),
        Answer(200, b'{"errcode": 0, "errmsg": "ok", "invaliduser": "zhangsan"}'),
        Answer(200, b'{"errcode": 999, "errmsg": "no"}'),
    ],
)
def test_a_person_who_takes_nothing_is_given_up(
    wecom: WeCom, server: WeComServer, answer: Answer
) -> None:
    server.reply(answer, path="/send")
    with pytest.raises(Refused) as refused:
        send(wecom, "hello")
    assert refused.value.code == "EBLOCKED"


@pytest.mark.parametrize("code", [45009, 45033, -1])
def test_wecom_may_ask_to_slow_down(wecom: WeCom, server: WeComServer, code: int) -> None:
    server.fail(code, path="/send")
    with pytest.raises(Busy) as busy:
        send(wecom, "hello")
    assert busy.value.retry_after == 60.0


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (Answer(502, b"<html>"), ""),
        (Answer(200, b"no json"), ""),
        (Answer(cut=True), ""),
        (
            Answer(200, b'{"errcode": 60020, "errmsg": "not allow to access from your ip"}'),
            "trusted",
        ),
        (Answer(200, b'{"errcode": 40056, "errmsg": "invalid agentid"}'), "WECOM_AGENT_ID"),
    ],
)
def test_trouble_is_tried_again_later(
    wecom: WeCom, server: WeComServer, answer: Answer, hint: str
) -> None:
    server.reply(answer, path="/send")
    with pytest.raises(BackendError) as problem:
        send(wecom, "hello")
    assert problem.value.code == "EUNAVAILABLE"
    assert hint in problem.value.suggestion
    send(wecom, "hello")
    assert server.texts() == ["hello"]


def test_an_access_token_that_ended_is_fetched_anew_by_one(
    wecom: WeCom, server: WeComServer
) -> None:
    send(wecom, "one")
    server.token += 1
    in_parallel(4, lambda _: send(wecom, "two"))
    assert len(server.messages) == 5
    assert len(server.calls("/gettoken")) == 2


def test_a_wrong_secret_says_what_to_check(server: WeComServer) -> None:
    app = WeCom(CORP, AGENT, "wrong", api=server.url)
    with pytest.raises(BackendError) as problem:
        app.fetch_bot_name()
    app.close()
    assert "WECOM_SECRET" in problem.value.suggestion


def test_a_session_of_another_platform_is_refused(wecom: WeCom) -> None:
    for session in ("wecom:", "wecom:a:b", "wecom:a|b", "wecom:@all"):
        with pytest.raises(UsageError):
            send(wecom, "hello", session)


def test_nothing_shows_that_it_writes(wecom: WeCom, server: WeComServer) -> None:
    event = receive(wecom, make_message(1, "hi"))
    assert wecom.show_waiting(event) == 0.0
    wecom.end_waiting(event)
    assert server.requests == []
