"""Only what DingTalk signed is read, and becomes our events, or none."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from functions.channels.base import PlatformAnswer, PlatformRequest, Received
from functions.channels.dingtalk.channel import DingTalk
from functions.channels.dingtalk.messages import Robot, find_conversation, read_message
from functions.channels.dingtalk.reply_address import DingTalkReplyAddress
from functions.channels.dingtalk.signature import STALE_SECONDS
from functions.channels.dingtalk.signature import sign as sign_time
from functions.events import Event, decode, encode
from functions.overheard import OverheardMessage
from sigil.errors import Refused, UsageError
from tests.fakes.dingtalk import (
    AES_KEY,
    ALICE,
    APP,
    CHAT,
    GROUP,
    NOW,
    ROBOT,
    SECRET,
    SESSION,
    encrypt,
    in_group,
    make_message,
    sign,
)
from tests.functions.channels.contract import ChannelContract, Door
from tests.tables import each_row

ROBOT_OF_OURS = Robot(APP, "dingtalk", "main")
ALICES = f"dingtalk:{ALICE}"
GROUPS = "dingtalk:group:cid5DEAySu_Fk-mtMwii4NLYQ"
STRANGER = "$:LWCP_v1:$gzXDEXQDiM8piyLH4HRRcg=="
SAMPLES = {
    "a private message": make_message("1", "hello"),
    "a mention in a group": make_message("2", " what is new?", **in_group()),
    "a picture": make_message("3", {"downloadCode": "mIofN681"}, msgtype="picture"),
}
SILENT: dict[str, Any] = {
    "our own": make_message("4", "hello", senderId=ROBOT, senderStaffId=""),
    "nobody's": make_message("4", "hello", senderId="", senderStaffId=""),
    "an empty one": make_message("4", " "),
    "a group's that names others": make_message("4", "lunch?", **in_group(isInAtList=False)),
    "of another kind of chat": make_message("4", "hello", conversationType="3"),
    "without an id": make_message("", "hello", msgId="a b"),
}


class TestDingTalk(ChannelContract):
    name = "dingtalk"
    proofs = ("timestamp", "sign")
    signs_body = False
    window = STALE_SECONDS

    def open_channel(self) -> DingTalk:
        return DingTalk(APP, SECRET, now=lambda: NOW)

    def list_samples(self) -> Mapping[str, tuple[bytes, tuple[str, ...]]]:
        return {
            sample: (self.pack(message), (f"dingtalk:{APP}:{message['msgId']}",))
            for sample, message in SAMPLES.items()
        }

    def list_silent(self) -> Mapping[str, bytes]:
        return {sample: self.pack(message) for sample, message in SILENT.items()}

    def pack(self, message: dict[str, Any]) -> bytes:
        return json.dumps(message).encode()

    def sign(self, body: bytes, age: float = 0.0) -> PlatformRequest:
        return sign(body, NOW - age)


class TestEncryptedDingTalk(TestDingTalk):
    """The robot has a key: the same messages within an envelope."""

    def open_channel(self) -> DingTalk:
        return DingTalk(APP, SECRET, AES_KEY, now=lambda: NOW)

    def sign(self, body: bytes, age: float = 0.0) -> PlatformRequest:
        return sign(json.dumps({"encrypt": encrypt(body)}).encode(), NOW - age)


def read(message: dict[str, Any]) -> Received:
    return read_message(message, ROBOT_OF_OURS)


def only(message: dict[str, Any]) -> Event:
    (event,) = read(message).events
    assert decode(encode(event)) == event
    return event


def test_the_signature_is_the_one_of_the_documentation() -> None:
    # computed once with dingtalk's own formula, by OpenSSL
    assert sign_time("1577262236757", "this is a secret") == (
        "DJrE6qdyVGCQz9z5r2MDuNcNAhwYnuAkyj13cx169CA="
    )


def test_without_a_secret_everything_is_refused() -> None:
    with pytest.raises(Refused):
        DingTalk(APP, "", now=lambda: NOW).receive(sign(b"{}", secret=""))


def test_a_webhook_with_the_key_needs_no_secret_and_takes_nothing_old() -> None:
    robot = DingTalk(APP, "", AES_KEY, now=lambda: NOW)
    message = make_message("1", "hello")
    pack = TestEncryptedDingTalk().sign
    (event,) = robot.receive(pack(json.dumps(message).encode())).events
    assert event.text == "hello"
    old = make_message("1", "hello", createAt=int((NOW - STALE_SECONDS - 2) * 1000))
    for forged in (pack(json.dumps(old).encode()), sign(json.dumps(message).encode())):
        with pytest.raises(Refused) as refused:
            robot.receive(forged)
        assert refused.value.code == "EAUTH"


def test_a_robot_with_a_key_takes_nothing_that_is_not_encrypted_with_it() -> None:
    robot = DingTalk(APP, SECRET, AES_KEY, now=lambda: NOW)
    plain = json.dumps(make_message("1", "/halt")).encode()
    other = "A" * 43
    forged = [
        plain,
        b"",
        b"{",
        b'{"encrypt": 5}',
        b'{"encrypt": "YWJj"}',
        json.dumps({"encrypt": encrypt(plain, other)}).encode(),
        json.dumps({"encrypt": encrypt(plain)[:-24]}).encode(),
    ]
    for body in forged:
        with pytest.raises(Refused) as refused:
            robot.receive(sign(body))
        assert refused.value.code == "EAUTH"
    answer = Door(robot, "dingtalk").send(sign(plain))
    assert answer.status == 401


@pytest.mark.parametrize("key", ["short", "x" * 42 + "!", "A" * 44])
def test_a_key_that_is_none_says_so(key: str) -> None:
    with pytest.raises(UsageError, match="43 characters"):
        DingTalk(APP, SECRET, key)


def test_dingtalk_reads_nothing_in_the_answer() -> None:
    door = Door(DingTalk(APP, SECRET, now=lambda: NOW), "dingtalk")
    body = json.dumps(make_message("1", "hello")).encode()
    assert door.send(sign(body)) == PlatformAnswer(200, b"")
    assert door.send(PlatformRequest({}, method="GET")).status == 401


def test_a_private_message_is_an_event_of_its_senders_chat() -> None:
    event = only(make_message("1", "  hello \u202e"))
    assert (event.session, event.sender.id, event.sender.name) == (ALICES, ALICES, "Alice")
    assert (event.private, event.text, event.at) == (True, "  hello ", NOW)
    address = DingTalkReplyAddress.parse(event.reply_to)
    assert address == DingTalkReplyAddress("msg1==", CHAT, SESSION, NOW + 5400)


def test_a_group_is_a_place_of_its_own() -> None:
    event = only(make_message("1", " what is new?", **in_group()))
    assert (event.session, event.private) == (GROUPS, False)
    assert (event.text, event.addressed) == ("what is new?", ())
    assert find_conversation(GROUPS) == GROUP
    assert find_conversation(ALICES) == ""


def test_a_group_whose_id_has_another_form_is_a_place_of_its_own() -> None:
    odd = (
        "cid-odd_id-1==",
        GROUP.rstrip("="),
        "chat:7/../x#main",
        "dingtalk:manager4711",
        "群 1",
        "a",
    )
    sessions = [only(make_message("1", "hi", **in_group(conversationId=id))).session for id in odd]
    assert len({GROUPS, *sessions}) == len(odd) + 1
    for id, session in zip(odd, sessions, strict=True):
        # nothing in an id is taken for another part of a session, or for another chat
        assert re.fullmatch(r"dingtalk:group:id-[A-Za-z0-9_-]+", session)
        assert find_conversation(session) == id
    assert (
        find_conversation("dingtalk:group:id-YR") == find_conversation("dingtalk:group:id-_") == ""
    )
    for id in ("", "a\nb", "\u202ea", "x" * 101, 5):
        received = read(make_message("1", "hi", **in_group(conversationId=id)))
        assert (received.events, received.ignored) == ((), ("text, in no known chat",))


def test_what_people_say_to_each_other_is_overheard() -> None:
    for named in (False, None, "true"):
        received = read(make_message("1", "lunch?", **in_group(isInAtList=named)))
        assert received.events == ()
        (heard,) = received.overheard
        assert isinstance(heard, OverheardMessage)
        assert (heard.session, heard.text, heard.sender.name) == (GROUPS, "lunch?", "Alice")


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        (" /stop", "/stop"),
        ("@Sigil /stop now", "/stop now"),
        ("@Sigil stop", "@Sigil stop"),
        ("tell @Sigil /stop", "tell @Sigil /stop"),
    ],
)
def test_a_command_begins_behind_our_name(text: str, becomes: str) -> None:
    event = only(make_message("1", text, **in_group()))
    assert event.text == becomes
    assert event.is_control == becomes.startswith("/stop")


def test_a_person_of_another_organization_is_known_by_another_id() -> None:
    event = only(make_message("1", "hello", senderStaffId="", senderNick=""))
    assert event.session == event.sender.id == f"dingtalk:{STRANGER}"
    assert event.sender.name == STRANGER
    odd = only(make_message("1", "hello", senderStaffId="group:cid5DEAySu_Fk-mtMwii4NLYQ"))
    assert odd.session == f"dingtalk:{STRANGER}"


@each_row(
    "url",
    [
        "",
        f"http://oapi.dingtalk.com/robot/sendBySession?session={SESSION}",
        f"https://oapi.dingtalk.com.evil.example/robot/sendBySession?session={SESSION}",
        f"https://oapi.dingtalk.com@evil.example/robot/sendBySession?session={SESSION}",
        f"https://evil.example/robot/sendBySession?session={SESSION}",
        f"https://oapi.dingtalk.com:8080/robot/sendBySession?session={SESSION}",
        f"https://oapi.dingtalk.com/robot/send?session={SESSION}",
        "https://oapi.dingtalk.com/robot/sendBySession?session=a&access_token=b",
        "https://oapi.dingtalk.com/robot/sendBySession?session=a\r\nhost: evil.example",
        "https://169.254.169.254/latest/meta-data",
    ],
)
def test_an_address_that_is_not_dingtalks_own_is_never_kept(url: str) -> None:
    event = only(make_message("1", "hello", sessionWebhook=url))
    assert DingTalkReplyAddress.parse(event.reply_to) == DingTalkReplyAddress("msg1==", CHAT)


def test_an_address_ends() -> None:
    address = DingTalkReplyAddress("m", CHAT, SESSION, NOW + 5400)
    assert address.find_session(NOW) == SESSION
    assert address.find_session(NOW + 5400 - 59) == ""
    forever = make_message("1", "hello", sessionWebhookExpiredTime=2**62)
    assert DingTalkReplyAddress.parse(only(forever).reply_to).ends == NOW + 86_400
    for odd in (None, "soon", -1, 0):
        event = only(make_message("1", "hello", sessionWebhookExpiredTime=odd))
        assert DingTalkReplyAddress.parse(event.reply_to).session == ""


def test_an_address_is_shown_to_nobody() -> None:
    assert SESSION not in repr(only(make_message("1", "hello")))


def test_files_and_other_contents_are_read() -> None:
    def contents(kind: str, **fields: Any) -> Event:
        return only(make_message("1", fields, msgtype=kind))

    (photo,) = contents("picture", downloadCode="a/b+c=", pictureDownloadCode="d").attachments
    assert (photo["kind"], photo["file_id"]) == ("photo", "a/b+c=")
    (file,) = contents("file", downloadCode="d", fileName="a\nb.csv", fileSize="12").attachments
    assert (file["kind"], file["name"], file["size"]) == ("document", "a b.csv", 12)
    assert contents("video", downloadCode="d", duration="3").attachments[0]["kind"] == "video"
    assert contents("unknownMsgType").attachments[0]["kind"] == "unknownMsgType"


def test_a_voice_message_is_what_dingtalk_heard_and_no_command() -> None:
    heard = {"downloadCode": "d", "duration": 4000, "recognition": "/stop"}
    event = only(make_message("1", heard, msgtype="audio"))
    assert event.text == "[voice, transcribed] /stop"
    assert not event.is_control
    assert event.attachments == ()


def test_rich_text_is_markdown_with_its_pictures() -> None:
    pieces = [
        {"text": "Look: "},
        {"type": "bold", "text": "this"},
        {"type": "picture", "downloadCode": "c1", "pictureDownloadCode": "p1"},
        {"text": "\n"},
        {"type": "inlineCode", "text": "x = 1"},
        "odd",
    ]
    event = only(make_message("1", {"richText": pieces}, msgtype="richText"))
    assert event.text == "Look: **this**\n`x = 1`"
    assert [each["file_id"] for each in event.attachments] == ["c1"]


def test_what_is_answered_is_a_quote() -> None:
    answered = {"msgType": "text", "senderId": ROBOT, "content": {"text": "Shall I?"}}
    said = {"content": "yes", "isReplyMsg": True, "repliedMsg": answered}
    (quote,) = only(make_message("1", "", text=said)).quotes
    assert (quote.relation, quote.text, quote.ours) == ("reply", "Shall I?", True)
    answered["content"], answered["msgType"] = {}, "picture"
    assert only(make_message("1", "", text=said)).quotes[0].text == "[picture]"


@settings(max_examples=60, deadline=None)
@given(
    field=st.sampled_from(sorted(make_message("1", "x", **in_group()))),
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=9), each),
        max_leaves=8,
    ),
)
def test_an_odd_field_is_no_error(field: str, value: Any) -> None:
    for event in read({**make_message("1", "hello", **in_group()), field: value}).events:
        assert decode(encode(event)) == event


def test_receiving_loads_no_client() -> None:
    code = (
        "import sys\n"
        "import functions.channels.dingtalk.channel as c\n"
        "c.DingTalk('dinga1', 's')\n"
        "bad = {'httpx', 'markdown_it', 'cryptography'} & set(sys.modules)\n"
        "sys.exit(str(bad) if bad else 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
