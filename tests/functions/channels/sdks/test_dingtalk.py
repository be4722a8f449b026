"""DingTalk's own SDK beside our channel: both read the same messages and ask for the same."""

from __future__ import annotations

import json

import pytest

from functions.channels.base import Reply
from functions.channels.dingtalk.messages import find_conversation
from tests.fakes.dingtalk import (
    APP,
    NOW,
    SECRET,
    SESSION,
    DingTalkServer,
    in_group,
    make_message,
    open_dingtalk,
    sign,
)
from tests.fakes.dingtalk_stream import DingTalkStream
from tests.functions.channels.sdks.sdk import RESTS_ON, ask

pytestmark = [pytest.mark.thorough, pytest.mark.rests_on(*RESTS_ON)]
PICTURE = {"downloadCode": "mIofN681"}
MESSAGES = (
    make_message("1", "hello"),
    make_message("2", " what is new?", **in_group()),
    make_message("3", PICTURE, msgtype="picture"),
    make_message("4", {"richText": [{"text": "look"}, PICTURE]}, msgtype="richText"),
)


def test_messages_are_read_alike_and_answered_alike() -> None:
    with DingTalkServer() as server, DingTalkServer() as second, DingTalkStream(second) as stream:
        server.sent_files["mIofN681"] = second.sent_files["mIofN681"] = b"pixels"
        for message in MESSAGES:
            stream.emit(message)  # type: ignore[attr-defined]
        theirs = ask(
            "dingtalk",
            "listen",
            base=second.url,
            app=APP,
            secret=SECRET,
            count=len(MESSAGES),
            webhook=f"{second.url}/robot/sendBySession?session={SESSION}",
            file="mIofN681",
        )
        stream.wait_for_acknowledgement()  # type: ignore[attr-defined]
        channel = open_dingtalk(server)
        for message, read in zip(MESSAGES, theirs["heard"], strict=True):
            [event] = channel.receive(sign(json.dumps(message).encode())).events
            assert event.id == f"dingtalk:{APP}:{read['id']}"
            assert event.sender.id == f"dingtalk:{read['sender']}"
            assert event.sender.name == read["name"]
            assert event.private == read["private"]
            place = find_conversation(event.session) or event.sender.id
            assert place == (event.sender.id if event.private else read["chat"])
            assert event.private or read["named"]
            assert event.text.strip() == "".join(read["texts"] or ()).strip()
            assert [each["file_id"] for each in event.attachments] == (read["images"] or [])
            assert event.at == read["at"] == NOW
            accepted = channel.accept(event)
            assert accepted
            reply = Reply(event.session, "Hello **you**", event.reply_to)
            channel.send(reply, lambda _: None)
        assert channel.fetch({"file_id": "mIofN681"}, 100) == b"pixels"
        channel.close()
    assert theirs["answers"] == [{"errcode": 0, "errmsg": "ok"}] * len(MESSAGES)
    for path in ("/v1.0/oauth2/accessToken", "/v1.0/robot/messageFiles/download"):
        [our] = server.calls(path)
        [their] = second.calls(path)
        assert (our.method, our.path, our.json()) == (their.method, their.path, their.json())
        token = "x-acs-dingtalk-access-token"
        assert our.headers.get(token) == their.headers.get(token)
    ours = [request.json() for request in server.calls("/robot/sendBySession")]
    named = [request.json() for request in second.calls("/robot/sendBySession")]
    for our, their in zip(ours, named, strict=True):
        # the SDK names who asked, which our channel leaves
        del their["at"]
        assert our["markdown"].keys() == their["markdown"].keys()
        assert our | {"markdown": their["markdown"]} == their
