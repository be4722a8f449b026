"""The platforms that there are, and their channels as the settings describe them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from functions.channels.about import About, ChannelSettings, name_variable
from functions.channels.dingtalk.about import ABOUT as DINGTALK
from functions.channels.discord.about import ABOUT as DISCORD
from functions.channels.feishu.about import ABOUT as FEISHU
from functions.channels.github.about import ABOUT as GITHUB
from functions.channels.line.about import ABOUT as LINE
from functions.channels.matrix.about import ABOUT as MATRIX
from functions.channels.slack.about import ABOUT as SLACK
from functions.channels.telegram.about import ABOUT as TELEGRAM
from functions.channels.wecom.about import ABOUT as WECOM
from functions.channels.whatsapp.about import ABOUT as WHATSAPP
from functions.events import OWN
from sigil.errors import SigilError, UsageError, one_line

if TYPE_CHECKING:
    from functions.channels.base import Channel
    from functions.channels.webhooks import SetupRecipe
    from sigil.storage.kv import KV

PLATFORMS: Final = {
    about.platform: about
    for about in (
        TELEGRAM,
        SLACK,
        DISCORD,
        FEISHU,
        WHATSAPP,
        LINE,
        DINGTALK,
        WECOM,
        MATRIX,
        GITHUB,
    )
}
OWN_CHAT: Final = re.compile(
    "|".join(
        f"{about.platform}(?:-[a-z0-9-]{{1,40}})?:(?:{about.own_chat})"
        for about in PLATFORMS.values()
        if about.own_chat
    ),
    re.ASCII,
)
"""A person's own chat, on the platforms where it is named like them."""
_ROOM: Final = re.compile(
    "|".join(
        f"{about.platform}(?:-[a-z0-9-]{{1,40}})?:(?:{about.room})"
        for about in PLATFORMS.values()
        if about.room
    ),
    re.ASCII,
)

_AT_START: Final = "a running server reads its settings when it starts"
_NAME: Final = re.compile(r"[a-z]+(?:-[a-z0-9]{1,20}){0,2}", re.ASCII)


def find_about(channel: str) -> About | None:
    """Return what is known about the platform of a channel, None when there is no such platform."""
    return PLATFORMS.get(channel.partition("-")[0])


@lru_cache(maxsize=1024)
def find_command_sign(chat: str) -> str:
    """Return what people type before the name of a command in a chat, or on a channel: a slash
    where that is on no platform. It is empty for the agent's own work, where nobody types.
    """
    channel = chat.partition(":")[0]
    about = find_about(channel)
    if about:
        return about.command_sign
    return "" if channel == OWN else "/"


def has_private_chats(chat: str) -> bool:
    """Return whether people can be alone with us on the platform of a chat, or of a channel."""
    about = find_about(chat.partition(":")[0])
    return about is None or about.has_private_chats


def write_pairing(code: str, channels: Iterable[str]) -> str:
    """Return how people of these channels send the first owner's code: `/pair CODE`, and where that
    cannot be typed, as it can.
    """
    signs: dict[str, list[str]] = {}
    for name in channels:
        about = find_about(name)
        if about and about.has_private_chats:
            titles = signs.setdefault(about.command_sign, [])
            titles.extend({about.title} - {*titles})
    if len(signs) < 2:
        return f"`{next(iter(signs), '/')}pair {code}`"
    others = ", ".join(
        f"`{sign}pair {code}` on {' and '.join(titles)}"
        for sign, titles in signs.items()
        if sign != "/"
    )
    return f"`/pair {code}` ({others})"


def find_id_scope(who: str) -> str:
    """Return where the account of an id has no other id: a platform, or a workspace or a bot there.

    Two accounts of one scope are two people, as far as anybody here can know.
    """
    channel, _, account = who.partition(":")
    about = find_about(channel)
    if about is None or about.id_scope == "bot":
        return channel
    workspace = account.partition(".")[0] if about.id_scope == "workspace" else ""
    return f"{about.platform}:{workspace}"


def find_room(chat: str) -> str:
    """Return the room of a chat, without its thread; empty where the chat's name tells whether it
    is private, and whose it is.
    """
    room = chat.partition(":$")[0]
    return room if _ROOM.fullmatch(room) else ""


def open_channels(described: Iterable[ChannelSettings], kv: KV | None = None) -> dict[str, Channel]:
    """Open the channels for which enough is set, by name.

    A process that only receives, or only looks, needs no store for them.
    """
    from functions.channels.base import UsesStore

    channels: dict[str, Channel] = {}
    for settings in described:
        if settings.is_open:
            # a platform's code is loaded only where it has a channel
            module = import_module(f"functions.channels.{settings.about.platform}.channel")
            try:
                with settings.naming_own_variables():
                    channel = module.open_channel(settings)
            except SigilError as problem:
                problem.source = settings.name
                if isinstance(problem, UsageError):
                    problem.suggestion = f"{problem.suggestion or 'correct it'}; {_AT_START}"
                raise
            if kv is not None and isinstance(channel, UsesStore):
                channel.use_store(kv)
            channels[settings.name] = channel
        elif settings.is_wanted:
            variable = name_variable(settings.name, settings.about.opens_with[0])
            raise UsageError(
                "ESETTING",
                f"UNCAGED_CHANNELS names {settings.name}, but {variable} is not set",
                source=settings.name,
                suggestion=f"set {variable}, or take {settings.name} out of UNCAGED_CHANNELS;"
                f" {_AT_START}",
            )
    return channels


def write_recipe(settings: ChannelSettings, url: str) -> SetupRecipe:
    """Return how an owner sets up a channel that registers no webhook from here; `url` is ours.

    `UsageError` for what has to be set before.
    """
    module = import_module(f"functions.channels.{settings.about.platform}.recipe")
    recipe: SetupRecipe = module.write_recipe(settings, url)
    return replace(recipe, steps=settings.name_own_variables(recipe.steps))


def parse_channel_names(names: Iterable[str]) -> dict[str, About]:
    """Return the channels that a list names, with the platform of each; `UsageError` ESETTING for a
    name of no platform, or two channels whose settings would have the same variables.
    """
    channels: dict[str, About] = {}
    known: dict[str, str] = {}
    for name in dict.fromkeys((*PLATFORMS, *names)):
        about = find_about(name)
        if about is None or not _NAME.fullmatch(name):
            raise UsageError(
                "ESETTING",
                f"UNCAGED_CHANNELS names {one_line(name, 60)!r}, which is no channel",
                suggestion=f"use a platform ({', '.join(PLATFORMS)}) with a label of letters a-z"
                " and digits, such as telegram-shop",
            )
        for setting in about.settings:
            variable = name_variable(name, setting.field)
            other = known.setdefault(variable, name)
            if other != name:
                raise UsageError(
                    "ESETTING",
                    f"UNCAGED_CHANNELS names {name}, whose {variable} is a setting of {other} too",
                    suggestion=f"use another label than {name.partition('-')[2]}",
                )
        channels[name] = about
    order = list(PLATFORMS)
    return dict(sorted(channels.items(), key=lambda item: order.index(item[1].platform)))
