"""Discord as a channel.

Receiving needs no network, so httpx and the markdown parser are loaded only when something is sent.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING

from functions.channels.base import AttachedFile, Draft, PlatformRequest, Received, Reply
from functions.channels.discord.about import API
from functions.channels.discord.incoming_text import (
    GUILD,
    Kind,
    list_unnamed,
    name_event,
)
from functions.channels.discord.interactions import read_interaction
from functions.channels.discord.reply_address import InteractionAddress, read_snowflake
from functions.channels.discord.signature import (
    load_public_key,
    verify_headers,
    verify_signature,
)
from functions.channels.first_use import FirstUse
from functions.channels.platform_api.address import read_address
from functions.events import Event
from sigil.errors import BackendError, Refused, SigilError, UsageError
from sigil.json_fields import as_mapping, as_string

if TYPE_CHECKING:
    from functions.channels.about import ChannelSettings
    from functions.channels.discord.api import DiscordApi
    from functions.channels.discord.application import DiscordApplication
    from functions.channels.discord.directory import Directory
    from functions.channels.discord.gateway import Gateway
    from functions.channels.discord.known_drafts import KnownDrafts
    from functions.channels.listening.sockets import Listener
    from functions.channels.platform_api.http_client import Transport
    from functions.channels.webhooks import CommandMenu

FILES = "https://cdn.discordapp.com"
BODY_MOST = 1 << 20
WAITING_TIMEOUT = 5.0
TYPING_SECONDS = 8.0
"""Discord shows for ten seconds that somebody types."""
_TOKEN = re.compile(r"[A-Za-z0-9_.-]{20,200}", re.ASCII)


class Discord:
    """One application with its bot.

    `token` is the bot's, `public_key` the application's (empty: every webhook is refused). `agent`:
    whose sessions its chats are. `name`: of the channel. `api` and `files`: where Discord's API and
    the files are. `transport` makes the HTTP transport (None: httpx's own), `pauses` as in
    `DiscordApi`. `clock`: by which a signature is too old. `UsageError` when `token`, `public_key`
    or an address cannot be right.
    """

    def __init__(
        self,
        token: str,
        public_key: str,
        api: str = API,
        agent: str = "main",
        *,
        name: str = "discord",
        files: str = FILES,
        transport: Transport | None = None,
        pauses: Sequence[float] = (0.5, 1.0, 2.0),
        clock: Callable[[], float] = time.time,
    ) -> None:
        if token and not _TOKEN.fullmatch(token):
            raise UsageError(
                "EINVAL",
                "DISCORD_TOKEN is not as Discord makes them",
                source=name,
                suggestion="copy it from the developer portal: Bot, Reset Token",
            )
        # what verifies is loaded now and not while Discord waits
        self._key = load_public_key(public_key) if public_key else None
        self._token = token
        self._base = read_address(api, "DISCORD_API", source=name)
        self._file_base = read_address(files, "an address", source=name)
        self._agent = agent
        self._name = name
        self._transport = transport
        self._pauses = pauses
        self._clock = clock
        self._api = FirstUse(self._open_api)
        self._directory = FirstUse(self._make_directory)
        self._drafts = FirstUse(self._make_drafts)
        self._gateway: Gateway | None = None

    @property
    def body_most(self) -> int:
        """Return far more than Discord sends."""
        return BODY_MOST

    @property
    def api(self) -> DiscordApi:
        """Return Discord's API, opened at its first use."""
        return self._api.get()

    def _open_api(self) -> DiscordApi:
        from functions.channels.discord.api import DiscordApi

        return DiscordApi(self._base, self._file_base, self._token, self._transport, self._pauses)

    def _make_directory(self) -> Directory:
        from functions.channels.discord.directory import Directory

        return Directory()

    def _make_drafts(self) -> KnownDrafts:
        from functions.channels.discord.known_drafts import KnownDrafts

        return KnownDrafts()

    @property
    def webhook(self) -> DiscordApplication:
        """Return the application's settings at Discord."""
        from functions.channels.discord.application import DiscordApplication

        return DiscordApplication(self.api)

    def close(self) -> None:
        """Close what is open; a later request opens it again."""
        if opened := self._api.forget():
            opened.close()

    def verify_head(self, request: PlatformRequest) -> bool:
        """Refuse what has no signature, or an old one; whether it is right, the body tells."""
        if self._key is None:
            raise Refused("EAUTH", "the request is not Discord's", source=self._name)
        verify_headers(request, self._clock())
        return False

    def receive(self, request: PlatformRequest) -> Received:
        """Return the event of an interaction (at most one), and how Discord is answered."""
        if self._key is None:
            raise Refused("EAUTH", "the request is not Discord's", source=self._name)
        verify_signature(request, self._key, self._clock())
        return read_interaction(request.body, self._name, self._agent)

    def accept(self, event: Event) -> Event | None:
        """Return the event, which is for us and names its sender, with the names that Discord tells
        only when it is asked.
        """
        unnamed = list_unnamed(event)
        if not unnamed:
            return event
        names: Mapping[tuple[Kind, int], str] = {}
        if self._token:
            guild = read_snowflake(event.data.get(GUILD))
            number = guild.number if guild else 0
            names = self._directory.get().find_names(self.api, number, unnamed)
        return name_event(event, lambda kind, id: names.get((kind, id), ""))

    def _recall_name(self, guild: int, kind: Kind, id: int) -> str:
        """Return a name in a server that is known by now, empty for any other."""
        directory = self._directory.made
        return (directory.recall(guild, (kind, id)) if directory else None) or ""

    def send(self, reply: Reply, sent: Callable[[int], None]) -> None:
        """Send each part of a reply as a message, a picture or a file as one of its own.

        More than five messages would be sent as four, and the whole of it as a file.
        """
        from functions.channels.discord import sending
        from functions.channels.replies.reply_parts import list_unsent

        drafts = self._drafts.made
        conversation = sending.Conversation.open(self.api, reply.session, reply.to, drafts)
        parts = sending.make_messages(reply)
        for number, part in list_unsent(parts, reply.start, sent):
            place = number + reply.goes_on
            if isinstance(part, AttachedFile):
                conversation.send(sending.make_attachment(part, reply.words), place, reply.key)
            else:
                conversation.send(part, place, reply.key)

    def send_editable(self, session: str, text: str, key: str) -> str:
        """Post a message as the bot; one with the same key is the one that is there."""
        from functions.channels.discord import sending

        fields = {**sending.make_editable(text), **sending.make_nonce(key, 0)}
        path = f"/channels/{sending.read_channel(session)}/messages"
        sent = as_mapping(self.api.call("POST", path, fields, timeout=WAITING_TIMEOUT))
        return as_string(sent.get("id"))

    def edit(self, session: str, message: str, text: str) -> None:
        """Change a message of the bot."""
        from functions.channels.discord import sending

        if read_snowflake(message) is None:
            raise Refused("EBLOCKED", "not a message of Discord", source=self._name)
        path = f"/channels/{sending.read_channel(session)}/messages/{message}"
        self.api.call("PATCH", path, sending.make_editable(text), timeout=WAITING_TIMEOUT)

    def fetch(self, attachment: Mapping[str, object], most: int) -> bytes:
        """Return a file that somebody sent, from where Discord keeps all of them."""
        from functions.channels.discord.interactions import FILE_PATH

        path = as_string(attachment.get("file_id"))
        if not FILE_PATH.fullmatch(path):
            raise UsageError("EINVAL", "the file is not kept at Discord", source=self._name)
        return self.api.download(path, most)

    @property
    def listened_bot(self) -> str:
        """Return a name of the bot, made of its token."""
        return sha256(self._token.encode()).hexdigest()[:16] if self._token else ""

    def listen(self, listener: Listener) -> None:
        """Receive over the gateway."""
        from functions.channels.discord.gateway import Gateway

        if self._gateway is None:
            self._gateway = Gateway(
                self.api,
                self._base,
                self._token,
                self._name,
                self._agent,
                recall=self._recall_name,
            )
        self._gateway.listen(listener)

    def check_listening(self) -> None:
        """Raise `BackendError` when Discord would close the connection of a bot that wants to know
        what messages say.
        """
        from functions.channels.discord.application import require_message_content

        require_message_content(self.api)

    def show_waiting(self, event: Event) -> float:
        """Show that the bot types. After a command Discord shows "thinking…" until the reply
        comes.
        """
        channel = event.session.rpartition(":")[2]
        if InteractionAddress.parse(event.reply_to) is not None or not channel.isdigit():
            return 0.0
        with suppress(SigilError):
            self.api.call("POST", f"/channels/{channel}/typing", timeout=WAITING_TIMEOUT)
        return TYPING_SECONDS

    def open_draft(self, event: Event) -> Draft | None:
        """Return the draft of the answer to an interaction."""
        if InteractionAddress.parse(event.reply_to) is None:
            return None
        from functions.channels.discord.drafts import open_draft

        return open_draft(event, self._api.get, self._drafts.get())

    def end_waiting(self, event: Event) -> None:
        """Delete "thinking…", or a draft, where no reply has taken its place."""
        from functions.channels.discord import sending
        from functions.channels.discord.api import InteractionOver

        address = InteractionAddress.parse(event.reply_to)
        if address is not None and time.time() < address.ends:
            with suppress(SigilError, InteractionOver):
                sending.end_thinking(self.api, address)

    def acknowledge(self, event: Event) -> None:
        """Do nothing: the press was answered when it came."""

    def set_menus(self, menus: Sequence[CommandMenu]) -> None:
        """Register the application's commands."""
        self.webhook.set_menus(menus)

    def fetch_bot_name(self) -> str:
        """Return the bot's user name; `BackendError` when Discord does not tell it."""
        try:
            me = self.api.call("GET", "/users/@me")
        except Refused as problem:
            raise BackendError("EUNAVAILABLE", problem.message, source=self._name) from None
        name = as_string(as_mapping(me).get("username"))
        if not name:
            raise BackendError(
                "EUNAVAILABLE", "Discord does not tell the bot's name", source=self._name
            )
        return name


def open_channel(settings: ChannelSettings) -> Discord:
    """Open the bot that the settings describe."""
    return Discord(
        settings.reveal("token"),
        settings["public_key"],
        settings["api"],
        settings.agent,
        name=settings.name,
    )
