"""LINE as a channel.

Receiving needs no network, so httpx and the markdown parser are loaded only when something is sent.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import orjson

from functions.channels.base import PlatformRequest, Received, Reply
from functions.channels.first_use import FirstUse
from functions.channels.known_people import KnownPeople
from functions.channels.line import signature
from functions.channels.line.about import API
from functions.channels.line.events import (
    ANSWERS,
    CHAT,
    MESSAGE_ID,
    PERSON,
    LineBot,
    make_answered_quote,
    read_payload,
)
from functions.channels.line.sent_messages import SentMessages
from functions.channels.platform_api.address import read_address
from functions.events import Event, Sender
from sigil.errors import SigilError, UsageError
from sigil.json_fields import as_mapping, as_string

if TYPE_CHECKING:
    from functions.channels.about import ChannelSettings
    from functions.channels.line.api import LineApi
    from functions.channels.line.directory import LineDirectory
    from functions.channels.line.sending import LineSender
    from functions.channels.platform_api.http_client import Transport
    from functions.channels.webhooks import WebhookAdmin
    from sigil.storage.kv import KV

FILES_API: Final = "https://api-data.line.me"
"""Where the files are that people send. Another address than `API` has them itself."""
BODY_MOST: Final = 2 << 20
LOADING_SECONDS: Final = 20
"""So long LINE shows that an answer comes, or until it is there; 5 to 60, in fives."""
WAITING_SECONDS: Final = 15.0
WAITING_TIMEOUT: Final = 5.0


class Line:
    """One bot, which LINE calls an official account.

    `token` lets us send, and `secret` proves what we are sent. `agent`: whose sessions its chats
    are. `name`: the channel's, with which its sessions and people begin. `transport` makes the HTTP
    transport (None: httpx's own). `UsageError` when `api` cannot be right.
    """

    def __init__(
        self,
        token: str,
        secret: str,
        api: str = API,
        *,
        agent: str = "main",
        name: str = "line",
        transport: Transport | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._sent = SentMessages(agent)
        self._bot = LineBot(name, agent, self._sent.recall)
        self._token = token
        self._secret = secret
        self._base = read_address(api, "LINE_API", source="line")
        self._transport = transport
        self._now = now
        self._lock = threading.Lock()
        self._api = FirstUse(self._open_api)
        self._people = KnownPeople(agent, now)
        self._directory = FirstUse(self._make_directory)
        self._sender: LineSender | None = None

    @property
    def body_most(self) -> int:
        """Return far more than LINE sends."""
        return BODY_MOST

    @property
    def api(self) -> LineApi:
        """Return the API, opened at its first use."""
        return self._api.get()

    def _open_api(self) -> LineApi:
        from functions.channels.line.api import LineApi

        files = FILES_API if self._base == API else self._base
        return LineApi(self._base, files, self._token, self._transport)

    def use_store(self, kv: KV) -> None:
        """Keep there what LINE tells of people, and what we say in groups."""
        self._people.use_store(kv)
        self._sent.use_store(kv)

    @property
    def directory(self) -> LineDirectory:
        """Return what is known of people and of the bot."""
        return self._directory.get()

    def _make_directory(self) -> LineDirectory:
        from functions.channels.line.directory import LineDirectory

        return LineDirectory(self._bot.name, self._people)

    @property
    def sender(self) -> LineSender:
        """Return what sends replies."""
        from functions.channels.line.sending import LineSender

        api = self.api
        with self._lock:
            if self._sender is None:
                self._sender = LineSender(api, self._sent)
            elif self._sender.api is not api:
                self._sender = replace(self._sender, api=api)
            return self._sender

    @property
    def webhook(self) -> WebhookAdmin:
        """Return the webhook; nothing is requested yet."""
        from functions.channels.line.webhook_setup import LineWebhook

        return LineWebhook(self.api)

    def close(self) -> None:
        """Close what is open; a later request opens it again."""
        if opened := self._api.forget():
            opened.close()

    def verify_head(self, request: PlatformRequest) -> bool:
        """Refuse a request without a signature. It covers the body, and alone proves nothing."""
        signature.check_head(request)
        return False

    def receive(self, request: PlatformRequest) -> Received:
        """Return what a request brings: nothing, when the console tests the webhook."""
        signature.check_head(request)
        signature.check_signature(self._secret, request)
        try:
            payload = as_mapping(orjson.loads(request.body))
        except orjson.JSONDecodeError:
            raise UsageError("EINVAL", "the request is not JSON", source="line") from None
        return read_payload(payload, self._bot, self._now())

    def accept(self, event: Event) -> Event | None:
        """Return the event with the name of the person who wrote, or our own for whoever took us
        into a group; None for one that answers somebody else's message.
        """
        if event.joined:
            return replace(event, addressed=(self.fetch_bot_name(),))
        if event.addressed:
            answered = self._sent.find(event.session, as_string(event.data.get(ANSWERS)))
            if answered is None:
                return None
            quotes = (make_answered_quote(answered), *event.quotes)
            event = replace(event, addressed=(), quotes=quotes)
        chat = event.session.partition(":")[2]
        person = event.sender.id.partition(":")[2]
        if not CHAT.fullmatch(chat) or not PERSON.fullmatch(person):
            return event
        name, language = self.directory.find_person(self.api, person, chat)
        return replace(event, sender=Sender(event.sender.id, name), language=language)

    @property
    def picture_types(self) -> frozenset[str]:
        """Return the types that LINE shows
        (https://developers.line.biz/en/reference/messaging-api/#image-message).
        """
        from functions.channels.line.sending import PICTURE_TYPES

        return PICTURE_TYPES

    def send(self, reply: Reply, sent: Callable[[int], None]) -> None:
        """Send all messages of a reply in one request."""
        self.sender.send(reply)

    def fetch(self, attachment: Mapping[str, object], most: int) -> bytes:
        """Return a file that somebody sent."""
        id = as_string(attachment.get("file_id"))
        if not MESSAGE_ID.fullmatch(id):
            raise UsageError("EINVAL", "not a file of LINE", source="line")
        return self.api.download(id, most)

    def show_waiting(self, event: Event) -> float:
        """Show in a private chat that an answer comes; LINE has no such sign in groups."""
        chat = event.session.partition(":")[2]
        if not event.private or not PERSON.fullmatch(chat):
            return 0.0
        body = {"chatId": chat, "loadingSeconds": LOADING_SECONDS}
        with suppress(SigilError):
            self.api.call("POST", "/v2/bot/chat/loading/start", body, timeout=WAITING_TIMEOUT)
        return WAITING_SECONDS

    def end_waiting(self, event: Event) -> None:
        """Do nothing: what shows that an answer comes goes away by itself."""

    def acknowledge(self, event: Event) -> None:
        """Do nothing: a press waits for nothing."""

    def fetch_bot_name(self) -> str:
        """Return the bot's name; `BackendError` when LINE does not answer."""
        return self.directory.fetch_bot_name(self.api)


def open_channel(settings: ChannelSettings) -> Line:
    """Open the bot that the settings describe."""
    return Line(
        settings.reveal("token"),
        settings.reveal("secret"),
        settings["api"],
        agent=settings.agent,
        name=settings.name,
    )
