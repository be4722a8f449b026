"""What every request of a page passes first, and the headers that every answer has.

A page elsewhere must neither read one of ours nor act in it: its requests come from another site,
and a name that it lets point to this machine (DNS rebinding) is none of ours.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import Request

from sigil.errors import Refused, UsageError, one_line

SAFE_METHODS: Final = ("GET", "HEAD")
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "microphone=(self), camera=(), geolocation=(), payment=(), usb=()",
    "Cache-Control": "no-store",
}
"""Of every answer that does not say otherwise itself."""
FILE_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Of a style, a script or a picture of ours, which is no document of its own."""
WRONG_HOST: Final = 421
_HOST: Final = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\s:@/\[\]]+))(?::[0-9]*)?")


WEB_NAME: Final = re.compile(r"([a-z0-9.-]{1,253})((?:/[a-z0-9_-]{1,60}){0,4})", re.ASCII)
"""A name of the pages: a host, and the path before `/ui` that the proxy takes away."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The names under which the pages are called: this machine's own, those of `names`, and any
    where a gateway that only passes its own on stands in front (`is_behind_gateway`). A name may
    have a path: see `WEB_NAME`.
    """

    names: Collection[str] = ()
    is_behind_gateway: bool = False

    @property
    def paths(self) -> dict[str, str]:
        """Return the hosts of the names, each with its path, which is mostly empty."""
        found = (WEB_NAME.fullmatch(name) for name in self.names)
        return {name[1]: name[2] for name in found if name}

    def find_base(self, request: Request) -> str:
        """Return the path that a proxy has taken away before a request came, empty for none."""
        return self.paths.get(find_host(request), "")

    def require_known_host(self, request: Request) -> None:
        """Raise `UsageError` EHOST for a request under a name that is none of ours."""
        host = find_host(request)
        server = request.scope.get("server")
        address = str(server[0]) if server else ""
        if self.is_behind_gateway or is_loopback(host) or host in (address, *self.paths):
            return
        raise UsageError(
            "EHOST",
            f"this page is not called {one_line(host, 80) or 'by no name'!r}",
            source="page",
            suggestion="open it under the address that the server printed, or set"
            " UNCAGED_WEB_NAMES to the names that it has",
        )

    def require_sealed(self, request: Request) -> None:
        """Raise `Refused` EINSECURE where others could read along: HTTP without TLS is for this
        machine alone. Browsers resolve the names of the loopback themselves, so whoever calls one
        of them came over this machine, a tunnel or a container's own forwarding.
        """
        if is_secure(request) or is_loopback(find_host(request)):
            return
        raise Refused(
            "EINSECURE",
            "this page is not shown over plain HTTP, where others could read along",
            source="page",
            suggestion="open it on this machine as http://localhost, over a tunnel such as `ssh -L"
            " 8080:localhost:8080 HOST`, or behind a proxy with TLS that UNCAGED_PROXIES names",
        )


def require_same_origin(request: Request) -> None:
    """Raise `Refused` EORIGIN unless a request that may change something comes from a page of ours.

    A browser says so in `Sec-Fetch-Site`; an older one names the origin.
    """
    if request.method in SAFE_METHODS:
        return
    site = request.headers.getlist("sec-fetch-site")
    if site:
        is_ours = site == ["same-origin"]
    else:
        origin = f"{request.url.scheme}://{request.headers.get('host', '')}"
        is_ours = request.headers.getlist("origin") == [origin]
    if not is_ours:
        raise Refused(
            "EORIGIN",
            "this request comes from another site, so nothing was done",
            source="page",
            suggestion="open the page itself, and do it there",
        )


def is_secure(request: Request) -> bool:
    """Return whether a request came over TLS, as far as the server knows."""
    return request.url.scheme == "https"


def find_host(request: Request) -> str:
    """Return the name or address by which a request calls this server, without the port; empty
    where it names none, or two.
    """
    named = request.headers.getlist("host")
    if len(named) != 1:
        return ""
    found = _HOST.fullmatch(named[0].strip().lower())
    return (found[1] or found[2]).removesuffix(".") if found else ""


def is_loopback(host: str) -> bool:
    """Return whether a browser finds a host on its own machine, without asking anybody."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def add_headers(headers: MutableHeaders, *, is_file: bool = False) -> None:
    """Add the headers that every answer has, or every static file; its own count more."""
    for name, value in (FILE_HEADERS if is_file else HEADERS).items():
        headers.setdefault(name, value)
