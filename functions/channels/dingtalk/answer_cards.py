"""Answers that are written into an AI card (https://open.dingtalk.com/document/orgapp/typewriter-effect-streaming-ai-card),
where an owner has made a template with a text `content`.

A card has an id of ours. DingTalk has no way to recall one: where the answer goes another way, the
card says that it is none.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from functions.channels.base import NotAllowed, Reply
from functions.channels.dingtalk.api import DingTalkRejected
from functions.channels.dingtalk.messages import STAFF, find_conversation
from functions.channels.dingtalk.sending import DingTalkText, Part
from functions.channels.drafts import DraftForm
from functions.channels.render.dingtalk import render_parts
from functions.texts.languages import find_texts
from sigil.errors import SigilError
from sigil.json_fields import as_mapping, as_sequence, as_string

if TYPE_CHECKING:
    from functions.channels.dingtalk.api import DingTalkApi
    from functions.channels.growing_messages import GrowingMessage, GrowingNote

FORM: Final = DraftForm(pace=0.8, characters=8_000, is_replaced=True)
TIMEOUT: Final = 5.0
VARIABLE: Final = "content"
"""The variable of the template in which the answer stands."""
_STREAMING: Final = "/v1.0/card/streaming"


@dataclass(frozen=True, slots=True)
class DingTalkCard:
    """The place of an answer in the chat with a `person`, or in the group of a `conversation`.

    `template` is the card's, `robot` the robot's code. `like` is a text in the language of the
    chat.
    """

    open_api: Callable[[], DingTalkApi]
    template: str
    robot: str
    person: str
    conversation: str
    like: str

    @classmethod
    def find(
        cls, session: str, open_api: Callable[[], DingTalkApi], template: str, robot: str, like: str
    ) -> DingTalkCard | None:
        """Return the place of an answer in a session, None where the API does not know the chat."""
        conversation = find_conversation(session)
        person = session.partition(":")[2]
        if not conversation and not STAFF.fullmatch(person):
            return None
        return cls(open_api, template, robot, person, conversation, like)

    @property
    def takes_over(self) -> bool:
        """Return True: a card is changed by its id."""
        return True

    def prepare(self, text: str) -> str:
        """Return an id for the card."""
        return uuid.uuid4().hex

    def begin(self, name: str, text: str) -> str:
        """Send the card, and write the text into it."""
        body: dict[str, object] = {
            "cardTemplateId": self.template,
            "outTrackId": name,
            "callbackType": "STREAM",
            "cardData": {"cardParamMap": {VARIABLE: ""}},
        }
        space = {"supportForward": True}
        if self.conversation:
            body["openSpaceId"] = f"dtv1.card//IM_GROUP.{self.conversation}"
            body["imGroupOpenSpaceModel"] = space
            body["imGroupOpenDeliverModel"] = {"robotCode": self.robot}
        else:
            body["openSpaceId"] = f"dtv1.card//IM_ROBOT.{self.person}"
            body["imRobotOpenSpaceModel"] = space
            body["imRobotOpenDeliverModel"] = {"spaceType": "IM_ROBOT", "robotCode": self.robot}
        path = "/v1.0/card/instances/createAndDeliver"
        answer = self.open_api().change_card("POST", path, body, timeout=TIMEOUT)
        sent = as_sequence(as_mapping(answer.get("result")).get("deliverResults"))
        for each in map(as_mapping, sent):
            if each.get("success") is False:
                raise DingTalkRejected("deliver", as_string(each.get("errorMsg")))
        with suppress(SigilError):  # the card is there, and shows the next text
            self.grow(name, "", text)
        return name

    def continues(self, shown: str, text: str) -> bool:
        """Return True: any text takes the place of the one before."""
        return True

    def grow(self, name: str, shown: str, text: str) -> None:
        """Give the card the whole text."""
        body = _make_change(name, next(iter(render_parts(text, 1)), "…"), is_last=False)
        self.open_api().change_card("PUT", _STREAMING, body, timeout=TIMEOUT)

    def look_for(self, note: GrowingNote) -> str:
        """Return nothing: every card has a name before it appears."""
        return ""

    def remove(self, note: GrowingNote) -> bool:
        """Let the card say that it is no answer; False where there is none."""
        try:
            self._finish(note.name, find_texts(self.like).draft_withdrawn)
        except DingTalkRejected:
            return False
        return True

    def complete(self, note: GrowingNote, text: DingTalkText) -> None:
        """Let the card be the message of a text."""
        self._finish(note.name, text.make_content()["text"])

    def _finish(self, name: str, content: str) -> None:
        """Write the last text into a card, also where another process has just done so."""
        body = _make_change(name, content, is_last=True)
        try:
            self.open_api().change_card("PUT", _STREAMING, body)
        except DingTalkRejected:
            body = {
                "outTrackId": name,
                "cardData": {"cardParamMap": {VARIABLE: content}},
                "cardUpdateOptions": {"updateCardDataByKey": True},
            }
            self.open_api().change_card("PUT", "/v1.0/card/instances", body)


def _make_change(name: str, content: str, *, is_last: bool) -> dict[str, object]:
    return {
        "outTrackId": name,
        "guid": uuid.uuid4().hex,
        "key": VARIABLE,
        "content": content,
        "isFull": True,
        "isFinalize": is_last,
        "isError": False,
    }


def may_write_cards(api: DingTalkApi) -> bool:
    """Return whether the app may write into cards, by asking for one that is not there."""
    body = _make_change(uuid.uuid4().hex, "…", is_last=True)
    try:
        api.change_card("PUT", _STREAMING, body)
    except NotAllowed:
        return False
    except DingTalkRejected:
        pass
    return True


def complete_card(reply: Reply, part: Part, growing: GrowingMessage | None) -> bool:
    """Let the first part of a reply complete the card, and return whether it has left by that."""
    place = growing.place if growing else None
    if not growing or not isinstance(part, DingTalkText) or not isinstance(place, DingTalkCard):
        return False
    return growing.complete(reply.key, lambda note, _: place.complete(note, part))
