"""Telegram as a channel.

Receiving needs no network, so httpx and the markdown parser are loaded only when something is sent.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from functions.channels.base import AttachedFile, Draft, PlatformRequest, Received, Reply
from functions.channels.first_use import FirstUse
from functions.channels.listening.updates import Update, Updates
from functions.channels.platform_api.address import read_address
from functions.channels.telegram.about import API
from functions.channels.telegram.contents import TelegramBot
from functions.channels.telegram.updates import read_update
from functions.events import PRESS, Event
from sigil.errors import BackendError, Refused, SigilError, UsageError
from sigil.json_fields import as_integer, as_mapping, as_sequence, as_string

if TYPE_CHECKING:
    from functions.channels.about import ChannelSettings
    from functions.channels.drafts import DraftHealth
    from functions.channels.platform_api.http_client import Transport
    from functions.channels.telegram.api import TelegramApi
    from functions.channels.telegram.webhook_setup import TelegramWebhook
    from functions.channels.webhooks import CommandMenu

SECRET_HEADER = "x-telegram-bot-api-secret-token"
BODY_MOST = 1 << 20
TYPING_SECONDS = 4.5
TYPING_TIMEOUT = 5.0
POLL_GRACE = 10
"""Seconds that an answer to `getUpdates` may take beyond the time that it waits for an update."""
_TOKEN = re.compile(r"([0-9]{1,18}):[A-Za-z0-9_-]{1,256}")
_BOT = re.compile(r"([0-9]{1,18})")
_FILE_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,500}")


class Telegram:
    """One bot.

    `token` names it to Telegram, `secret` is what its webhook was set with (empty: every webhook is
    refused). `agent`: whose sessions its chats are. `username`: the bot's name without @ (None:
    Telegram is asked once, when a group's message needs it). `bot`: its id, for a webhook that only
    receives and needs no token. `name`: that of the channel. `transport` makes the HTTP transport
    (None: httpx's own). `UsageError` when `token`, `bot` or `api` cannot be right.
    """

    def __init__(
        self,
        token: str,
        secret: str,
        api: str = API,
        agent: str = "main",
        username: str | None = None,
        *,
        bot: str = "",
        name: str = "telegram",
        transport: Transport | None = None,
    ) -> None:
        match = _TOKEN.fullmatch(token) if token else _BOT.fullmatch(bot)
        if not match:
            raise UsageError(
                "EINVAL",
                "TELEGRAM_TOKEN is not of the form 123456:ABC, nor TELEGRAM_BOT of digits alone",
                source="telegram",
            )
        self.bot = int(match[1])
        self._token = token
        self._secret = secret.encode()
        self._base = read_address(api, "TELEGRAM_API", source="telegram")
        self._name = name
        self._agent = agent
        self._username = (username or "").removeprefix("@").lower()
        self._transport = transport
        self._api = FirstUse(self._open_api)
        self._draft_health = FirstUse(_make_draft_health)

    @property
    def body_most(self) -> int:
        """Return far more than Telegram sends."""
        return BODY_MOST

    @property
    def api(self) -> TelegramApi:
        """Return the Bot API, opened at its first use."""
        return self._api.get()

    def _open_api(self) -> TelegramApi:
        from functions.channels.telegram.api import TelegramApi

        return TelegramApi(self._base, self._token, self._transport)

    @property
    def webhook(self) -> TelegramWebhook:
        """Return the bot's webhook at Telegram."""
        from functions.channels.telegram.webhook_setup import TelegramWebhook

        return TelegramWebhook(self.api, self._secret.decode())

    def close(self) -> None:
        """Close what is open; a later request opens it again."""
        if opened := self._api.forget():
            opened.close()

    def verify_head(self, request: PlatformRequest) -> bool:
        """Compare the secret's bytes in constant time; without a secret nothing passes.

        The header is all that Telegram signs with.
        """
        secret = request.headers.get(SECRET_HEADER, "").encode("utf-8", "surrogatepass")
        if not self._secret or not hmac.compare_digest(secret, self._secret):
            raise Refused("EAUTH", "the request is not Telegram's", source="telegram")
        return True

    def receive(self, request: PlatformRequest) -> Received:
        """Return the event of an update (at most one)."""
        self.verify_head(request)
        return self.read_update(request.body)

    def read_update(self, body: bytes) -> Received:
        """Return what an update brings, however it came."""
        return read_update(body, TelegramBot(self.bot, self._name, self._agent))

    def accept(self, event: Event) -> Event | None:
        """Return the event if our name is among those that it names."""
        if event.addressed and self.fetch_bot_name() not in event.addressed:
            return None
        return event

    def send(self, reply: Reply, sent: Callable[[int], None]) -> None:
        """Send one `sendMessage` a part, then one `sendDocument` or `sendPhoto` a picture or file.
        `reply.to` is a message id; only a group's first part points at it.

        More than ten messages would be sent as nine, and the whole of it as a file.
        """
        from functions.channels.replies.reply_parts import list_unsent
        from functions.channels.telegram import sending

        chat = sending.TelegramChat.parse(reply.session)
        parts = sending.make_parts(chat, reply)
        for number, part in list_unsent(parts, reply.start, sent):
            if isinstance(part, AttachedFile):
                ready = sending.make_attachment(chat, part, reply.words)
            else:
                ready = part
            answered = "" if number or reply.goes_on else reply.to
            here = replace(ready, chat=chat, reply_to=answered)
            chat = sending.send_part(self.api, here)

    def send_editable(self, session: str, text: str, key: str) -> str:
        """Call `sendMessage`, which knows no key: whoever sends again makes another message."""
        from functions.channels.telegram import sending

        return sending.send_editable(self.api, session, text)

    def edit(self, session: str, message: str, text: str) -> None:
        """Call `editMessageText`."""
        from functions.channels.telegram import sending

        sending.edit_message(self.api, session, message, text)

    def fetch(self, attachment: Mapping[str, object], most: int) -> bytes:
        """Return a file that somebody sent; Telegram gives files of up to 20 MB."""
        id = as_string(attachment.get("file_id"))
        found = as_mapping(self.api.call("getFile", {"file_id": id}))
        path = as_string(found.get("file_path"))
        if (as_integer(found.get("file_size"), 0) or 0) > most:
            raise UsageError("ETOOBIG", "the file is too large", source="telegram")
        if not _FILE_PATH.fullmatch(path) or ".." in path:
            raise BackendError("EUNAVAILABLE", "Telegram names no file", source="telegram")
        return self.api.download(path, most)

    def show_waiting(self, event: Event) -> float:
        """Call `sendChatAction`, which Telegram shows for five seconds or until a message comes."""
        from functions.channels.telegram.sending import TelegramChat

        with suppress(SigilError):
            self.api.call(
                "sendChatAction",
                {**TelegramChat.parse(event.session).params(), "action": "typing"},
                timeout=TYPING_TIMEOUT,
            )
        return TYPING_SECONDS

    def end_waiting(self, event: Event) -> None:
        """Do nothing: what `sendChatAction` shows goes away by itself."""

    def open_draft(self, event: Event) -> Draft | None:
        """Return the draft of an answer in a private chat."""
        from functions.channels.telegram.drafts import open_draft

        return open_draft(event, self._api.get, self._draft_health.get())

    def acknowledge(self, event: Event) -> None:
        """Call `answerCallbackQuery`, which ends the button's wait."""
        press = event.data.get(PRESS)
        with suppress(SigilError):
            params: dict[str, object] = {"callback_query_id": press}
            self.api.call("answerCallbackQuery", params, timeout=TYPING_TIMEOUT)

    @property
    def may_poll(self) -> bool:
        """Return True: as long as no webhook is set at Telegram, which it tells."""
        return True

    @property
    def saves_position(self) -> bool:
        """Return False: Telegram forgets what was acknowledged."""
        return False

    def fetch_updates(self, position: str, seconds: int) -> Updates:
        """Call `getUpdates`, which waits for `seconds` at most (long polling)."""
        import orjson

        from functions.channels.telegram.webhook_setup import UPDATES

        params: dict[str, object] = {"timeout": seconds, "allowed_updates": UPDATES}
        if position:
            params["offset"] = int(position)
        # the API's client gives half of the time to the wait for an answer
        found = self.api.call("getUpdates", params, timeout=2 * (seconds + POLL_GRACE))
        updates = []
        for row in as_sequence(found):
            number = as_integer(as_mapping(row).get("update_id"), 0)
            if number is not None:
                updates.append(Update(orjson.dumps(row), str(number + 1)))
        # After silence all are acknowledged. Telegram may go on with any number after a quiet week,
        # also with a smaller one.
        return Updates(tuple(updates), updates[-1].position if updates else "")

    def set_menus(self, menus: Sequence[CommandMenu]) -> None:
        """Register the menus of commands."""
        self.webhook.set_menus(menus)

    def fetch_bot_name(self) -> str:
        """Return the bot's own name in lower case; Telegram is asked once when it is not set.

        `BackendError` when Telegram does not answer. Two threads may both ask; the answer is the
        same.
        """
        if not self._username:
            try:
                me = self.api.call("getMe", {})
            except Refused as problem:
                raise BackendError("EUNAVAILABLE", problem.message, source="telegram") from None
            self._username = as_string(as_mapping(me).get("username")).lower()
        if not self._username:
            raise BackendError(
                "EUNAVAILABLE", "Telegram does not tell the bot's name", source="telegram"
            )
        return self._username


def _make_draft_health() -> DraftHealth:
    from functions.channels.drafts import DraftHealth

    return DraftHealth()


def open_channel(settings: ChannelSettings) -> Telegram:
    """Open the bot that the settings describe."""
    return Telegram(
        settings.reveal("token"),
        settings.reveal("secret"),
        settings["api"],
        settings.agent,
        settings["username"] or None,
        bot=settings["bot"],
        name=settings.name,
    )
