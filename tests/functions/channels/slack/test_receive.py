"""What Slack sends is verified on its raw bytes, and read as events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from functions.channels.base import PlatformAnswer, PlatformRequest, Received
from functions.channels.slack.channel import Slack
from functions.channels.slack.reply_address import SlackReplyAddress
from functions.events import Event, Quote
from sigil.errors import Refused
from tests.fakes import slack as fake
from tests.fakes.slack import ADA, BOB, BOT, CHAT, DIRECT, SECRET, TEAM
from tests.functions.channels.contract import ChannelContract
from tests.tables import each_row

TS = "1780000000.000100"
THREAD = "1779999999.000200"
AT = 1_780_000_003


def encode(event: Mapping[str, Any]) -> bytes:
    return json.dumps(fake.event_payload(event)).encode()


def receive(request: tuple[Mapping[str, str], bytes], now: float = AT) -> Received:
    channel = Slack("", SECRET, now=lambda: now)
    return channel.receive(PlatformRequest(*request))


def hear(event: Mapping[str, Any], **outer: Any) -> Received:
    return receive(fake.json_request(fake.event_payload(event, **outer), AT))


def read_event(event: Mapping[str, Any], **outer: Any) -> Event:
    received = hear(event, **outer)
    assert received.answer.body == b""
    [found] = received.events
    return found


def test_a_request_signed_by_slacks_own_sdk_is_accepted() -> None:
    # the sample of https://docs.slack.dev/authentication/verifying-requests-from-slack
    body = (
        b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow"
        b"&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner"
        b"&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands"
        b"%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
        b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    )
    headers = {
        "content-type": "application/x-www-form-urlencoded",
        "x-slack-request-timestamp": "1531420618",
        "x-slack-signature": (
            "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
        ),
    }
    [event] = receive((headers, body), 1_531_420_700).events
    assert (event.session, event.sender.id) == ("slack:G8PSS9T3V", "slack:T1DC2JH3J.U2CERLKJA")
    assert event.text == "/help"


class TestSlack(ChannelContract):
    name = "slack"
    proofs = ("x-slack-signature", "x-slack-request-timestamp")
    window = 300.0

    def open_channel(self) -> Slack:
        return Slack("", SECRET, now=lambda: AT)

    def sign(self, body: bytes, age: float = 0.0) -> PlatformRequest:
        is_form = body.startswith((b"token=", b"payload="))
        kind = "application/x-www-form-urlencoded" if is_form else "application/json"
        return PlatformRequest({"content-type": kind, **fake.sign(body, AT - age)}, body)

    def list_samples(self) -> dict[str, tuple[bytes, tuple[str, ...]]]:
        mention = fake.message(f"<@{BOT}> hi", TS, channel=CHAT, thread_ts=THREAD)
        return {
            "private": (encode(fake.message("hi", TS)), (f"slack:{DIRECT}:{TS}",)),
            "mention": (encode(mention), (f"slack:{CHAT}:{TS}",)),
            "app_mention": (encode(mention | {"type": "app_mention"}), (f"slack:{CHAT}:{TS}",)),
            "command": (
                fake.form_request(fake.command("what is new?"))[1],
                (f"slack:{CHAT}:1337.42.abcdef0123456789",),
            ),
            "press": (
                fake.form_request(fake.press("/approve 0123abcd"))[1],
                (f"slack:{CHAT}:press-1780000009.5",),
            ),
        }

    def list_silent(self) -> dict[str, bytes]:
        changes: list[dict[str, Any]] = [
            {"subtype": "message_changed"},
            {"subtype": "message_deleted"},
            {"subtype": "channel_join"},
            {"subtype": "bot_message"},
            {"bot_id": "B0BOT0001"},
            {"user": BOT},
            {"user": "USLACKBOT"},
            {"user": None},
            {"user": {"id": ADA}},
            {"hidden": True},
            {"edited": {"user": ADA, "ts": TS}},
            {"ts": "now"},
            {"ts": 1780000000.0001},
            {"channel": "../C1"},
            {"team": "T'; --", "user_team": None},
            {"text": "   "},
            {"text": ["hi"]},
            {"type": "reaction_added"},
        ]
        silent = {str(change): encode(fake.message("hi", TS) | change) for change in changes}
        limited = json.dumps({"type": "app_rate_limited", "team_id": TEAM}).encode()
        for value in ("/halt", "/approve 0123abcd; /halt", "hello"):
            silent[f"press of {value}"] = fake.form_request(fake.press(value))[1]
        return silent | {
            "too many events": limited,
            "a command without a channel": fake.form_request(fake.command("x", "../x"))[1],
            "a payload that is no JSON": fake.form_request({"payload": "{"})[1],
        }

    def list_handshakes(self) -> list[tuple[PlatformRequest, PlatformAnswer]]:
        asked = {"type": "url_verification", "token": "x", "challenge": "3eZbrw1aBm2rZgRN"}
        check = fake.form_request({"token": "x", "ssl_check": "1"})[1]
        return [
            (
                self.sign(json.dumps(asked).encode()),
                PlatformAnswer(200, b'{"challenge":"3eZbrw1aBm2rZgRN"}'),
            ),
            (self.sign(check), PlatformAnswer()),
        ]


def test_without_a_secret_nothing_passes() -> None:
    headers, body = fake.json_request(fake.event_payload(fake.message("hi", TS)), AT)
    unsigned = headers | fake.sign(body, AT, "")
    with pytest.raises(Refused, match="SLACK_SECRET"):
        Slack("", "", now=lambda: AT).receive(PlatformRequest(unsigned, body))
    foreign = headers | fake.sign(body, AT, "another secret")
    with pytest.raises(Refused, match="another app"):
        receive((foreign, body))


def test_a_mistake_of_the_machines_clock_is_named() -> None:
    request = fake.json_request(fake.event_payload(fake.message("hi", TS)), AT)
    with pytest.raises(Refused, match="clock"):
        receive(request, AT + 3_600)


def test_a_private_chat_is_named_like_its_person() -> None:
    event = read_event(fake.message("Tom &amp; Jerry &lt;3", TS))
    assert event.text == "Tom & Jerry <3"
    assert event.session == event.sender.id == f"slack:{TEAM}.{ADA}"
    assert (event.id, event.private, event.addressed) == (f"slack:{DIRECT}:{TS}", True, ())
    assert SlackReplyAddress.decode(event.reply_to) == SlackReplyAddress(DIRECT, TS)
    assert (event.at, event.order[:15]) == (1_780_000_000.0001, "001780000000000")
    below = read_event(fake.message("and?", TS, thread_ts=THREAD))
    assert below.session == f"slack:{TEAM}.{ADA}:{THREAD}"


def test_a_mention_is_one_event_in_both_forms_in_which_it_comes() -> None:
    written = f"<@{BOT}> what's up, <@{BOB}>?"
    plain = fake.message(written, TS, channel=CHAT, thread_ts=THREAD)
    mention = {k: v for k, v in plain.items() if k != "channel_type"} | {"type": "app_mention"}
    first = read_event(plain)
    assert first == read_event(mention)
    assert first.text == f"what's up, <@{BOB}>?"
    assert (first.session, first.private) == (f"slack:{CHAT}:{THREAD}", False)


def test_what_people_say_to_each_other_is_overheard() -> None:
    for text, read in (("lunch?", "lunch?"), (f"<@{BOB}> lunch?", f"@{BOB} lunch?")):
        received = hear(fake.message(text, TS, channel=CHAT))
        assert received.events == ()
        [heard] = received.overheard
        assert (heard.session, heard.text) == (f"slack:{CHAT}", read)
    answered = fake.message("yes", TS, channel=CHAT, thread_ts=THREAD, parent_user_id=BOT)
    assert read_event(answered).addressed == ()


def test_without_an_authorization_a_mention_waits_for_our_name() -> None:
    event = read_event(fake.message(f"<@{BOT}> hi", TS, channel=CHAT), authorizations=[])
    assert event.addressed == (BOT,)


@each_row(
    ("written", "read"),
    [
        (
            "see <https://example.com/a?b=1&amp;c=2|the page>",
            "see the page (https://example.com/a?b=1&c=2)",
        ),
        (
            "<http://example.com|example.com> <mailto:a@example.com|a@example.com>",
            "example.com a@example.com",
        ),
        ("<https://example.com/x>", "https://example.com/x"),
        (
            "<#C0CHAN002|random> <#C0CHAN003|> <!here> <!subteam^S1|@ops>",
            "#random <#C0CHAN003|> @here @ops",
        ),
        ("<!subteam^S1> <!subteam^S1|>", "@group @group"),
        ("on <!date^1392734382^{date}|Feb 18>", "on Feb 18"),
        ("on <!date^1392734382^{date}>", "on 2014-02-18 14:39 UTC"),
        ("&lt;@U1&gt; a &amp;lt; b", "<@U1> a &lt; b"),
        ("!stop", "/stop"),
        ("!New topic", "/new topic"),
        ("!nice work", "!nice work"),
        ("!!stop", "!!stop"),
        ("/stop", "/stop"),
    ],
)
def test_a_text_is_read_as_its_sender_typed_it(written: str, read: str) -> None:
    assert read_event(fake.message(written, TS)).text == read


def test_a_command_of_ours_after_a_mention_counts_in_a_thread() -> None:
    event = read_event(fake.message(f"<@{BOT}> !stop", TS, channel=CHAT, thread_ts=THREAD))
    assert event.is_control


@each_row(
    ("fields", "text"),
    [
        ({"text": "status"}, "/status"),
        ({"text": "/status"}, "/status"),
        ({"text": "what is new?"}, "what is new?"),
        ({"text": ""}, "/help"),
        ({"text": "here", "command": "/unlock"}, "/unlock here"),
        ({"text": "", "command": "/stop"}, "/stop"),
    ],
)
def test_a_slash_command_is_a_command_of_ours_or_a_message(
    fields: dict[str, str], text: str
) -> None:
    url = "https://hooks.slack.com/commands/T0TEAM001/1/secret"
    [event] = receive(fake.form_request(fake.command(response_url=url, **fields), AT)).events
    assert (event.text, event.session, event.addressed) == (text, f"slack:{CHAT}", ())
    assert SlackReplyAddress.decode(event.reply_to).url == url
    assert url not in repr(SlackReplyAddress.decode("junk"))


def test_a_command_typed_between_two_people_is_answered_where_its_sender_is_alone() -> None:
    request = fake.form_request(fake.command("status", "D0OTHERS1", response_url="https://x"), AT)
    [event] = receive(request).events
    assert (event.session, event.private, event.reply_to) == (f"slack:{TEAM}.{ADA}", True, "")


def test_a_press_of_our_button_is_the_command_that_it_sends() -> None:
    [event] = receive(fake.form_request(fake.press("/approve 0123abcd", thread=THREAD), AT)).events
    assert (event.text, event.session) == ("/approve 0123abcd", f"slack:{CHAT}:{THREAD}")
    assert event.sender.id == f"slack:{TEAM}.{ADA}"


def test_files_of_a_message_are_named_and_not_fetched() -> None:
    files = [
        {"id": "F0FILE001", "name": "notes.md", "mimetype": "text/markdown", "size": 12},
        {"id": "F0FILE002", "name": "cat.png", "mimetype": "image/png", "size": 34},
        {"id": "F0FILE003", "mode": "tombstone"},
        {"id": "../etc", "name": "x"},
        {"id": "F0FILE004", "file_access": "check_file_info"},
    ]
    event = read_event(fake.message("", TS, subtype="file_share", files=files))
    kinds = [(each["kind"], each["file_id"], each["size"]) for each in event.attachments]
    assert kinds == [
        ("document", "F0FILE001", 12),
        ("photo", "F0FILE002", 34),
        ("document", "F0FILE004", 0),
    ]


def test_whoever_takes_us_into_a_channel_is_an_event() -> None:
    joined = {
        "type": "member_joined_channel",
        "user": BOT,
        "channel": CHAT,
        "team": TEAM,
        "inviter": ADA,
        "event_ts": TS,
    }
    event = read_event(joined)
    assert (event.joined, event.session, event.addressed) == (True, f"slack:{CHAT}", (BOT,))
    assert hear(joined | {"user": BOB}).events == ()


def test_a_person_of_another_workspace_is_somebody_else() -> None:
    event = read_event(fake.message(f"<@{BOT}> hi", TS, channel=CHAT, user_team="T0OTHER01"))
    assert event.sender.id == f"slack:T0OTHER01.{ADA}"


def test_a_message_that_is_passed_on_is_quoted_with_its_files() -> None:
    shared = {
        "is_share": True,
        "is_msg_unfurl": True,
        "author_id": BOB,
        "author_name": "Bob B.",
        "text": f"<@{ADA}> the build &amp; the tests",
        "fallback": "[November 28th] bob: the build",
        "from_url": "https://example.slack.com/archives/C0OTHERS1/p1779",
        "files": [{"id": "F0LOG", "name": "build.log", "mimetype": "text/plain", "size": 5}],
    }
    page = {"title": "A page", "text": "of the web", "from_url": "https://example.com"}
    odd = [{"is_share": True}, {"is_share": 1, "text": "x"}, None, "x"]
    event = read_event(fake.message("", TS, attachments=[page, shared, *odd]))
    assert event.text == ""
    assert event.quotes == (
        Quote("forward", f"<@{ADA}> the build & the tests\n[document]", "Bob B.", length=45),
    )
    assert [file["file_id"] for file in event.attachments] == ["F0LOG"]
