"""Answers that are written into a card (https://open.feishu.cn/document/cardkit-v1/streaming-updates-openapi-overview).

A card is made first, and then sent by its id. Each change has a higher number than the one before,
so that none comes too late. The answer replaces the whole card, which ends its mode of streaming
and makes it the card that would have been sent at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import orjson

from functions.channels.base import Busy, Reply
from functions.channels.drafts import DraftForm
from functions.channels.feishu.api import FeishuRejected
from functions.channels.feishu.sending import FeishuChat, FeishuSender, FeishuText, Part
from functions.channels.render.feishu import render_parts
from functions.texts.languages import find_texts
from sigil.errors import BackendError, UsageError
from sigil.json_fields import as_mapping, as_string

if TYPE_CHECKING:
    from functions.channels.feishu.api import FeishuApi
    from functions.channels.growing_messages import GrowingMessage, GrowingNote

FORM: Final = DraftForm(pace=0.5, characters=18_000, is_replaced=True)
TIMEOUT: Final = 5.0
ELEMENT: Final = "answer"
ONCE_SECONDS: Final = 3_000.0
"""So long Feishu knows that it has sent a card: for an hour."""
CHANGES_A_SECOND: Final = 10
_ENDED: Final = (200850, 300309)
_OUT_OF_ORDER: Final = 300317
_CARDS: Final = "/cardkit/v1/cards"


@dataclass(slots=True)
class FeishuCard:
    """The place of an answer in a chat; in a group it points at the message `answered`.

    `now` returns seconds since 1970. `like` is a text in the language of the chat.
    """

    open_api: Callable[[], FeishuApi]
    chat: FeishuChat
    answered: str
    now: Callable[[], float]
    like: str
    _number: int = 0

    @classmethod
    def find(
        cls,
        session: str,
        reply_to: str,
        open_api: Callable[[], FeishuApi],
        now: Callable[[], float],
        like: str,
    ) -> FeishuCard | None:
        """Return the place of the answer to a message, None for no session of Feishu."""
        try:
            chat = FeishuChat.parse(session)
        except UsageError:
            return None
        return cls(open_api, chat, reply_to if chat.is_group else "", now, like)

    @property
    def takes_over(self) -> bool:
        """Return True: a card is replaced by its id."""
        return True

    def prepare(self, text: str) -> str:
        """Make the card, and return its id."""
        content = _render(text)
        card = FeishuText(content).make_card()
        # its summary is what a notification says, for which Feishu has no words of the answer
        card["config"] = {**as_mapping(card["config"]), "streaming_mode": True}
        element = {"tag": "markdown", "content": content, "element_id": ELEMENT}
        card["body"] = {"elements": [element]}
        answer = self.open_api().call("POST", _CARDS, _write_card(card), timeout=TIMEOUT)
        return as_string(as_mapping(answer.get("data")).get("card_id"))

    def begin(self, name: str, text: str) -> str:
        """Send the card, and return its id and its message's."""
        return f"{name} {self._send(name)}"

    def _send(self, card: str) -> str:
        sender = FeishuSender(self.open_api(), self.chat, card, TIMEOUT)
        return sender.send_entity(card, self.answered)

    def continues(self, shown: str, text: str) -> bool:
        """Return True: any text takes the place of the one before."""
        return True

    def grow(self, name: str, shown: str, text: str) -> None:
        """Give the card the whole text."""
        self._number += 1
        body = {"content": _render(text), "sequence": self._number}
        path = f"{_CARDS}/{_read_card(name)}/elements/{ELEMENT}/content"
        try:
            self.open_api().call("PUT", path, body, timeout=TIMEOUT)
        except FeishuRejected as problem:
            if problem.number in _ENDED:
                raise Busy("Feishu has ended the streaming", source="feishu") from None
            raise

    def look_for(self, note: GrowingNote) -> str:
        """Return nothing: every card has a name before it appears."""
        return ""

    def remove(self, note: GrowingNote) -> bool:
        """Recall the message. One of which nobody knows whether it was sent is sent once more:
        Feishu sends it once, and tells its id. When it is too late for that, the card says that it
        is no answer.
        """
        message = note.name.partition(" ")[2]
        if not message and self.now() - note.began > ONCE_SECONDS:
            self._replace(note, FeishuText(find_texts(self.like).draft_withdrawn).make_card())
            return True
        message = message or self._send(_read_card(note.name))
        try:
            self.open_api().call("DELETE", f"/im/v1/messages/{message}", timeout=TIMEOUT)
        except FeishuRejected as problem:
            if not problem.is_about_gone:
                raise
        return True

    def complete(self, note: GrowingNote, text: FeishuText) -> None:
        """Let the card be the message of a text."""
        self._replace(note, text.make_card())
        if " " not in note.name:
            self._send(note.name)

    def _replace(self, note: GrowingNote, card: dict[str, object]) -> None:
        card["config"] = {**as_mapping(card["config"]), "streaming_mode": False}
        # another process may have changed it, and says nothing of how often
        passed = int((self.now() - note.began) * CHANGES_A_SECOND)
        self._number = max(self._number + 1, passed)
        body = {"card": _write_card(card), "sequence": self._number}
        try:
            self.open_api().call("PUT", f"{_CARDS}/{_read_card(note.name)}", body)
        except FeishuRejected as problem:
            if problem.number != _OUT_OF_ORDER:
                raise
            raise BackendError("EUNAVAILABLE", problem.message, source="feishu") from None


def _render(text: str) -> str:
    return next(iter(render_parts(text, 1)), "…")


def _write_card(card: dict[str, object]) -> dict[str, object]:
    return {"type": "card_json", "data": orjson.dumps(card).decode()}


def _read_card(name: str) -> str:
    return name.partition(" ")[0]


def complete_card(reply: Reply, part: Part, growing: GrowingMessage | None) -> bool:
    """Let the first part of a reply complete the card, and return whether it has left by that."""
    place = growing.place if growing else None
    if not growing or not isinstance(part, FeishuText) or not isinstance(place, FeishuCard):
        return False
    return growing.complete(reply.key, lambda note, _: place.complete(note, part))
