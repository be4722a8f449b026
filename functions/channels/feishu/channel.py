"""Feishu as a channel.

Receiving needs no network, so httpx and the markdown parser are loaded only when something is sent.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from functions.channels.base import AttachedFile, Draft, PlatformRequest, Received, Reply
from functions.channels.feishu.about import API
from functions.channels.feishu.events import ANSWERS, CHAT, SESSION, FeishuApp, read_payload
from functions.channels.feishu.signature import WebhookSecrets, open_body
from functions.channels.first_use import FirstUse
from functions.channels.known_people import KnownPeople
from functions.channels.platform_api.address import read_address
from functions.events import DELETED, PRESS, Event
from sigil.errors import Refused, UsageError
from sigil.json_fields import as_mapping, as_sequence, as_string

if TYPE_CHECKING:
    from functions.channels.about import ChannelSettings
    from functions.channels.feishu.answer_cards import FeishuCard
    from functions.channels.feishu.api import FeishuApi
    from functions.channels.feishu.directory import FeishuDirectory
    from functions.channels.growing_messages import GrowingMessage, GrowingMessages
    from functions.channels.listening.sockets import Listener
    from functions.channels.platform_api.http_client import Transport
    from functions.channels.waiting_signs import WaitingSigns
    from sigil.storage.kv import KV

"""The API's address in China; Lark's is https://open.larksuite.com."""
BODY_MOST = 1 << 20
SCOPES = (
    "im:message",
    "im:message.p2p_msg:readonly",
    "im:message.group_at_msg:readonly",
    "im:resource",
    "contact:user.base:readonly",
    "im:chat.members:read",
    "cardkit:card:write",
)
"""What the app may do: write and answer, read what is said to it, files, names of people, and show
an answer in a card while it is written.
"""
EMOJI = "Typing"
"""The reaction below a message that waits for an answer."""
REMEMBERED_MOST = 1_000
"""Messages of which this process remembers where they stood."""
SIGN_TIMEOUT = 5.0
_APP_ID = re.compile(r"cli_[A-Za-z0-9]{1,64}", re.ASCII)
_FILE = re.compile(r"(om_[A-Za-z0-9_]{1,64})/([A-Za-z0-9_-]{1,128})", re.ASCII)


