"""A server without a public address fetches its messages: in order, once, and past every failure."""

from __future__ import annotations

import logging
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from functions.channels.base import Received
from functions.channels.telegram.channel import Telegram
from functions.channels.webhooks import CommandMenu
from functions.events import Event
from functions.ingress.poller import TRIES, PolledBot, Poller
from functions.ingress.receiver_outage import AGAIN_SECONDS, ReceiverOutage
from functions.queues.base import Queue
from functions.queues.leases import Lease, Leases
from functions.wiring import AgentRuntime
from sigil.errors import BackendError
from tests.fakes.bot_api import TOKEN, BotApi
from tests.fakes.clock import Clock
from tests.fakes.server import Answer
from tests.functions.people import update
from tests.functions.serving import serving
from tests.machine import until, within
from tests.servers.programs import ProgramForker, command_of, kill_program

MENU = (CommandMenu("en", (("help", "show the commands"),)),)


@pytest.fixture
def platform(bot: BotApi) -> dict[str, Any]:
    """The settings of an agent whose bot has no webhook, and no secret for one."""
    return {"telegram_token": bot.token, "telegram_api": bot.url, "owners": ("telegram:42",)}


def polled(runtime: AgentRuntime, menus: Sequence[CommandMenu] = ()) -> PolledBot:
    channel = runtime.channels["telegram"]
    assert isinstance(channel, Telegram)
    return PolledBot("telegram", channel, lambda: menus)


def test_messages_are_fetched_answered_and_acknowledged(
    runtime: Callable[..., AgentRuntime], bot: BotApi, platform: dict[str, Any]
) -> None:
    opened = runtime(**platform)
    for number, text in enumerate(("/help", "/status", "/new"), 1):
        bot.deliver(update(number, text))
    bot.deliver({"update_id": 4, "edited_message": {}})
    with serving(opened, [polled(opened, MENU)]):
        until(lambda: len(bot.messages) >= 3, "three answers")
        until(lambda: not bot.updates, "all is acknowledged")
    assert {message["chat_id"] for message in bot.messages} == {42}
    assert len(bot.messages) == 3
    assert bot.calls("getUpdates")[0]["allowed_updates"] == [
        "message",
        "edited_message",
        "callback_query",
    ]
    assert [call["commands"][0]["command"] for call in bot.calls("setMyCommands")] == ["help"]
    # nothing is acknowledged that was not fetched, and after silence the numbers may begin anew
    assert "offset" not in bot.calls("getUpdates")[0]


