"""The contract for fetching updates from a platform, where it cannot reach us by a webhook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from functions.channels.base import Channel, Received
from sigil.errors import BackendError


@dataclass(frozen=True, slots=True)
class Update:
    """One update, with the bytes that a webhook would get. `position` is where to go on once it is
    durable, if nothing behind it is.
    """

    body: bytes
    position: str


@dataclass(frozen=True, slots=True)
class Updates:
    """The updates that waited at a platform. `position` is where to go on behind all of them."""

    items: tuple[Update, ...]
    position: str


class ReceivedElsewhere(BackendError):
    """The platform gives the updates to another receiver: a webhook, or another program."""


@runtime_checkable
class PolledChannel(Channel, Protocol):
    """A channel whose platform keeps updates until they are fetched."""

    @property
    def bot(self) -> int | str:
        """Return the bot's id."""

    @property
    def may_poll(self) -> bool:
        """Return whether its updates are to be fetched, and not brought to a webhook."""

    @property
    def saves_position(self) -> bool:
        """Return whether the position has to be kept here: the platform does not remember what it
        gave already.
        """

    def read_update(self, body: bytes) -> Received:
        """Return what an update brings; `UsageError` for one that we do not understand."""

    def fetch_updates(self, position: str, seconds: int) -> Updates:
        """Return the updates that wait from a position on (empty: the first that there is), and
        wait `seconds` for one. Those before it are acknowledged by that.

        `ReceivedElsewhere`: another receiver has them. `BackendError`: no answer.
        """
