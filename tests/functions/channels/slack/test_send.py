"""Replies in Slack: their blocks, their limits, their repair, and what shows that one comes."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from functions.channels.base import AttachedFile, Busy, PlatformRequest, Reply
from functions.channels.render.slack import render_parts
from functions.channels.slack.channel import Slack
from functions.channels.slack.reply_address import SlackReplyAddress
from functions.events import Button, Event, Quote, Sender
from sigil.errors import BackendError, Refused, UsageError
from sigil.storage.kv import keys
from sigil.storage.kv.memory import MemoryKV
from tests.fakes import slack as fake
from tests.fakes.server import Answer
from tests.fakes.slack import ADA, BOB, BOT, CHAT, DIRECT, SECRET, TEAM, TOKEN, SlackWorkspace
from tests.fakes.slack_rules import message_problem, read_blocks

PRIVATE = f"slack:{TEAM}.{ADA}"
CHANNEL = f"slack:{CHAT}"
TS = "1780000000.000100"
THREAD = "1779999999.000200"
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>'


@pytest.fixture
def workspace() -> Iterator[SlackWorkspace]:
    with SlackWorkspace() as found:
        yield found


@pytest.fixture
def slack(workspace: SlackWorkspace) -> Iterator[Slack]:
    channel = Slack(TOKEN, SECRET, workspace.api)
    yield channel
    channel.close()


def send(slack: Slack, text: str, session: str = CHANNEL, **more: object) -> list[int]:
    counted: list[int] = []
    slack.send(Reply(session, text, **more), counted.append)  # type: ignore[arg-type]
    return counted


def make_event(session: str = CHANNEL, **more: object) -> Event:
    fields: dict[str, object] = {
        "id": f"slack:{CHAT}:{TS}",
        "kind": "message",
        "agent": "main",
        "session": session,
        "sender": Sender(PRIVATE, ADA),
        "text": "hi",
        "at": 1.0,
        "order": "1",
        "reply_to": SlackReplyAddress(CHAT, TS).encode(),
    }
    return Event(**fields | more)  # type: ignore[arg-type]


def test_a_reply_goes_to_its_channel_thread_or_person(
    slack: Slack, workspace: SlackWorkspace
) -> None:
    for session in (CHANNEL, f"{CHANNEL}:{THREAD}", PRIVATE):
        assert send(slack, "Hello **world**", session) == []
    places = [(each["channel"], each.get("thread_ts")) for each in workspace.messages]
    assert places == [(CHAT, None), (CHAT, THREAD), (DIRECT, None)]
    [block] = workspace.messages[0]["blocks"]
    assert block["elements"][0]["elements"] == [
        {"type": "text", "text": "Hello "},
        {"type": "text", "text": "world", "style": {"bold": True}},
    ]
    for foreign in ("telegram:42", "slack:X", "slack:C1:now", f"slack:{CHAT}/../x"):
        with pytest.raises(UsageError):
            send(slack, "hi", foreign)


def test_nothing_that_a_reply_says_names_anybody(slack: Slack, workspace: SlackWorkspace) -> None:
    text = (
        f"<!here> <@{BOB}> <#{CHAT}> <https://evil.example|label> &lt;!channel&gt; @here\n\n"
        f"`<!everyone>`\n\n```\n<@{BOB}>\n```\n> <!here>\n\n[<@{BOB}>](https://example.com/<!here>)"
    )
    send(slack, text)
    workspace.fail("invalid_blocks")
    send(slack, text)
    assert workspace.pings == []
    rich, plain = workspace.messages
    assert rich["seen"].startswith(f"<!here> <@{BOB}>")
    assert "blocks" not in plain
    assert plain["seen"].startswith(f"<!here> <@{BOB}>")


def test_markdown_becomes_blocks_that_slack_takes() -> None:
    text = (
        "# Title\n\nSome *text* with ~~strikes~~, `code` and [a link](https://example.com).\n\n"
        "- one\n- two\n\n> quoted\n> ```\n> code in it\n> ```\n\n```python\nif a < b:\n    pass\n```\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end."
    )
    [part] = render_parts(text)
    blocks = list(part.blocks)
    assert message_problem("x", blocks) == ""
    areas = [area["type"] for area in blocks[0]["elements"]]  # type: ignore[attr-defined]
    assert areas == [
        "rich_text_section",
        "rich_text_list",
        "rich_text_quote",
        "rich_text_preformatted",
        "rich_text_preformatted",
        "rich_text_section",
    ]
    title = blocks[0]["elements"][0]["elements"][0]  # type: ignore[index]
    assert title == {"type": "text", "text": "Title", "style": {"bold": True}}
    assert "if a < b:\n    pass" in read_blocks(blocks)  # type: ignore[arg-type]


def test_lists_are_slacks_own() -> None:
    text = (
        "Do:\n\n1. first *thing*\n   - deeper\n\n   - [ ] to do\n2. second\n   and more\n\nThen:\n"
        "```\n• no item\n```\n3. third\n- `a\n• b`\n- "
    )
    [part] = render_parts(text)
    assert message_problem("x", list(part.blocks)) == ""
    shown: list[object] = []
    for area in part.blocks[0]["elements"]:  # type: ignore[attr-defined]
        if area["type"] == "rich_text_list":
            texts = [read_blocks([{"type": "rich_text", "elements": [area]}])]
            shown.append((area["style"], area["indent"], area.get("offset", 0), *texts))
        else:
            shown.append("".join(run["text"] for run in area["elements"]))
    assert shown == [
        "Do:",
        ("ordered", 0, 0, "first thing"),
        ("bullet", 1, 0, "deeper\n☐ to do"),
        ("ordered", 0, 1, "second\n  and more"),
        "Then:",
        "• no item",
        ("ordered", 0, 2, "third"),
        ("bullet", 0, 0, "a • b\n "),
    ]


@pytest.mark.parametrize(
    "text", ["- *a* " * 900, "*a* " * 900, "\u202e" * 9, "``` " * 900, "[x](http://y) " * 300]
)
def test_whatever_a_model_writes_is_taken(text: str) -> None:
    for part in render_parts(text):
        assert message_problem("x", list(part.blocks)) == ""


def test_a_long_reply_goes_on_after_the_part_that_left(
    slack: Slack, workspace: SlackWorkspace
) -> None:
    text = "\n\n".join(f"paragraph {number} " + "word " * 300 for number in range(5))
    assert send(slack, text) == [1, 2]
    whole = [each["seen"] for each in workspace.messages]
    del workspace.messages[:]
    send(slack, text, start=1)
    assert [each["seen"] for each in workspace.messages] == whole[1:]


def test_a_reply_of_more_than_ten_messages_ends_in_a_file(
    slack: Slack, workspace: SlackWorkspace
) -> None:
    text = "word " * 20_000
    send(slack, text, f"{CHANNEL}:{THREAD}")
    assert len(workspace.messages) == 9
    [file] = workspace.files
    assert (file["name"], file["channel"], file["thread"]) == ("answer.md", CHAT, THREAD)
    assert file["content"].decode() == text
    assert file["comment"]


def test_pictures_and_files_are_uploaded(slack: Slack, workspace: SlackWorkspace) -> None:
    def read_gone() -> bytes:
        raise UsageError("ENOENT", "gone")

    files = (
        AttachedFile("Übersicht.csv", "text/csv", lambda: b"a,b\n"),
        AttachedFile("old.txt", "text/plain", read_gone),
    )
    send(slack, f"Here:\n\n```svg\n{PICTURE}\n```", PRIVATE, files=files)
    assert [(each["name"], each["channel"]) for each in workspace.files] == [
        ("picture.svg", DIRECT),
        ("Übersicht.csv", DIRECT),
    ]
    assert "old.txt" in workspace.messages[-1]["seen"]


def test_a_chat_that_takes_no_files_reads_why(slack: Slack, workspace: SlackWorkspace) -> None:
    file = AttachedFile("a.txt", "text/plain", lambda: b"a")
    workspace.fail("file_uploads_disabled", method="files.getUploadURLExternal")
    send(slack, "Here:", files=(file,))
    workspace.fail("missing_scope", method="files.getUploadURLExternal", needed="files:write")
    send(slack, "Here:", files=(file,))
    assert len(workspace.messages) == 4
    assert workspace.files == []


def test_a_text_that_is_refused_is_sent_plain_and_then_as_a_note(
    slack: Slack, workspace: SlackWorkspace
) -> None:
    workspace.fail("invalid_blocks", times=2)
    send(slack, "**odd**", buttons=(Button("Yes", "/approve 0123abcd"),))
    assert "platform did not take this part" in workspace.messages[0]["seen"]
    workspace.fail("no_text", times=3)
    with pytest.raises(Refused) as refused:
        send(slack, "odd")
    assert refused.value.code == "EBLOCKED"


@pytest.mark.parametrize(
    "error", ["channel_not_found", "is_archived", "not_in_channel", "no_such_word"]
)
def test_a_chat_that_is_closed_to_us_never_gets_the_reply(
    slack: Slack, workspace: SlackWorkspace, error: str
) -> None:
    workspace.fail(error)
    with pytest.raises(Refused) as refused:
        send(slack, "hi")
    assert refused.value.code == "EBLOCKED"
    assert len(workspace.calls("chat.postMessage")) == 1


def test_slack_is_asked_again_when_it_asks_to_slow_down(
    slack: Slack, workspace: SlackWorkspace
) -> None:
    workspace.fail("ratelimited", 429, headers={"retry-after": "30"})
    with pytest.raises(Busy) as busy:
        send(slack, "hi")
    assert busy.value.retry_after == 30.0
    workspace.fail("ratelimited")
    with pytest.raises(Busy):
        send(slack, "hi")
    workspace.reply(Answer(429, b"", {"retry-after": "soon"}))
    with pytest.raises(Busy):
        send(slack, "hi")


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (Answer(500, b"oops"), ""),
        (Answer(200, b"<html>"), ""),
        (Answer(200, b'{"ok":false,"error":"internal_error"}'), ""),
        (Answer(200, b'{"ok":false,"error":"token_revoked"}'), "SLACK_TOKEN"),
        (Answer(200, b'{"ok":false,"error":"missing_scope","needed":"chat:write"}'), "chat:write"),
        (Answer(302, b"", {"location": "https://example.com"}), ""),
        (Answer(cut=True), ""),
    ],
)
def test_a_reply_that_failed_for_now_is_tried_again(
    slack: Slack, workspace: SlackWorkspace, answer: Answer, hint: str
) -> None:
    workspace.reply(answer)
    with pytest.raises(BackendError) as failed:
        send(slack, "hi")
    assert failed.value.code == "EUNAVAILABLE"
    assert hint in failed.value.suggestion
    assert TOKEN not in f"{failed.value} {failed.value.suggestion}"


def test_buttons_stand_below_the_last_message(slack: Slack, workspace: SlackWorkspace) -> None:
    buttons = (Button("Allow " * 30, "/approve 0123abcd"), Button("No", "/deny 0123abcd"))
    send(slack, "word " * 1_000, buttons=buttons)
    first, last = workspace.messages
    assert [block["type"] for block in first["blocks"]] == ["rich_text"]
    keys = last["blocks"][-1]["elements"]
    assert [key["value"] for key in keys] == ["/approve 0123abcd", "/deny 0123abcd"]


def test_a_command_is_answered_at_its_address_where_the_bot_is_no_member(
    slack: Slack, workspace: SlackWorkspace, caplog: pytest.LogCaptureFixture
) -> None:
    now = time.time()
    to = SlackReplyAddress("C0OTHERS1", url=workspace.response_url, ends=int(now + 60))
    workspace.members.clear()
    with caplog.at_level(logging.DEBUG):
        send(slack, "Fine, **thanks**", "slack:C0OTHERS1", to=to.encode())
    logged = "\n".join(record.getMessage() for record in caplog.records if "http" in record.name)
    assert "secret" not in logged
    [response] = workspace.responses
    assert (response["seen"], response["response_type"]) == ("Fine, thanks", "in_channel")
    assert workspace.messages == []


@pytest.mark.parametrize("case", ["late", "used", "foreign"])
def test_an_address_that_is_over_gives_way_to_an_ordinary_message(
    slack: Slack, workspace: SlackWorkspace, case: str
) -> None:
    ends = int(time.time()) + (-1 if case == "late" else 60)
    url = "http://127.0.0.1:9/x" if case == "foreign" else workspace.response_url
    if case == "used":
        workspace.responses += [{}] * 5
    send(slack, "still here", to=SlackReplyAddress(CHAT, url=url, ends=ends).encode())
    assert [each["seen"] for each in workspace.messages] == ["still here"]


def test_a_reply_of_many_parts_uses_an_address_five_times(
    slack: Slack, workspace: SlackWorkspace
) -> None:
    to = SlackReplyAddress(CHAT, url=workspace.response_url, ends=int(time.time()) + 60)
    send(slack, "word " * 5_000, to=to.encode())
    assert len(workspace.responses) == 5
    assert len(workspace.messages) == 2


def test_people_and_those_they_name_have_their_names(
    slack: Slack, workspace: SlackWorkspace
) -> None:
    event = make_event(text=f"ask <@{BOB}> and <@U0GONE001>")
    for _ in range(2):
        accepted = slack.accept(event)
        assert accepted is not None
        assert accepted.sender == Sender(PRIVATE, "Ada")
        assert accepted.text == "ask @Bob B. and @U0GONE001"
        assert accepted.language == "en-US"
    asked = [each["user"] for each in workspace.calls("users.info")]
    assert sorted(asked) == sorted([ADA, BOB, "U0GONE001"])


def test_a_thread_is_known_by_its_first_message(slack: Slack, workspace: SlackWorkspace) -> None:
    workspace.first_messages.append(fake.message(f"<@{ADA}> it &lt;fails&gt;", THREAD, BOB, CHAT))
    session = f"{CHANNEL}:{THREAD}"
    asked = make_event(session, text="why?")
    workspace.fail("fatal_error", method="conversations.replies")
    # by its author it is found and erased
    bob = f"slack:{TEAM}.{BOB}"
    for quotes in ((), (Quote("reply", "@Ada it <fails>", "Bob B.", bob, length=23),)):
        accepted = slack.accept(asked)
        assert accepted is not None
        assert accepted.quotes == quotes
    # what is handled again is the same; what follows in the thread needs no quote
    again = [slack.accept(event) for event in (asked, replace(asked, id="slack:C0:2"))]
    assert [len(event.quotes) for event in again if event] == [1, 0]
    assert len(workspace.calls("conversations.replies")) == 3
    answer = fake.message("I said", "1779999999.000300", BOT, CHAT, bot_id="B0BOT0001")
    workspace.first_messages.append(answer)
    ours = slack.accept(make_event(f"{CHANNEL}:1779999999.000300"))
    assert ours is not None
    assert ours.quotes == (Quote("reply", "I said", ours=True, length=6),)


def test_a_person_of_another_workspace_is_not_kept_as_one_of_the_senders(
    slack: Slack, workspace: SlackWorkspace
) -> None:
    kv = MemoryKV()
    slack.use_store(kv)
    workspace.people["U0OTHER01"] = {"team_id": "T0OTHER", "profile": {"display_name": "Olga"}}
    accepted = slack.accept(make_event(text=f"ask <@{BOB}> and <@U0OTHER01>"))
    assert accepted is not None
    assert accepted.text == "ask @Bob B. and @Olga"
    kept = {sort for sort, _ in kv.scan(keys.known_person("main", "").partition)}
    assert kept == {PRIVATE, f"slack:{TEAM}.{BOB}"}


def test_what_is_overheard_has_the_names_that_are_known(
    slack: Slack, workspace: SlackWorkspace
) -> None:
    slack.accept(make_event())
    asked = len(workspace.requests)
    said = fake.message(f"<@{ADA}> and <@{BOB}>, lunch?", TS, ADA, CHAT)
    [heard] = slack.receive(PlatformRequest(*fake.json_request(fake.event_payload(said)))).overheard
    assert heard.sender == Sender(PRIVATE, "Ada")
    assert heard.text == f"@Ada and @{BOB}, lunch?"
    assert len(workspace.requests) == asked


def test_channels_that_a_message_names_by_ids_have_names(
    slack: Slack, workspace: SlackWorkspace
) -> None:
    workspace.channels = {
        "C0CHAN003": {"id": "C0CHAN003", "name": "random", "is_private": False},
        "G0SECRET1": {"id": "G0SECRET1", "name": "board", "is_private": True},
    }
    text = "see <#C0CHAN003|>, <#G0SECRET1> and <#C0CHAN009|>"
    for _ in range(2):
        accepted = slack.accept(make_event(text=text, quotes=(Quote("forward", "<#C0CHAN003>"),)))
        assert accepted is not None
        assert accepted.text == "see #random, #channel and #channel"
        assert accepted.quotes[0].text == "#random"
    assert len(workspace.calls("conversations.info")) == 3
    said = fake.message("lunch in <#C0CHAN003|> or <#C0CHAN004|>?", TS, ADA, CHAT)
    [heard] = slack.receive(PlatformRequest(*fake.json_request(fake.event_payload(said)))).overheard
    assert heard.text == "lunch in #random or #channel?"
    workspace.fail("internal_error", method="conversations.info")
    accepted = slack.accept(make_event(text="<#C0CHAN005> <#C0CHAN006>"))
    assert accepted is not None
    assert accepted.text == "#channel #channel"
    assert len(workspace.calls("conversations.info")) == 4


def test_a_message_that_names_hundreds_asks_for_a_few(
    slack: Slack, workspace: SlackWorkspace
) -> None:
    crowd = " ".join(f"<@U0CROWD{number:03d}>" for number in range(300))
    accepted = slack.accept(make_event(text=crowd))
    assert accepted is not None
    assert "@U0CROWD299" in accepted.text
    assert len(workspace.calls("users.info")) <= 11


def test_a_person_stays_themselves_while_slack_tells_no_name(
    slack: Slack, workspace: SlackWorkspace
) -> None:
    workspace.fail("internal_error", method="users.info")
    accepted = slack.accept(make_event())
    assert accepted is not None
    assert accepted.sender == Sender(PRIVATE, ADA)
    accepted = slack.accept(make_event())
    assert accepted is not None
    assert accepted.sender.name == "Ada"


def test_a_mention_is_ours_by_our_own_id(slack: Slack) -> None:
    assert slack.accept(make_event(text="<@U1> hi", addressed=("U0OTHER01",))) is None
    ours = slack.accept(make_event(text=f"<@{BOT}> !stop", addressed=("U0OTHER01", BOT)))
    assert ours is not None
    assert (ours.text, ours.addressed) == ("/stop", ())
    joined = slack.accept(make_event(text="", addressed=(BOT,), joined=True))
    assert joined is not None
    assert joined.addressed == ("sigil",)


def test_a_thread_shows_that_an_answer_comes(slack: Slack, workspace: SlackWorkspace) -> None:
    event = make_event(f"{CHANNEL}:{THREAD}")
    assert slack.show_waiting(event) > 0
    slack.end_waiting(event)
    assert [each.get("status", "") for each in workspace.statuses] == ["…", ""]
    assert {each["thread_ts"] for each in workspace.statuses} == {THREAD}


def test_elsewhere_the_eyes_are_on_the_message_until_it_is_answered(
    slack: Slack, workspace: SlackWorkspace
) -> None:
    event = make_event()
    assert slack.show_waiting(event) == 0.0
    assert workspace.reactions == {(CHAT, TS, "eyes")}
    send(slack, "done", to=event.reply_to)
    assert workspace.reactions == set()
    other = make_event(reply_to=SlackReplyAddress(CHAT, THREAD).encode())
    slack.show_waiting(other)
    assert workspace.reactions == {(CHAT, THREAD, "eyes")}
    slack.end_waiting(other)
    assert workspace.reactions == set()
    workspace.fail("missing_scope", method="reactions.add", needed="reactions:write")
    slack.show_waiting(make_event(reply_to=SlackReplyAddress(CHAT, "1.000001").encode()))


def test_an_answer_that_was_faster_than_its_sign_leaves_none(
    slack: Slack, workspace: SlackWorkspace
) -> None:
    event = make_event()
    send(slack, "done", to=event.reply_to)
    slack.show_waiting(event)
    assert workspace.calls("reactions.add") == []


def test_a_file_that_somebody_sent_is_fetched(slack: Slack, workspace: SlackWorkspace) -> None:
    workspace.sent_files["F0FILE001"] = b"# Notes\n"
    assert slack.fetch({"file_id": "F0FILE001"}, 100) == b"# Notes\n"
    with pytest.raises(UsageError) as large:
        slack.fetch({"file_id": "F0FILE001"}, 3)
    assert large.value.code == "ETOOBIG"
    page = Answer(200, b"<html>sign in", {"content-type": "text/html; charset=utf-8"})
    for answer in (page, Answer(302, b"", {"location": "https://example.com"})):
        workspace.reply(answer, method="files")
        with pytest.raises(BackendError) as closed:
            slack.fetch({"file_id": "F0FILE001"}, 100)
        assert "files:read" in closed.value.suggestion
    for id in ("F0GONE001", "../x"):
        with pytest.raises((Refused, UsageError)):
            slack.fetch({"file_id": id}, 100)


def test_the_token_goes_to_no_foreign_host(slack: Slack, workspace: SlackWorkspace) -> None:
    for url in (
        "http://127.0.0.1:9/x",
        "https://slack.com.evil.example/x",
        "https://evilslack.com/x",
        "https://u@files.slack.com/x",
        "http://files.slack.com/x",
        "file:///etc/passwd",
    ):
        assert not slack.api.trusts(url)
        answer = Answer(200, b'{"ok":true,"file":{"url_private":"%s"}}' % url.encode())
        workspace.reply(answer, method="files.info")
        with pytest.raises(BackendError, match="foreign"):
            slack.fetch({"file_id": "F0FILE001"}, 100)
    assert slack.api.trusts("https://files.slack.com/files-pri/T1-F1/download/a.md")


def test_a_token_that_lacks_scopes_is_told(slack: Slack, workspace: SlackWorkspace) -> None:
    assert slack.list_missing_scopes() == ()
    workspace.scopes = "chat:write,users:read"
    assert "files:read" in slack.list_missing_scopes()
    assert slack.fetch_bot_name() == "sigil"


@pytest.mark.parametrize(("token", "api"), [("xoxp-1", ""), ("", "ftp://x"), ("xoxb-1\n", "")])
def test_a_setting_that_cannot_be_right_is_refused(token: str, api: str) -> None:
    with pytest.raises(UsageError):
        Slack(token, SECRET, api or "https://slack.com/api")


def test_a_message_is_changed_where_it_stands(slack: Slack, workspace: SlackWorkspace) -> None:
    for session in (CHANNEL, f"{CHANNEL}:{THREAD}", PRIVATE):
        sent = slack.send_editable(session, "at work <!here>", "k")
        slack.edit(session, sent, "at rest <!here>")
        with pytest.raises(Refused):
            slack.edit(session, f"{CHAT}/1790000000.000099", "gone")
    assert [message["seen"] for message in workspace.messages] == ["at rest <!here>"] * 3
    assert [message.get("thread_ts") for message in workspace.messages] == [None, THREAD, None]
    assert workspace.pings == []
