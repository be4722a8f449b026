"""DingTalk as a channel.

Receiving needs no network, so httpx and the markdown parser are loaded only when something is sent.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from functions.channels.base import AttachedFile, Draft, PlatformRequest, Received, Reply
from functions.channels.dingtalk.about import API, OLD_API
from functions.channels.dingtalk.messages import FILE_CODE, Robot, read_message
from functions.channels.dingtalk.reply_address import DingTalkReplyAddress
from functions.channels.dingtalk.signature import check_head, open_body
from functions.channels.first_use import FirstUse
from functions.channels.platform_api.address import read_address
from functions.events import Event
from sigil.errors import UsageError
from sigil.json_fields import as_string

if TYPE_CHECKING:
    from functions.channels.about import ChannelSettings
    from functions.channels.dingtalk.answer_cards import DingTalkCard
    from functions.channels.dingtalk.api import DingTalkApi
    from functions.channels.growing_messages import GrowingMessage, GrowingMessages
    from functions.channels.listening.sockets import Listener
    from functions.channels.platform_api.http_client import Transport
    from functions.channels.waiting_signs import WaitingSigns
    from sigil.storage.kv import KV

BODY_MOST: Final = 1 << 20
SIGN: Final = "🤔"
"""What stands below a message that waits for an answer."""
SIGN_TIMEOUT: Final = 5.0
_KEY: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_TEMPLATE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}", re.ASCII)
_EMOTION: Final = {
    "emotionType": 2,
    "emotionName": SIGN,
    "textEmotion": {
        "emotionId": "2659900",
        "emotionName": SIGN,
        "text": SIGN,
        "backgroundId": "im_bg_1",
    },
}


class DingTalk:
    """One robot of an organization's app.

    `app_key` and `app_secret` are the app's; the secret also proves when we are sent something, and
    `aes_key`, when it is not empty, decrypts it and proves what it says. `robot_code`: the robot's,
    empty when it is the app's key. `card_template` is that of the cards into which answers are
    written, empty for none. `agent`: whose sessions its chats are. `name`: the channel's,
    with which its sessions and people begin. `transport` makes the HTTP transport (None: httpx's
    own). `UsageError` when one of them cannot be right.
    """

    def __init__(
        self,
        app_key: str,
        app_secret: str,
        aes_key: str = "",
        robot_code: str = "",
        *,
        card_template: str = "",
        api: str = API,
        old_api: str = OLD_API,
        agent: str = "main",
        name: str = "dingtalk",
        transport: Transport | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._robot_code = robot_code or app_key
        for name_of_key, key in (("APP_KEY", app_key), ("ROBOT_CODE", self._robot_code)):
            if not _KEY.fullmatch(key):
                raise UsageError(
                    "EINVAL", f"DINGTALK_{name_of_key} is of no such form", source="dingtalk"
                )
        if card_template and not _TEMPLATE.fullmatch(card_template):
            raise UsageError(
                "EINVAL", "DINGTALK_CARD_TEMPLATE is no template's id, ….schema", source="dingtalk"
            )
        self._card_template = card_template
        self._aes_key = b""
        if aes_key:
            # before a request waits for it
            from functions.channels.callback_encryption import read_key

            self._aes_key = read_key(aes_key, "DINGTALK_AES_KEY")
        self._robot = Robot(app_key, name, agent)
        self._app_secret = app_secret
        self._base = read_address(api, "DINGTALK_API", source="dingtalk")
        self._old_base = read_address(old_api, "DINGTALK_OLD_API", source="dingtalk")
        self._transport = transport
        self._now = now
        self._api = FirstUse(self._open_api)
        self._signs = FirstUse(self._make_signs)
        self._kv: KV | None = None
        self._cards = FirstUse(self._make_cards)

    @property
    def body_most(self) -> int:
        """Return far more than DingTalk sends."""
        return BODY_MOST

    @property
    def api(self) -> DingTalkApi:
        """Return the API, opened at its first use."""
        return self._api.get()

    def _open_api(self) -> DingTalkApi:
        from functions.channels.dingtalk.api import DingTalkApi

        return DingTalkApi(
            self._base,
            self._old_base,
            app_key=self._robot.app_key,
            app_secret=self._app_secret,
            robot_code=self._robot_code,
            transport=self._transport,
        )

    def use_store(self, kv: KV) -> None:
        """Keep there which cards are written."""
        self._kv = kv

    def _make_cards(self) -> GrowingMessages:
        from functions.channels.growing_messages import GrowingMessages

        assert self._kv, "nothing grows without a store"
        return GrowingMessages(self._robot.agent, self._kv, self._now)

    @property
    def signs(self) -> WaitingSigns:
        """Return what shows that an answer is on its way."""
        return self._signs.get()

    def _make_signs(self) -> WaitingSigns:
        from functions.channels.waiting_signs import WaitingSigns

        return WaitingSigns(self._put_sign, self._remove_sign)

    def close(self) -> None:
        """Close what is open; a later request opens it again."""
        if opened := self._api.forget():
            opened.close()

    def verify_head(self, request: PlatformRequest) -> bool:
        """Refuse what is not signed. Return whether that is all that can be proved: a robot with a
        key encrypts the body.
        """
        check_head(request, self._app_secret, self._aes_key, self._now())
        return not self._aes_key

    def receive(self, request: PlatformRequest) -> Received:
        """Return the event of a request, at most one."""
        self.verify_head(request)
        message = open_body(request.body, self._aes_key, self._now())
        return read_message(message, self._robot)

    @property
    def listened_bot(self) -> str:
        """Return the app's key."""
        return self._robot.app_key if self._app_secret else ""

    def listen(self, listener: Listener) -> None:
        """Receive by stream mode."""
        from functions.channels.dingtalk import stream_mode

        stream_mode.listen(
            listener, self.api, self._base, lambda message: read_message(message, self._robot)
        )

    def accept(self, event: Event) -> Event:
        """Return the event: whom it names is known by then, and names come with the messages."""
        return event

    def send(self, reply: Reply, sent: Callable[[int], None]) -> None:
        """Send one message a part, and then a picture or a file each."""
        from functions.channels.dingtalk.answer_cards import complete_card
        from functions.channels.dingtalk.sending import DingTalkSender, make_attachment, make_parts
        from functions.channels.replies.reply_parts import list_unsent

        session = DingTalkReplyAddress.parse(reply.to).find_session(self._now())
        sender = DingTalkSender.open(self.api, reply.session, session)
        parts = make_parts(reply)
        growing = self._take_card(reply)
        for number, part in list_unsent(parts, reply.start, sent):
            if number == 0 and complete_card(reply, part, growing):
                continue
            if isinstance(part, AttachedFile):
                sender.send(make_attachment(part, reply.words))
            else:
                sender.send(part)
        if growing:
            growing.settle()
        if reply.to:
            self.signs.take_away(reply.to)

    def open_draft(self, event: Event) -> Draft | None:
        """Return the card of the answer to an event, where an owner has set a template."""
        place = self._find_card(event.session, event.reply_to, event.text)
        if place is None:
            return None
        from functions.channels.dingtalk.answer_cards import FORM

        return self._cards.get().open(event.session, event.reply_to, place, FORM)

    def _find_card(self, session: str, reply_to: str, like: str) -> DingTalkCard | None:
        """Return where the answer to a message is written, None where it cannot be. `like`: a text
        in the language of the chat.
        """
        if self._kv is None or not self._card_template or not reply_to:
            return None
        from functions.channels.dingtalk.answer_cards import DingTalkCard

        return DingTalkCard.find(
            session, self._api.get, self._card_template, self._robot_code, like
        )

    def _take_card(self, reply: Reply) -> GrowingMessage | None:
        """Return the card that a reply completes, None where there is none."""
        place = self._find_card(reply.session, reply.to, reply.text)
        if place is None:
            return None
        from functions.channels.dingtalk.answer_cards import FORM

        return self._cards.get().take(reply, place, FORM)

    def fetch(self, attachment: Mapping[str, object], most: int) -> bytes:
        """Return a file that somebody sent."""
        code = as_string(attachment.get("file_id"))
        if not FILE_CODE.fullmatch(code):
            raise UsageError("EINVAL", "not a file of DingTalk", source="dingtalk")
        return self.api.download(code, most)

    def show_waiting(self, event: Event) -> float:
        """Put a sign below the message, which stays until the answer is there."""
        if DingTalkReplyAddress.parse(event.reply_to).conversation:
            self.signs.show(event.reply_to)
        return 0.0

    def end_waiting(self, event: Event) -> None:
        """Take the sign away, and what a crash has left of an answer."""
        if event.reply_to:
            self.signs.take_away(event.reply_to)
        if place := self._find_card(event.session, event.reply_to, event.text):
            self._cards.get().end(event.session, event.reply_to, place)

    def acknowledge(self, event: Event) -> None:
        """Do nothing: a button is a link that sends a message, and waits for nothing."""

    def fetch_bot_name(self) -> str:
        """Return the robot's code, once DingTalk has taken the app's secret: it tells no name.
        `BackendError` when it does not.
        """
        self.api.check_app()
        return self._robot_code

    def list_missing_scopes(self) -> tuple[str, ...]:
        """Return the permissions that the app lacks to write answers into cards, none where no
        template is set; `BackendError` without an answer.
        """
        if not self._card_template:
            return ()
        from functions.channels.dingtalk.answer_cards import may_write_cards
        from functions.channels.dingtalk.recipe import CARD_PERMISSIONS

        return () if may_write_cards(self.api) else CARD_PERMISSIONS

    def _put_sign(self, address: str) -> str:
        self.api.call("/v1.0/robot/emotion/reply", _point_at(address), timeout=SIGN_TIMEOUT)
        return address

    def _remove_sign(self, address: str, sign: str) -> None:
        self.api.call("/v1.0/robot/emotion/recall", _point_at(address), timeout=SIGN_TIMEOUT)


def _point_at(address: str) -> dict[str, object]:
    """Return the body of a request that puts the sign below a message, or takes it away."""
    to = DingTalkReplyAddress.parse(address)
    return {"openMsgId": to.message, "openConversationId": to.conversation, **_EMOTION}


def open_channel(settings: ChannelSettings) -> DingTalk:
    """Open the robot that the settings describe."""
    return DingTalk(
        settings["app_key"],
        settings.reveal("app_secret"),
        settings.reveal("aes_key"),
        settings["robot_code"],
        card_template=settings["card_template"],
        api=settings["api"],
        old_api=settings["old_api"],
        agent=settings.agent,
        name=settings.name,
    )
