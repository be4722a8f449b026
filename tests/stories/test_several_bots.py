"""Several bots of one platform at one server: nobody of one of them is anybody at another."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from functions.channels.isolated_channels import find_problem
from functions.cli.app import cli
from functions.cli.doctor import check_owners, check_platforms
from functions.wiring import AgentRuntime
from sigil.errors import UsageError
from sigil.protocol import Caller
from tests.channel_settings import make_settings
from tests.fakes import slack as fake
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.slack import ADA as SLACK_ADA
from tests.fakes.slack import TEAM, SlackWorkspace
from tests.functions.agent.policy.asking import DOUBLE, QUERY, SPEC
from tests.functions.people import post_update, update
from tests.functions.serving import Served, serving
from tests.machine import within
from tests.tables import each_row

ADA, EVE = 42, 66
SECRETS = {"telegram": "of-the-first", "telegram-shop": "of-the-shop"}
SLACK_SECRETS = {"slack": "1" * 32, "slack-shop": "2" * 32}
NAMES = ("telegram", "telegram-shop", "slack-shop")

Bots = dict[str, BotApi]
Workspaces = dict[str, SlackWorkspace]


@pytest.fixture
def bots() -> Iterator[Bots]:
    first = BotApi("1111:token_of_the-first", "first_bot")
    shop = BotApi("2222:token_of_the-shop", "shop_bot")
    with first, shop:
        yield {"telegram": first, "telegram-shop": shop}


@pytest.fixture
def workspaces() -> Iterator[Workspaces]:
    with SlackWorkspace("xoxb-1-1-first") as first, SlackWorkspace("xoxb-2-2-shop") as shop:
        yield {"slack": first, "slack-shop": shop}


@pytest.fixture
def settings(bots: Bots, workspaces: Workspaces) -> dict[str, Any]:
    return {
        "channel_names": NAMES,
        "telegram_token": bots["telegram"].token,
        "telegram_secret": SECRETS["telegram"],
        "telegram_api": bots["telegram"].url,
        "telegram_shop_token": bots["telegram-shop"].token,
        "telegram_shop_secret": SECRETS["telegram-shop"],
        "telegram_shop_api": bots["telegram-shop"].url,
        "slack_token": workspaces["slack"].token,
        "slack_secret": SLACK_SECRETS["slack"],
        "slack_api": workspaces["slack"].api,
        "slack_shop_token": workspaces["slack-shop"].token,
        "slack_shop_secret": SLACK_SECRETS["slack-shop"],
        "slack_shop_api": workspaces["slack-shop"].api,
        "owners": (f"telegram-shop:{ADA}", f"slack-shop:{TEAM}.{SLACK_ADA}"),
        "access": "open",
    }


def read(bot: BotApi, count: int) -> list[tuple[int, str]]:
    """What a bot said first, as (chat, text)."""
    return [(message["chat_id"], message["text"]) for message in bot.wait_for_messages(count)]


def write(server: Served, channel: str, number: int, text: str, sender: int = ADA) -> None:
    """Send a person's message to one of the Telegram bots."""
    answer = post_update(server, update(number, text, sender), SECRETS[channel], channel)
    assert answer.status_code == 200


def write_in_slack(server: Served, channel: str, number: int, text: str) -> None:
    """Send Ada's message to one of the Slack apps."""
    payload = fake.event_payload(fake.message(text, f"1780000000.{number:06d}"))
    headers, body = fake.json_request(payload, secret=SLACK_SECRETS[channel])
    answer = server.post(f"/webhook/{channel}", content=body, headers=headers)
    assert answer.status_code == 200


