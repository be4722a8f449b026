"""The contract for telling a platform where its webhook is, and what the platform says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

PATH = "/webhook/{platform}"
"""Where the door is, behind whatever stands in front of it."""


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """A webhook to set.

    `connections`: how many requests the platform may send at once, 0 for its own default. `drop`:
    forget what waits there. `commands`: the slash commands that the platform offers to whoever
    types a slash, as (name, meaning).
    """

    url: str
    connections: int = 0
    drop: bool = False
    commands: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook as the platform knows it: `url` is empty when there is none; times are Unix
    seconds, 0 for never.

    `pending`: updates that wait for it. `error`: why the latest delivery that failed did so;
    `advice`: what helps.
    """

    url: str
    pending: int = 0
    error: str = ""
    error_at: int = 0
    advice: str = ""
    address: str = ""
    connections: int = 0
    updates: tuple[str, ...] = ()

    @property
    def works(self) -> bool:
        """Whether it is set and nothing waits behind a delivery that failed."""
        return bool(self.url) and not (self.error and self.pending)


class Hooks(Protocol):
    """One bot's webhook at its platform. `BackendError`: no answer; `Refused` (EBLOCKED) with what
    helps: the platform will not have it.
    """

    def place(self, wanted: WebhookRequest) -> None:
        """Set it, with our secret; `UsageError` when the url or the secret cannot be right."""

    def look(self) -> Hook:
        """What the platform says of it."""

    def remove(self, *, drop: bool = False) -> None:
        """Take it away; no webhook is as good."""


@runtime_checkable
class Hooked(Protocol):
    """A platform whose webhook can be set from here."""

    @property
    def hooks(self) -> Hooks:
        """Its webhook; nothing is asked yet."""

    def known(self) -> str:
        """Our name there; `BackendError` when the platform does not answer or does not know us."""
