"""One request over the network: over a guarded connection, an answer read up to its limit and in
plain.
"""

from __future__ import annotations

import ssl
import zlib
from collections.abc import Iterator

import httpcore

from sigil.errors import Refused, ToolError
from sigil.network.connection_pool import ConnectionPool
from sigil.network.exchange import REPLY_BYTES, HttpAnswer, HttpRequest
from sigil.network.guarded_connections import GuardedBackend, Resolve, look_up
from sigil.network.headers import Headers, read_incoming

PIECES_MOST = 10_000
"""Of an answer's body, of which each takes its time however small it is."""


class GuardedTransport:
    """The web. `context`: which certificates are trusted (default: the public authorities).
    `loopback`: for tests, see `HttpRequest`.
    """

    def __init__(
        self,
        *,
        loopback: bool = False,
        resolve: Resolve = look_up,
        context: ssl.SSLContext | None = None,
        inner: httpcore.NetworkBackend | None = None,
    ) -> None:
        self.loopback = loopback
        self._guard = GuardedBackend(resolve, loopback=loopback, inner=inner)
        self._connections = ConnectionPool(self._guard, context)

    def send(self, hop: HttpRequest, seconds: float) -> HttpAnswer:
        """The answer to one request, no redirect followed; `ToolError` ENET when there is none in
        time.
        """
        self._guard.allowance.begin(seconds, hop.source.namespace)
        try:
            return self._sent(hop, seconds)
        except httpcore.TimeoutException:
            raise ToolError(
                "ENET", f"{hop.target.host} did not answer in time", source="http"
            ) from None
        except (
            httpcore.NetworkError,
            httpcore.ProtocolError,
            httpcore.UnsupportedProtocol,
            ssl.SSLError,
            OSError,
        ) as problem:
            why = (
                "its certificate does not hold"
                if "CERTIFICATE_VERIFY" in str(problem)
                else "the connection failed"
            )
            raise ToolError("ENET", f"{hop.target.host}: {why}", source="http") from None

    def close(self) -> None:
        """Close every connection."""
        self._connections.close()
        self._guard.close()

    def _sent(self, hop: HttpRequest, seconds: float) -> HttpAnswer:
        target = hop.target
        request = httpcore.Request(
            method=hop.method,
            url=httpcore.URL(
                scheme=target.scheme.encode(),
                host=target.host.encode(),
                port=target.port,
                target=f"{target.path}{target.query}".encode(),
            ),
            headers=_fields(hop),
            content=hop.body,
        )
        with self._connections.lent(target, hop.source, seconds) as connection:
            response = connection.handle_request(request)
            self._guard.allowance.go_on()
            try:
                body = b"" if hop.method == "HEAD" else b"".join(_plain(response))
                reason = response.extensions.get("reason_phrase", b"").decode("latin-1")
                return HttpAnswer(response.status, reason, read_incoming(response.headers), body)
            finally:
                response.close()


def open_transport(*, loopback: bool = False) -> GuardedTransport:
    """A line to the web."""
    return GuardedTransport(loopback=loopback)


def _fields(hop: HttpRequest) -> list[tuple[bytes, bytes]]:
    ours: Headers = (("host", hop.target.authority), ("accept-encoding", "identity"))
    if hop.body or hop.method in ("POST", "PUT", "PATCH"):
        ours += (("content-length", str(len(hop.body))),)
    return [(name.encode("ascii"), value.encode("ascii")) for name, value in (*ours, *hop.headers)]


def _plain(response: httpcore.Response) -> Iterator[bytes]:
    """The body in pieces, decoded when the server compressed it unasked, and never more than the
    limit.
    """
    codings = [coding for coding in _codings(response) if coding not in (b"", b"identity")]
    if len(codings) > 1 or not set(codings) <= {b"gzip", b"x-gzip", b"deflate"}:
        raise ToolError(
            "ENET", "the answer is encoded in a way that nobody asked for", source="http"
        )
    decoder = zlib.decompressobj(zlib.MAX_WBITS | 32) if codings else None
    room = REPLY_BYTES
    for number, piece in enumerate(response.iter_stream()):
        if number >= PIECES_MOST:
            raise ToolError("ENET", "the answer comes in too many pieces", source="http")
        data = _inflated(decoder, piece, room) if decoder else piece
        room -= len(data)
        if room < 0:
            raise Refused(
                "ETOOBIG", f"the answer has more than {REPLY_BYTES:,} bytes", source="http"
            )
        yield data


def _codings(response: httpcore.Response) -> list[bytes]:
    """All that any field says, one after the other."""
    said = b",".join(
        value for name, value in response.headers if name.lower() == b"content-encoding"
    )
    return [coding.strip().lower() for coding in said.split(b",")]


def _inflated(decoder: zlib._Decompress, piece: bytes, room: int) -> bytes:
    try:
        return decoder.decompress(piece, room + 1)
    except zlib.error:
        raise ToolError("ENET", "the answer's encoding is damaged", source="http") from None
