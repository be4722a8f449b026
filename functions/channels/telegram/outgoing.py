"""A message on its way to a chat, and what can be mended when Telegram refuses it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from functions.channels.render.telegram import Part
from functions.channels.telegram.api import Rejected
from sigil.errors import UsageError

if TYPE_CHECKING:
    from functions.channels.telegram.api import Api

_SESSION = re.compile(r"telegram:(-?[0-9]{1,19})(?::([0-9]{1,19}))?")
_MESSAGE_ID = re.compile(r"[0-9]{1,18}")
_ABOUT_ENTITIES = re.compile(r"entit|parse|url", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat, or a topic in it (`thread`, 0: none). Groups have negative ids."""

    id: int
    thread: int = 0

    @classmethod
    def of(cls, session: str) -> Chat:
        """The chat of `telegram:CHAT[:THREAD]`; `UsageError` for any other session."""
        match = _SESSION.fullmatch(session)
        if not match:
            raise UsageError("EINVAL", "not a session of Telegram", source="telegram")
        return cls(int(match[1]), int(match[2] or 0))

    def params(self) -> dict[str, object]:
        """The fields that name the chat in a request."""
        return {"chat_id": self.id, "message_thread_id": self.thread} if self.thread else {"chat_id": self.id}


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One `sendMessage`. `reply_to`: the id of the message that a group sees it answer."""

    chat: Chat
    part: Part
    reply_to: str = ""

    def params(self) -> dict[str, object]:
        """The request's fields."""
        params = self.chat.params() | {"text": self.part.text, "link_preview_options": {"is_disabled": True}}
        if self.part.entities:
            params["entities"] = [entity.as_dict() for entity in self.part.entities]
        if self.chat.id < 0 and _MESSAGE_ID.fullmatch(self.reply_to):
            params["reply_parameters"] = {"message_id": int(self.reply_to), "allow_sending_without_reply": True}
        return params

    def mended(self, problem: Rejected) -> Outgoing | None:
        """What to try instead: the chat's new id, or plain text when its styles are refused; None: nothing helps."""
        if problem.moved_to not in (0, self.chat.id):
            # message ids are counted anew in a supergroup
            return Outgoing(Chat(problem.moved_to), self.part)
        if self.part.entities and _ABOUT_ENTITIES.search(problem.message):
            return replace(self, part=Part(self.part.text))
        return None


def deliver(api: Api, message: Outgoing, tries: int = 3) -> Chat:
    """Send `message`, mended at most twice; the chat that took it. Errors as `Api.call`."""
    try:
        api.call("sendMessage", message.params())
    except Rejected as problem:
        mended = message.mended(problem)
        if mended is None or tries == 1:
            raise
        return deliver(api, mended, tries - 1)
    return message.chat
