"""What has no button on a platform stands in words below the text, as people type it there."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from urllib.parse import unquote

import orjson

from functions.channels.base import Reply
from functions.channels.dingtalk import sending as dingtalk
from functions.channels.discord import sending as discord
from functions.channels.discord.api import DiscordRejected
from functions.channels.feishu import sending as feishu
from functions.channels.feishu.api import FeishuRejected
from functions.channels.github import sending as github
from functions.channels.line import sending as line
from functions.channels.matrix import sending as matrix
from functions.channels.platforms import PLATFORMS, find_command_sign
from functions.channels.render.slack import render_parts
from functions.channels.slack import sending as slack
from functions.channels.slack.api import SlackRejected
from functions.channels.telegram import sending as telegram
from functions.channels.wecom import sending as wecom
from functions.channels.whatsapp import sending as whatsapp
from functions.events import Button
from tests.tables import each_row

REMINDER = (
    Button("Done", "/done 0123456789ab"),
    Button("In 10 min", "/snooze 0123456789ab 10m"),
    Button("In 1 h", "/snooze 0123456789ab 1h"),
    Button("Tomorrow", "/snooze 0123456789ab tomorrow"),
)
MANY = tuple(Button(f"Approve {id:08x}", f"/approve {id:08x}") for id in range(120))
MAKE: dict[str, Callable[[Reply], Sequence[object]]] = {
    "telegram": lambda reply: [
        each.params()
        for each in telegram.make_parts(telegram.TelegramChat(5), reply)
        if isinstance(each, telegram.TelegramMessage)
    ],
    "slack": lambda reply: [
        (each.params(), each.part.text)
        for each in slack.make_parts(reply)
        if isinstance(each, slack.SlackMessage)
    ],
    "discord": lambda reply: [
        each.fields()
        for each in discord.make_messages(reply)
        if isinstance(each, discord.OutgoingMessage)
    ],
    "feishu": lambda reply: [
        each.make_message()
        for each in feishu.make_parts(reply)
        if isinstance(each, feishu.FeishuText)
    ],
    "whatsapp": lambda reply: [
        each.make_fields()
        for each in whatsapp.make_parts(reply)
        if isinstance(each, whatsapp.WhatsAppText)
    ],
    "line": line.make_messages,
    "dingtalk": lambda reply: [
        unquote(each.make_content()["text"])
        for each in dingtalk.make_parts(reply)
        if isinstance(each, dingtalk.DingTalkText)
    ],
    "wecom": lambda reply: [
        each.make_content("x")
        for each in wecom.make_parts(reply)
        if isinstance(each, wecom.WeComText | wecom.WeComButtons)
    ],
    "matrix": lambda reply: [
        each.make_content()
        for each in matrix.make_parts(reply)
        if isinstance(each, matrix.MatrixText)
    ],
    "github": github.make_comments,
}
"""What each platform gets, without its files."""
BUTTONS = re.compile('"(?:callback_data|value|custom_id|command|id|data|key)":"(/[^"]+)"')


@each_row("platform, buttons", [(name, each) for name in PLATFORMS for each in (REMINDER, MANY)])
def test_each_button_is_shown_or_its_command_stands_below_the_text(
    platform: str, buttons: tuple[Button, ...]
) -> None:
    parts = MAKE[platform](Reply(f"{platform}:5", "call Bob", buttons=buttons, key="k"))
    sent = orjson.dumps(parts).decode()
    shown = BUTTONS.findall(sent)
    if platform == "dingtalk":  # links in the text, which send their command
        shown = re.findall(r"content=(/[^)]+)\)", sent)
    sign = find_command_sign(platform)
    for place, button in enumerate(buttons):
        words = f"{button.label}: "
        in_words = re.search(rf"{words}.?{re.escape(sign + button.command[1:])}(?![0-9a-z])", sent)
        assert (button.command in shown) is (place < len(shown)), button
        assert bool(in_words) is (place >= len(shown)), button
    assert "call Bob" in sent


def test_buttons_that_are_refused_stand_in_words() -> None:
    one = (Button("Yes", "/approve 0123abcd"),)
    part = render_parts("May I?", 1)[0]
    for told, sign in (
        (slack.SlackMessage(part, one).repair(SlackRejected("invalid_blocks")), "!"),
        (feishu.FeishuText("May I?", "feishu:5", one).repair(FeishuRejected(230099, "no")), "/"),
        (discord.OutgoingMessage("May I?", one).repair(DiscordRejected(400, 50035, "no")), "/"),
    ):
        assert told is not None
        assert not told.buttons
        assert f"- Yes: {sign}approve 0123abcd" in str(told).replace("`", "")
