"""Drafts in private chats (https://core.telegram.org/bots/api#sendmessagedraft): Telegram shows one
for thirty seconds, or until a message comes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from zlib import crc32

from functions.channels.base import Draft
from functions.channels.drafts import DraftForm, DraftHealth, NoDrafts
from functions.channels.render.telegram import LIMIT, render_parts
from functions.channels.telegram.sending import TelegramChat
from functions.events import Event

if TYPE_CHECKING:
    from functions.channels.telegram.api import TelegramApi

FORM: Final = DraftForm(pace=0.5, characters=LIMIT, renewal=20.0)
TIMEOUT: Final = 5.0


@dataclass(frozen=True, slots=True)
class TelegramDraft:
    """The draft with an `id` in a private chat; the same one moves as it grows."""

    open_api: Callable[[], TelegramApi]
    chat: TelegramChat
    id: int
    health: DraftHealth
    form: DraftForm = FORM

    def show(self, text: str) -> None:
        """Call `sendMessageDraft`. A server of the Bot API that is older does not know it."""
        from functions.channels.telegram.api import UnknownMethod

        parts = render_parts(text, 1)
        if not parts:
            return
        fields = parts[0].params() | {"draft_id": self.id}
        try:
            self.open_api().call("sendMessageDraft", self.chat.params() | fields, timeout=TIMEOUT)
        except UnknownMethod as problem:
            raise NoDrafts(problem.message, source="telegram") from None

    def take_away(self) -> None:
        """Do nothing: it goes away by itself."""


def open_draft(
    event: Event, open_api: Callable[[], TelegramApi], health: DraftHealth
) -> Draft | None:
    """Return the draft of the answer to an event; None in a group, which has none."""
    chat = TelegramChat.parse(event.session)
    if not event.private or chat.id <= 0:
        return None
    return TelegramDraft(open_api, chat, crc32(event.id.encode()) % (2**31 - 1) + 1, health)
