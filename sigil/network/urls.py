"""An address of the web, read more strictly than any server reads it: what could be understood in
two ways is refused.
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
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<place>[^/?#]*)(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?:#.*)?",
    re.DOTALL,
)
_PLACE = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::(?P<port>[0-9]{1,5}))?")
_HOST = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*",
    re.ASCII,
)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_UNSEEN = re.compile(r"[\x00-\x20\x7f\\]")
_DOT = re.compile(r"%2e", re.IGNORECASE)
_LONE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PLAIN = "%/:@!$&'()*+,;=-._~?[]{}|^`\"<>"
"""Characters that stay as they are; what is beyond ASCII becomes UTF-8, percent-encoded."""
_DECODINGS = 4


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes. `host`: lower case, IDNA, no brackets; `path`: without dot segments;
    `query`: with its `?`, or empty.
    """

    scheme: str
    host: str
    port: int
    path: str
    query: str = ""

    @classmethod
    def parse(cls, text: str) -> Target:
        """The target that `text` names; `ToolError` with EINVAL and the reason when it is no plain
        http or https URL.
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
        host, port = parse_host_port(parts["place"], PORTS[scheme])
        return cls(
            scheme, host, port, normalize_path(parts["path"]), _encoded(parts["query"] or "")
        )

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port."""
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
    def here(self) -> bool:
        """Whether it says by itself that it means this machine."""
        return self.host == "localhost" or is_loopback(self.host)

    def join(self, location: str) -> Target:
        """The target that a `Location` of this one's answer names."""
        if _UNSEEN.search(location):
            _refuse("the redirect's address holds spaces, control characters or backslashes")
        try:
            return Target.parse(urljoin(self.url, location))
        except ValueError:
            _refuse("the redirect's address makes no sense")

    def asking(self, query: str) -> Target:
        """The same place with another query."""
        return replace(self, query=query)


def parse_host_port(text: str, port: int) -> tuple[str, int]:
    """The host and port of `HOST[:PORT]`; user names, empty hosts, odd numbers and percent-encoding
    are refused.
    """
    if "@" in text:
        _refuse("a URL names no user or password")
    place = _PLACE.fullmatch(text)
    if place is None:
        _refuse(f"not a host: {one_line(text, 60)!r}")
    number = int(place["port"]) if place["port"] else port
    if not 1 <= number <= 65_535:
        _refuse("not a port")
    return _host(place["host"]), number


def normalize_path(text: str) -> str:
    """The path without dot segments, at least `/`; one whose segments hide dots behind an encoding
    is refused.
    """
    if _LONE.search(text):
        _refuse("the path holds a lone %")
    path = _without_dots(_DOT.sub(".", text))
    plain = path
    for _ in range(_DECODINGS):
        plain = unquote(plain, errors="replace")
        if any(
            segment.partition(";")[0].strip() in (".", "..")
            for segment in re.split(r"[/\\]", plain)
        ):
            _refuse("the path hides dot segments")
    if "\0" in plain or "\\" in plain:
        _refuse("the path hides a backslash or a zero byte")
    return _encoded(path) or "/"


def _without_dots(path: str) -> str:
    kept: list[str] = []
    segments = path.split("/")[1:]
    for number, segment in enumerate(segments):
        last = number == len(segments) - 1
        if segment == "..":
            kept = kept[:-1]
        elif segment != ".":
            kept.append(segment)
            continue
        if last:
            kept.append("")
    return "/" + "/".join(kept)


def _host(text: str) -> str:
    if text.startswith("["):
        return _address(text[1:-1], 6)
    host = text.lower() if text.isascii() else _idna(text)
    if not _HOST.fullmatch(host):
        _refuse(f"not a host: {one_line(text, 60)!r}")
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        return _address(host, 4)
    return host


def _address(text: str, kind: int) -> str:
    """The one way to write an address; `127.1`, `0x7f.1` and their like are refused."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        _refuse(f"not an address: {one_line(text, 60)!r}")
    if address.version != kind:
        _refuse(f"not an address: {one_line(text, 60)!r}")
    return str(address)


def _idna(text: str) -> str:
    import idna

    try:
        return idna.encode(text, uts46=True, std3_rules=True).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError):
        _refuse(f"not a host: {one_line(text, 60)!r}")


def _encoded(text: str) -> str:
    return text if text.isascii() else quote(text, safe=_PLAIN, errors="replace")


def _refuse(why: str) -> NoReturn:
    raise ToolError("EINVAL", why, source="http")
