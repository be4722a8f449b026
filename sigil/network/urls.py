"""Read a URL more strictly than any server does: one that could be understood in two ways is
refused.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, replace
from typing import NoReturn
from urllib.parse import quote, unquote, urljoin

from sigil.errors import ToolError, one_line
from sigil.network.addresses import is_loopback

URL_CHARACTERS = 8_192
PORTS = {"https": 443, "http": 80}

_URL = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?:#.*)?",
    re.DOTALL,
)
_AUTHORITY = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::(?P<port>[0-9]{1,5}))?")
_HOST = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*",
    re.ASCII,
)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_UNSEEN = re.compile(r"[\x00-\x20\x7f\\]")
_DOT = re.compile(r"%2e", re.IGNORECASE)
_LONE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PLAIN = "%/:@!$&'()*+,;=-._~?[]{}|^`\"<>"
"""Characters that stay as they are; those beyond ASCII become UTF-8, percent-encoded."""
_DECODINGS = 4


@dataclass(frozen=True, slots=True)
class Target:
    """The URL of a request, in parts.

    `host`: lower case, IDNA, no brackets; `path`: without dot segments; `query`: with its `?`, or
    empty.
    """

    scheme: str
    host: str
    port: int
    path: str
    query: str = ""

    @classmethod
    def parse(cls, text: str) -> Target:
        """Return the target that `text` names; `ToolError` EINVAL with the reason when it is no
        plain http or https URL.
        """
        if len(text) > URL_CHARACTERS:
            _refuse(f"a URL has at most {URL_CHARACTERS} characters")
        if _UNSEEN.search(text):
            _refuse("a URL holds no spaces, control characters or backslashes")
        parts = _URL.fullmatch(text)
        if parts is None:
            _refuse("not an absolute URL")
        scheme = parts["scheme"].lower()
        if scheme not in PORTS:
            _refuse(f"{one_line(scheme, 20)}: is not https")
        host, port = parse_host_port(parts["authority"], PORTS[scheme])
        path = normalize_path(parts["path"])
        return cls(scheme, host, port, path, _percent_encode(parts["query"] or ""))

    @property
    def origin(self) -> tuple[str, str, int]:
        """The scheme, host and port."""
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """The host as a URL and the Host header write it, with the port when it is not the scheme's
        own.
        """
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole address."""
        return f"{self.scheme}://{self.authority}{self.path}{self.query}"

    @property
    def is_local(self) -> bool:
        """True when the host itself names this machine."""
        return self.host == "localhost" or is_loopback(self.host)

    def join(self, location: str) -> Target:
        """Return the target that a `Location` in this one's answer names."""
        if _UNSEEN.search(location):
            _refuse("the redirect's address holds spaces, control characters or backslashes")
        try:
            return Target.parse(urljoin(self.url, location))
        except ValueError:
            _refuse("the redirect's address makes no sense")

    def with_query(self, query: str) -> Target:
        """Return the same target with another query."""
        return replace(self, query=query)


def parse_host_port(text: str, port: int) -> tuple[str, int]:
    """Return the host and port of `HOST[:PORT]`.

    `ToolError` EINVAL for user names, empty hosts, odd numbers and percent-encoding.
    """
    if "@" in text:
        _refuse("a URL names no user or password")
    authority = _AUTHORITY.fullmatch(text)
    if authority is None:
        _refuse(f"not a host: {one_line(text, 60)!r}")
    number = int(authority["port"]) if authority["port"] else port
    if not 1 <= number <= 65_535:
        _refuse("not a port")
    return _normalize_host(authority["host"]), number


def normalize_path(text: str) -> str:
    """Return the path without dot segments, at least `/`.

    `ToolError` EINVAL for one that hides dots behind an encoding.
    """
    if _LONE.search(text):
        _refuse("the path holds a lone %")
    kept: list[str] = []
    segments = _DOT.sub(".", text).split("/")[1:]
    for segment in segments:
        if segment == "..":
            kept = kept[:-1]
        elif segment != ".":
            kept.append(segment)
    if segments and segments[-1] in (".", ".."):
        kept.append("")
    path = "/" + "/".join(kept)
    decoded = path
    for _ in range(_DECODINGS):
        decoded = unquote(decoded, errors="replace")
        for segment in re.split(r"[/\\]", decoded):
            if segment.partition(";")[0].strip() in (".", ".."):
                _refuse("the path hides dot segments")
    if "\0" in decoded or "\\" in decoded:
        _refuse("the path hides a backslash or a zero byte")
    return _percent_encode(path) or "/"


def _normalize_host(text: str) -> str:
    if text.startswith("["):
        return _normalize_address(text[1:-1], 6)
    host = text.lower()
    if not text.isascii():
        import idna

        try:
            host = idna.encode(text, uts46=True, std3_rules=True).decode("ascii").lower()
        except (idna.IDNAError, UnicodeError):
            _refuse(f"not a host: {one_line(text, 60)!r}")
    if not _HOST.fullmatch(host):
        _refuse(f"not a host: {one_line(text, 60)!r}")
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        return _normalize_address(host, 4)
    return host


def _normalize_address(text: str, version: int) -> str:
    """Return an address in its one spelling; `127.1`, `0x7f.1` and their like are refused."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        _refuse(f"not an address: {one_line(text, 60)!r}")
    if address.version != version:
        _refuse(f"not an address: {one_line(text, 60)!r}")
    mapped = getattr(address, "ipv4_mapped", None)
    if mapped is None or getattr(address, "scope_id", None):
        return str(address)
    # as URLs spell it; Python 3.13 writes an IPv4 address in an IPv6 address with dots
    return f"::ffff:{int(mapped) >> 16:x}:{int(mapped) & 0xFFFF:x}"


def _percent_encode(text: str) -> str:
    if text.isascii():
        return text
    return quote(text, safe=_PLAIN, errors="replace")


def _refuse(message: str) -> NoReturn:
    raise ToolError("EINVAL", message, source="http")
