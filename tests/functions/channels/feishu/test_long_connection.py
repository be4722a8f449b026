"""Feishu's long connection: the same events as by the webhook, in frames that are read by hand."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from functions.channels.feishu import long_connection
from functions.channels.feishu.channel import Feishu
from functions.channels.feishu.frames import Frame, read_frame, write_frame
from functions.channels.feishu.signature import WebhookSecrets
from functions.ingress.socket_listener import ListenedBot
from functions.wiring import AgentRuntime
from tests.fakes.feishu import ALICE, APP, APP_SECRET, FeishuServer, make_message
from tests.fakes.feishu_connection import SERVICE, FeishuConnection, encode
from tests.fakes.model import ScriptedModel, say
from tests.functions.listening import Listening, StartListening, short_pauses, start_listening
from tests.functions.serving import serving
from tests.machine import until, within

__all__ = ["short_pauses", "start_listening"]
# what lark-oapi 1.7.5 writes (`lark_oapi.ws.pb.pbbp2_pb2.Frame`)
PING = bytes.fromhex("0800100018f681801020002a0c0a0474797065120470696e67")
EVENT = bytes.fromhex(
    "0807108580808080808080800118f681801020012a0d0a047479706512056576656e742a100a0a6d6573736167"
    "655f696412026d312a080a0373756d1201312a080a0373657112013032046a736f6e3a017442027b7d4a036c6f67"
)


@pytest.fixture
def feishu() -> Iterator[FeishuServer]:
    with FeishuServer() as server:
        yield server


@pytest.fixture
def platform(feishu: FeishuServer) -> Iterator[FeishuConnection]:
    with FeishuConnection(feishu) as server:
        yield server


@pytest.fixture
def listening(feishu: FeishuServer, start_listening: StartListening) -> StartListening:
    def open_listener(failures: int = 0) -> Listening:
        channel = Feishu(APP, APP_SECRET, WebhookSecrets("", ""), feishu.url)
        return start_listening("feishu", channel, failures)

    return open_listener


def test_a_frame_is_acknowledged_after_its_event_is_durable(
    listening: Callable[..., Listening], platform: FeishuConnection
) -> None:
    one = listening(failures=2)
    platform.wait_for_connections(1)
    platform.emit(make_message("1", "keep me"))
    one.wait_for("keep me")
    platform.wait_until(lambda: not platform.waiting, "it is acknowledged")
    assert len(platform.paths) == 3
    platform.drop()
    platform.emit(make_message("2", "while it was away"))
    one.wait_for("keep me", "while it was away")
    platform.emit(make_message("3", "in parts " * 100), parts=7)
    until(lambda: len(one.queue.events) == 3, "the parts are one event")
    assert one.queue.texts()[2].startswith("in parts in parts")
    platform.wait_until(lambda: not platform.waiting, "all is acknowledged")


def test_odd_frames_are_survived(
    listening: Callable[..., Listening], platform: FeishuConnection
) -> None:
    one = listening()
    platform.wait_for_connections(1)
    event = {"type": "event", "message_id": "m", "sum": "1", "seq": "0"}
    for frame in (
        "text",
        b"\xff" * 30,
        b"\x0a\xff\xff\x03x",
        encode({**event, "sum": "1000000000"}, b"x"),
        encode({**event, "sum": "3", "seq": "3"}, b"x"),
        encode({**event, "sum": "-1"}, b"x"),
        encode({**event, "sum": "2"}, b"x"),
        encode({"type": "pong"}, b"no json", method=0),
        encode({"type": "pong"}, b'{"PingInterval": "x"}', method=0),
        encode({"type": "card"}, b"{}"),
        encode(event, b"no json"),
        encode(event, b"[]"),
    ):
        platform.send(frame)
    platform.emit(make_message("1", "still here"))
    one.wait_for("still here")
    assert len(platform.paths) == 1


def test_a_deaf_connection_is_left(
    listening: Callable[..., Listening],
    platform: FeishuConnection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(long_connection, "PINGS", (0.02, 600.0))
    platform.interval = 0.02
    one = listening()
    platform.wait_until(lambda: platform.pings >= 3, "pings")
    platform.answers_pings = False
    platform.wait_for_connections(2)
    platform.answers_pings = True
    platform.emit(make_message("1", "hello"))
    one.wait_for("hello")


@pytest.mark.parametrize(("code", "over"), [(514, True), (1, False), (1000040350, False)])
def test_only_what_the_owner_has_to_mend_ends_the_listening(
    listening: Callable[..., Listening],
    platform: FeishuConnection,
    caplog: pytest.LogCaptureFixture,
    code: int,
    over: bool,
) -> None:
    caplog.set_level(logging.INFO, "uncaged")
    platform.refused = (code, "no")
    one = listening()
    if over:
        until(lambda: one.is_over, "the listener ends")
        [said] = [record for record in caplog.records if record.getMessage() == "not listening"]
        assert "FEISHU_APP_SECRET" in said.facts["help"]  # type: ignore[attr-defined]
    else:
        until(lambda: "not listening" in [record.getMessage() for record in caplog.records])
        platform.refused = None
        platform.wait_for_connections(1)


def test_a_ticket_goes_to_no_foreign_host(
    listening: Callable[..., Listening],
    platform: FeishuConnection,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    platform.told_url = "ws://localhost:9/ws?ticket=secret-ticket"
    listening()
    until(lambda: "not listening" in [record.getMessage() for record in caplog.records])
    platform.told_url = None
    platform.wait_for_connections(1)
    assert "secret-ticket" not in str([vars(record) for record in caplog.records])
    hosts, base = long_connection.HOSTS, "https://open.feishu.cn"
    assert long_connection.is_own_socket("wss://msg-frontier.feishu.cn/ws/v2?a=1", base, hosts)
    assert not long_connection.is_own_socket("wss://feishu.cn.evil.example/", base, hosts)


@example(b"\x11" + bytes(8) + b"\x05" + bytes(4))  # fields of others, the higher number first
@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_none(data: bytes) -> None:
    try:
        frame = read_frame(data)
    except ValueError:
        return
    assert read_frame(write_frame(frame)) == frame


def test_frames_are_those_of_the_official_library() -> None:
    assert write_frame(Frame(0, SERVICE, {"type": "ping"})) == PING
    frame = read_frame(EVENT)
    assert (frame.method, frame.service, frame.sequence, frame.log) == (
        1,
        SERVICE,
        7,
        (1 << 63) + 5,
    )
    assert frame.headers == {"type": "event", "message_id": "m1", "sum": "1", "seq": "0"}
    assert frame.payload == b"{}"
    assert write_frame(frame) == EVENT


def test_a_message_is_answered_without_an_address(
    runtime: Callable[..., AgentRuntime],
    feishu: FeishuServer,
    platform: FeishuConnection,
    model: ScriptedModel,
) -> None:
    model.then(say("Hello **Alice**"))
    made = runtime(
        llm_url=model.url,
        feishu_app_id=APP,
        feishu_app_secret=APP_SECRET,
        feishu_api=feishu.url,
        owners=(f"feishu:{ALICE}",),
    )
    channel = made.channels["feishu"]
    assert isinstance(channel, Feishu)
    with serving(made, listened=[ListenedBot("feishu", channel)]):
        platform.emit(make_message("1", "hi"))
        with feishu.changed:
            assert feishu.changed.wait_for(lambda: feishu.messages, within(20))
        platform.emit(make_message("1", "hi"))  # once more
        platform.wait_until(lambda: not platform.waiting, "all is acknowledged")
    assert feishu.texts() == ["Hello **Alice**"]
