"""Telegram's webhook: set it, read its state, remove it
(https://core.telegram.org/bots/api#setwebhook).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from functions.channels.telegram.api import TelegramApi, TelegramRejected
from functions.channels.webhooks import CommandMenu, WebhookRegistration, WebhookState
from functions.texts.en import TEXTS as ENGLISH
from sigil.errors import Refused, UsageError, one_line
from sigil.json_fields import as_integer, as_mapping, as_sequence, as_string
from sigil.protocol import Json

PORTS = (443, 80, 88, 8443)
MOST_CONNECTIONS = 100
DESCRIPTION_CHARACTERS = 256
"""Characters of a command's description in the menu
(https://core.telegram.org/bots/api#botcommand).
"""
UPDATES = ("message", "edited_message", "callback_query")
"""The kinds of updates that we read; everything else would be sent for nothing."""
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
_LANGUAGE = re.compile(r"[a-z]{2}")
"""Menus are by ISO 639-1 codes alone (https://core.telegram.org/bots/api#setmycommands)."""
_PERSON = re.compile(r"[0-9]{1,18}", re.ASCII)
_URL = re.compile(r"[!-~]{1,2000}")
_SOURCE = "telegram"
_SET_AGAIN = "set the webhook again: uncaged channel set telegram --url …"
_ANOTHER = "make one: uncaged channel set telegram --make-secret"
_SUCH_AS = "such as https://bot.example.com; docs/deploy.md shows a proxy"
_ADVICE = (
    ("resolve host", "the host has no address that Telegram can find: check its DNS entry"),
    ("name resolution", "the host has no address that Telegram can find: check its DNS entry"),
    (
        "is reserved",
        "the host's address is a private one: Telegram needs one that the internet can reach",
    ),
    (
        "401",
        "the server has another TELEGRAM_SECRET than the webhook was set with: give both the same,"
        " then " + _SET_AGAIN,
    ),
    (
        "403",
        "the proxy in front of the server refuses Telegram: let POST /webhook/telegram through",
    ),
    (
        "404",
        (
            "the address leads past the server's /webhook/telegram, or the server has no"
            " TELEGRAM_TOKEN"
        ),
    ),
    ("ssl", "the certificate must be valid for the host and come with its whole chain"),
    ("certificate", "the certificate must be valid for the host and come with its whole chain"),
    ("refused", "nothing listens there: is the server running, and the port open?"),
    ("timed out", "nothing answers there in time: is the server running, and the port open?"),
    ("timeout", "nothing answers there in time: is the server running, and the port open?"),
    ("unreachable", "Telegram cannot reach that address: check it and the firewall"),
    ("50", "the server failed: its log says why; Telegram tries again"),
)
"""Words of Telegram's errors, and what helps against them; the first that is found counts."""


class TelegramWebhook:
    """One bot's webhook. `secret`: the value that Telegram sends with each update."""

    def __init__(self, api: TelegramApi, secret: str) -> None:
        self._api = api
        self._secret = secret

    def register(self, webhook: WebhookRegistration) -> None:
        """Call `setWebhook`, and `setMyCommands` for the menus of commands."""
        problem = _find_url_problem(webhook.url)
        if problem:
            raise UsageError("EINVAL", f"the url {problem}", source=_SOURCE, suggestion=_SUCH_AS)
        if not 0 <= webhook.connections <= MOST_CONNECTIONS:
            raise UsageError(
                "EINVAL", f"Telegram opens 1 to {MOST_CONNECTIONS} connections", source=_SOURCE
            )
        if not _SECRET.fullmatch(self._secret):
            raise UsageError(
                "ESETTING",
                "TELEGRAM_SECRET has to be 1 to 256 of A-Z a-z 0-9 _ -",
                source=_SOURCE,
                suggestion=_ANOTHER,
            )
        params: dict[str, object] = {
            "url": webhook.url,
            "secret_token": self._secret,
            "allowed_updates": UPDATES,
            "drop_pending_updates": webhook.drop,
        }
        if webhook.connections:
            params["max_connections"] = webhook.connections
        self._call("setWebhook", params)
        self.set_menus(webhook.menus)

    def set_menus(self, menus: Sequence[CommandMenu]) -> None:
        """Call `setMyCommands` for each menu."""
        for menu in menus:
            self._set_menu(menu)

    def _set_menu(self, menu: CommandMenu) -> None:
        """Call `setMyCommands`. A person who has not written to the bot has no menu yet."""
        commands = [
            {"command": name, "description": one_line(meaning, DESCRIPTION_CHARACTERS)}
            for name, meaning in menu.commands
        ]
        params: dict[str, object] = {"commands": commands}
        if menu.groups:
            params["scope"] = {"type": "all_group_chats"}
        elif menu.person:
            id = menu.person.rpartition(":")[2]
            if not _PERSON.fullmatch(id):
                return
            # a person's private chat has their own id
            params["scope"] = {"type": "chat", "chat_id": int(id)}
        if menu.language != ENGLISH.code:  # the menu without a language is everybody else's
            if not _LANGUAGE.fullmatch(menu.language):
                return
            params["language_code"] = menu.language
        try:
            self._call("setMyCommands", params)
        except Refused:
            if not menu.person:
                raise

    def read_state(self) -> WebhookState:
        """Call `getWebhookInfo`."""
        info = as_mapping(self._call("getWebhookInfo", {}))
        error = one_line(as_string(info.get("last_error_message")))
        updates = tuple(
            one_line(as_string(kind)) for kind in as_sequence(info.get("allowed_updates"))
        )
        return WebhookState(
            url=one_line(as_string(info.get("url")), 2000),
            pending=as_integer(info.get("pending_update_count"), 0) or 0,
            error=error,
            error_at=as_integer(info.get("last_error_date"), 0) or 0,
            advice=find_advice(error),
            address=one_line(as_string(info.get("ip_address"))),
            connections=as_integer(info.get("max_connections"), 0) or 0,
            updates=updates,
            # without a list it brings all that we read
            unheard=tuple(kind for kind in UPDATES if updates and kind not in updates),
        )

    def remove(self, *, drop: bool = False) -> None:
        """Call `deleteWebhook`."""
        self._call("deleteWebhook", {"drop_pending_updates": drop})

    def _call(self, method: str, params: Mapping[str, object]) -> Json:
        try:
            return self._api.call(method, params)
        except TelegramRejected as problem:
            raise Refused(
                problem.code,
                problem.message,
                source=_SOURCE,
                suggestion=find_advice(problem.message),
            ) from None


def find_advice(info: str) -> str:
    """Return what helps against a failure in Telegram's words; empty when nothing is known."""
    lower = info.lower()
    return next((help for words, help in _ADVICE if words in lower), "")


def _find_url_problem(url: str) -> str:
    """Return why Telegram would refuse the url, before it is asked; empty when it would not."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "cannot be read"
    if not _URL.fullmatch(url) or not parts.hostname:
        return "needs a host, in ASCII (xn--… for other letters)"
    if parts.scheme != "https":
        return "has to begin with https://"
    if parts.username is not None or parts.fragment:
        return "takes no user name and no #fragment"
    if port is not None and port not in PORTS:
        return f"has port {port}; Telegram reaches {', '.join(map(str, PORTS))} only"
    return ""
