"""The contract for registering a webhook with a platform, and for reading its state there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable
from urllib.parse import urlsplit

from sigil.errors import UsageError

_URL = re.compile(r"[!-~]+")
PATH = "/webhook/{channel}"
"""The webhook's path at the server, behind any proxy in front of it."""


@dataclass(frozen=True, slots=True)
class CommandMenu:
    """The slash commands that a platform offers to whoever types a slash, as (name, meaning), for
    people with an app in this language.

    It is for everybody in private chats, for `groups`, or for one `person` (their id with its
    platform) in their own.
    """

    language: str
    commands: tuple[tuple[str, str], ...]
    groups: bool = False
    person: str = ""


@dataclass(frozen=True, slots=True)
class WebhookRegistration:
    """A webhook to register.

    `connections`: how many requests the platform may send at once, 0 for its own default. `drop`:
    forget the updates that wait there. `menus`: the menus of commands to register with it.
    """

    url: str
    connections: int = 0
    drop: bool = False
    menus: tuple[CommandMenu, ...] = ()


@dataclass(frozen=True, slots=True)
class WebhookState:
    """A webhook as the platform reports it.

    `url` is empty when there is none; times are Unix seconds, 0 for never. `pending`: updates that
    wait for it. `error`: why the latest delivery that failed did so; `advice`: what helps.
    `fails`: the error is of now, whatever waits. `unheard` are the kinds of updates that we read
    and the webhook was not set for.
    """

    url: str
    pending: int = 0
    error: str = ""
    error_at: int = 0
    advice: str = ""
    address: str = ""
    connections: int = 0
    updates: tuple[str, ...] = ()
    fails: bool = False
    unheard: tuple[str, ...] = ()

    @property
    def works(self) -> bool:
        """Return whether it is set, and no update waits behind a delivery that failed."""
        return bool(self.url) and not self.fails and not (self.error and self.pending)


@dataclass(frozen=True, slots=True)
class SetupRecipe:
    """How an owner sets a platform up by hand: the `document` to give it, and the steps."""

    document: str
    steps: str


@runtime_checkable
class KnowsBotName(Protocol):
    """A platform that can tell the bot's name."""

    def fetch_bot_name(self) -> str:
        """Return the bot's name there; `BackendError` when the platform does not answer or does not
        know it.
        """


@runtime_checkable
class HasMenus(Protocol):
    """A platform that shows menus of commands."""

    def set_menus(self, menus: Sequence[CommandMenu]) -> None:
        """Register the menus; `SigilError` when the platform does not take them."""


@runtime_checkable
class HasScopes(Protocol):
    """A platform where an app may do what it has scopes for."""

    def list_missing_scopes(self) -> tuple[str, ...]:
        """Return the scopes that it needs and does not have; `BackendError` without an answer."""


def require_registrable(webhook: WebhookRegistration, most: int, title: str, source: str) -> None:
    """Raise `UsageError` for a webhook that a platform cannot take: an address that cannot be
    right, or has more than `most` characters, or what a platform does not know that keeps nothing.
    """
    problem = _find_url_problem(webhook.url, most)
    if problem:
        raise UsageError(
            "EINVAL",
            f"the url {problem}",
            source=source,
            suggestion="such as https://bot.example.com; docs/deploy.md shows a proxy",
        )
    if webhook.connections or webhook.drop:
        raise UsageError(
            "EINVAL",
            f"{title} keeps nothing that waits, and takes no number of connections",
            source=source,
        )


def _find_url_problem(url: str, most: int) -> str:
    """Return why a platform would refuse an address, before it is asked; empty when it would
    not.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return "cannot be read"
    if not _URL.fullmatch(url) or len(url) > most or not parts.hostname:
        return f"needs a host, in ASCII (xn--… for other letters), and at most {most} characters"
    if parts.scheme != "https":
        return "has to begin with https://"
    if parts.username is not None or parts.fragment:
        return "takes no user name and no #fragment"
    return ""


@runtime_checkable
class ChecksWebhook(Protocol):
    """A platform that tries our webhook when it is asked to."""

    def check_webhook(self) -> None:
        """Raise `BackendError` when the platform does not reach us, or does not answer itself."""


@runtime_checkable
class ChecksListening(Protocol):
    """A platform that tells whether it lets the bot listen as it needs to."""

    def check_listening(self) -> None:
        """Raise `BackendError` when it does not, or does not answer."""


class WebhookAdmin(Protocol):
    """One bot's webhook at its platform.

    `BackendError`: no answer; `Refused` (EBLOCKED): the platform does not accept it, with what
    helps.
    """

    def register(self, webhook: WebhookRegistration) -> None:
        """Register it, with our secret; `UsageError` when the url or the secret cannot be right."""

    def read_state(self) -> WebhookState:
        """Return its state as the platform reports it."""

    def remove(self, *, drop: bool = False) -> None:
        """Remove it; removing no webhook is no error."""


@runtime_checkable
class HasWebhook(Protocol):
    """A platform whose webhook can be registered from here."""

    @property
    def webhook(self) -> WebhookAdmin:
        """Return its webhook; nothing is requested yet."""

    def fetch_bot_name(self) -> str:
        """Return the bot's name there; `BackendError` when the platform does not answer or does not
        know it.
        """