def test_each_bot_answers_for_itself_and_knows_its_own_people_alone(
    runtime: Callable[..., AgentRuntime],
    bots: Bots,
    workspaces: Workspaces,
    model: ScriptedModel,
    settings: dict[str, Any],
) -> None:
    with serving(runtime(llm_url=model.url, **settings)) as server:
        model.then(say("of the first"))
        write(server, "telegram", 1, "my cat is called Ferdinand")
        assert read(bots["telegram"], 1) == [(ADA, "of the first")]
        # the same person and the same number of an update, at another bot
        model.then(say("of the shop"))
        write(server, "telegram-shop", 1, "what is my cat called?")
        assert read(bots["telegram-shop"], 1) == [(ADA, "of the shop")]
        for number, (channel, workspace) in enumerate(workspaces.items()):
            model.then(say(f"of {channel}"))
            write_in_slack(server, channel, number, "hi")
            with workspace.changed:
                assert workspace.changed.wait_for(lambda: workspace.messages, within(20))  # noqa: B023
            assert [each["seen"] for each in workspace.messages] == [f"of {channel}"]
        write(server, "telegram", 2, "/whoami")
        write(server, "telegram-shop", 2, "/whoami")
        first, shop = (read(bot, 2)[1][1] for bot in bots.values())
        for channel, other in (("telegram", "telegram-shop"), ("telegram-shop", "telegram")):
            stolen = post_update(server, update(3, "hi"), SECRETS[other], channel)
            assert stolen.status_code == 401

    assert ("guest" in first, f"telegram:{ADA}" in first) == (True, True)
    assert ("owner" in shop, f"telegram-shop:{ADA}" in shop) == (True, True)
    asked = [str(chat["messages"]) for chat in model.chats]
    assert [("Ferdinand" in each) for each in asked] == [True, False, False, False]
    for bot in bots.values():
        assert {
            request.path.partition("/bot")[2].partition("/")[0] for request in bot.requests
        } == {bot.token}


def test_an_owner_is_asked_for_an_approval_by_the_bot_that_they_know(
    runtime: Callable[..., AgentRuntime], bots: Bots, model: ScriptedModel, settings: dict[str, Any]
) -> None:
    with serving(runtime(llm_url=model.url, **settings)) as server:
        app = server.runtime.app
        app.registry.deploy(SPEC, Caller("main"))
        policy = 'format = 1\nrules = ["ask guest call double"]'
        app.policy_versions.write("main", "policy", policy, by="terminal:local")
        model.then(call(QUERY), call(DOUBLE), say("it waits"))
        write(server, "telegram", 1, "double 2", EVE)
        [(asker, waits)] = read(bots["telegram"], 1)
        assert (asker, waits.partition("\n")[0]) == (EVE, "it waits")
        [(chat, _)] = read(bots["telegram-shop"], 1)
        [proposal] = app.proposals.list_open()
        model.then(say("4"))
        # whoever has the owner's number at the other bot is nobody there
        write(server, "telegram", 2, f"/approve {proposal.id}", ADA)
        read(bots["telegram"], 2)
        assert app.proposals.list_open() == [proposal]
        write(server, "telegram-shop", 2, f"/approve {proposal.id}", ADA)
        asker, done = read(bots["telegram"], 3)[2]
        assert (asker, done.splitlines()[-1]) == (EVE, "4")

    assert chat == ADA
    buttons = bots["telegram-shop"].messages[0]["reply_markup"]["inline_keyboard"]
    assert f"/approve {proposal.id}" in str(buttons)


def test_the_inbox_tells_which_bot_a_message_waits_for(
    runtime: Callable[..., AgentRuntime],
    settings: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))
    home = runtime(**settings)
    for name in SECRETS:
        body = orjson.dumps(update(1, "hi"))
        for event in home.channels[name].read_update(body).events:  # type: ignore[attr-defined]
            home.queue.put(event)

    shown = json.loads(CliRunner().invoke(cli, ["inbox", "list", "--json"]).output)

    assert sorted(row["session"] for row in shown) == [f"telegram-shop:{ADA}", f"telegram:{ADA}"]