class Feishu:
    """One bot.

    `app_id` and `app_secret` name its app to Feishu; a webhook that only receives needs no secret.
    `secrets` prove what it is sent. `agent`: whose sessions its chats are. `name`: the channel's,
    with which its sessions and people begin. `transport` makes the HTTP transport (None: httpx's
    own). `UsageError` when `app_id` or `api` cannot be right.
    """

    def __init__(
        self,
        app_id: str,
        app_secret: str,
        secrets: WebhookSecrets,
        api: str = API,
        *,
        agent: str = "main",
        name: str = "feishu",
        transport: Transport | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        if not _APP_ID.fullmatch(app_id):
            raise UsageError(
                "EINVAL", "FEISHU_APP_ID is not of the form cli_a1b2c3", source="feishu"
            )
        if secrets.encrypt_key:
            # before a request waits for it
            import functions.channels.feishu.encryption  # noqa: F401

        self._app = FeishuApp(app_id, name, agent)
        self._app_secret = app_secret
        self._secrets = secrets
        self._base = read_address(api, "FEISHU_API", source="feishu")
        self._transport = transport
        self._now = now
        self._api = FirstUse(self._open_api)
        self._people = KnownPeople(agent, now)
        self._chats: dict[str, str] = {}
        self._directory = FirstUse(self._make_directory)
        self._signs = FirstUse(self._make_signs)
        self._kv: KV | None = None
        self._cards = FirstUse(self._make_cards)

    @property
    def body_most(self) -> int:
        """Return far more than Feishu sends."""
        return BODY_MOST

    @property
    def api(self) -> FeishuApi:
        """Return the API, opened at its first use."""
        return self._api.get()

    def _open_api(self) -> FeishuApi:
        from functions.channels.feishu.api import FeishuApi

        return FeishuApi(self._base, self._app.id, self._app_secret, self._transport)

    def use_store(self, kv: KV) -> None:
        """Keep there what Feishu tells of people, and which cards are written."""
        self._people.use_store(kv)
        self._kv = kv

    def _make_cards(self) -> GrowingMessages:
        from functions.channels.growing_messages import GrowingMessages

        assert self._kv, "nothing grows without a store"
        return GrowingMessages(self._app.agent, self._kv, self._now)

    @property
    def directory(self) -> FeishuDirectory:
        """Return what is known of people and messages."""
        return self._directory.get()

    def _make_directory(self) -> FeishuDirectory:
        from functions.channels.feishu.directory import FeishuDirectory

        return FeishuDirectory(self._app.channel, self._app.id, self._people)

    @property
    def signs(self) -> WaitingSigns:
        """Return the reactions that show that an answer is on its way."""
        return self._signs.get()

    def _make_signs(self) -> WaitingSigns:
        from functions.channels.waiting_signs import WaitingSigns

        return WaitingSigns(self._react, self._take_reaction)

    def _react(self, message: str) -> str:
        """Put a reaction below a message, and return its id."""
        body = {"reaction_type": {"emoji_type": EMOJI}}
        path = f"/im/v1/messages/{message}/reactions"
        answer = self.api.call("POST", path, body, timeout=SIGN_TIMEOUT)
        return as_string(as_mapping(answer.get("data")).get("reaction_id"))

    def _take_reaction(self, message: str, reaction: str) -> None:
        path = f"/im/v1/messages/{message}/reactions/{reaction}"
        self.api.call("DELETE", path, timeout=SIGN_TIMEOUT)

    def close(self) -> None:
        """Close what is open; a later request opens it again."""
        if opened := self._api.forget():
            opened.close()

    def verify_head(self, request: PlatformRequest) -> bool:
        """Return False: the signature covers the body as well."""
        return False

    def receive(self, request: PlatformRequest) -> Received:
        """Return the event of a request (at most one), or the answer to a challenge."""
        if request.method != "POST":
            raise Refused("EAUTH", "the request is not Feishu's", source="feishu")
        payload = open_body(request, self._secrets, self._now())
        return self._note_chats(read_payload(payload, self._app))

    @property
    def listened_bot(self) -> str:
        """Return the app's id."""
        return self._app.id if self._app_secret else ""

    def listen(self, listener: Listener) -> None:
        """Receive over the long connection."""
        from functions.channels.feishu import long_connection

        long_connection.listen(listener, self.api, self._base, self._read_event)

    def _read_event(self, body: bytes) -> Received:
        """Return what an event brings that came over the long connection."""
        import orjson

        try:
            payload = orjson.loads(body)
        except orjson.JSONDecodeError:
            payload = None
        if not isinstance(payload, dict):
            raise UsageError("EINVAL", "the event is no JSON object", source=self._app.channel)
        return self._note_chats(read_payload(payload, self._app))

    def accept(self, event: Event) -> Event | None:
        """Return the event with its sender's name and what it answers, if it names us or answers a
        message of ours.
        """
        answered = None
        parent = as_string(event.data.get(ANSWERS))
        chat = as_string(event.data.get(CHAT))
        if event.addressed:
            bot, _ = self.directory.fetch_bot(self.api)
            if bot not in event.addressed:
                if event.addressed != (parent,):
                    return None
                answered = self.directory.fetch_message(self.api, parent, chat)
                if not answered.ours:
                    return None
        if parent and answered is None:
            answered = self.directory.fetch_message(self.api, parent, chat)
        if answered and answered.quote:
            event = replace(event, quotes=(answered.quote, *event.quotes))
        event = self._open_forwarded(event)
        match = SESSION.fullmatch(event.session)
        person = event.sender.id.partition(":")[2]
        if not match or not person.startswith("ou_"):
            return event
        name = self.directory.find_name(self.api, person, match[1])
        return replace(event, sender=replace(event.sender, name=name))

    def _note_chats(self, received: Received) -> Received:
        """Remember in which chats messages stood, for when they are recalled, and return them."""
        for event in received.events:
            if len(self._chats) >= REMEMBERED_MOST:
                self._chats.clear()
            self._chats[event.id] = event.session
        return received

    def find_sessions(self, event: Event) -> Sequence[str]:
        """Return the chat, and the private chat of whoever wrote the message and the thread in
        which it stood, which Feishu tells of a message that was recalled.
        """
        found = [event.session]
        for id in map(as_string, as_sequence(event.data.get(DELETED))):
            if id in self._chats:
                found.append(self._chats[id])
                continue
            person, root = self.directory.find_author(self.api, id.rpartition(":")[2])
            if person:
                found.append(f"{self._app.channel}:{person}")
            if root:
                found.append(f"{event.session}:{root}")
        return found

    def _open_forwarded(self, event: Event) -> Event:
        """Return the event of a message that passes others on with what they say."""
        from functions.channels.feishu.directory import FORWARDED

        others = tuple(file for file in event.attachments if file.get("kind") != FORWARDED)
        if len(others) == len(event.attachments):
            return event
        forwarded = self.directory.fetch_forwarded(self.api, event.reply_to)
        if forwarded.is_empty:
            return event
        return replace(
            event,
            attachments=(*others, *forwarded.attachments),
            quotes=(*event.quotes, *forwarded.quotes),
        )

    def send(self, reply: Reply, sent: Callable[[int], None]) -> None:
        """Send one message a part, and then a picture or a file each. `reply.to` is a message's id;
        only a group's first part points at it.
        """
        from functions.channels.feishu.answer_cards import complete_card
        from functions.channels.feishu.sending import (
            FeishuChat,
            FeishuSender,
            make_attachment,
            make_parts,
        )
        from functions.channels.replies.reply_parts import list_unsent

        chat = FeishuChat.parse(reply.session)
        sender = FeishuSender(self.api, chat, reply.key)
        parts = make_parts(reply)
        growing = self._take_card(reply)
        for number, part in list_unsent(parts, reply.start, sent):
            points = number == 0 and not reply.goes_on
            if points and complete_card(reply, part, growing):
                continue
            answered = reply.to if points and chat.is_group else ""
            if isinstance(part, AttachedFile):
                sender.send(make_attachment(part, reply.words), number, answered)
            else:
                sender.send(part, number, answered)
        if growing:
            growing.settle()
        if reply.to:
            self.signs.take_away(reply.to)

    def open_draft(self, event: Event) -> Draft | None:
        """Return the card of the answer to an event."""
        place = self._find_card(event.session, event.reply_to, event.text)
        if place is None:
            return None
        from functions.channels.feishu.answer_cards import FORM

        return self._cards.get().open(event.session, event.reply_to, place, FORM)

    def _find_card(self, session: str, reply_to: str, like: str) -> FeishuCard | None:
        """Return where the answer to a message is written, None where it cannot be. `like`: a text
        in the language of the chat.
        """
        if self._kv is None or not reply_to:
            return None
        from functions.channels.feishu.answer_cards import FeishuCard

        return FeishuCard.find(session, reply_to, self._api.get, self._now, like)

    def _take_card(self, reply: Reply) -> GrowingMessage | None:
        """Return the card that a reply completes, None where there is none."""
        place = self._find_card(reply.session, reply.to, reply.text)
        if place is None:
            return None
        from functions.channels.feishu.answer_cards import FORM

        return self._cards.get().take(reply, place, FORM)

    def send_editable(self, session: str, text: str, key: str) -> str:
        """Send a card: a text could be changed twenty times only."""
        from functions.channels.feishu.sending import FeishuChat, FeishuSender

        return FeishuSender(self.api, FeishuChat.parse(session), key).send_card(text)

    def edit(self, session: str, message: str, text: str) -> None:
        """Change a card."""
        from functions.channels.feishu.sending import write_card

        body = {"content": write_card(text)}
        self.api.call("PATCH", f"/im/v1/messages/{message}", body, timeout=SIGN_TIMEOUT)

    def fetch(self, attachment: Mapping[str, object], most: int) -> bytes:
        """Return a file that somebody sent; Feishu gives files of up to 100 MB."""
        match = _FILE.fullmatch(as_string(attachment.get("file_id")))
        if not match:
            raise UsageError("EINVAL", "not a file of Feishu", source="feishu")
        kind = "image" if attachment.get("kind") == "photo" else "file"
        path = f"/im/v1/messages/{match[1]}/resources/{match[2]}"
        return self.api.download(path, {"type": kind}, most)

    def show_waiting(self, event: Event) -> float:
        """Put a reaction below the message, which stays until the answer is there."""
        if event.reply_to and PRESS not in event.data:
            self.signs.show(event.reply_to)
        return 0.0

    def end_waiting(self, event: Event) -> None:
        """Take the reaction away, and what a crash has left of an answer."""
        if event.reply_to and PRESS not in event.data:
            self.signs.take_away(event.reply_to)
        if place := self._find_card(event.session, event.reply_to, event.text):
            self._cards.get().end(event.session, event.reply_to, place)

    def acknowledge(self, event: Event) -> None:
        """Do nothing: the answer to its webhook has ended the button's wait."""

    def fetch_bot_name(self) -> str:
        """Return the bot's name; `BackendError` when Feishu does not answer."""
        return self.directory.fetch_bot(self.api)[1]

    def list_missing_scopes(self) -> tuple[str, ...]:
        """Return the permissions that the app needs and was not given, none when it may not know
        them; `BackendError` without an answer.
        """
        granted = self.directory.fetch_scopes(self.api)
        return tuple(scope for scope in SCOPES if granted and scope not in granted)


def open_channel(settings: ChannelSettings) -> Feishu:
    """Open the bot that the settings describe."""
    return Feishu(
        settings["app_id"],
        settings.reveal("app_secret"),
        WebhookSecrets(settings.reveal("encrypt_key"), settings.reveal("verification_token")),
        settings["api"],
        agent=settings.agent,
        name=settings.name,
    )
