"""The application at Discord: the address to which it sends interactions, and the commands that it
offers (https://discord.com/developers/docs/resources/application).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from functions.channels.discord.api import DiscordApi, DiscordRejected
from functions.channels.discord.interactions import ASK, FILE, TEXT, WORDS
from functions.channels.webhooks import (
    CommandMenu,
    WebhookRegistration,
    WebhookState,
    require_registrable,
)
from functions.texts.en import TEXTS as ENGLISH
from functions.texts.languages import load_texts
from sigil.errors import BackendError, Refused, one_line
from sigil.json_fields import as_integer, as_mapping, as_string
from sigil.protocol import Json

COMMANDS_MOST: Final = 100
DESCRIPTION_CHARACTERS: Final = 100
_SOURCE: Final = "discord"
_STRING: Final = 3
_ATTACHMENT: Final = 11
_IN_SERVERS: Final = 0
_IN_CHATS_WITH_US: Final = 1
_CONTEXTS: Final = (_IN_SERVERS, _IN_CHATS_WITH_US)
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,31}")
_LOCALES: Final = {"de": ("de",), "zh": ("zh-CN",)}
"""Discord's names for the languages of our texts
(https://discord.com/developers/docs/reference#locales).
"""
URL_CHARACTERS: Final = 512
_ADVICE: Final = (
    "Discord asks the address for an answer at once: the server must run, be reached at it, and"
    " have the application's own DISCORD_PUBLIC_KEY"
)

_MESSAGE_CONTENT: Final = 1 << 18 | 1 << 19
"""The flags of an application whose bot may read messages, on many servers or on few."""
MESSAGE_CONTENT_ADVICE: Final = (
    "switch Message Content Intent on in the developer portal, under Bot, and start again"
)


def require_message_content(api: DiscordApi) -> None:
    """Raise `BackendError` when the bot may not read what messages say."""
    try:
        application = as_mapping(api.call("GET", "/applications/@me"))
    except DiscordRejected as problem:
        raise BackendError("EUNAVAILABLE", problem.message, source=_SOURCE) from None
    flags = as_integer(application.get("flags"), 0)
    if flags is not None and not flags & _MESSAGE_CONTENT:
        raise BackendError(
            "EUNAVAILABLE",
            "Discord does not let the bot read messages",
            source=_SOURCE,
            suggestion=MESSAGE_CONTENT_ADVICE,
        )


class DiscordApplication:
    """The application of one bot."""

    def __init__(self, api: DiscordApi) -> None:
        self._api = api

    def register(self, webhook: WebhookRegistration) -> None:
        """Register the commands and the address; Discord sends a PING to it meanwhile."""
        require_registrable(webhook, URL_CHARACTERS, "Discord", _SOURCE)
        self._set_url(webhook.url)
        self.set_menus(webhook.menus)

    def set_menus(self, menus: Sequence[CommandMenu]) -> None:
        """Register the commands in place of those that are there; none changes nothing."""
        if menus:
            id = as_string(as_mapping(self._call("GET", "/applications/@me")).get("id"))
            self._call("PUT", f"/applications/{id}/commands", make_commands(menus))

    def read_state(self) -> WebhookState:
        """Return the address as Discord knows it; it keeps nothing that waits for it."""
        application = as_mapping(self._call("GET", "/applications/@me"))
        url = as_string(application.get("interactions_endpoint_url"))
        return WebhookState(one_line(url, 2000), updates=("interactions",) if url else ())

    def remove(self, *, drop: bool = False) -> None:
        """Remove the address. Commands stay, and fail until there is another one."""
        self._set_url("")

    def _set_url(self, url: str) -> None:
        self._call("PATCH", "/applications/@me", {"interactions_endpoint_url": url})

    def _call(self, method: str, path: str, fields: object = None) -> Json:
        try:
            return self._api.call(method, path, fields)
        except DiscordRejected as problem:
            raise Refused(
                problem.code,
                problem.message,
                source=_SOURCE,
                suggestion=_ADVICE if method == "PATCH" else "",
            ) from None


def make_commands(menus: Sequence[CommandMenu]) -> list[dict[str, object]]:
    """Return `/ask` and the commands of all menus as Discord takes them.

    Its menus are everybody's: a command that somebody may not use says so.
    """
    meanings: dict[str, dict[str, str]] = {}
    for menu in menus:
        for name, meaning in menu.commands:
            if _NAME.fullmatch(name) and name != ASK:
                meanings.setdefault(name, {}).setdefault(menu.language, meaning)
    languages = list(dict.fromkeys(menu.language for menu in menus))
    texts = {code: load_texts(code) for code in languages}
    asking = {code: each.discord_ask for code, each in texts.items()}
    said = {code: each.discord_text for code, each in texts.items()}
    file = {code: each.discord_file for code, each in texts.items()}
    words = {code: each.discord_words for code, each in texts.items()}
    options = [
        {"type": _STRING, "name": TEXT, "required": True, **_describe(said, ENGLISH.discord_text)},
        {"type": _ATTACHMENT, "name": FILE, **_describe(file, ENGLISH.discord_file)},
    ]
    ask = {"name": ASK, **_describe(asking, ENGLISH.discord_ask), "options": options}
    commands: list[dict[str, object]] = [ask]
    for name, by_language in meanings.items():
        option = {"type": _STRING, "name": WORDS, **_describe(words, ENGLISH.discord_words)}
        described = _describe(by_language, next(iter(by_language.values())))
        commands.append({"name": name, **described, "options": [option]})
    for command in commands:
        command |= {"type": 1, "contexts": _CONTEXTS}
    return commands[:COMMANDS_MOST]


def _describe(by_language: Mapping[str, str], otherwise: str) -> dict[str, object]:
    """Return the fields that describe a command or an option in all languages."""
    localized = {
        locale: one_line(meaning, DESCRIPTION_CHARACTERS)
        for code, meaning in by_language.items()
        for locale in _LOCALES.get(code, ())
    }
    text = one_line(by_language.get(ENGLISH.code, otherwise), DESCRIPTION_CHARACTERS)
    fields: dict[str, object] = {"description": text}
    if localized:
        fields["description_localizations"] = localized
    return fields
