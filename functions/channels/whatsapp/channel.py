"""WhatsApp as a channel.

Receiving needs no network, so httpx and the markdown parser are loaded only when something is sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import orjson

from functions.channels.base import AttachedFile, PlatformAnswer, PlatformRequest, Received, Reply
from functions.channels.first_use import FirstUse
from functions.channels.platform_api.address import read_address
from functions.channels.whatsapp import signature
from functions.channels.whatsapp.about import API
from functions.channels.whatsapp.events import FILE_ID, MESSAGE_ID, Number, read_payload
from functions.events import Event
from sigil.errors import Refused, SigilError, UsageError
from sigil.json_fields import as_mapping, as_string

if TYPE_CHECKING:
    from functions.channels.about import ChannelSettings
    from functions.channels.platform_api.http_client import Transport
    from functions.channels.whatsapp.api import WhatsAppApi

BODY_MOST: Final = 4 << 20
"""Bytes of a request; Meta sends at most 3 MB."""
WAITING_SECONDS: Final = 20.0
"""WhatsApp shows that we write for 25 seconds, or until a message comes."""
WAITING_TIMEOUT: Final = 5.0
_NUMBER: Final = re.compile(r"[0-9]{1,32}", re.ASCII)


class WhatsApp:
    """One phone number.

    `number` is its id at Meta. `token` lets us send, `secret` proves what we are sent, and
    `verify_token` is what the webhook is set up with. `agent`: whose sessions its chats are.
    `name`: the channel's, with which its sessions and people begin. `transport` makes the HTTP
    transport (None: httpx's own). `UsageError` when `number` or `api` cannot be right.
    """

    splits_albums = True

    def __init__(
        self,
        number: str,
        token: str,
        secret: str,
        verify_token: str,
        *,
        api: str = API,
        agent: str = "main",
        name: str = "whatsapp",
        transport: Transport | None = None,
    ) -> None:
        if not _NUMBER.fullmatch(number):
            raise UsageError(
                "EINVAL",
                "WHATSAPP_NUMBER is the phone number's id at Meta, which has digits alone",
                source="whatsapp",
            )
        self._number = Number(number, name, agent)
        self._token = token
        self._secret = secret
        self._verify_token = verify_token
        self._base = read_address(api, "WHATSAPP_API", source="whatsapp")
        self._transport = transport
        self._api = FirstUse(self._open_api)

    @property
    def body_most(self) -> int:
        """Return more than Meta sends."""
        return BODY_MOST

    @property
    def api(self) -> WhatsAppApi:
        """Return the Graph API, opened at its first use."""
        return self._api.get()

    def _open_api(self) -> WhatsAppApi:
        from functions.channels.whatsapp.api import WhatsAppApi

        return WhatsAppApi(self._base, self._token, self._transport)

    def close(self) -> None:
        """Close what is open; a later request opens it again."""
        if opened := self._api.forget():
            opened.close()

    def verify_head(self, request: PlatformRequest) -> bool:
        """Refuse a request without a signature, or with another token than ours. A signature covers
        the body, so that it alone proves nothing.
        """
        if request.method == "GET":
            signature.read_challenge(self._verify_token, request)
            return True
        if request.method != "POST":
            raise Refused("EAUTH", "the request is not Meta's", source="whatsapp")
        signature.check_head(request)
        return False

    def receive(self, request: PlatformRequest) -> Received:
        """Return the events of a request, or the answer by which the webhook is set up."""
        if request.method == "GET":
            challenge = signature.read_challenge(self._verify_token, request)
            return Received(answer=PlatformAnswer(200, challenge, "text/plain"))
        self.verify_head(request)
        signature.check_signature(self._secret, request)
        try:
            payload = as_mapping(orjson.loads(request.body))
        except orjson.JSONDecodeError:
            raise UsageError("EINVAL", "the request is not JSON", source="whatsapp") from None
        return read_payload(payload, self._number)

    def accept(self, event: Event) -> Event:
        """Return the event: all chats are private, and names come with the messages."""
        return event

    def send(self, reply: Reply, sent: Callable[[int], None]) -> None:
        """Send one message a part, then a picture or a file each."""
        from functions.channels.replies.reply_parts import list_unsent
        from functions.channels.whatsapp.sending import (
            WhatsAppSender,
            make_attachment,
            make_parts,
        )

        sender = WhatsAppSender.open(self.api, self._number.id, reply.session)
        parts = make_parts(reply)
        for _, part in list_unsent(parts, reply.start, sent):
            if isinstance(part, AttachedFile):
                sender.send(make_attachment(part, reply.words))
            else:
                sender.send(part)

    def fetch(self, attachment: Mapping[str, object], most: int) -> bytes:
        """Return a file that somebody sent; WhatsApp takes files of up to 100 MB."""
        id = as_string(attachment.get("file_id"))
        if not FILE_ID.fullmatch(id):
            raise UsageError("EINVAL", "not a file of WhatsApp", source="whatsapp")
        return self.api.download(id, most)

    def show_waiting(self, event: Event) -> float:
        """Mark the message as read, and show that we write."""
        if not MESSAGE_ID.fullmatch(event.reply_to):
            return 0.0
        body = {
            "messaging_product": "whatsapp",
            "status": "read",
            "message_id": event.reply_to,
            "typing_indicator": {"type": "text"},
        }
        with suppress(SigilError):
            path = f"/{self._number.id}/messages"
            self.api.call("POST", path, body, timeout=WAITING_TIMEOUT)
        return WAITING_SECONDS

    def end_waiting(self, event: Event) -> None:
        """Do nothing: what shows that we write goes away by itself."""

    def acknowledge(self, event: Event) -> None:
        """Do nothing: a press is a message of its own, and waits for nothing."""

    def fetch_bot_name(self) -> str:
        """Return the name and the phone number that people see; `BackendError` when WhatsApp does
        not answer.
        """
        query = {"fields": "verified_name,display_phone_number"}
        found = self.api.call("GET", f"/{self._number.id}", query=query)
        words = (as_string(found.get(key)) for key in ("verified_name", "display_phone_number"))
        return " ".join(filter(None, words))


def open_channel(settings: ChannelSettings) -> WhatsApp:
    """Open the number that the settings describe."""
    return WhatsApp(
        settings["number"],
        settings.reveal("token"),
        settings.reveal("secret"),
        settings.reveal("verify_token"),
        api=settings["api"],
        agent=settings.agent,
        name=settings.name,
    )
