"""Send what capabilities ask of SearXNG to the server that the operator named in the settings."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

from sigil.errors import Refused, SigilError, ToolError, UsageError
from sigil.network.exchange import HttpAnswer, HttpRequest, WebTransport
from sigil.network.urls import PORTS, Target

SEARXNG_HOST = "searxng.invalid"
"""The host by which a capability names the server: no such host exists (RFC 2606), so that nobody
can answer in its place. The capability does not learn where the server really is.
"""
SEARCH_PATH = "/search"
SETTING = "SIGIL_SEARXNG"


class SearxngTransport:
    """A transport that knows the SearXNG of the settings, and passes on everything else.

    The server may be inside, since the operator chose it; a request to it can only be a search.
    """

    def __init__(self, web: WebTransport, trusted: WebTransport, address: str) -> None:
        self._web = web
        self._trusted = trusted
        self._server = parse_searxng_address(address) if address else None

    @property
    def loopback(self) -> bool:
        return self._web.loopback

    def send(self, hop: HttpRequest, seconds: float) -> HttpAnswer:
        """Return the answer to one request, as `WebTransport` says.

        Raises `ToolError` ENOENT where no SearXNG is set.
        """
        if hop.target.host != SEARXNG_HOST:
            return self._web.send(hop, seconds)
        if self._server is None:
            raise ToolError("ENOENT", f"no SearXNG is set: {SETTING}", source="http")
        if hop.method != "GET" or hop.target.path != SEARCH_PATH:
            raise Refused("EPERM", f"SearXNG is asked with GET {SEARCH_PATH} alone", source="http")
        path = self._server.path.rstrip("/") + SEARCH_PATH
        target = replace(self._server, path=path, query=hop.target.query)
        try:
            return self._trusted.send(replace(hop, target=target), seconds)
        except SigilError as problem:
            # what is said of a request names its host, which a capability does not learn
            problem.message = problem.message.replace(self._server.host, SEARXNG_HOST)
            problem.args = (f"{problem.code}: {problem.message}",)
            raise

    def close(self) -> None:
        """Close every connection."""
        self._web.close()
        self._trusted.close()


def parse_searxng_address(text: str) -> Target:
    """Return the address of a SearXNG server; `UsageError` ESETTING when it is none."""
    suggestion = "such as http://127.0.0.1:8888 or https://search.example.com"
    parts = urlsplit(text)
    if parts.scheme not in PORTS or parts.query or parts.fragment:
        raise UsageError("ESETTING", f"{SETTING} is no address of a server", suggestion=suggestion)
    try:
        return Target.parse(text)
    except ToolError as problem:
        raise UsageError(
            "ESETTING", f"{SETTING}: {problem.message}", suggestion=suggestion
        ) from None