def test_every_failure_is_logged_with_what_helps_and_passes(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    platform: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("functions.ingress.poller.FIRST_PAUSE", 0.001)
    monkeypatch.setattr("functions.ingress.poller.ELSEWHERE_SECONDS", 0.001)
    caplog.set_level(logging.INFO, "uncaged")
    method = "getUpdates"
    bot.fail(409, "Conflict: terminated by other getUpdates request", method=method)
    bot.fail(409, "Conflict: can't use getUpdates while webhook is active", method=method)
    bot.fail(429, "Too Many Requests", method=method, parameters={"retry_after": 0})
    bot.fail(502, "Bad Gateway", method=method)
    bot.reply(Answer(cut=True), method=method)
    bot.reply(Answer(200, b'{"ok": true, "result": {"odd": 1}}'), method=method)
    opened = runtime(**platform)
    bot.deliver(update(1, "/help"))
    with serving(opened, [polled(opened)]):
        until(lambda: bot.messages, "an answer after all")
    notes = [record.facts for record in caplog.records if record.getMessage() == "unpolled"]  # type: ignore[attr-defined]
    assert [note["message"].partition(" (")[0] for note in notes] == [
        "another program polls this bot",
        "Telegram gives no updates while a webhook is set",
        "Telegram asks to slow down",
        "Telegram answered with status 502",
        "Telegram did not answer",
    ]
    assert notes[1]["help"] == "take it away: uncaged channel unset telegram"


def test_an_outage_is_said_once_and_its_end(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    platform: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("functions.ingress.poller.FIRST_PAUSE", 0.001)
    caplog.set_level(logging.INFO, "uncaged")
    for _ in range(5):
        bot.fail(502, "Bad Gateway", method="getUpdates")
    opened = runtime(**platform)
    bot.deliver(update(1, "/help"))
    with serving(opened, [polled(opened)]):
        until(lambda: bot.messages, "an answer after all")
    said = [record.getMessage() for record in caplog.records]
    assert [step for step in said if "poll" in step] == ["polling", "unpolled", "polling again"]


def test_an_outage_that_lasts_is_said_again_now_and_then() -> None:
    clock = Clock()
    outage = ReceiverOutage(clock)
    assert [outage.is_news("away") for _ in range(3)] == [True, False, False]
    assert outage.is_news("refused")
    clock.advance(AGAIN_SECONDS)
    assert outage.is_news("away")
    outage.end()
    assert not outage.is_on
    assert outage.is_news("away")


@dataclass
class FailingQueue:
    """A queue whose store is away for the first `failures` puts."""

    queue: Queue
    failures: int
    put_events: list[str]

    def put(self, event: Event) -> None:
        if self.failures:
            self.failures -= 1
            raise BackendError("EUNAVAILABLE", "the store is away")
        self.queue.put(event)
        self.put_events.append(event.id)

    def put_all(self, events: Sequence[Event]) -> None:
        for event in events:
            self.put(event)


def test_what_could_not_be_stored_is_not_acknowledged(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    platform: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("functions.ingress.poller.FIRST_PAUSE", 0.001)
    opened = runtime(**platform)
    queue = FailingQueue(opened.queue, 2, [])
    for number in (7, 8):
        bot.deliver(update(number, "/help"))
    poller = Poller(polled(opened), replace(opened, queue=queue))  # type: ignore[arg-type]
    poller.start()
    until(lambda: not bot.updates, "all is acknowledged")
    poller.stop()
    assert queue.put_events == [f"telegram:{bot.token.partition(':')[0]}:42:{n}" for n in (7, 8)]
    assert [call.get("offset") for call in bot.calls("getUpdates")][:4] == [None, None, None, 9]


def test_an_update_that_ends_in_a_mistake_of_ours_holds_nobody_up_for_long(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    platform: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened = runtime(**platform)
    read, tried = Telegram.read_update, []

    def fail(channel: Telegram, body: bytes) -> Received:
        if b"/status" in body:
            tried.append(body)
            raise RecursionError
        return read(channel, body)

    monkeypatch.setattr(Telegram, "read_update", fail)
    monkeypatch.setattr("functions.ingress.poller.FIRST_PAUSE", 0.01)
    for number, text in enumerate(("/status", "/help"), 1):
        bot.deliver(update(number, text))
    with serving(opened, [polled(opened)]):
        until(lambda: bot.messages, "the answer to the second")
    assert len(tried) == TRIES


def test_one_process_polls_and_the_next_takes_over(
    runtime: Callable[..., AgentRuntime], bot: BotApi, platform: dict[str, Any]
) -> None:
    opened = [runtime(lease=1.0, **platform) for _ in range(2)]
    pollers = [Poller(polled(one), one) for one in opened]
    pollers[0].start()
    bot.wait_for(1)
    pollers[1].start()
    bot.deliver(update(1, "/help"))
    until(lambda: not bot.updates, "the first one has it")
    assert not any("Conflict" in str(call) for call in bot.calls("getUpdates"))
    pollers[0].stop()
    fetched = len(bot.calls("getUpdates"))
    bot.deliver(update(2, "/help"))
    until(lambda: not bot.updates, "the second one has it")
    assert len(bot.calls("getUpdates")) > fetched
    pollers[1].stop()


@pytest.fixture
def environment(
    bot: BotApi, tmp_path: Path, compiled: Path, forked: ProgramForker
) -> dict[str, str]:
    """The environment of `uncaged serve --poll` over an empty folder."""
    compiled.mkdir(exist_ok=True)
    (tmp_path / "compiled").symlink_to(compiled, target_is_directory=True)
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "UNCAGED_DATA": str(tmp_path),
        "UNCAGED_LIBRARY": "none",
        "UNCAGED_LEASE": "1",
        "UNCAGED_OWNERS": "telegram:42",
        "SIGIL_RUNNERS": "1",
        "TELEGRAM_TOKEN": TOKEN,
        "TELEGRAM_API": bot.url,
        **forked.environment,
    }


def serve(environment: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*command_of("functions.cli"), "serve", "--port", "0", "--poll", *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_poller_that_is_stopped_while_it_takes_its_lease_keeps_none(
    runtime: Callable[..., AgentRuntime],
    platform: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened = runtime(**platform)
    poller = Poller(polled(opened), opened)
    take = Leases.take

    def take_and_stop(leases: Leases, name: str) -> Lease | None:
        lease = take(leases, name)
        poller.stop()
        return lease

    monkeypatch.setattr(Leases, "take", take_and_stop)
    poller.start()
    until(lambda: not poller._thread.is_alive(), "it ends")
    assert opened.stores.kv.scan("claim") == []


def test_a_server_that_is_killed_before_it_acknowledges_answers_once(
    bot: BotApi, environment: dict[str, str]
) -> None:
    bot.deliver(update(1, "/help"))
    answer = bot.answer

    def hold_acknowledgement(request: Any) -> Answer:
        if request.path.endswith("/getUpdates") and request.json().get("offset"):
            return Answer(hang=True)
        return answer(request)

    bot.answer = hold_acknowledgement  # type: ignore[method-assign]
    first = serve(environment)
    assert first.stderr
    # the answer is sent and marked as sent; a crash between those two may repeat it
    assert any('"step":"done"' in line for line in first.stderr)
    kill_program(first)
    bot.answer = answer  # type: ignore[method-assign]
    second = serve(environment)
    until(lambda: not bot.updates, "the second server has acknowledged")
    bot.deliver(update(2, "/status"))
    until(lambda: len(bot.messages) >= 2, "it goes on")
    second.send_signal(signal.SIGTERM)
    second.communicate(timeout=within(20))
    texts = [message["text"] for message in bot.messages]
    assert len(texts) == 2, texts


def test_a_webhook_that_is_set_is_told_and_taken_away_when_that_is_said(
    bot: BotApi, environment: dict[str, str]
) -> None:
    bot.webhook = {"url": "https://bot.example.com/webhook/telegram"}
    refused = serve({**environment, "UNCAGED_LLM_MODLE": "x"})
    _, told = refused.communicate(timeout=within(60))
    assert "no setting: UNCAGED_LLM_MODLE (did you mean UNCAGED_LLM_MODEL?)" in told
    assert refused.returncode == 2
    assert "a webhook is set, so telegram gives no updates: https://bot.example.com" in told
    assert "--take-webhook" in told
    assert bot.webhook
    bot.deliver(update(1, "/help"))
    server = serve(environment, "--take-webhook")
    until(lambda: bot.messages, "what waited at the webhook comes here")
    assert not bot.webhook
    server.send_signal(signal.SIGTERM)
    _, told = server.communicate(timeout=within(60))
    assert "polling    telegram" in told
    wrong = serve({**environment, "TELEGRAM_TOKEN": "4:wrong"})
    _, told = wrong.communicate(timeout=within(60))
    assert (wrong.returncode, "check the bot token" in told) == (7, True)
    without = serve({**environment, "TELEGRAM_TOKEN": ""})
    _, told = without.communicate(timeout=within(60))
    assert (without.returncode, "TELEGRAM_TOKEN" in told) == (2, True)
