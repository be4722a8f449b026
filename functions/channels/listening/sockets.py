"""The contract for listening to a platform over a websocket that we open, where it cannot reach us
by a webhook.

A platform's module speaks the platform's protocol; `functions.ingress.socket_listener` keeps it
connected, and does what all of them need.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable
from urllib.parse import urlsplit

from functions.channels.base import Channel, Received
from sigil.errors import BackendError, Refused

Message = str | bytes
ABNORMAL = 1006
"""The code of a connection that broke off without one."""


class ConnectionLost(BackendError):
    """The connection could not be opened, or has ended. `closed_with` is the code of the other
    side's close frame. `is_too_large`: we closed it, since a message was.
    """

    def __init__(
        self,
        message: str,
        *,
        source: str,
        closed_with: int = ABNORMAL,
        is_too_large: bool = False,
    ) -> None:
        super().__init__("EUNAVAILABLE", message, source=source)
        self.closed_with = closed_with
        self.is_too_large = is_too_large


class CannotListen(Refused):
    """The platform lets this bot not listen until its owner has changed something; the suggestion
    says what.
    """

    def __init__(self, message: str, *, source: str, suggestion: str) -> None:
        super().__init__("EAUTH", message, source=source, suggestion=suggestion)


class Socket(Protocol):
    """An open connection."""

    def receive(self, seconds: float) -> Message | None:
        """Return the next message, None when none comes within so many seconds; `ConnectionLost`
        when none will come any more.
        """

    def send(self, message: Message) -> None:
        """Send a message; `ConnectionLost`."""


class Listener(Protocol):
    """What a channel is given to listen with."""

    def connect(
        self, url: str, most: int, *, pings: bool = False, leaves_with: int = 1000
    ) -> AbstractContextManager[Socket]:
        """Open a connection whose messages have at most `most` bytes. No redirect is followed.

        `pings`: pings of the websocket protocol show whether the other side is there. `leaves_with`
        is the code with which we close it. `ConnectionLost` when it cannot be opened.
        """

    def put(self, read: Callable[[], Received]) -> Received | None:
        """Put what `read` returns into the queue, and return it once it is durable.

        None for what cannot be read: that is logged, and no reason to end. `BackendError`: it is
        not durable.
        """

    def note_listening(self) -> None:
        """Note that the platform sends us events from now on."""

    def note_unreadable(self, problem: str) -> None:
        """Note that a message of the platform made no sense; `ConnectionLost` when too many of this
        connection make none.
        """

    def load_state(self) -> bytes | None:
        """Return what `save_state` kept last for this bot, None when nothing is there."""

    def save_state(self, state: bytes) -> None:
        """Keep a state over the end of this process. Best effort, never raises."""


def is_own_socket(url: str, base: str, home: tuple[str, ...], hosts: tuple[str, ...] = ()) -> bool:
    """Return whether a url that a platform tells leads to itself: what we send there is secret.

    The names of its hosts end with one of `hosts`, or of `home`, as those of its API do. Where the
    API (`base`) is at another address than the platform's own, the socket has to be there too.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return False
    own = urlsplit(base).hostname or ""
    if parts.username is not None or parts.fragment:
        return False
    if f".{own}".endswith(home):
        is_there = f".{host}".endswith(hosts or home)
        return parts.scheme == "wss" and is_there and port in (None, 443)
    return parts.scheme in ("ws", "wss") and host == own


@runtime_checkable
class SocketChannel(Channel, Protocol):
    """A channel whose platform sends events over a websocket."""

    @property
    def listened_bot(self) -> str:
        """Return a name of the bot that is the same for everybody who has its token; empty when a
        setting for listening is missing.
        """

    def listen(self, listener: Listener) -> None:
        """Open a connection and receive by it, until the platform asks to connect anew.

        `BackendError`: try again later. `CannotListen`: not before the owner did something.
        """
