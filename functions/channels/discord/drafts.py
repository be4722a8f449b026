"""Drafts in the place of "thinking…", where the answer to an interaction comes later
(https://discord.com/developers/docs/interactions/receiving-and-responding#followup-messages).

A button that nobody can press tells a draft from an answer, also to a process that did not show it.
A request about a draft whose end nobody knows may still be on its way: the answer must not stand
where that one arrives.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from functions.channels.base import Busy, Draft
from functions.channels.discord.reply_address import InteractionAddress
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
KEPT_MOST: Final = 1_000


class DiscordDrafts:
    """What a process knows of the drafts of one bot. Safe to share between threads."""

    def __init__(self) -> None:
        self.health = DraftHealth()
        self._lock = threading.Lock()
        # the interactions whose draft may change at any moment (True), or never again (False)
        self._moving: dict[int, bool] = {}

    def close(self, address: InteractionAddress) -> bool:
        """Let the draft of an interaction change no more, since its answer comes. Return False when
        a request about it may still arrive.
        """
        number = address.interaction.number
        with self._lock:
            if self._moving.get(number):
                return False
            self._note(number, is_moving=False)
            return True

    @contextmanager
    def moving(self, address: InteractionAddress) -> Iterator[None]:
        """Make a request about a draft in this block; `Refused` when its answer comes already. Once
        Discord answers, the request can arrive no more.
        """
        number = address.interaction.number
        with self._lock:
            was_moving = self._moving.get(number)
            if was_moving is False:
                raise Refused("EBLOCKED", "the answer is there", source="discord")
            self._note(number, is_moving=True)
        is_answered = False
        try:
            yield
            is_answered = True
        except (Busy, Refused):
            is_answered = True
            raise
        finally:
            if is_answered and not was_moving:
                self.settle(address)

    def settle(self, address: InteractionAddress) -> None:
        """Note that no request about the draft of an interaction can arrive any more."""
        with self._lock:
            self._moving.pop(address.interaction.number, None)

    def _note(self, number: int, *, is_moving: bool) -> None:
        self._moving[number] = is_moving
        while len(self._moving) > KEPT_MOST:
            del self._moving[next(iter(self._moving))]


@dataclass(frozen=True, slots=True)
class DiscordDraft:
    """The draft of the answer to an interaction."""

    open_api: Callable[[], DiscordApi]
    drafts: DiscordDrafts
    address: InteractionAddress
    form: DraftForm = FORM

    @property
    def health(self) -> DraftHealth:
        """Return how the drafts of the bot fare."""
        return self.drafts.health

    def show(self, text: str) -> None:
        """Edit the message that shows "thinking…"."""
        from functions.channels.discord.sending import ORIGINAL, make_draft

        fields = make_draft(text, CHARACTERS)
        if fields and time.time() < self.address.ends - LAST_SECONDS:
            self._request("PATCH", ORIGINAL, fields)

    def take_away(self) -> None:
        """Delete the message."""
        from functions.channels.discord.sending import ORIGINAL

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
    event: Event, open_api: Callable[[], DiscordApi], drafts: DiscordDrafts
) -> Draft | None:
    """Return the draft of the answer to an event; None for one that is no interaction, or an old
    one.
    """
    address = InteractionAddress.parse(event.reply_to)
    if address is None or time.time() >= address.ends - LAST_SECONDS:
        return None
    return DiscordDraft(open_api, drafts, address)
