"""WeCom as a channel.

Receiving needs no network, so httpx and the markdown parser are loaded only when something is sent.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from functions.channels.base import AttachedFile, PlatformAnswer, PlatformRequest, Received, Reply
from functions.channels.first_use import FirstUse
from functions.channels.known_people import KnownPeople, Profile
from functions.channels.platform_api.address import read_address
from functions.channels.wecom.about import API
from functions.channels.wecom.messages import CARD, MEDIA_ID, App, read_message
from functions.events import Event
from sigil.errors import Refused, SigilError, UsageError
from sigil.json_fields import as_string

if TYPE_CHECKING:
    from functions.channels.about import ChannelSettings
    from functions.channels.platform_api.http_client import Transport
    from functions.channels.wecom.api import WeComApi
    from functions.channels.wecom.signature import Callback
    from sigil.storage.kv import KV

BODY_MOST: Final = 1 << 20
LOOKUP_TIMEOUT: Final = 5.0
PRESSED_SIGN: Final = "✓"
"""What stands in place of a card's buttons once one was pressed."""
_CORP: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_AGENT: Final = re.compile(r"[0-9]{1,12}", re.ASCII)


class WeCom:
    """One app of an organization.

    `corp_id` and `agent_id` name them, and `secret` lets us send. `token` and `aes_key` prove and
    decrypt what we are sent. `agent`: whose sessions its chats are. `name`: the channel's, with
    which its sessions and people begin. `transport` makes the HTTP transport (None: httpx's own).
    `UsageError` when one of them cannot be right.
    """

    def __init__(
        self,
        corp_id: str,
        agent_id: str,
        secret: str,
        token: str = "",
        aes_key: str = "",
        *,
        api: str = API,
        agent: str = "main",
        name: str = "wecom",
        transport: Transport | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        if not _CORP.fullmatch(corp_id):
            raise UsageError("EINVAL", "WECOM_CORP_ID is of no such form", source="wecom")
        if agent_id and not _AGENT.fullmatch(agent_id):
            raise UsageError("EINVAL", "WECOM_AGENT_ID has digits alone", source="wecom")
        self._app = App(corp_id, agent_id, name, agent)
        self._callback: Callback | None = None
        if token and aes_key:
            # before a request waits for it
            from functions.channels.callback_encryption import read_key
            from functions.channels.wecom.signature import Callback

            self._callback = Callback(token, read_key(aes_key, "WECOM_AES_KEY"), corp_id)
        self._secret = secret
        self._base = read_address(api, "WECOM_API", source="wecom")
        self._transport = transport
        self._now = now
        self._api = FirstUse(self._open_api)
        self._people = KnownPeople(agent, now)

    @property
    def body_most(self) -> int:
        """Return far more than WeCom sends."""
        return BODY_MOST

    @property
    def api(self) -> WeComApi:
        """Return the API, opened at its first use."""
        return self._api.get()

    def _open_api(self) -> WeComApi:
        from functions.channels.wecom.api import WeComApi

        return WeComApi(self._base, self._app.corp_id, self._secret, self._transport)

    def use_store(self, kv: KV) -> None:
        """Keep there what WeCom tells of people."""
        self._people.use_store(kv)

    def close(self) -> None:
        """Close what is open; a later request opens it again."""
        if opened := self._api.forget():
            opened.close()

    def verify_head(self, request: PlatformRequest) -> bool:
        """Refuse a request without a signature. It covers the body, so that alone it proves
        nothing.
        """
        callback = self._require_callback(request)
        callback.check_head(request, self._now())
        return False

    def receive(self, request: PlatformRequest) -> Received:
        """Return the event of a request, at most one, or the answer by which the address is set."""
        callback = self._require_callback(request)
        if request.method == "GET":
            challenge = callback.open_challenge(request, self._now())
            return Received(answer=PlatformAnswer(200, challenge, "text/plain"))
        fields = callback.open_body(request, self._now())
        return read_message(fields, self._app)

    def accept(self, event: Event) -> Event:
        """Return the event with its sender's name; all chats are private."""
        id = event.sender.id
        person = id.partition(":")[2]
        name = self._people.find(id, lambda: self._fetch_profile(person)).name
        return replace(event, sender=replace(event.sender, name=name or person))

    def send(self, reply: Reply, sent: Callable[[int], None]) -> None:
        """Send one message a part, and then a picture or a file each."""
        from functions.channels.replies.reply_parts import list_unsent
        from functions.channels.wecom.sending import WeComSender, make_attachment, make_parts

        sender = WeComSender.open(self.api, self._require_agent(), reply)
        parts = make_parts(reply)
        for number, part in list_unsent(parts, reply.start, sent):
            if isinstance(part, AttachedFile):
                sender.send(make_attachment(part, reply.words), number)
            else:
                sender.send(part, number)

    def fetch(self, attachment: Mapping[str, object], most: int) -> bytes:
        """Return a file that somebody sent; WeCom keeps it for three days."""
        media = as_string(attachment.get("file_id"))
        if not MEDIA_ID.fullmatch(media):
            raise UsageError("EINVAL", "not a file of WeCom", source="wecom")
        return self.api.download(media, most)

    def show_waiting(self, event: Event) -> float:
        """Do nothing: WeCom has nothing that shows that an app writes."""
        return 0.0

    def end_waiting(self, event: Event) -> None:
        """Do nothing: nothing shows that we write."""

    def acknowledge(self, event: Event) -> None:
        """Let the card's buttons end, so that nobody presses another one."""
        code = as_string(event.data.get(CARD))
        if not code:
            return
        with suppress(SigilError):
            body = {
                "userids": [event.sender.id.partition(":")[2]],
                "agentid": int(self._require_agent()),
                "response_code": code,
                "button": {"replace_name": PRESSED_SIGN},
            }
            self.api.call("/message/update_template_card", body=body, timeout=LOOKUP_TIMEOUT)

    def fetch_bot_name(self) -> str:
        """Return the app's name; `BackendError` when WeCom does not answer."""
        query = {"agentid": self._require_agent()}
        return as_string(self.api.call("/agent/get", query).get("name"))

    def _fetch_profile(self, person: str) -> Profile:
        """Return a person's name, empty when the app may not know it."""
        try:
            answer = self.api.call("/user/get", {"userid": person}, timeout=LOOKUP_TIMEOUT)
        except Refused:
            return Profile()
        return Profile(as_string(answer.get("name")))

    def _require_agent(self) -> str:
        if not self._app.agent_id:
            raise UsageError("ESETTING", "WECOM_AGENT_ID is not set", source="wecom")
        return self._app.agent_id

    def _require_callback(self, request: PlatformRequest) -> Callback:
        if self._callback is None or request.method not in ("GET", "POST"):
            raise Refused("EAUTH", "the request is not WeCom's", source="wecom")
        return self._callback


def open_channel(settings: ChannelSettings) -> WeCom:
    """Open the app that the settings describe."""
    return WeCom(
        settings["corp_id"],
        settings["agent_id"],
        settings.reveal("secret"),
        settings.reveal("token"),
        settings.reveal("aes_key"),
        api=settings["api"],
        agent=settings.agent,
        name=settings.name,
    )
