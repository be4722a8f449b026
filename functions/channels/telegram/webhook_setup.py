"""Telegram's webhook: set it, read its state, remove it
(https://core.telegram.org/bots/api#setwebhook).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from functions.channels.telegram.api import Api, Rejected
from functions.channels.telegram.fields import integer, mapping, sequence, string
from functions.channels.webhooks import Hook, WebhookRequest
from sigil.errors import Refused, UsageError, one_line

PORTS = (443, 80, 88, 8443)
MOST_CONNECTIONS = 100
DESCRIPTION_CHARACTERS = 256
"""Of a command, in the menu (https://core.telegram.org/bots/api#botcommand)."""
UPDATES = ("message",)
"""What `updates` reads; everything else would be sent for nothing."""
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
_URL = re.compile(r"[!-~]{1,2000}")
_SOURCE = "telegram"
_MEND = "set the webhook again: uncaged channel set telegram --url …"
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
        " then " + _MEND,
    ),
    (
        "403",
        "what stands in front of the server refuses Telegram: let POST /webhook/telegram through",
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
    ("unreachable", "no way leads there: check address and firewall"),
    ("50", "the server failed: its log says why; Telegram tries again"),
)
"""What Telegram's words mean for the operator; the first that is found counts."""


class TelegramHooks:
    """One bot's webhook. `secret`: the value that Telegram sends with each update."""

    def __init__(self, api: Api, secret: str) -> None:
        self._api = api
        self._secret = secret

    def place(self, webhook: WebhookRequest) -> None:
        """Call `setWebhook`, and `setMyCommands` for the menu of commands."""
        _require_valid(webhook)
        if not _SECRET.fullmatch(self._secret):
            raise UsageError(
                "ESETTING",
                "TELEGRAM_SECRET has to be 1 to 256 of A-Z a-z 0-9 _ -",
                source=_SOURCE,
                suggestion=_ANOTHER,
            )
        params = {
            "url": webhook.url,
            "secret_token": self._secret,
            "allowed_updates": UPDATES,
            "drop_pending_updates": webhook.drop,
        }
        self._call(
            "setWebhook",
            {**params, "max_connections": webhook.connections} if webhook.connections else params,
        )
        if webhook.commands:
            menu = [
                {"command": name, "description": one_line(meaning, DESCRIPTION_CHARACTERS)}
                for name, meaning in webhook.commands
            ]
            self._call("setMyCommands", {"commands": menu})

    def look(self) -> Hook:
        """Call `getWebhookInfo`."""
        info = mapping(self._call("getWebhookInfo", {}))
        error = one_line(string(info.get("last_error_message")))
        return Hook(
            url=one_line(string(info.get("url")), 2000),
            pending=integer(info.get("pending_update_count"), 0) or 0,
            error=error,
            error_at=integer(info.get("last_error_date"), 0) or 0,
            advice=advice(error),
            address=one_line(string(info.get("ip_address"))),
            connections=integer(info.get("max_connections"), 0) or 0,
            updates=tuple(one_line(string(kind)) for kind in sequence(info.get("allowed_updates"))),
        )

    def remove(self, *, drop: bool = False) -> None:
        """Call `deleteWebhook`."""
        self._call("deleteWebhook", {"drop_pending_updates": drop})

    def _call(self, method: str, params: Mapping[str, object]) -> Any:
        try:
            return self._api.call(method, params)
        except Rejected as problem:
            raise Refused(
                problem.code, problem.message, source=_SOURCE, suggestion=advice(problem.message)
            ) from None


def advice(info: str) -> str:
    """Return what helps against a failure in Telegram's words; empty when nothing is known."""
    lower = info.lower()
    return next((help for words, help in _ADVICE if words in lower), "")


def _require_valid(webhook: WebhookRequest) -> None:
    """Refuse what Telegram would refuse anyway, before it is asked."""
    problem = _find_problem(webhook.url)
    if problem:
        raise UsageError("EINVAL", f"the url {problem}", source=_SOURCE, suggestion=_SUCH_AS)
    if not 0 <= webhook.connections <= MOST_CONNECTIONS:
        raise UsageError(
            "EINVAL", f"Telegram opens 1 to {MOST_CONNECTIONS} connections", source=_SOURCE
        )


def _find_problem(url: str) -> str:
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
    return (
        ""
        if port is None or port in PORTS
        else f"has port {port}; Telegram reaches {', '.join(map(str, PORTS))} only"
    )
