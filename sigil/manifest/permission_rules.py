"""The permissions of a manifest as rules: which requests `GET api.example.com/v1/` allows, and what
`NAME@host` means.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from sigil.errors import ToolError, UsageError, one_line
from sigil.network.urls import PORTS, Target, path_of, place_of
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
    """Requests of these methods to this host, at this path and below. `port` 0: the scheme's
    own.
    """

    methods: frozenset[str]
    host: str
    port: int
    path: str

    def allows(self, method: str, target: Target) -> bool:
        """Whether it covers the request. A prefix ends at a segment's end: `/v1` covers `/v1` and
        `/v1/x`, not `/v10`.
        """
        return (
            method in self.methods
            and _same_place(self.host, self.port, target)
            and self._covers(target.path)
        )

    def _covers(self, path: str) -> bool:
        return (
            path.startswith(self.path)
            if self.path.endswith("/")
            else path == self.path or path.startswith(f"{self.path}/")
        )


@dataclass(frozen=True, slots=True)
class SecretRule:
    """A secret and the one host that it may be sent to."""

    name: str
    host: str
    port: int

    def fits(self, target: Target) -> bool:
        """Whether it may go there: exactly this host and port, over https."""
        return target.scheme == "https" and _same_place(self.host, self.port, target)


@dataclass(frozen=True, slots=True)
class CallRule:
    """Another capability: by name in the caller's own view, or `namespace/name`; with a digest only
    that very version.
    """

    namespace: str
    name: str
    digest: str

    @property
    def shown(self) -> str:
        """As the code calls it."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@lru_cache(maxsize=2048)
def http_rule(text: str) -> HttpRule:
    """The rule that `METHOD[,METHOD…]|* HOST[:PORT][/PATH]` states; `UsageError` when it is
    none.
    """
    parts = _RULE.fullmatch(text) or _wrong(text, 'write "GET api.example.com/v1/"')
    methods = METHODS if parts["methods"] == "*" else tuple(parts["methods"].split(","))
    if not set(methods) <= set(METHODS):
        _wrong(text, f"methods are {', '.join(METHODS)}, or *")
    host, port = _place(text, parts["place"])
    path = _path(text, parts["path"] or "/")
    return HttpRule(frozenset(methods), host, port, path)


@lru_cache(maxsize=2048)
def secret_rule(text: str) -> SecretRule:
    """The rule that `NAME@HOST[:PORT]` states; `UsageError` when it is none."""
    parts = _SECRET.fullmatch(text) or _wrong(text, 'write "API_KEY@api.example.com"')
    host, port = _place(text, parts["place"])
    return SecretRule(parts["name"], host, port)


@lru_cache(maxsize=2048)
def call_rule(text: str) -> CallRule:
    """The rule that `NAME`, `NAMESPACE/NAME`, either with `@sha256:DIGEST`, states; `UsageError`
    when it is none.
    """
    parts = _CALL.fullmatch(text)
    if parts is None or not is_name(parts["name"]):
        _wrong(text, 'write "other-capability" or "namespace/other-capability"')
    return CallRule(parts["namespace"] or "", parts["name"], parts["digest"] or "")


def _same_place(host: str, port: int, target: Target) -> bool:
    return target.host == host and target.port == (port or PORTS[target.scheme])


def _place(text: str, place: str) -> tuple[str, int]:
    try:
        host, port = place_of(place, PORTS["https"])
    except ToolError as problem:
        _wrong(text, problem.message)
    name, named = f"[{host}]" if ":" in host else host, re.search(r":[0-9]+$", place) is not None
    if place != (f"{name}:{port}" if named else name):
        # who grants it has to see where it goes, and letters of other scripts look like those of a
        # host that is known
        _wrong(
            text, f"write the host as {name}{f':{port}' if named else ''}: that is where it goes"
        )
    return host, port if named else _NO_PORT


def _path(text: str, path: str) -> str:
    try:
        plain = path_of(path)
    except ToolError as problem:
        _wrong(text, problem.message)
    if plain != path:
        _wrong(text, f"write the path as {plain}")
    return plain


def _wrong(text: str, help_: str) -> NoReturn:
    raise UsageError("EMANIFEST", f"not a permission: {one_line(text, 80)!r}", suggestion=help_)
