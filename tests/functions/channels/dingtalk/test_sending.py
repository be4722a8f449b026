"""Replies reach the chat, whatever DingTalk says to them at first."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

import pytest

from functions.channels.base import AttachedFile, Busy, Reply
from functions.channels.dingtalk.channel import DingTalk
from functions.channels.dingtalk.reply_address import DingTalkReplyAddress
from functions.channels.render.dingtalk import render_parts
from functions.events import Button, Event
from sigil.errors import BackendError, Refused, UsageError
from tests.fakes.dingtalk import (
    ALICE,
    APP,
    CHAT,
    GROUP,
    NOW,
    SESSION,
    DingTalkServer,
    find_buttons,
    in_group,
    make_message,
    sign,
)
from tests.fakes.server import Answer
from tests.tables import each_row
from tests.threads import in_parallel

TO_ALICE = f"dingtalk:{ALICE}"
TO_GROUP = "dingtalk:group:cid5DEAySu_Fk-mtMwii4NLYQ"
TO_STRANGER = "dingtalk:$:LWCP_v1:$gzXDEXQDiM8piyLH4HRRcg=="
LIVE = DingTalkReplyAddress("msg1==", CHAT, SESSION, NOW + 5400).write()
ENDED = DingTalkReplyAddress("msg1==", CHAT, SESSION, NOW - 1).write()
BY_SESSION = f"session {SESSION}"
SVG = '```svg\n<svg xmlns="http://www.w3.org/2000/svg"><circle r="4"/></svg>\n```'


def send(dingtalk: DingTalk, session: str, text: str, **reply: Any) -> list[int]:
    left: list[int] = []
    dingtalk.send(Reply(session, text, **reply), left.append)
    return left


def receive(dingtalk: DingTalk, message: dict[str, Any]) -> Event:
    (event,) = dingtalk.receive(sign(json.dumps(message).encode())).events
    return event


def targets(server: DingTalkServer) -> list[str]:
    return [message["to"] for message in server.messages]


# ---- where an answer goes


def test_an_answer_goes_to_the_address_of_its_message(
    dingtalk: DingTalk, server: DingTalkServer
) -> None:
    event = receive(dingtalk, make_message("1", "hi", **in_group()))
    send(dingtalk, event.session, "It is **four**.", to=event.reply_to)
    (message,) = server.messages
    assert (message["to"], message["kind"]) == (BY_SESSION, "markdown")
    assert message["content"] == {"title": "It is four.", "text": "It is **four**."}
    assert server.calls("/accessToken") == []


@pytest.mark.parametrize("to", ["", ENDED, "odd"])
def test_an_answer_whose_address_ended_goes_to_the_chat(
    dingtalk: DingTalk, server: DingTalkServer, to: str
) -> None:
    send(dingtalk, TO_ALICE, "one", to=to)
    send(dingtalk, TO_GROUP, "two", to=to)
    assert targets(server) == [ALICE, GROUP]
    assert {message["kind"] for message in server.messages} == {"sampleMarkdown"}


def test_an_address_that_ended_before_its_time_is_replaced(
    dingtalk: DingTalk, server: DingTalkServer
) -> None:
    server.sessions.clear()
    send(dingtalk, TO_GROUP, "here", to=LIVE)
    assert targets(server) == [GROUP]


def test_a_forged_address_is_never_requested(dingtalk: DingTalk, server: DingTalkServer) -> None:
    forged = f"{server.url}/robot/sendBySession?session={SESSION}"
    event = receive(dingtalk, make_message("1", "hi", sessionWebhook=forged))
    send(dingtalk, event.session, "for Alice alone", to=event.reply_to)
    assert targets(server) == [ALICE]
    assert server.calls("/sendBySession") == []


def test_who_is_of_another_organization_is_answered_while_the_address_lives(
    dingtalk: DingTalk, server: DingTalkServer
) -> None:
    files = (AttachedFile("a.txt", "text/plain", lambda: b"a"),)
    send(dingtalk, TO_STRANGER, "hello", to=LIVE, files=files)
    assert targets(server) == [BY_SESSION, BY_SESSION]
    assert server.uploads == []
    with pytest.raises(Refused, match="user id"):
        send(dingtalk, TO_STRANGER, "hello", to=ENDED)
    server.sessions.clear()
    with pytest.raises(Refused):
        send(dingtalk, TO_STRANGER, "hello", to=LIVE)


def test_a_session_of_another_platform_is_refused(dingtalk: DingTalk) -> None:
    for session in ("dingtalk:group:x", "dingtalk:", "dingtalk:a:b"):
        with pytest.raises(UsageError):
            send(dingtalk, session, "hello")


# ---- what it looks like


def test_a_table_is_columns_and_lines_are_kept() -> None:
    (part,) = render_parts("# Sum\n\none\\\ntwo\n\n| a | b |\n|---|---|\n| 1 | 22 |\n\n- x\n- y")
    assert part == "# Sum\n\none  \ntwo\n\n```\na | b\n--+---\n1 | 22\n```\n\n- x  \n- y"


@each_row(
    "text",
    [
        "[report](dtmd://dingtalkclient/sendMessage?content=%2Fapprove%20a1b2c3)",
        "[report](dingtalk://dingtalkclient/action/open)",
        "[report]( <DTMD://dingtalkclient/sendMessage?content=x> )",
        "[report][1]\n\n[1]: dtmd://dingtalkclient/sendMessage?content=x",
        "<dtmd://dingtalkclient/sendMessage?content=x>",
        "[a [b]](dtmd:\\//dingtalkclient/sendMessage?content=x)",
        "`dtmd://dingtalkclient/sendMessage?content=x`",
        "```\ndtmd://dingtalkclient/sendMessage?content=x\n```",
        "| a |\n|---|\n| dtmd://dingtalkclient/sendMessage?content=x |",
        '<a href="dtmd://dingtalkclient/sendMessage?content=x">report</a>',
    ],
)
def test_a_model_makes_nobody_send_a_command(text: str) -> None:
    (part,) = render_parts(text)
    assert "dtmd:" not in part.lower()
    assert "dingtalk:/" not in part.lower()
    assert "dingtalkclient/" not in part.lower()
    assert "<a" not in part


def test_a_scheme_in_other_letters_is_none() -> None:
    (part,) = render_parts("[x](&#100;tmd://dingtalkclient/sendMessage?content=x)")
    assert "&#100;" not in part
    (part,) = render_parts("[x](https://a.example/?b=1&c=2) AT&T ![p](https://a.example/p.png)")
    assert part == "[x](https://a.example/?b=1&c=2) AT&T [p](https://a.example/p.png)"


def test_a_persons_id_can_be_copied() -> None:
    assert render_parts("You are `dingtalk:manager4711`.") == ["You are `dingtalk:manager4711`."]


def test_nobody_is_mentioned(dingtalk: DingTalk, server: DingTalkServer) -> None:
    send(dingtalk, TO_GROUP, "@all @manager4711 hello", to=LIVE)
    assert b'"at"' not in server.calls("/sendBySession")[0].body


def test_buttons_are_links_that_send_their_command(
    dingtalk: DingTalk, server: DingTalkServer
) -> None:
    buttons = (Button("Approve", "/approve a1b2c3"), Button("Deny [x]", "/deny a1b2c3"))
    send(dingtalk, TO_ALICE, "May I?", buttons=buttons)
    found = find_buttons(server.texts()[0])
    assert [label for label, _ in found] == ["Approve", "Deny (x)"]
    commands = [unquote(url.partition("content=")[2]) for _, url in found]
    assert commands == ["/approve a1b2c3", "/deny a1b2c3"]


def test_a_long_answer_comes_in_parts_and_goes_on_where_it_stopped(
    dingtalk: DingTalk, server: DingTalkServer
) -> None:
    text = "\n\n".join(f"**{number}** " + "word " * 2_000 for number in range(3))
    assert send(dingtalk, TO_ALICE, text) == [1, 2]
    parts = server.texts()
    server.messages.clear()
    assert send(dingtalk, TO_ALICE, text, start=1) == [2]
    assert server.texts() == parts[1:]


def test_what_is_too_long_for_messages_is_a_file(
    dingtalk: DingTalk, server: DingTalkServer
) -> None:
    text = "\n\n".join('字"' * 1_800 for _ in range(9))
    send(dingtalk, TO_GROUP, text, to=LIVE)
    assert [message["kind"] for message in server.messages] == ["markdown"] * 5 + ["sampleFile"]
    assert server.uploads[0]["file"].decode() == text
    assert server.messages[-1]["content"]["fileType"] == "md"


# ---- files


def test_files_go_out_as_what_they_are(dingtalk: DingTalk, server: DingTalkServer) -> None:
    def gone() -> bytes:
        raise UsageError("ENOENT", "gone")

    files = (
        AttachedFile("Umsätze.csv", "text/csv", lambda: b"a,b"),
        AttachedFile("p.png", "image/png", lambda: b"\x89PNG..."),
        AttachedFile("q.png", "image/png", lambda: b"no picture"),
        AttachedFile("old.txt", "text/plain", gone),
    )
    send(dingtalk, TO_ALICE, f"Here:\n\n{SVG}", files=files)
    kinds = [message["kind"] for message in server.messages]
    assert kinds == [
        "sampleMarkdown",
        "sampleFile",
        "sampleFile",
        "sampleImageMsg",
        "sampleFile",
        "sampleMarkdown",
    ]
    names = [message["content"].get("fileName") for message in server.messages]
    assert names == [None, "picture.svg.txt", "Umsätze.csv", None, "q.png", None]
    assert "old.txt" in server.texts()[-1]


def test_a_file_that_is_refused_is_a_note(dingtalk: DingTalk, server: DingTalkServer) -> None:
    server.fail(40005, path="/media/upload")
    files = (AttachedFile("a.exe", "application/octet-stream", lambda: b"MZ"),)
    send(dingtalk, TO_ALICE, "Here", files=files)
    assert [message["kind"] for message in server.messages] == ["sampleMarkdown"] * 2


def test_a_file_of_a_message_is_fetched(dingtalk: DingTalk, server: DingTalkServer) -> None:
    server.sent_files["c1"] = b"a,b\n"
    event = receive(
        dingtalk, make_message("1", {"downloadCode": "c1", "fileName": "a.csv"}, msgtype="file")
    )
    (attachment,) = event.attachments
    assert dingtalk.fetch(attachment, 100) == b"a,b\n"
    assert server.requests[-1].path == "/files/c1?sign=a%2Bb"
    with pytest.raises(UsageError, match="too large"):
        dingtalk.fetch(attachment, 3)
    with pytest.raises(Refused):
        dingtalk.fetch({"kind": "document", "file_id": "unknown"}, 100)
    with pytest.raises(UsageError):
        dingtalk.fetch({"kind": "document", "file_id": "../x"}, 100)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "https://evil.example/f",
        "https://x.aliyuncs.com.evil.example/f",
        "https://user@x.aliyuncs.com/f",
        "https://x.aliyuncs.com:8443/f",
        "https://[",
        "file:///etc/passwd",
    ],
)
def test_a_file_is_fetched_from_dingtalks_own_hosts_alone(
    dingtalk: DingTalk, server: DingTalkServer, address: str
) -> None:
    server.sent_files["c1"] = b"x"
    server.reply(
        Answer(200, json.dumps({"downloadUrl": address}).encode()), path="/messageFiles/download"
    )
    with pytest.raises(BackendError, match="its own"):
        dingtalk.fetch({"kind": "document", "file_id": "c1"}, 100)


# ---- what DingTalk refuses


@pytest.mark.parametrize("code", ["invalidParameter.msgParam.sensitive", "content.illegal"])
def test_a_refused_text_is_a_note(dingtalk: DingTalk, server: DingTalkServer, code: str) -> None:
    server.fail(430104, path="/sendBySession", times=2)
    server.fail(code, path="/groupMessages/send")
    send(dingtalk, TO_GROUP, "**secret**", to=LIVE)
    assert targets(server) == [GROUP]
    assert "secret" not in server.texts()[0]


@pytest.mark.parametrize("code", ["staffId.notExisted", "resource.not.found"])
def test_a_chat_that_takes_nothing_is_given_up(
    dingtalk: DingTalk, server: DingTalkServer, code: str
) -> None:
    server.fail(code, path="/batchSend")
    with pytest.raises(Refused, match=code) as refused:
        send(dingtalk, TO_ALICE, "hello")
    assert refused.value.code == "EBLOCKED"
    server.staff.clear()
    with pytest.raises(Refused, match="not in the organization"):
        send(dingtalk, TO_ALICE, "hello")


@pytest.mark.parametrize(
    "answer",
    [
        Answer(403, b'{"code": "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi"}'),
        Answer(429, b""),
        Answer(200, b'{"processQueryKey": "k", "flowControlledStaffIdList": ["manager4711"]}'),
        Answer(200, b'{"errcode": 130101, "errmsg": "send too fast, exceed 20 times per minute"}'),
        Answer(200, b'{"errcode": -1, "errmsg": "busy"}'),
    ],
)
def test_dingtalk_may_ask_to_slow_down(
    dingtalk: DingTalk, server: DingTalkServer, answer: Answer
) -> None:
    by_session = b"errcode" in bytes(answer.body)  # type: ignore[arg-type]
    server.reply(answer, path="/sendBySession" if by_session else "/batchSend")
    with pytest.raises(Busy) as busy:
        send(dingtalk, TO_ALICE, "hello", to=LIVE if by_session else "")
    assert busy.value.retry_after == 60.0
    assert server.messages == []


@pytest.mark.parametrize("path", ["/sendBySession", "/batchSend"])
@pytest.mark.parametrize(
    "answer",
    [
        Answer(502, b"<html>"),
        Answer(403, b'{"code": "Forbidden.AccessDenied.AccessTokenPermissionDenied"}'),
        Answer(cut=True),
    ],
)
def test_trouble_is_tried_again_later(
    dingtalk: DingTalk, server: DingTalkServer, answer: Answer, path: str
) -> None:
    to = LIVE if path == "/sendBySession" else ""
    server.reply(answer, path=path)
    with pytest.raises(BackendError) as problem:
        send(dingtalk, TO_ALICE, "hello", to=to)
    assert problem.value.code == "EUNAVAILABLE"
    send(dingtalk, TO_ALICE, "hello", to=to)
    assert server.texts() == ["hello"]


def test_an_access_token_that_ended_is_fetched_anew_by_one(
    dingtalk: DingTalk, server: DingTalkServer
) -> None:
    send(dingtalk, TO_ALICE, "one")
    server.token += 1
    in_parallel(4, lambda _: send(dingtalk, TO_ALICE, "two"))
    assert len(server.messages) == 5
    assert len(server.calls("/accessToken")) == 2
    server.token += 1
    files = (AttachedFile("a.txt", "text/plain", lambda: b"a"),)
    send(dingtalk, TO_ALICE, "", files=files)
    assert len(server.calls("/accessToken")) == 3


def test_a_wrong_secret_says_what_to_check(server: DingTalkServer) -> None:
    robot = DingTalk(APP, "wrong", api=server.url, old_api=server.url)
    with pytest.raises(BackendError) as problem:
        robot.fetch_bot_name()
    robot.close()
    assert "DINGTALK_APP_SECRET" in problem.value.suggestion


# ---- that an answer is on its way


def test_a_sign_stands_below_the_message_until_the_answer_is_there(
    dingtalk: DingTalk, server: DingTalkServer
) -> None:
    event = receive(dingtalk, make_message("1", "hello"))
    assert dingtalk.show_waiting(event) == 0.0
    assert server.signs == {"msg1=="}
    send(dingtalk, TO_ALICE, "hi", to=event.reply_to)
    assert server.signs == set()
    dingtalk.show_waiting(event)
    dingtalk.end_waiting(event)
    assert len(server.calls("/emotion/reply")) == 1


def test_a_turn_without_an_answer_leaves_no_sign(
    dingtalk: DingTalk, server: DingTalkServer
) -> None:
    event = receive(dingtalk, make_message("1", "hello", **in_group()))
    dingtalk.show_waiting(event)
    dingtalk.end_waiting(event)
    assert (server.signs, len(server.calls("/emotion/recall"))) == (set(), 1)
    server.fail("Forbidden.AccessDenied", 403, path="/reply")
    dingtalk.show_waiting(receive(dingtalk, make_message("2", "hello")))
