"""The contract of a chat platform: its webhooks become events, markdown becomes its messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from functions.events import Button, Event
from functions.overheard import OverheardMessage
from sigil.errors import BackendError


@dataclass(frozen=True, slots=True)
class PlatformRequest:
    """A webhook's request: header names in lower case, the raw body, the query string's fields."""

    headers: Mapping[str, str]
    body: bytes
    query: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file that goes out below a reply. `read` returns its bytes; `UsageError` ENOENT when it is
    gone, `BackendError` when it cannot be read now.
    """

    name: str
    type: str
    read: Callable[[], bytes]


class Busy(BackendError):
    """The platform asks us to slow down: try again after `retry_after` seconds (0: unknown)."""

    def __init__(self, message: str, *, source: str = "", retry_after: float | None = None) -> None:
        super().__init__("ERATE", message, source=source)
        self.retry_after = retry_after or 0.0


@runtime_checkable
class FetchesFiles(Protocol):
    """A platform from which the files of a message can be fetched."""

    def fetch(self, attachment: Mapping[str, object], most: int) -> bytes:
        """Return the bytes of a file that an event names; `UsageError` ETOOBIG for more than
        `most`, `SigilError` when it cannot be fetched.
        """


class Channel(Protocol):
    """A chat platform. The webhook uses `verify_head`, `verify` and the two that parse, which never
    wait for the network; the worker uses the rest.
    """

    def verify_head(self, request: PlatformRequest) -> None:
        """Refuse with EAUTH what its headers alone show not to be the platform's. The body is not
        read yet, and empty here.
        """

    def verify(self, request: PlatformRequest) -> None:
        """Return when the platform itself sent the request; else `Refused` with EAUTH."""

    def parse(self, body: bytes) -> list[Event]:
        """Return the events in a verified body, none for what does not concern us; `UsageError`
        with EINVAL when it is no JSON object.
        """

    def parse_overheard(self, body: bytes) -> OverheardMessage | None:
        """Return what a verified body says in a group to nobody in particular, if it is that."""

    def is_for_us(self, event: Event) -> bool:
        """Return whether a group's message that names somebody (`event.addressed`) names us. May
        ask the platform who we are: `BackendError`.
        """

    def send(
        self,
        session: str,
        text: str,
        *,
        reply_to: str = "",
        start: int = 0,
        sent: Callable[[int], None],
        files: Sequence[AttachedFile] = (),
        buttons: Sequence[Button] = (),
    ) -> None:
        """Send `text` (markdown) to `session` as one or more parts, from part `start` on (0: from
        the beginning), and then the `files`, a part each. `buttons` stand below the text where the
        platform has them.

        `sent(n)` is called when n parts have left and more follow, so `start=n` continues there:
        equal texts give equal parts. `BackendError` with EUNAVAILABLE and `Busy` (ERATE): try again
        later; `Refused` with EBLOCKED: this chat never gets it.
        """

    def show_typing(self, session: str) -> None:
        """Show that an answer is on its way; best effort, never raises."""

    def acknowledge(self, event: Event) -> None:
        """Show that a press of a button came (`PRESS` in its `data`); best effort, never raises."""
