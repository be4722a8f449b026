"""What GitHub sends to the webhook."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest

from functions.channels.base import TAKEN, PlatformAnswer, PlatformRequest, Received
from functions.channels.github.channel import GitHub
from functions.channels.github.events import MARKER, find_mentions
from functions.channels.github.places import Issue
from functions.events import Event, Quote, Sender
from sigil.errors import Refused, UsageError
from tests.fakes.github import (
    ISSUE,
    PERSON,
    PERSON_FIELDS,
    PERSON_ID,
    REPOSITORY,
    SECRET,
    TOKEN,
    deliver,
    make_comment,
    make_payload,
    sign,
)
from tests.functions.channels.contract import ChannelContract
from tests.tables import each_row


def open_github() -> GitHub:
    return GitHub((REPOSITORY,), TOKEN, SECRET)


def read(event: str, payload: dict[str, Any]) -> Received:
    return open_github().receive(deliver(event, payload))


def read_one(event: str, payload: dict[str, Any]) -> Event:
    [found] = read(event, payload).events
    return found


class TestGitHub(ChannelContract):
    name = "github"
    proofs = ("x-hub-signature-256",)

    def open_channel(self) -> GitHub:
        return open_github()

    def sign(self, body: bytes, age: float = 0.0) -> PlatformRequest:
        return sign(body)

    def list_samples(self) -> dict[str, tuple[bytes, tuple[str, ...]]]:
        named = json.dumps(make_comment(1, "@sigil-bot hi")).encode()
        command = json.dumps(make_comment(2, "/uncaged what is new?")).encode()
        return {
            "a mention": (named, ("github:issue_comment:600001",)),
            "a command": (command, ("github:issue_comment:600002",)),
        }

    def list_silent(self) -> dict[str, bytes]:
        bot = {"id": 1, "login": "dependabot[bot]", "type": "Bot"}
        elsewhere = {"full_name": "octocat/other"}
        own = f"@sigil-bot\n\n{MARKER}0a0a-0 -->"
        payloads = {
            "an edit": make_comment(1, "@sigil-bot") | {"action": "edited"},
            "another bot": make_comment(1, "@sigil-bot") | {"sender": bot},
            "another repository": make_comment(1, "@sigil-bot") | {"repository": elsewhere},
            "what we wrote": make_comment(1, own),
            "people among themselves": make_comment(1),
            "nothing": make_comment(1, " "),
            "odd ids": make_comment(1, "@sigil-bot", issue={"number": "7/../8"}),
            "an odd login": make_comment(1, "@sigil-bot", sender=PERSON_FIELDS | {"login": "a b"}),
        }
        return {name: json.dumps(payload).encode() for name, payload in payloads.items()}

    def list_handshakes(self) -> list[tuple[PlatformRequest, PlatformAnswer]]:
        ping = {"zen": "Keep it logically awesome.", "hook_id": 1, "hook": {"type": "Repository"}}
        return [(deliver("ping", ping), TAKEN)]


def test_without_a_secret_nothing_passes() -> None:
    with pytest.raises(Refused):
        GitHub((REPOSITORY,), TOKEN, "").receive(deliver("issue_comment", make_comment(), ""))


def test_a_comment_becomes_an_event_with_what_it_is_about() -> None:
    event = read_one("issue_comment", make_comment(1, "@sigil-bot why?"))
    assert event.session == "github:octocat.hello.world.7"
    assert Issue.parse(event.session) == Issue(REPOSITORY, 7)
    assert event.sender == Sender(f"github:{PERSON_ID}", PERSON)
    assert (event.private, event.addressed, event.reply_to) == (
        False,
        ("sigil-bot",),
        "comment:600001",
    )
    [quote] = event.quotes
    text = "It does not start\n\nAfter the update it ends at once."
    assert quote == Quote("reply", text, PERSON, f"github:{PERSON_ID}", length=len(text))
    assert event.at == 1_795_860_001


def test_new_issues_and_reviews_are_read() -> None:
    body = {"body": "@sigil-bot please look"}
    issue = read_one("issues", make_payload("opened", issue=ISSUE | body))
    assert (issue.text, issue.reply_to) == (
        "It does not start\n\n@sigil-bot please look",
        "issue:0",
    )
    pull = read_one("pull_request", make_payload("opened", pull_request=ISSUE | body))
    assert pull.session == issue.session
    assert pull.id != issue.id
    review = {"id": 8_000, "submitted_at": "2026-11-28T10:00:00Z", **body}
    payload = make_payload("submitted", pull_request=ISSUE, review=review)
    assert read_one("pull_request_review", payload).reply_to == "issue:0"


def test_a_comment_on_code_comes_with_the_code() -> None:
    comment = {
        "id": 700,
        "body": "@sigil-bot is this right?",
        "in_reply_to_id": 600,
        "path": "a.py",
        "diff_hunk": "@@ -1 +1 @@\n-x\n+y",
        "created_at": "2026-11-28T10:00:00Z",
    }
    payload = make_payload("created", pull_request=ISSUE, comment=comment)
    event = read_one("pull_request_review_comment", payload)
    assert event.reply_to == "review:700:600"
    assert event.quotes[1].text == "a.py\n@@ -1 +1 @@\n-x\n+y"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/uncaged status", "/status"),
        ("/Uncaged  HELP me", "/help me"),
        ("/uncaged /whoami", "/whoami"),
        ("/uncaged", "/help"),
        ("/uncaged what is new?", "what is new?"),
    ],
)
def test_a_command_is_addressed_to_us(text: str, said: str) -> None:
    event = read_one("issue_comment", make_comment(1, text))
    assert (event.text, event.addressed) == (said, ())


@each_row(
    ("text", "named"),
    [
        ("hi @Alice, and @bob!", ("alice", "bob")),
        ("(@alice)", ("alice",)),
        ("> @alice said\n\nyes @bob", ("bob",)),
        ("`@alice` ``@b`` @bob", ("bob",)),
        ("```\n@alice\n```\n@bob", ("bob",)),
        ("~~~\n@alice", ()),
        ("<!-- @alice --> @bob", ("bob",)),
        ("mail me@example.com, see @", ()),
        ("x @alice/team", ("alice",)),
        ("/uncagedfoo", ()),
    ],
)
def test_who_stands_in_code_or_quotes_is_not_addressed(text: str, named: tuple[str, ...]) -> None:
    assert find_mentions(text) == named


@pytest.mark.parametrize(
    "marks",
    [
        "`" * 30_000 + "a" * 30_000,
        "<!--" * 15_000,
        "> " * 30_000,
        "```\n" * 15_000,
        "``x`" * 15_000,
    ],
)
def test_many_marks_do_not_hold_the_webhook_up(marks: str) -> None:
    # each of these takes minutes when a pattern goes back over what it has read
    assert find_mentions(f"@alice\n{marks}") == ("alice",)


def test_what_people_say_to_each_other_is_overheard() -> None:
    received = read("issue_comment", make_comment(1, "me too"))
    assert [each.text for each in received.overheard] == ["me too"]
    named = read("issue_comment", make_comment(1, "@alice look"))
    assert [event.addressed for event in named.events] == [("alice",)]


@each_row("header", ["application/x-www-form-urlencoded", "application/json", ""])
def test_a_form_is_read_as_json_is(header: str) -> None:
    comment = make_comment(1, f"@sigil-bot 5 % + {chr(0x1F34E)} & more")
    request = sign(urlencode({"payload": json.dumps(comment)}).encode())
    headers = {**request.headers, "content-type": header}
    assert open_github().receive(replace(request, headers=headers)) == read(
        "issue_comment", comment
    )
    with pytest.raises(Refused):
        open_github().receive(replace(request, body=request.body + b"+"))


@each_row(
    "body",
    [
        b"payload=",
        b"payload=%7B%7D&payload=%7B%7D",
        b"payload=%FF",
        b"payload=\xff",
        b"payload=%ED%A0%80",
        b"payload=%7B",
        b"payload=%7B%7D" + b"&a=1" * 10_000,
        b"a=1&payload=%7B%7D",
    ],
)
def test_other_forms_are_not_understood(body: bytes) -> None:
    with pytest.raises(UsageError) as problem:
        open_github().receive(sign(body))
    assert "form" in problem.value.message


@pytest.mark.parametrize("event", ["", "issues", "pull_request_review_comment", "push", "ping"])
def test_another_kind_in_the_unsigned_header_makes_no_other_event(event: str) -> None:
    assert read(event, make_comment(1, "@sigil-bot hi")).events == ()


@pytest.mark.parametrize("name", ["octocat", "a/..", "a/b/c", "/b", "https://github.com/a/b"])
def test_odd_repositories_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        GitHub((name,), TOKEN, SECRET)
    assert Issue.parse("github:a...7") is None