def test_the_doctor_asks_each_bot(
    bots: Bots, workspaces: Workspaces, settings: dict[str, Any], tmp_path: Path
) -> None:
    for channel, bot in bots.items():
        bot.webhook["url"] = f"https://bot.example/webhook/{channel}"
    known = make_settings(**settings, data=str(tmp_path))

    assert check_platforms(known) == (
        "telegram: the bot @first_bot answers, its webhook works,"
        " telegram-shop: the bot @shop_bot answers, its webhook works,"
        " slack: the bot @sigil answers, slack-shop: the bot @sigil answers"
    )
    bots["telegram-shop"].delivery.update(
        last_error_message="Wrong response from the webhook: 401 Unauthorized",
        last_error_date=1,
        pending_update_count=3,
    )
    with pytest.raises(Exception, match="telegram-shop does not reach the webhook") as caught:
        check_platforms(known)
    assert "TELEGRAM_SHOP_SECRET" in caught.value.suggestion  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("names", "message", "suggestion"),
    [
        (("telgram-shop",), "names 'telgram-shop', which is no channel", "telegram-shop"),
        (("telegram_shop",), "names 'telegram_shop', which is no channel", "label"),
        (("telegram-",), "names 'telegram-', which is no channel", "label"),
        (("whatsapp-verify",), "WHATSAPP_VERIFY_TOKEN is a setting of whatsapp too", "verify"),
    ],
)
def test_a_list_of_channels_that_cannot_be_is_an_error(
    runtime: Callable[..., AgentRuntime],
    names: tuple[str, ...],
    message: str,
    suggestion: str,
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        runtime(channel_names=names)
    assert suggestion in caught.value.suggestion


@each_row(
    ("name", "given", "message", "suggestion"),
    [
        (
            "telegram-shop",
            {"telegram_token": "1:a"},
            "UNCAGED_CHANNELS names telegram-shop, but TELEGRAM_SHOP_TOKEN is not set",
            "take telegram-shop out",
        ),
        ("telegram-shop", {"telegram_shop_token": "1"}, "TELEGRAM_SHOP_TOKEN is not", "correct it"),
        (
            "whatsapp-shop",
            {"whatsapp_shop_number": "+49"},
            "WHATSAPP_SHOP_NUMBER is the phone number's id",
            "when it starts",
        ),
    ],
)
def test_a_channel_that_cannot_be_opened_is_told_by_its_own_settings(
    name: str, given: dict[str, str], message: str, suggestion: str
) -> None:
    described = make_settings(channel_names=(name,), **given).find_channel(name)
    assert described
    problem = find_problem(described)
    assert problem
    assert problem.message.startswith(message)
    assert suggestion in problem.suggestion


def test_an_owner_at_a_bot_that_there_is_not_is_told(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    settings["owners"] = ("slack-shop:U1",)
    with pytest.raises(Exception, match="slack-shop:U1 is nobody's id") as caught:
        check_owners(make_settings(**settings, data=str(tmp_path)))
    assert "slack-shop:TEAM.USER" in caught.value.suggestion  # type: ignore[attr-defined]


def test_a_person_of_one_platform_says_that_they_are_the_one_on_another(
    runtime: Callable[..., AgentRuntime],
    bots: Bots,
    workspaces: Workspaces,
    settings: dict[str, Any],
) -> None:
    owners = {"owners": (f"telegram:{ADA}",), "access": "members"}
    slack = workspaces["slack"]

    def read_slack(count: int) -> list[str]:
        with slack.changed:
            assert slack.changed.wait_for(lambda: len(slack.messages) >= count, within(20))
        return [each["seen"] for each in slack.messages]

    with serving(runtime(**{**settings, **owners})) as server:
        write_in_slack(server, "slack", 1, "hi")
        code = re.search(r"!pair ([0-9A-Z]{4}-[0-9A-Z]{4})", read_slack(1)[0])
        assert code
        write(server, "telegram", 1, f"/pair {code[1]} me")
        [(_, asked)] = read(bots["telegram"], 1)
        second = re.search(r"/pair confirm ([0-9A-Z]{4}-[0-9A-Z]{4})", asked)
        assert second
        write(server, "telegram", 2, f"/pair confirm {second[1]}")
        told = read(bots["telegram"], 2)[1][1]
        welcome = read_slack(2)[1]
        write_in_slack(server, "slack", 2, "!whoami")
        known = read_slack(3)[2]
        write(server, "telegram", 3, f"/pair remove slack:{TEAM}.{SLACK_ADA}")
        read(bots["telegram"], 3)
        write_in_slack(server, "slack", 3, "!whoami")
        after = read_slack(4)[3]

    assert f"slack:{TEAM}.{SLACK_ADA}" in told
    assert f"telegram:{ADA}" in welcome
    assert "owner" in known
    assert "!pair " in after
