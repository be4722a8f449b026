"""Replies reach the chat, whatever Feishu says to them at first."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from functions.channels.base import AttachedFile, Busy, Reply
from functions.channels.feishu.channel import Feishu
from functions.events import Button, Event, Quote
from sigil.errors import BackendError, Refused, UsageError
from tests.fakes.feishu import (
    ALICE,
    APP,
    BOB,
    BOT,
    GROUP,
    SECRETS,
    FeishuServer,
    encrypt,
    make_message,
    make_press,
    sign,
)
from tests.fakes.forms import read_form
from tests.fakes.server import Answer
from tests.threads import in_parallel

TO_ALICE = f"feishu:{ALICE}"
TO_GROUP = f"feishu:{GROUP}"
THREAD = f"feishu:{GROUP}:om_root"
LIBRARY_REQUESTS = {
    "POST /auth/v3/tenant_access_token/internal": {"app_id", "app_secret"},
    "POST /im/v1/messages?receive_id_type": {"receive_id", "msg_type", "content", "uuid"},
    "POST /im/v1/messages/ID/reply": {"content", "msg_type", "reply_in_thread", "uuid"},
    "POST /im/v1/images": {"image_type", "image"},
    "POST /im/v1/files": {"file_type", "file_name", "file"},
    "POST /im/v1/messages/ID/reactions": {"reaction_type"},
    "DELETE /im/v1/messages/ID/reactions/ID": set(),
    "GET /contact/v3/users/ID?user_id_type": set(),
}
"""What lark-oapi 1.7.5 sent to our fake, which took it all: the fields of each request. It weighs
67 MB, so no test installs it.
"""


def send(feishu: Feishu, session: str, text: str, **reply: Any) -> list[int]:
    left: list[int] = []
    feishu.send(Reply(session, text, **reply), left.append)
    return left


def receive(feishu: Feishu, payload: dict[str, Any]) -> Event:
    (event,) = feishu.receive(sign(encrypt(payload))).events
    return event


def test_a_plain_answer_is_a_plain_message(feishu: Feishu, server: FeishuServer) -> None:
    send(feishu, TO_ALICE, "It is four.")
    (message,) = server.messages
    assert (message["to"], message["msg_type"]) == (ALICE, "text")
    assert message["content"] == {"text": "It is four."}


def test_markdown_is_a_card(feishu: Feishu, server: FeishuServer) -> None:
    send(feishu, TO_GROUP, "# Sum\n\n| a | b |\n|---|---|\n| 1 | 2 |", to="om_1")
    (message,) = server.messages
    assert (message["to"], message["msg_type"]) == ("om_1", "interactive")
    assert message["content"]["config"]["summary"]["content"].startswith("Sum")
    assert "| 1 | 2 |" in server.texts()[0]


def test_the_next_piece_of_an_answer_points_at_nothing(
    feishu: Feishu, server: FeishuServer
) -> None:
    send(feishu, TO_GROUP, "more", to="om_1", goes_on=True)
    assert server.messages[0]["to"] == TO_GROUP.partition(":")[2]


def test_a_thread_is_answered_in_the_thread(feishu: Feishu, server: FeishuServer) -> None:
    send(feishu, THREAD, "yes", to="om_2")
    (message,) = server.messages
    assert (message["to"], message["reply_in_thread"]) == ("om_root", True)


def test_requests_have_the_fields_that_the_official_library_sends(
    feishu: Feishu, server: FeishuServer
) -> None:
    event = receive(feishu, make_message("1", "hello"))
    accepted = feishu.accept(event)
    assert accepted
    feishu.show_waiting(accepted)
    notes = AttachedFile("notes.md", "text/markdown", lambda: b"# Notes")
    picture = AttachedFile("a.png", "image/png", lambda: b"\x89PNG\r\n\x1a\n")
    send(feishu, TO_ALICE, "It is **four**.", key="k1", files=(notes, picture))
    send(feishu, TO_GROUP, "It is **four**.", key="k2", to="om_1")
    seen = set()
    for request in server.requests:
        path = re.sub("/((om|ou)_[a-z0-9]+|ZC-[a-z0-9_]+)", "/ID", request.path.partition("=")[0])
        name = f"{request.method} {path.removeprefix('/open-apis')}"
        if request.headers.get("content-type", "").startswith("multipart/"):
            fields = set(read_form(request))
        else:
            fields = set(request.json() if request.body else ())
        assert fields <= LIBRARY_REQUESTS[name], name
        seen.add(name)
    assert seen == set(LIBRARY_REQUESTS)


@pytest.mark.parametrize("session", [TO_GROUP, THREAD])
def test_a_message_that_was_recalled_is_not_answered_there(
    feishu: Feishu, server: FeishuServer, session: str
) -> None:
    server.gone = {"om_1", "om_root"}
    send(feishu, session, "here", to="om_1")
    assert [message["to"] for message in server.messages] == [GROUP]


def test_a_part_that_was_sent_is_not_shown_twice(feishu: Feishu, server: FeishuServer) -> None:
    for _ in range(2):  # a crash between sending and noting
        send(feishu, TO_ALICE, "once", key="e1")
    send(feishu, TO_ALICE, "once", key="e2")
    assert server.texts() == ["once", "once"]


def test_a_long_answer_comes_in_parts_and_goes_on_where_it_stopped(
    feishu: Feishu, server: FeishuServer
) -> None:
    text = "\n\n".join(f"**{number}** " + "word " * 3_000 for number in range(3))
    assert send(feishu, TO_ALICE, text) == [1, 2]
    parts = server.texts()
    server.messages.clear()
    assert send(feishu, TO_ALICE, text, start=1) == [2]
    assert server.texts() == parts[1:]


def test_what_is_too_long_for_messages_is_a_file(feishu: Feishu, server: FeishuServer) -> None:
    text = "\n\n".join("字" * 7_000 for _ in range(12))
    send(feishu, TO_ALICE, text)
    assert [message["msg_type"] for message in server.messages][-1] == "file"
    assert len(server.messages) == 10
    assert server.uploads[0]["file"].decode() == text


def test_a_refused_card_is_sent_as_text_and_then_as_a_note(
    feishu: Feishu, server: FeishuServer
) -> None:
    server.fail(230099, path="/messages", message="ErrCode: 11310; table number over limit")
    send(feishu, TO_ALICE, "**bold** <at id=all></at>")
    assert server.texts() == ["bold <\u200bat id=all><\u200b/at>"]
    server.fail(230028, path="/messages", times=2)
    send(feishu, TO_ALICE, "**secret**")
    assert "secret" not in server.texts()[1]


@pytest.mark.parametrize("code", [230002, 230013, 230035, 999])
def test_a_chat_that_takes_nothing_is_given_up(
    feishu: Feishu, server: FeishuServer, code: int
) -> None:
    server.fail(code, path="/messages", message="no")
    with pytest.raises(Refused, match=f"{code}") as refused:
        send(feishu, TO_GROUP, "hello")
    assert refused.value.code == "EBLOCKED"


@pytest.mark.parametrize(
    ("code", "status", "header", "seconds"),
    [
        (99991400, 400, {"x-ogw-ratelimit-reset": "7"}, 7.0),
        (0, 429, {"x-ogw-ratelimit-reset": "soon"}, 0.0),
        (230020, 400, {}, 0.0),
        (11232, 200, {}, 0.0),
        (230049, 400, {}, 0.0),
    ],
)
def test_feishu_may_ask_to_slow_down(
    feishu: Feishu,
    server: FeishuServer,
    code: int,
    status: int,
    header: dict[str, str],
    seconds: float,
) -> None:
    body = json.dumps({"code": code, "msg": "slow"}).encode()
    server.reply(Answer(status, body, header), path="/messages")
    with pytest.raises(Busy) as busy:
        send(feishu, TO_ALICE, "hello")
    assert busy.value.retry_after == seconds


@pytest.mark.parametrize(
    "answer",
    [
        Answer(502, b"<html>"),
        Answer(200, b"no json"),
        Answer(400, b'{"code": 99991672, "msg": "im:message is required"}'),
        Answer(cut=True),
    ],
)
def test_trouble_is_tried_again_later(feishu: Feishu, server: FeishuServer, answer: Answer) -> None:
    server.reply(answer, path="/messages")
    with pytest.raises(BackendError) as problem:
        send(feishu, TO_ALICE, "hello")
    assert problem.value.code == "EUNAVAILABLE"
    send(feishu, TO_ALICE, "hello")
    assert server.texts() == ["hello"]


def test_an_access_token_that_ended_is_fetched_anew_by_one(
    feishu: Feishu, server: FeishuServer
) -> None:
    send(feishu, TO_ALICE, "one")
    server.token += 1
    in_parallel(4, lambda _: send(feishu, TO_ALICE, "two"))
    assert len(server.messages) == 5
    assert len(server.calls("/tenant_access_token/internal")) == 2


def test_a_wrong_secret_says_what_to_check(server: FeishuServer) -> None:
    bot = Feishu(APP, "wrong", SECRETS, server.url)
    with pytest.raises(BackendError) as problem:
        send(bot, TO_ALICE, "hello")
    bot.close()
    assert "FEISHU_APP_SECRET" in problem.value.suggestion


def test_buttons_bring_their_command_back(feishu: Feishu, server: FeishuServer) -> None:
    buttons = (Button("Approve", "/approve a1b2c3"), Button("Deny", "/deny a1b2c3"))
    send(feishu, THREAD, "May I?", buttons=buttons)
    (row,) = [
        each for each in server.messages[0]["content"]["body"]["elements"] if "columns" in each
    ]
    (first, _) = [column["elements"][0] for column in row["columns"]]
    assert first["text"]["content"] == "Approve"
    value = first["behaviors"][0]["value"]
    press = receive(feishu, make_press("p1", value, by=BOB, chat=GROUP))
    assert (press.text, press.session) == ("/approve a1b2c3", THREAD)


def test_files_and_pictures_are_sent(feishu: Feishu, server: FeishuServer) -> None:
    def gone() -> bytes:
        raise UsageError("ENOENT", "gone")

    files = (
        AttachedFile("Umsätze.csv", "text/csv", lambda: b"a,b"),
        AttachedFile("p.png", "image/png", lambda: b"\x89PNG..."),
        AttachedFile("q.png", "image/png", lambda: b"no picture"),
        AttachedFile("old.txt", "text/plain", gone),
    )
    svg = '```svg\n<svg xmlns="http://www.w3.org/2000/svg"><circle r="4"/></svg>\n```'
    send(feishu, TO_ALICE, f"Here:\n\n{svg}", files=files)
    kinds = [message["msg_type"] for message in server.messages]
    assert kinds == ["text", "file", "file", "image", "file", "text"]
    assert [upload.get("file_name") for upload in server.uploads] == [
        "picture.svg",
        "Umsätze.csv",
        None,
        "q.png",
    ]
    assert "old.txt" in server.texts()[-1]


def test_a_file_of_a_message_is_fetched(feishu: Feishu, server: FeishuServer) -> None:
    server.sent_files = {"file_v3_1": b"a,b\n", "json": b'{"code": 1}'}
    payload = make_message(
        "1", {"file_key": "file_v3_1", "file_name": "a.csv"}, message_type="file"
    )
    (attachment,) = receive(feishu, payload).attachments
    assert feishu.fetch(attachment, 100) == b"a,b\n"
    assert feishu.fetch({"kind": "document", "file_id": "om_1/json"}, 100) == b'{"code": 1}'
    with pytest.raises(UsageError, match="too large"):
        feishu.fetch(attachment, 3)
    with pytest.raises(Refused):
        feishu.fetch({"kind": "photo", "file_id": "om_1/unknown"}, 100)
    with pytest.raises(UsageError):
        feishu.fetch({"kind": "photo", "file_id": "../../x"}, 100)


# ---- who speaks, and to whom


def test_a_groups_message_is_ours_when_it_names_us(feishu: Feishu, server: FeishuServer) -> None:
    for who, is_ours in ((BOT, True), (BOB, False)):
        mentions = {"@_user_1": (who, "X")}
        event = receive(feishu, make_message("1", "@_user_1 hi", group=GROUP, mentions=mentions))
        accepted = feishu.accept(event)
        assert bool(accepted) == is_ours
        assert not accepted or accepted.sender.name == "Alice"


def test_an_answer_to_our_message_is_for_us(feishu: Feishu, server: FeishuServer) -> None:
    text = {"msg_type": "text", "body": {"content": '{"text": "Shall I?"}'}}
    server.stored = {
        "om_ours": {**text, "sender": {"id": APP, "id_type": "app_id", "sender_type": "app"}},
        "om_bobs": {**text, "sender": {"id": BOB, "id_type": "open_id", "sender_type": "user"}},
        "om_other": {**text, "sender": {"id": "cli_x", "sender_type": "app"}},
    }
    for parent in ("om_bobs", "om_other", "om_unknown"):
        event = receive(feishu, make_message("2", "yes", group=GROUP, parent_id=parent))
        assert feishu.accept(event) is None
    accepted = feishu.accept(
        receive(feishu, make_message("2", "yes", group=GROUP, parent_id="om_ours"))
    )
    assert accepted
    (quote,) = accepted.quotes
    assert (quote.relation, quote.text, quote.ours) == ("reply", "Shall I?", True)


def test_messages_that_are_forwarded_together_are_read(
    feishu: Feishu, server: FeishuServer
) -> None:
    def say(sender: str, kind: str, content: object) -> dict[str, Any]:
        fields = {"id": sender, "id_type": "open_id", "sender_type": "user"}
        return {"msg_type": kind, "sender": fields, "body": {"content": json.dumps(content)}}

    payload = make_message("7", "Merged and Forwarded Message", message_type="merge_forward")
    server.stored["om_7"] = say(ALICE, "merge_forward", "Merged and Forwarded Message")
    server.forwarded["om_7"] = [
        say(BOB, "text", {"text": "it fails"}),
        say(ALICE, "image", {"image_key": "img_1"}),
        say("ou_x; --", "system", {"text": "Bob left"}),
    ]
    accepted = feishu.accept(receive(feishu, payload))
    assert accepted is not None
    said = "Bob: it fails\nAlice: [photo]"
    assert accepted.quotes == (Quote("forward", said, length=len(said)),)
    assert [file["file_id"] for file in accepted.attachments] == ["om_7/img_1"]
    # the same, when somebody answers it; what is gone stays a message that cannot be read
    answer = feishu.accept(receive(feishu, make_message("8", "why?", parent_id="om_7")))
    assert answer is not None
    assert answer.quotes[0].text == said
    assert [file["file_id"] for file in answer.quotes[0].files] == ["om_7/img_1"]
    del server.stored["om_7"]
    unread = feishu.accept(receive(feishu, payload))
    assert unread is not None
    assert [file["kind"] for file in unread.attachments] == ["merge_forward"]


def test_names_are_asked_once_and_never_empty(feishu: Feishu, server: FeishuServer) -> None:
    def name_of(sender: str, group: str = "") -> str:
        mentions = {"@_user_1": (BOT, "Sigil")}
        payload = make_message("1", "@_user_1 hi", sender=sender, group=group, mentions=mentions)
        accepted = feishu.accept(receive(feishu, payload))
        assert accepted
        return accepted.sender.name

    server.members = {"ou_c": "Carol"}
    assert [name_of(ALICE), name_of(ALICE), name_of("ou_c", GROUP)] == ["Alice", "Alice", "Carol"]
    assert len(server.calls(f"/users/{ALICE}")) == 1
    assert name_of("ou_d", GROUP) == "ou_d"
    server.fail(1, 500, path="/users/ou_e")
    assert name_of("ou_e") == "ou_e"
    server.names["ou_e"] = "Eve\n<x>"
    assert name_of("ou_e") == "Eve <x>"


def test_a_bot_without_an_id_is_tried_again(feishu: Feishu, server: FeishuServer) -> None:
    mentions = {"@_user_1": (BOT, "Sigil")}
    event = receive(feishu, make_message("1", "@_user_1 hi", group=GROUP, mentions=mentions))
    server.fail(10003, path="/bot/v3/info")
    with pytest.raises(BackendError):
        feishu.accept(event)
    assert feishu.accept(event)


# ---- that an answer is on its way


def test_a_reaction_stands_below_the_message_until_the_answer_is_there(
    feishu: Feishu, server: FeishuServer
) -> None:
    event = receive(feishu, make_message("1", "hello"))
    assert feishu.show_waiting(event) == 0.0
    assert server.reactions == {"om_1": "Typing"}
    send(feishu, TO_ALICE, "hi", to="om_1")
    assert server.reactions == {}
    feishu.show_waiting(event)
    feishu.end_waiting(event)
    assert len(server.calls("/om_1/reactions")) == 1


def test_a_turn_without_an_answer_leaves_no_reaction(feishu: Feishu, server: FeishuServer) -> None:
    event = receive(feishu, make_message("1", "hello"))
    feishu.show_waiting(event)
    feishu.end_waiting(event)
    assert server.reactions == {}
    server.fail(231002, path="/reactions", times=9)
    feishu.show_waiting(receive(feishu, make_message("2", "hello")))


def test_a_message_is_changed_where_it_stands_and_sent_once(
    feishu: Feishu, server: FeishuServer
) -> None:
    for session in (TO_ALICE, TO_GROUP, THREAD):
        first, again = (feishu.send_editable(session, "at work", session) for _ in range(2))
        assert first == again
        feishu.edit(session, first, "at rest")
    assert server.texts() == ["at rest"] * 3
    with pytest.raises(Refused):
        feishu.edit(TO_ALICE, "om_sent99", "gone")
