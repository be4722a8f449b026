"""Parses the permissions of a manifest into rules: `GET api.example.com/v1/` allows some requests,
`NAME@host` sends a secret to one host.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from sigil.errors import ToolError, UsageError, one_line
from sigil.network.urls import PORTS, Target, normalize_path, parse_host_port
from sigil.protocol import is_name

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_RULE = re.compile(
    r"(?P<methods>\*|[A-Z]+(?:,[A-Z]+)*) (?P<place>[^/?#\s]+)(?P<path>/[^?#\s]*)?", re.ASCII
)
_SECRET = re.compile(r"(?P<name>[A-Z][A-Z0-9_]{0,62})@(?P<place>[^/?#\s]+)", re.ASCII)
_CALL = re.compile(
    r"(?:(?P<namespace>[A-Za-z0-9][A-Za-z0-9._-]{0,63})/)?(?P<name>[^/@]+)(?:@(?P<digest>sha256:[0-9a-f]{64}))?",
    re.ASCII,
)
_NO_PORT = 0


@dataclass(frozen=True, slots=True)
class HttpRule:
    """The requests of some methods to one host, at one path and below. `port` 0 is the scheme's own
    port.
    """

    methods: frozenset[str]
    host: str
    port: int
    path: str

    def allows(self, method: str, target: Target) -> bool:
        """Return whether the rule covers the request.

        A prefix ends at a segment's end: `/v1` covers `/v1` and `/v1/x`, not `/v10`.
        """
        if method not in self.methods or not _is_host(self.host, self.port, target):
            return False
        if self.path.endswith("/"):
            return target.path.startswith(self.path)
        return target.path == self.path or target.path.startswith(f"{self.path}/")


@dataclass(frozen=True, slots=True)
class SecretRule:
    """A secret and the one host that it may be sent to."""

    name: str
    host: str
    port: int

    def fits(self, target: Target) -> bool:
        """Return whether the secret may go there: exactly this host and port, over https."""
        return target.scheme == "https" and _is_host(self.host, self.port, target)


@dataclass(frozen=True, slots=True)
class CallRule:
    """Another capability, named in the caller's own namespace or as `namespace/name`; with a
    digest, exactly that version.
    """

    namespace: str
    name: str
    digest: str

    @property
    def full_name(self) -> str:
        """Return the name by which the code calls it."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@lru_cache(maxsize=2048)
def parse_http_rule(text: str) -> HttpRule:
    """Parse `METHOD[,METHOD…]|* HOST[:PORT][/PATH]`; `UsageError` when it is no rule."""
    parts = _RULE.fullmatch(text) or _refuse(text, 'write "GET api.example.com/v1/"')
    methods = METHODS if parts["methods"] == "*" else tuple(parts["methods"].split(","))
    if not set(methods) <= set(METHODS):
        _refuse(text, f"methods are {', '.join(METHODS)}, or *")
    host, port = _parse_place(text, parts["place"])
    path = parts["path"] or "/"
    try:
        plain = normalize_path(path)
    except ToolError as problem:
        _refuse(text, problem.message)
    if plain != path:
        _refuse(text, f"write the path as {plain}")
    return HttpRule(frozenset(methods), host, port, path)


@lru_cache(maxsize=2048)
def parse_secret_rule(text: str) -> SecretRule:
    """Parse `NAME@HOST[:PORT]`; `UsageError` EMANIFEST when it is no rule."""
    parts = _SECRET.fullmatch(text) or _refuse(text, 'write "API_KEY@api.example.com"')
    host, port = _parse_place(text, parts["place"])
    return SecretRule(parts["name"], host, port)


@lru_cache(maxsize=2048)
def parse_call_rule(text: str) -> CallRule:
    """Parse `NAME` or `NAMESPACE/NAME`, either with `@sha256:DIGEST`; `UsageError` when it is no
    rule.
    """
    parts = _CALL.fullmatch(text)
    if parts is None or not is_name(parts["name"]):
        _refuse(text, 'write "other-capability" or "namespace/other-capability"')
    return CallRule(parts["namespace"] or "", parts["name"], parts["digest"] or "")


def _is_host(host: str, port: int, target: Target) -> bool:
    return target.host == host and target.port == (port or PORTS[target.scheme])


def _parse_place(text: str, place: str) -> tuple[str, int]:
    """Parse `HOST[:PORT]`, a part of the permission `text`; port 0 when it names none."""
    try:
        host, port = parse_host_port(place, PORTS["https"])
    except ToolError as problem:
        _refuse(text, problem.message)
    has_port = re.search(r":[0-9]+$", place) is not None
    plain = f"[{host}]" if ":" in host else host
    if has_port:
        plain = f"{plain}:{port}"
    if place != plain:
        # The owner who grants it has to see where it goes, and letters of other scripts look like
        # those of a host that is known.
        _refuse(text, f"write the host as {plain}: that is where it goes")
    return host, port if has_port else _NO_PORT


def _refuse(text: str, suggestion: str) -> NoReturn:
    raise UsageError(
        "EMANIFEST", f"not a permission: {one_line(text, 80)!r}", suggestion=suggestion
    )
