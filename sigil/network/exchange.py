"""Describe a request to the web, its answer, and the transport that carries both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from sigil.network.headers import Headers
from sigil.network.urls import Target

REPLY_BYTES = 700 * 1024
"""The most of an answer's body: in base64 and with its headers it fits into the 1 MiB that a host
call may answer.
"""


BodyWatch = Callable[[bytes], float]
"""Gets each piece of an answer's body, decoded, as it comes, and returns until when the rest may
come, a time of the monotonic clock.
"""


class RequestSource(NamedTuple):
    """The capability that sends a request.

    `namespace`: whose share of the connections it takes; `capability`: who may use its connection
    again.
    """

    namespace: str = ""
    capability: str = ""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it goes out, its secrets filled in.

    `for_page`: of the answer, only a text is wanted, and only as much of it as fits. `reply_bytes`:
    the most of the answer's body. `watch` gets the body as it comes.
    """

    method: str
    target: Target
    headers: Headers
    body: bytes
    source: RequestSource = RequestSource()
    for_page: bool = False
    reply_bytes: int = REPLY_BYTES
    watch: BodyWatch | None = None


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer: `headers` without cookies and connection fields, `body` decoded.

    `is_cut`: the body goes on, see `HttpRequest.for_page`.
    """

    status: int
    reason: str
    headers: Headers
    body: bytes
    is_cut: bool = False


class WebTransport(Protocol):
    """A transport of requests: the network, or a test's fixtures.

    `loopback`: requests may go to this machine too, without TLS; for tests.
    """

    @property
    def loopback(self) -> bool: ...

    def send(self, hop: HttpRequest, seconds: float) -> HttpAnswer:
        """Return the answer to one request within `seconds`, no redirect followed; `SigilError`
        when there is none.
        """

    def close(self) -> None:
        """Close every connection."""
