"""GitHub as a channel.

Receiving needs no network, so httpx and the markdown parser are loaded only when something is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

import orjson

from functions.channels.base import PlatformRequest, Received, Reply
from functions.channels.first_use import FirstUse
from functions.channels.github import signature
from functions.channels.github.about import API
from functions.channels.github.events import GitHubBot, read_payload, strip_mention
from functions.channels.github.places import REPOSITORY, Answered, Issue
from functions.channels.platform_api.address import read_address
from functions.channels.waiting_signs import WaitingSigns
from functions.events import Event
from sigil.errors import BackendError, Refused, UsageError
from sigil.json_fields import as_integer, as_mapping, as_string

if TYPE_CHECKING:
    from functions.channels.about import ChannelSettings
    from functions.channels.github.api import GitHubApi
    from functions.channels.platform_api.http_client import Transport
    from functions.channels.webhooks import WebhookAdmin

BODY_MOST: Final = 4 << 20
WAITING_TIMEOUT: Final = 5.0
_FORM: Final = b"payload="
"""What GitHub's forms begin with (`application/x-www-form-urlencoded`)."""
FIELDS_MOST: Final = 10


class GitHub:
    """One bot, which is an account of its own.

    It answers in `repositories` (`octocat/hello`). `token` is its account's, and `secret` proves
    what we are sent. `agent`: whose sessions its chats are. `name`: the channel's, with which its
    sessions and people begin. `transport` makes the HTTP transport (None: httpx's own).
    `UsageError` when a repository or `api` cannot be right.
    """

    def __init__(
        self,
        repositories: tuple[str, ...],
        token: str,
        secret: str,
        api: str = API,
        *,
        agent: str = "main",
        name: str = "github",
        transport: Transport | None = None,
    ) -> None:
        for repository in repositories:
            if not REPOSITORY.fullmatch(repository):
                raise UsageError(
                    "ESETTING",
                    "GITHUB_REPOSITORIES is a list of OWNER/REPOSITORY with blanks between them",
                    source="github",
                )
        known = frozenset(repository.lower() for repository in repositories)
        self._bot = GitHubBot(name, agent, known)
        self._repositories = repositories
        self._token = token
        self._secret = secret
        self._base = read_address(api, "GITHUB_API", source="github")
        self._transport = transport
        self._api = FirstUse(self._open_api)
        self._own: tuple[int, str] | None = None
        self._signs = WaitingSigns(self._add_reaction, self._delete_reaction)

    @property
    def body_most(self) -> int:
        """Return far more than a comment needs; GitHub sends up to 25 MB."""
        return BODY_MOST

    @property
    def api(self) -> GitHubApi:
        """Return the API, opened at its first use."""
        return self._api.get()

    def _open_api(self) -> GitHubApi:
        from functions.channels.github.api import GitHubApi

        return GitHubApi(self._base, self._token, self._transport)

    @property
    def webhook(self) -> WebhookAdmin:
        """Return the webhooks of the repositories; nothing is requested yet."""
        from functions.channels.github.webhook_setup import GitHubWebhooks

        return GitHubWebhooks(self.api, self._repositories, self._secret, self._bot.name)

    def close(self) -> None:
        """Close what is open; a later request opens it again."""
        if opened := self._api.forget():
            opened.close()

    def verify_head(self, request: PlatformRequest) -> bool:
        """Refuse a request without a signature. It covers the body, and alone proves nothing."""
        signature.check_head(request)
        return False

    def receive(self, request: PlatformRequest) -> Received:
        """Return what a delivery brings: nothing for a `ping`."""
        signature.check_head(request)
        signature.check_signature(self._secret, request)
        body = request.body
        # what is signed tells a form, and not the header: a webhook that was made by hand sends one
        if body.startswith(_FORM):
            body = _read_form(body)
        try:
            payload = as_mapping(orjson.loads(body))
        except orjson.JSONDecodeError:
            raise UsageError(
                "EINVAL",
                "the request is neither JSON nor a form with a payload of it",
                source="github",
            ) from None
        # the header is not signed; what it makes of a body is no more than the body says
        return read_payload(request.headers.get("x-github-event", ""), payload, self._bot)

    def accept(self, event: Event) -> Event | None:
        """Return the event if it is for us and not our own."""
        id, login = self._fetch_own()
        if event.sender.id == f"{self._bot.name}:{id}":
            return None
        if event.addressed:
            if login.lower() not in event.addressed:
                return None
            event = replace(event, text=strip_mention(event.text, login), addressed=())
        return event

    @property
    def picture_types(self) -> frozenset[str]:
        """Return the types that a comment shows."""
        return frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))

    def send(self, reply: Reply, sent: Callable[[int], None]) -> None:
        """Send a comment a part."""
        from functions.channels.github.sending import CommentSender

        CommentSender(self.api, self._fetch_own()[0]).send(reply, sent)
        path = _name_reactions(reply.session, reply.to)
        if path:
            self._signs.take_away(path)

    def show_waiting(self, event: Event) -> float:
        """Add a reaction to the comment, which stays until the answer is there."""
        path = _name_reactions(event.session, event.reply_to)
        if path:
            self._signs.show(path)
        return 0.0

    def end_waiting(self, event: Event) -> None:
        """Take the reaction away."""
        path = _name_reactions(event.session, event.reply_to)
        if path:
            self._signs.take_away(path)

    def acknowledge(self, event: Event) -> None:
        """Do nothing: there are no buttons."""

    def fetch_bot_name(self) -> str:
        """Return the account's login; `BackendError` when GitHub does not answer."""
        return self._fetch_own()[1]

    def _add_reaction(self, path: str) -> str:
        answer = self.api.call("POST", path, {"content": "eyes"}, timeout=WAITING_TIMEOUT)
        return str(as_integer(as_mapping(answer).get("id"), 1) or "")

    def _delete_reaction(self, path: str, id: str) -> None:
        self.api.call("DELETE", f"{path}/{id}", timeout=WAITING_TIMEOUT)

    def _fetch_own(self) -> tuple[int, str]:
        """Return the id and the login of our account; GitHub is asked once.

        Two threads may both ask; the answer is the same.
        """
        if self._own is None:
            try:
                answer = as_mapping(self.api.call("GET", "/user"))
            except Refused as problem:
                raise BackendError("EUNAVAILABLE", problem.message, source="github") from None
            id = as_integer(answer.get("id"), 1)
            login = as_string(answer.get("login"))
            if not id or not login:
                raise BackendError(
                    "EUNAVAILABLE", "GitHub does not tell the account's name", source="github"
                )
            self._own = (id, login)
        return self._own


def _read_form(body: bytes) -> bytes:
    """Return the JSON of a form; `UsageError` for one that GitHub does not send."""
    try:
        fields = parse_qs(body.decode(), errors="strict", max_num_fields=FIELDS_MOST)
        [payload] = fields["payload"]
    except (ValueError, KeyError):
        raise UsageError(
            "EINVAL", "the request is a form without one payload of text", source="github"
        ) from None
    return payload.encode()


def _name_reactions(session: str, reply_to: str) -> str:
    issue = Issue.parse(session)
    answered = Answered.parse(reply_to)
    return answered.name_reactions(issue) if issue and answered else ""


def open_channel(settings: ChannelSettings) -> GitHub:
    """Open the bot that the settings describe."""
    return GitHub(
        tuple(settings["repositories"].split()),
        settings.reveal("token"),
        settings.reveal("secret"),
        settings["api"],
        agent=settings.agent,
        name=settings.name,
    )
