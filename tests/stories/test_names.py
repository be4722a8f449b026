"""People of groups keep their names where the platform tells them only when it is asked."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

import pytest

from functions.personal_data import PersonalData
from functions.wiring import AgentRuntime
from tests.fakes import feishu, line, slack
from tests.fakes.feishu import FeishuServer
from tests.fakes.line import LineServer
from tests.fakes.model import ScriptedModel, say
from tests.fakes.slack import SlackWorkspace
from tests.functions.serving import Served, serving
from tests.machine import within

OPEN: dict[str, Any] = {"access": "open", "guest_turns": 0, "guest_tokens": 0}


class Platform(Protocol):
    """A platform whose group a person writes in; `name` is what they are called there."""

    server: SlackWorkspace | FeishuServer | LineServer
    channel: str
    who: str
    name: str
    settings: Mapping[str, Any]

    def make_request(self, number: int) -> tuple[Mapping[str, str], bytes]:
        """A signed request with a message of theirs that names us."""

    def tell_no_names(self) -> None:
        """Answer no request for names any more."""

    def count_asked(self) -> int:
        """How often it was asked for a name."""


class OnSlack:
    channel = "slack"
    who = f"slack:{slack.TEAM}.{slack.BOB}"
    name = "Bob B."

    def __init__(self, server: SlackWorkspace) -> None:
        self.server = server
        self.settings = {
            "slack_token": server.token,
            "slack_secret": slack.SECRET,
            "slack_api": server.api,
        }

    def make_request(self, number: int) -> tuple[Mapping[str, str], bytes]:
        text = f"<@{slack.BOT}> when is lunch?"
        message = slack.message(text, f"{time.time() + number:.6f}", slack.BOB, slack.CHAT)
        return slack.json_request(slack.event_payload(message))

    def tell_no_names(self) -> None:
        self.server.fail("fatal_error", 500, method="users.info", times=100)

    def count_asked(self) -> int:
        return len(self.server.calls("users.info"))


class OnFeishu:
    channel = "feishu"
    who = f"feishu:{feishu.BOB}"
    name = "Bob"

    def __init__(self, server: FeishuServer) -> None:
        self.server = server
        self.settings = {
            "feishu_app_id": feishu.APP,
            "feishu_app_secret": feishu.APP_SECRET,
            "feishu_verification_token": feishu.SECRETS.verification_token,
            "feishu_encrypt_key": feishu.SECRETS.encrypt_key,
            "feishu_api": server.url,
        }

    def make_request(self, number: int) -> tuple[Mapping[str, str], bytes]:
        payload = feishu.make_message(
            f"m{number}",
            "@_user_1 when is lunch?",
            sender=feishu.BOB,
            group=feishu.GROUP,
            mentions={"@_user_1": (feishu.BOT, "Sigil")},
            create_time=f"{int(1000 * time.time()) + number}",
        )
        request = feishu.sign(feishu.encrypt(payload), time=int(time.time()))
        return request.headers, request.body

    def tell_no_names(self) -> None:
        for path in (f"/users/{feishu.BOB}", "/members"):
            self.server.fail(1, 500, path=path, times=100)

    def count_asked(self) -> int:
        return len(self.server.calls(f"/users/{feishu.BOB}"))


class OnLine:
    channel = "line"
    who = f"line:{line.PERSON}"
    name = "Kerry"

    def __init__(self, server: LineServer) -> None:
        self.server = server
        self.settings = {
            "line_token": line.TOKEN,
            "line_secret": line.SECRET,
            "line_api": server.url,
        }
        self.path = f"/v2/bot/group/{line.GROUP}/member/{line.PERSON}"

    def make_request(self, number: int) -> tuple[Mapping[str, str], bytes]:
        mention = line.mention_us("@Sigil")
        said = line.make_message(number, "@Sigil lunch?", chat=line.GROUP, mention=mention)
        request = line.sign(line.make_body(said))
        return request.headers, request.body

    def tell_no_names(self) -> None:
        self.server.fail(self.path, 500, times=100)

    def count_asked(self) -> int:
        return self.server.count(self.path)


@pytest.fixture(params=["slack", "feishu", "line"])
def platform(request: pytest.FixtureRequest) -> Iterator[Platform]:
    if request.param == "slack":
        with SlackWorkspace() as workspace:
            yield OnSlack(workspace)
    elif request.param == "feishu":
        with FeishuServer() as tenant:
            yield OnFeishu(tenant)
    else:
        with LineServer() as account:
            yield OnLine(account)


def test_a_name_outlives_the_process_and_the_platforms_answers_and_goes_with_the_person(
    runtime: Callable[..., AgentRuntime], platform: Platform, model: ScriptedModel
) -> None:
    replies = 0

    def start_process() -> AbstractContextManager[Served]:
        return serving(runtime(llm_url=model.url, **OPEN, **platform.settings))

    def ask(served: Served) -> str:
        """Write in the group, and return what the model reads of it."""
        nonlocal replies
        replies += 1
        model.then(say(f"Noon {replies}"))
        headers, body = platform.make_request(replies)
        path = f"/webhook/{platform.channel}"
        assert served.post(path, content=body, headers=dict(headers)).status_code == 200
        with platform.server.changed:
            assert platform.server.changed.wait_for(
                lambda: len(platform.server.messages) >= replies, within(20)
            )
        return str(model.chats[-1]["messages"][-1]["content"])

    with start_process() as served:
        assert f'"{platform.name}"' in ask(served)
    assert platform.count_asked() == 1

    platform.tell_no_names()
    with start_process() as served:
        assert f'"{platform.name}"' in ask(served)
        assert platform.count_asked() == 1

        app = served.runtime.app
        personal = PersonalData(app, served.runtime.stores.artifacts)
        person = personal.find(platform.who)
        records = [each for each in personal.export(person)["records"] if each["kind"] == "names"]
        assert [each["value"]["name"] for each in records] == [platform.name]
        assert personal.erase(person).removed["names"] == 1
        assert platform.name not in json.dumps(personal.export(person)["records"])

    with start_process() as served:
        asked = ask(served)
    assert platform.name not in asked
    assert f'"{platform.who.split(":")[1].split(".")[-1]}"' in asked
    assert platform.count_asked() == 2
