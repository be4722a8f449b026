"""Of a function's bots, one that is badly set stops no other."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import replace

import httpx
import pytest
from starlette.applications import Starlette

from functions import worker
from functions.channels.about import name_variable
from functions.channels.base import Channel
from functions.channels.isolated_channels import (
    AGAIN_SECONDS,
    IsolatedChannels,
    UnusableChannel,
    find_problem,
)
from functions.channels.platforms import PLATFORMS, open_channels
from functions.cli.doctor import check_platforms
from functions.ingress.ingress import Ingress
from functions.queues.store_queue import StoreQueue
from functions.settings import Settings
from functions.webhook import build_routes
from functions.wiring import AgentRuntime
from sigil.errors import SigilError, UsageError
from sigil.storage import aws
from sigil.storage.kv.memory import MemoryKV
from tests.coroutines import run_apart
from tests.fakes.clock import Clock
from tests.functions.channels.test_platforms import VALUES
from tests.functions.channels.toy import Toy, make_body, make_message, sign
from tests.servers.ministack import Ministack, unique
from tests.tables import each_row

OWN = {
    name_variable(platform, field): value
    for platform, values in VALUES.items()
    for field, value in values.items()
}
MALFORMED = {
    "telegram": ("TELEGRAM_TOKEN", "zz"),
    "slack": ("SLACK_TOKEN", "zz"),
    "discord": ("DISCORD_PUBLIC_KEY", "no hex"),
    "feishu": ("FEISHU_APP_ID", "zz"),
    "whatsapp": ("WHATSAPP_NUMBER", "+49 151"),
    "line": ("LINE_API", "nowhere"),
    "dingtalk": ("DINGTALK_AES_KEY", "zz"),
    "wecom": ("WECOM_AES_KEY", "A" * 42),
    "matrix": ("MATRIX_USER", "sigil"),
    "github": ("GITHUB_REPOSITORIES", "hello"),
}

ADDRESSES = ("api", "old_api", "homeserver")
OF_A_FORM = {
    "TELEGRAM_TOKEN",
    "SLACK_TOKEN",
    "SLACK_APP_TOKEN",
    "DISCORD_TOKEN",
    "DISCORD_PUBLIC_KEY",
    "FEISHU_APP_ID",
    "WHATSAPP_NUMBER",
    "DINGTALK_APP_KEY",
    "DINGTALK_CARD_TEMPLATE",
    "DINGTALK_ROBOT_CODE",
    "DINGTALK_AES_KEY",
    "WECOM_CORP_ID",
    "WECOM_AGENT_ID",
    "WECOM_AES_KEY",
    "MATRIX_USER",
    "MATRIX_DRAFTS",
    "GITHUB_REPOSITORIES",
}
"""The settings in which a mistake can be seen; all others, but for addresses, may be any text."""


def open_all(settings: Settings, *, by_worker: bool = False) -> IsolatedChannels:
    loaded = settings.load_separate_channels(by_worker=by_worker)
    return IsolatedChannels(
        loaded.channels,
        lambda name: settings.reload_channel(name, by_worker=by_worker),
        by_worker=by_worker,
    )


def is_usable(channel: Channel) -> bool:
    return channel.body_most > 0


def post(channels: IsolatedChannels, name: str) -> httpx.Response:
    """What a stranger's request to a bot's webhook is answered."""
    ingress = Ingress(channels, StoreQueue(MemoryKV(), "main"))
    transport = httpx.ASGITransport(Starlette(routes=build_routes(lambda: ingress)))

    async def send() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            return await client.post(f"/webhook/{name}", content=b"{}")

    return run_apart(send())


def read_log(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    return [
        record.__dict__["facts"]
        for record in caplog.records
        if record.getMessage() == "channel not opened"
    ]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_malformed_setting_stops_its_own_bot_alone(
    platform: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    variable, value = MALFORMED[platform]
    settings = Settings(declared={**OWN, variable: value})
    with pytest.raises(UsageError) as strict:
        open_channels(settings.channels)
    assert strict.value.source == platform

    for by_worker in (False, True):
        channels = open_all(settings, by_worker=by_worker)
        assert {name for name in channels if not is_usable(channels[name])} == {platform}

    assert [line["channel"] for line in read_log(caplog)] == [platform] * 2
    assert read_log(caplog)[0]["message"] == strict.value.message
    channels = open_all(settings)
    answer = post(channels, platform)
    assert (answer.status_code, int(answer.headers["retry-after"]) > 0) == (503, True)
    assert variable not in answer.text
    assert value not in answer.text
    other = "telegram" if platform != "telegram" else "slack"
    assert post(channels, other).status_code == 401


@each_row(
    ("platform", "field"),
    [(platform, each.field) for platform, about in PLATFORMS.items() for each in about.settings],
)
def test_a_mistake_in_a_setting_is_told_with_its_name(platform: str, field: str) -> None:
    variable = name_variable(platform, field)
    wrong = "https//a.example" if field in ADDRESSES else "zz zz"
    described = Settings(declared={**OWN, variable: wrong}).find_channel(platform)
    assert described
    problem = find_problem(described)
    if field not in ADDRESSES and variable not in OF_A_FORM:
        assert problem is None
        return
    assert problem
    assert variable in problem.message
    assert wrong not in problem.message + problem.suggestion
    assert "reads its settings when it starts" in problem.suggestion


@each_row(
    ("platform", "field"),
    [
        (platform, setting.field)
        for platform, about in PLATFORMS.items()
        for setting in about.settings
        if setting.needed and setting.field not in about.opens_with[:1]
    ],
)
def test_a_setting_that_is_missing_stops_the_side_that_needs_it(platform: str, field: str) -> None:
    [setting] = [each for each in PLATFORMS[platform].settings if each.field == field]
    values = {name: value for name, value in OWN.items() if name != name_variable(platform, field)}
    settings = Settings(declared=values, channel_names=(platform,))

    assert is_usable(open_all(settings)[platform]) is (setting.used_by == "worker")
    is_sending = is_usable(open_all(settings, by_worker=True)[platform])
    assert is_sending is (setting.used_by == "webhook")


def test_a_bot_whose_parameter_is_unreadable_waits_until_it_is_not(
    ministack: Ministack, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for name, value in ministack.environment.items():
        monkeypatch.setenv(name, value)
    place = unique("/uncaged")
    ssm = aws.client("ssm")

    def put(name: str, value: str) -> None:
        ssm.put_parameter(Name=name, Value=value, Type="SecureString", Overwrite=True)

    put(f"{place}/telegram/verify/secret", "s")
    put(f"{place}/telegram/about", json.dumps({"bot": "7"}))
    put(f"{place}/line/verify/secret", "s")
    put(f"{place}/line/about", "{")
    settings = Settings(
        channel_names=("telegram", "line", "slack", "github"),
        channel_secrets=place,
        declared={
            "SLACK_SECRET": f"ssm:{place}/nowhere",
            "GITHUB_SECRET": "s",
            "GITHUB_REPOSITORIES": "octocat/hello",
        },
    )
    clock = Clock()
    channels = IsolatedChannels(
        settings.load_separate_channels(by_worker=False).channels,
        lambda name: settings.reload_channel(name, by_worker=False),
        by_worker=False,
        clock=clock,
    )
    assert {name for name in channels if is_usable(channels[name])} == {"telegram", "github"}
    said = {line["channel"]: str(line["message"]) for line in read_log(caplog)}
    assert f"parameter {place}/line/about is no JSON object" in said["line"]
    assert f"parameter {place}/nowhere" in said["slack"]
    with pytest.raises(SigilError) as found:
        check_platforms(replace(settings, declared={**settings.declared, "LINE_API": "x"}))
    assert "line: " in found.value.message
    assert "slack: " in found.value.message

    put(f"{place}/line/about", "{}")
    assert not is_usable(channels["line"])
    assert len(read_log(caplog)) == 2  # it is not read again with each request
    clock.advance(AGAIN_SECONDS)
    assert is_usable(channels["line"])
    assert not is_usable(channels["slack"])


def test_an_event_of_a_bot_that_cannot_answer_waits_and_others_are_answered(
    runtime: Callable[..., AgentRuntime], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    good = Toy()
    bad = Toy("toy-b")
    home = runtime(owners=("toy:U1", "toy-b:U1"))
    for toy in (good, bad):
        home.queue.put_all(toy.receive(sign(make_body(make_message(1, "/whoami")))).events)
    home = replace(
        home, channels={"toy": good, "toy-b": UnusableChannel("toy-b", UsageError("EINVAL", "no"))}
    )

    waiting = []
    while delivery := home.control.take(0.0):
        worker.process(delivery, replace(home, queue=home.control))
        waiting += [delivery] if delivery.event.platform == "toy-b" else []
    assert len(good.sent) == 1
    waits = [each.__dict__["facts"] for each in caplog.records if each.getMessage() == "waits"]
    assert [(fact["event"], fact["seconds"]) for fact in waits] == [("toy-b:1", AGAIN_SECONDS)]

    worker.process(waiting[0], replace(home, queue=home.control, channels={"toy-b": bad}))
    assert [reply.session for reply in bad.sent] == ["toy-b:C1"]
