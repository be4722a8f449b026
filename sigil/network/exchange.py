"""One request and one answer of the web, and who carries them: the network, or a test's
fixtures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from sigil.network.headers import Headers
from sigil.network.urls import Target

REPLY_BYTES = 700 * 1024
"""Of an answer's body: in base64 and with its headers it fits into the 1 MiB that a run is
answered.
"""


class RequestSource(NamedTuple):
    """The sender of a request: the namespace whose share of the connections it takes, and the
    capability that may use its connection again.
    """

    namespace: str = ""
    capability: str = ""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it goes out, secrets in place."""

    method: str
    target: Target
    headers: Headers
    body: bytes
    source: RequestSource = RequestSource()


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What came back: `headers` without cookies and connection fields, `body` decoded."""

    status: int
    reason: str
    headers: Headers
    body: bytes


class WebTransport(Protocol):
    """Who carries requests. `loopback`: this machine may be asked too, without TLS; for tests."""

    @property
    def loopback(self) -> bool: ...

    def send(self, hop: HttpRequest, seconds: float) -> HttpAnswer:
        """The answer to one request within `seconds`, no redirect followed; `SigilError` when there
        is none.
        """

    def close(self) -> None:
        """Give back what it holds."""
