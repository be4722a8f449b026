"""Drafts in the place of "thinking…", where the answer to an interaction comes later
(https://discord.com/developers/docs/interactions/receiving-and-responding#followup-messages).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from functions.channels.base import Draft
from functions.channels.discord.known_drafts import KnownDrafts
from functions.channels.discord.reply_address import InteractionAddress
from functions.channels.discord.sending import ORIGINAL, make_draft
from functions.channels.drafts import DraftForm, DraftHealth
from functions.events import Event
from sigil.errors import Refused

if TYPE_CHECKING:
    from functions.channels.discord.api import DiscordApi

CHARACTERS: Final = 1_900
"""A message has at most 2,000; a draft that would have more stands still."""
FORM: Final = DraftForm(pace=1.5, characters=CHARACTERS, is_replaced=True)
TIMEOUT: Final = 5.0
LAST_SECONDS: Final = 60.0
"""So long before Discord takes no answer any more a draft stands still."""


@dataclass(frozen=True, slots=True)
class DiscordDraft:
    """The draft of the answer to an interaction."""

    open_api: Callable[[], DiscordApi]
    drafts: KnownDrafts
    address: InteractionAddress
    form: DraftForm = FORM

    @property
    def health(self) -> DraftHealth:
        """Return how the drafts of the bot fare."""
        return self.drafts.health

    def show(self, text: str) -> None:
        """Edit the message that shows "thinking…"."""
        fields = make_draft(text, CHARACTERS)
        if fields and time.time() < self.address.ends - LAST_SECONDS:
            self._request("PATCH", ORIGINAL, fields)

    def take_away(self) -> None:
        """Delete the message."""
        self._request("DELETE", ORIGINAL)
        self.drafts.settle(self.address)

    def _request(self, method: str, path: str, fields: object = None) -> None:
        from functions.channels.discord.api import InteractionOver

        with self.drafts.moving(self.address):
            try:
                self.open_api().answer_once(self.address, method, path, fields, timeout=TIMEOUT)
            except InteractionOver:
                raise Refused("EBLOCKED", "the interaction is over", source="discord") from None


def open_draft(
    event: Event, open_api: Callable[[], DiscordApi], drafts: KnownDrafts
) -> Draft | None:
    """Return the draft of the answer to an event; None for one that is no interaction, or an old
    one.
    """
    address = InteractionAddress.parse(event.reply_to)
    if address is None or time.time() >= address.ends - LAST_SECONDS:
        return None
    return DiscordDraft(open_api, drafts, address)
