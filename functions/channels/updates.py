"""The contract for fetching updates from a platform, where it cannot reach us by a webhook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from functions.channels.base import Channel, Received
from sigil.errors import BackendError


@dataclass(frozen=True, slots=True)
class Update:
    """One update, with the bytes that a webhook would get. `number` is the platform's own."""

    number: int
    body: bytes


class ReceivedElsewhere(BackendError):
    """The platform gives the updates to another receiver: a webhook, or another program."""


@runtime_checkable
class PolledChannel(Channel, Protocol):
    """A channel whose platform keeps updates until they are fetched and acknowledged."""

    @property
    def bot(self) -> int:
        """Return the bot's id."""

    def read_update(self, body: bytes) -> Received:
        """Return what an update brings; `UsageError` for one that we do not understand."""

    def fetch_updates(self, first: int, seconds: int) -> tuple[Update, ...]:
        """Return the updates that wait, from the number `first` on (0: all), and wait `seconds` for
        one. Those before `first` are acknowledged by that, and never come again.

        `ReceivedElsewhere`: another receiver has them. `BackendError`: no answer.
        """
