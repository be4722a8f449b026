"""Send one request over a guarded connection, and read its answer, decoded and up to a limit."""

from __future__ import annotations

import ssl
import zlib
from collections.abc import Callable

import httpcore

from sigil.errors import Refused, ToolError
from sigil.network.connection_pool import ConnectionPool
from sigil.network.exchange import HttpAnswer, HttpRequest
from sigil.network.guarded_connections import GuardedBackend, Resolve, look_up
from sigil.network.headers import Headers, read_incoming
from sigil.network.page_text import is_text_type

PIECES_MOST = 10_000
"""The most pieces of an answer's body; each takes its time however small it is."""


class GuardedTransport:
    """The transport to the web.

    `context` has the trusted certificates (default: the public authorities'). `loopback` is for
    tests, see `WebTransport`. `trusted` is for a server that the operator names: it may be inside.
    """

    def __init__(
        self,
        *,
        loopback: bool = False,
        resolve: Resolve = look_up,
        context: ssl.SSLContext | None = None,
        inner: httpcore.NetworkBackend | None = None,
        trusted: bool = False,
    ) -> None:
        self.loopback = loopback
        self._guard = GuardedBackend(resolve, loopback=loopback, inner=inner, trusted=trusted)
        self._connections = ConnectionPool(self._guard, context)

    def send(self, request: HttpRequest, seconds: float) -> HttpAnswer:
        """Return the answer to one request, no redirect followed; `ToolError` ENET when there is
        none in time.
        """
        self._guard.budget.begin(seconds, request.source.namespace)
        try:
            return self._send_request(request, seconds)
        except httpcore.TimeoutException:
            raise ToolError(
                "ENET", f"{request.target.host} did not answer in time", source="http"
            ) from None
        except (
            httpcore.NetworkError,
            httpcore.ProtocolError,
            httpcore.UnsupportedProtocol,
            ssl.SSLError,
            OSError,
        ) as problem:
            why = "the connection failed"
            if "CERTIFICATE_VERIFY" in str(problem):
                why = "its certificate is not valid"
            raise ToolError("ENET", f"{request.target.host}: {why}", source="http") from None

    def _read_body(self, response: httpcore.Response, request: HttpRequest) -> tuple[bytes, bool]:
        """Return the body of the answer to a request, which the request's `watch` follows."""

        def follow(data: bytes) -> None:
            if request.watch:
                self._guard.budget.end = request.watch(data)

        return _read_body(response, request.reply_bytes, cut=request.for_page, follow=follow)

    def close(self) -> None:
        """Close every connection."""
        self._connections.close()
        self._guard.close()

    def _send_request(self, request: HttpRequest, seconds: float) -> HttpAnswer:
        target = request.target
        fields: Headers = (("host", target.authority), ("accept-encoding", "identity"))
        if request.body or request.method in ("POST", "PUT", "PATCH"):
            fields += (("content-length", str(len(request.body))),)
        fields += request.headers
        outgoing = httpcore.Request(
            method=request.method,
            url=httpcore.URL(
                scheme=target.scheme.encode(),
                host=target.host.encode(),
                port=target.port,
                target=f"{target.path}{target.query}".encode(),
            ),
            headers=[(name.encode("ascii"), value.encode("ascii")) for name, value in fields],
            content=request.body,
        )
        with self._connections.borrow(target, request.source, seconds) as connection:
            response = connection.handle_request(outgoing)
            self._guard.budget.begin_body(request.reply_bytes)
            try:
                headers = read_incoming(response.headers)
                body, is_cut = b"", False
                if request.method == "HEAD":
                    pass  # it has no body, whatever it says of it
                elif request.for_page and not is_text_type(headers):
                    is_cut = True  # nobody reads it: the connection ends before it comes
                else:
                    body, is_cut = self._read_body(response, request)
                reason = response.extensions.get("reason_phrase", b"").decode("latin-1")
                return HttpAnswer(response.status, reason, headers, body, is_cut)
            finally:
                response.close()


def open_transport(*, loopback: bool = False) -> GuardedTransport:
    """Return a transport to the web."""
    return GuardedTransport(loopback=loopback)


def open_trusted_transport() -> GuardedTransport:
    """Return a transport to a server that the operator names, inside or outside."""
    return GuardedTransport(trusted=True)


def _read_body(
    response: httpcore.Response, most: int, *, cut: bool, follow: Callable[[bytes], None]
) -> tuple[bytes, bool]:
    """Return the body, decoded when the server compressed it unasked, and whether it goes on.

    `follow` gets each piece of it. Raises `Refused` ETOOBIG for one beyond the limit, unless it is
    to be `cut` there.
    """
    codings: list[bytes] = []
    for name, value in response.headers:
        if name.lower() == b"content-encoding":
            codings += [coding.strip().lower() for coding in value.split(b",")]
    codings = [coding for coding in codings if coding not in (b"", b"identity")]
    if len(codings) > 1 or not set(codings) <= {b"gzip", b"x-gzip", b"deflate"}:
        raise ToolError(
            "ENET", "the answer has an encoding that the request did not accept", source="http"
        )
    decoder = zlib.decompressobj(zlib.MAX_WBITS | 32) if codings else None
    bytes_left = most
    body = bytearray()
    for number, piece in enumerate(response.iter_stream()):
        if number >= PIECES_MOST:
            raise ToolError("ENET", "the answer comes in too many pieces", source="http")
        data = piece
        if decoder:
            try:
                data = decoder.decompress(piece, bytes_left + 1)
            except zlib.error:
                raise ToolError("ENET", "the answer's encoding is damaged", source="http") from None
        bytes_left -= len(data)
        body += data
        follow(data)
        if bytes_left < 0:
            if cut:
                return bytes(body[:most]), True
            raise Refused("ETOOBIG", f"the answer has more than {most:,} bytes", source="http")
    return bytes(body), False
