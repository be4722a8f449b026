"""The MCP servers of another program's settings, as `sigil mcp add` would be told of them.

The values of variables and headers never come along: in their place stands the name of a secret.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from functions.cli.moving.secret_texts import SecretTexts
from sigil.errors import one_line
from sigil.protocol import Json, is_name

_PLACES: Final = ("cwd", "workingDirectory")
_SECRET_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]{0,62}", re.ASCII)
Reason = tuple[str, str]
"""Why a server is left out, and what can be done."""


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server: an address or a command. `env` and `headers` have `secret:NAME` for values."""

    name: str
    place: str
    url: str = ""
    command: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    only: Sequence[str] = ()

    @property
    def secrets(self) -> list[str]:
        """The names of the secrets that it needs."""
        values = (*self.env.values(), *self.headers.values())
        return [value.rpartition("secret:")[2] for value in values]

    def to_command(self) -> str:
        """Return the command that adds it."""
        words = ["sigil", "mcp", "add", "--name", self.name]
        for tool in self.only:
            words += ["--only", tool]
        for key, value in self.env.items():
            words += ["--env", f"{key}={value}"]
        for key, value in self.headers.items():
            words += ["--header", f"{key}: {value}"]
        words += [self.url] if self.url else ["--", *self.command]
        return shlex.join(words)


def parse_entries(
    entries: Json, place: str, secrets: SecretTexts
) -> Iterator[tuple[str, McpServer | Reason]]:
    """Yield each server, or why it is left out, with the name that it has there."""
    if not isinstance(entries, dict):
        return
    taken: set[str] = set()
    seen: set[str] = set()
    for label, entry in entries.items():
        name = "-".join(re.findall(r"[a-z0-9]+", label.lower()))
        shown = one_line(label, 80)
        if not is_name(name):
            yield shown, ("has no name that can be one here", "add it with `sigil mcp add --name`")
        elif name in seen:
            yield shown, (f"is called {name} here, as another one is", "rename one of them there")
        elif not isinstance(entry, dict):
            yield shown, ("is no entry that can be read", "")
        else:
            found = _parse_entry(name, entry, f"{place}.{shown}", secrets, taken)
            seen.add(name)
            yield shown, found


def _parse_entry(
    name: str, entry: Mapping[str, Json], place: str, secrets: SecretTexts, taken: set[str]
) -> McpServer | Reason:
    by_hand = "add it by hand: `sigil mcp add`, with `sigil secret set NAME`"
    if entry.get("enabled") is False or entry.get("disabled") is True:
        return "is switched off there", by_hand
    if str(entry.get("transport") or entry.get("type") or "").lower() == "sse":
        return (
            "is asked over SSE there, which is not spoken here",
            "use its streamable HTTP address",
        )
    url = str(entry.get("url") or "")
    command = [str(entry.get("command") or ""), *_read_words(entry.get("args"))]
    only, excluded = _read_tools(entry)
    if excluded:
        return "has patterns for its tools, which cannot be said here", by_hand
    if url:
        try:
            parts = urlsplit(url)
        except ValueError:
            return "has an address that is none", by_hand
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return "has an address that is none", by_hand
        if parts.query or parts.fragment or "@" in parts.netloc or secrets.has_secret(url):
            return "has an address that may contain a secret", by_hand
        headers = {
            key: _name_secret(name, key, value, taken)
            for key, value in _read_texts(entry.get("headers")).items()
        }
        return McpServer(name, place, url=url, headers=headers, only=only)
    if not all(word.isprintable() for word in (*command, *only)):
        return "has characters in its command that nobody sees", by_hand
    if not command[0]:
        return "has neither an address nor a command", by_hand
    if any(entry.get(key) for key in _PLACES):
        return "starts in a folder of its own, which cannot be said here", by_hand
    if any(map(secrets.has_secret, command)):
        return "has an argument that may be a secret", f"{by_hand} and `--env`"
    env = {
        key: _name_secret(name, key, "", taken)
        for key in _read_texts(entry.get("env"))
        if re.fullmatch(r"\w+", key, re.ASCII)
    }
    return McpServer(name, place, command=command, env=env, only=only)


def _name_secret(server: str, key: str, value: str, taken: set[str]) -> str:
    """Return the reference to the secret that stands for a value: called as its variable is, unless
    another server has one of that name.
    """
    own = re.sub(r"[^A-Z0-9]+", "_", key.upper()).strip("_")
    name = own
    if name in taken or not _SECRET_NAME.fullmatch(name) or value:
        name = re.sub(r"[^A-Z0-9]+", "_", f"{server}_{own}".upper()).strip("_")[:63]
    if not _SECRET_NAME.fullmatch(name):
        name = f"S_{name}"[:63]
    taken.add(name)
    scheme, space, _ = value.partition(" ")
    return f"{scheme} secret:{name}" if space and scheme.isalpha() else f"secret:{name}"


def _read_words(value: Json) -> list[str]:
    if not isinstance(value, list):
        return []
    return [str(word) for word in value if isinstance(word, str | int | float)]


def _read_texts(value: Json) -> dict[str, str]:
    return {key: str(text) for key, text in value.items()} if isinstance(value, dict) else {}


def _read_tools(entry: Mapping[str, Json]) -> tuple[list[str], bool]:
    """Return the tools that alone are used, and whether there are patterns or exceptions."""
    chosen = entry.get("toolFilter")
    named = entry.get("enabledTools") or entry.get("enabled_tools")
    if isinstance(chosen, dict):
        if chosen.get("exclude"):
            return [], True
        named = chosen.get("include")
    tools = _read_words(named)
    if tools == ["*"]:
        return [], False
    return tools, any("*" in tool for tool in tools)
