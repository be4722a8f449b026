"""Only what WeCom signed and encrypted is read, and becomes our events, or none."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from functions.channels.base import PlatformAnswer, PlatformRequest
from functions.channels.wecom.channel import WeCom
from functions.channels.wecom.messages import App, read_message
from functions.channels.wecom.signature import STALE_SECONDS
from functions.channels.wecom.signature import sign as sign_parts
from functions.channels.wecom.xml_fields import read_fields
from functions.events import PRESS, Event, decode, encode
from sigil.errors import Refused, UsageError
from tests.fakes.wecom import (
    AES_KEY,
    AGENT,
    ALICE,
    BOB,
    CORP,
    NOW,
    TOKEN,
    ask_challenge,
    make_message,
    make_press,
    pack,
)
from tests.functions.channels.contract import ChannelContract, Door
from tests.tables import each_row

APP = App(CORP, AGENT, "wecom", "main")
WECOM = WeCom(CORP, AGENT, "", TOKEN, AES_KEY, now=lambda: NOW)
CHALLENGE = b"1616140317555161061"


class TestWeCom(ChannelContract):
    name = "wecom"
    proofs = ("?msg_signature", "?timestamp", "?nonce")
    # what stands around the encrypted text proves nothing, and is not read
    signs_body = False
    window = STALE_SECONDS

    def open_channel(self) -> WeCom:
        return WeCom(CORP, AGENT, "", TOKEN, AES_KEY, now=lambda: NOW)

    def list_samples(self) -> Mapping[str, tuple[bytes, tuple[str, ...]]]:
        return {"a text": (make_message(7, "hello"), (f"wecom:{CORP}:{AGENT}:7",))}

    def list_silent(self) -> Mapping[str, bytes]:
        arrived = {"MsgType": "event", "Event": "enter_agent", "EventKey": ""}
        return {
            "an arrival": make_message(1, arrived, MsgId=None),
            "another app's": make_message(1, "hello", AgentID="1000003"),
            "another organization's": make_message(1, "hello", ToUserName="ww1"),
            "an empty one": make_message(1, " "),
            "nobody's": make_message(1, "hello", FromUserName="sys:x"),
            "without an id": make_message(1, "hello", MsgId=None),
            "a press of another card": make_press("/halt"),
        }

    def sign(self, body: bytes, age: float = 0.0) -> PlatformRequest:
        return pack(body, NOW - age)

    def list_handshakes(self) -> list[tuple[PlatformRequest, PlatformAnswer]]:
        return [(ask_challenge(CHALLENGE), PlatformAnswer(200, CHALLENGE, "text/plain"))]


def only(plain: bytes) -> Event:
    (event,) = read_message(read_fields(plain), APP).events
    assert decode(encode(event)) == event
    return event


def refuse(request: PlatformRequest, wecom: WeCom = WECOM) -> None:
    with pytest.raises(Refused) as refused:
        wecom.receive(request)
    assert refused.value.code == "EAUTH"


def test_the_signature_is_the_one_of_the_documentation() -> None:
    encrypted = (
        "RypEvHKD8QQKFhvQ6QleEB4J58tiPdvo+rtK1I9qca6aM/wvqnLSV5zEPeusUiX5L5X/0lWfrf0QADHHhGd3Qczcd"
        "CUpj911L3vg3W/sYYvuJTs3TUUkSUXxaccAS0qhxchrRYt66wiSpGLYL42aM6A8dTT+6k4aSknmPj48kzJs8qLjvd"
        "4Xgpue06DOdnLxAUHzM6+kDZ+HMZfJYuR+LtwGc2hgf5gsijff0ekUNXZiqATP7PF5mZxZ3Izoun1s4zG4LUMnvw2"
        "r+KqCKIw+3IQH03v+BCA9nMELNqbSf6tiWSrXJB3LAVGUcallcrw8V2t9EL4EhzJWrQUax5wLVMNS0+rUPA3k22Nc"
        "x4XXZS9o0MBH27Bo6BpNelZpS+/uh9KsNlY6bHCmJU9p8g7m3fVKn28H3KDYA5Pl/T8Z1ptDAVe0lXdQ2YoyyH2uy"
        "PIGHBZZIs2pDBS8R07+qN+E7Q=="
    )
    signed = sign_parts("QDG6eK", "1409659813", "1372623149", encrypted)
    assert signed == "477715d11cdb4164915debcba66cb864d751f3e6"
    documented = WeCom(
        "wx5823bf96d3bd56c7",
        "218",
        "",
        "QDG6eK",
        "jWmYm7qr5nMoAUwZRjGtBxmz3KA1tkAj3ykkR6q2B2C",
        now=lambda: 1_409_659_820.0,
    )
    query = {"msg_signature": signed, "timestamp": "1409659813", "nonce": "1372623149"}
    body = f"<xml><Encrypt><![CDATA[{encrypted}]]></Encrypt></xml>".encode()
    (event,) = documented.receive(PlatformRequest({}, body, query)).events
    assert (event.text, event.sender.id) == ("hello", "wecom:mycreate")


def test_every_change_of_what_is_encrypted_is_refused() -> None:
    request = pack(make_message(1, "/halt"))
    start = request.body.index(b"<Encrypt><![CDATA[") + len(b"<Encrypt><![CDATA[")
    for place in range(start, request.body.index(b"]]></Encrypt>")):
        changed = bytearray(request.body)
        changed[place] ^= 1
        refuse(replace(request, body=bytes(changed)))


def test_what_is_for_others_or_by_another_key_is_refused() -> None:
    refuse(pack(make_message(1, "hello"), receiver="ww1"))
    refuse(pack(make_message(1, "hello"), receiver=""))
    refuse(pack(make_message(1, "hello"), key="B" * 43))
    refuse(replace(ask_challenge(), query={**ask_challenge().query, "echostr": "YWJj"}))
    refuse(replace(pack(b"<xml/>"), method="PUT"))


def test_without_the_secrets_everything_is_refused() -> None:
    for token, key in (("", AES_KEY), (TOKEN, "")):
        refuse(pack(make_message(1, "hello")), WeCom(CORP, AGENT, "", token, key, now=lambda: NOW))


def test_wecom_reads_nothing_in_the_answer() -> None:
    door = Door(WECOM, "wecom")
    assert door.send(pack(make_message(1, "hello"))) == PlatformAnswer(200, b"")


@each_row(
    "document",
    [
        b'<!DOCTYPE xml [<!ENTITY a "aaaa">]><xml><Encrypt>&a;</Encrypt></xml>',
        b'<!DOCTYPE xml SYSTEM "file:///etc/passwd"><xml><Encrypt>a</Encrypt></xml>',
        b"<xml><Encrypt>&a;</Encrypt></xml>",
        b"<xml><Encrypt>a</Encrypt>",
        b"\xff\xfe",
        b"",
    ],
)
def test_more_of_xml_than_wecom_sends_is_nothing(document: bytes) -> None:
    assert read_fields(document) == {}
    refuse(replace(pack(b"<xml/>"), body=document))


def test_fields_are_the_texts_of_the_roots_children() -> None:
    document = (
        b"<xml>x<A>1 &lt;</A><B><![CDATA[<!DOCTYPE html>]]></B><A>2</A><C>a<D>b</D>c</C></xml>"
    )
    assert read_fields(document) == {"A": "1 <", "B": "<!DOCTYPE html>", "C": "ac"}


def test_a_text_is_an_event_of_its_senders_chat() -> None:
    event = only(make_message(7, "hello \u202e <b>"))
    assert (event.session, event.sender.id) == (f"wecom:{ALICE}", f"wecom:{ALICE}")
    assert (event.text, event.private, event.at) == ("hello  <b>", True, NOW)


def test_a_press_of_our_button_is_its_command() -> None:
    event = only(make_press("/approve a1b2c3", by=BOB))
    assert (event.text, event.session) == ("/approve a1b2c3", f"wecom:{BOB}")
    assert event.data[PRESS]
    assert only(make_press("/approve a1b2c3", by=BOB)).id == event.id
    assert only(make_press("/approve a1b2c3", by=BOB, at=NOW + 1)).id != event.id


def test_files_and_other_contents_are_read() -> None:
    def contents(kind: str, **fields: Any) -> Event:
        return only(make_message(1, {"MsgType": kind, **fields}))

    (photo,) = contents("image", PicUrl="https://x", MediaId="m_1-a").attachments
    assert (photo["kind"], photo["file_id"]) == ("photo", "m_1-a")
    (voice,) = contents("voice", MediaId="m", Format="amr").attachments
    assert (voice["kind"], voice["mime"]) == ("voice", "audio/amr")
    heard = contents("voice", MediaId="m", Recognition="/stop")
    assert (heard.text, heard.attachments) == ("[voice, transcribed] /stop", ())
    (place,) = contents("location", Location_X="1.5", Location_Y="2", Label="Café").quotes
    assert (place.relation, place.text) == ("location", "Café\nlatitude 1.5, longitude 2")
    (link,) = contents("link", Title="T", Description="D", Url="https://x").quotes
    assert link.text == "T\nD\nhttps://x"
    assert contents("unknown_kind").attachments[0]["kind"] == "unknown_kind"


@settings(max_examples=60, deadline=None)
@given(
    field=st.sampled_from(("FromUserName", "CreateTime", "MsgType", "MsgId", "Content", "MediaId")),
    value=st.text(max_size=40),
)
def test_an_odd_field_is_no_error(field: str, value: str) -> None:
    fields = {**read_fields(make_message(1, "hello")), field: value}
    for event in read_message(fields, APP).events:
        assert decode(encode(event)) == event


def test_settings_that_cannot_be_right_say_so() -> None:
    for corp, agent in (("a b", AGENT), (CORP, "agent")):
        with pytest.raises(UsageError, match="WECOM_"):
            WeCom(corp, agent, "s")
    with pytest.raises(UsageError, match="43 characters"):
        WeCom(CORP, AGENT, "s", TOKEN, "short")


def test_receiving_loads_no_client() -> None:
    code = (
        "import sys\n"
        "import functions.channels.wecom.channel as c\n"
        f"c.WeCom('ww1', '1', 's', 't', {AES_KEY!r})\n"
        "bad = {'httpx', 'markdown_it'} & set(sys.modules)\n"
        "sys.exit(str(bad) if bad else 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
