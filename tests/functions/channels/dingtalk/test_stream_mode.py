"""DingTalk's stream mode: the same messages as by the webhook, each acknowledged once it is
durable.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest

from functions.channels.dingtalk.channel import DingTalk
from functions.ingress.socket_listener import ListenedBot
from functions.wiring import AgentRuntime
from tests.fakes.dingtalk import APP, SECRET, DingTalkServer, in_group, make_message
from tests.fakes.dingtalk_stream import DingTalkStream
from tests.fakes.model import ScriptedModel, say
from tests.functions.listening import Listening, StartListening, short_pauses, start_listening
from tests.functions.serving import serving
from tests.machine import until, within

__all__ = ["short_pauses", "start_listening"]


@pytest.fixture
def stream(server: DingTalkServer) -> Iterator[DingTalkStream]:
    with DingTalkStream(server) as opened:
        yield opened  # type: ignore[misc]


@pytest.fixture
def listening(server: DingTalkServer, start_listening: StartListening) -> StartListening:
    def open_listener(failures: int = 0, secret: str = SECRET) -> Listening:
        channel = DingTalk(APP, secret, api=server.url, old_api=server.url)
        return start_listening("dingtalk", channel, failures)

    return open_listener


def test_a_message_is_acknowledged_after_it_is_durable(
    listening: Callable[..., Listening], stream: DingTalkStream
) -> None:
    one = listening(failures=2)
    stream.wait_for_connections(1)
    stream.emit(make_message("1", "keep me"))
    one.wait_for("keep me")
    stream.wait_for_acknowledgement()
    assert len(stream.paths) == 3, "what was not durable is not acknowledged"
    stream.emit_system("disconnect")
    stream.wait_for_connections(4)
    stream.emit(make_message("2", "after that"))
    one.wait_for("keep me", "after that")


def test_pings_and_odd_frames_are_answered(
    listening: Callable[..., Listening], stream: DingTalkStream
) -> None:
    one = listening()
    stream.wait_for_connections(1)
    stream.emit("no json")
    stream.emit("[]")
    stream.emit({}, topic="/v1.0/card/instances/callback")
    for frame in ("no json", "[]", b"\x00", {"type": "CALLBACK", "headers": {"messageId": 5}}):
        stream.send(frame)
    stream.emit_system("ping", '{"opaque":"0d1"}')
    stream.emit(make_message("1", "still here"))
    one.wait_for("still here")
    stream.wait_for_acknowledgement()
    assert '{"opaque":"0d1"}' in stream.pongs
    assert len(stream.paths) == 1


def test_a_wrong_secret_is_not_tried_again(
    listening: Callable[..., Listening], stream: DingTalkStream, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "uncaged")
    one = listening(secret="wrong")
    until(lambda: one.is_over, "the listener ends")
    [said] = [record for record in caplog.records if record.getMessage() == "not listening"]
    assert "DINGTALK_APP_SECRET" in said.facts["help"]  # type: ignore[attr-defined]


def test_a_ticket_goes_to_no_foreign_host(
    listening: Callable[..., Listening], stream: DingTalkStream, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    stream.told_url = "ws://localhost:9/connect"
    one = listening()
    until(lambda: "not listening" in [record.getMessage() for record in caplog.records])
    stream.told_url = None
    stream.emit(make_message("1", "hello"))
    one.wait_for("hello")
    assert "ticket" not in str([vars(record) for record in caplog.records])


def test_a_message_and_a_mention_are_answered_without_an_address(
    runtime: Callable[..., AgentRuntime],
    server: DingTalkServer,
    stream: DingTalkStream,
    model: ScriptedModel,
) -> None:
    model.then(say("Hello **Alice**"), say("In the group"))
    addresses = {"dingtalk_api": server.url, "dingtalk_old_api": server.url}
    made = runtime(
        llm_url=model.url,
        dingtalk_app_key=APP,
        dingtalk_app_secret=SECRET,
        owners=("dingtalk:manager4711",),
        **addresses,
    )
    channel = made.channels["dingtalk"]
    assert isinstance(channel, DingTalk)
    with serving(made, listened=[ListenedBot("dingtalk", channel)]):
        stream.wait_for_connections(1)
        for _ in range(2):
            stream.emit(make_message("1", "hi"))
        wait_for_messages(server, 1)
        stream.emit(make_message("2", " are you there?", **in_group()))
        wait_for_messages(server, 2)
    assert server.texts() == ["Hello **Alice**", "In the group"]


def wait_for_messages(server: DingTalkServer, count: int) -> None:
    with server.changed:
        assert server.changed.wait_for(lambda: len(server.messages) >= count, within(20))
