"""The code of a capability of kind `mcp`: which server, which of its tools. What it asks for
follows from it.

{"server": {"name": "tracker", "url": "https://mcp.example.com/mcp", "headers": {"authorization":
"Bearer {{TOKEN}}"}}, "tool": "find"} {"server": {"name": "files", "command": ["npx", "-y",
"files-server", "/srv"], "env": {"KEY": "secret:NAME"}}, "tool": "read"}
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from sigil.errors import SigilError, UsageError, one_line
from sigil.network.headers import check_outgoing
from sigil.network.urls import Target
from sigil.protocol import Json, is_name
from sigil.run.host_calls.placeholders import names_in
from sigil.strict_json import canonical, loads

SECRET = "secret:"
WORDS_MOST, WORD_CHARACTERS, COMMAND_CHARACTERS, PAIRS_MOST = 50, 500, 1_000, 10
_TOOL = re.compile(r"[A-Za-z0-9_./-]{1,128}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_SECRET_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,62}", re.ASCII)
_OURS = ("accept", "content-type", "last-event-id")


@dataclass(frozen=True, slots=True)
class WebAddress:
    """A server behind an address. `headers`: names in lower case; secrets stand in the values as
    `{{NAME}}`.
    """

    name: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def target(self) -> Target:
        return Target.parse(self.url)

    @property
    def http(self) -> tuple[str, ...]:
        """What it asks for under `permissions.http`."""
        return (f"POST {self.target.authority}{self.target.path}",)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What it asks for under `permissions.secrets`."""
        names = sorted(names_in(self.url, *(value for _, value in self.headers)))
        return tuple(f"{name}@{self.target.authority}" for name in names)

    @property
    def mcp(self) -> tuple[str, ...]:
        return ()

    @property
    def row(self) -> dict[str, Json]:
        """As it stands in a document."""
        return {
            "name": self.name,
            "url": self.url,
            **({"headers": dict(self.headers)} if self.headers else {}),
        }


@dataclass(frozen=True, slots=True)
class ProgramCommand:
    """A server that is a program of this machine. `env`: its variables; a value `secret:NAME` is
    that secret's.
    """

    name: str
    words: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()

    @property
    def http(self) -> tuple[str, ...]:
        return ()

    @property
    def secrets(self) -> tuple[str, ...]:
        return ()

    @property
    def mcp(self) -> tuple[str, ...]:
        """What it asks for under `permissions.mcp`: its name and the whole command line, so that
        whoever grants it sees what runs.
        """
        variables = (f"{name}={shlex.quote(value)}" for name, value in self.env)
        return (" ".join((self.name, *variables, shlex.join(self.words))),)

    @property
    def used(self) -> frozenset[str]:
        """The secrets that its program is given."""
        return frozenset(
            value.removeprefix(SECRET) for _, value in self.env if value.startswith(SECRET)
        )

    @property
    def row(self) -> dict[str, Json]:
        """As it stands in a document."""
        return {
            "name": self.name,
            "command": list(self.words),
            **({"env": dict(self.env)} if self.env else {}),
        }


McpServer = WebAddress | ProgramCommand


@dataclass(frozen=True, slots=True)
class ServerToolDocument:
    """One tool of one server."""

    server: McpServer
    tool: str

    @property
    def code(self) -> bytes:
        """Equal documents are equal bytes."""
        return canonical({"server": self.server.row, "tool": self.tool})


def read_document(code: bytes | str) -> ServerToolDocument:
    """The document that `code` is; `UsageError` EMANIFEST when it is none."""
    value = loads(code)
    if not isinstance(value, dict) or set(value) != {"server", "tool"}:
        _wrong("it is {server, tool}")
    return ServerToolDocument(parse_server(value["server"]), read_tool_name(value["tool"]))


def list_secrets(permission: str) -> frozenset[str]:
    """The secrets that a permission to start a program passes on: it begins with a name, then the
    variables, then the command.
    """
    names = set()
    for word in shlex.split(permission)[1:]:
        key, equals, value = word.partition("=")
        if not equals or not _VARIABLE.fullmatch(key):
            break
        names |= {value.removeprefix(SECRET)} if value.startswith(SECRET) else set()
    return frozenset(names)


def read_tool_name(value: Json) -> str:
    """A tool's name; `UsageError` when nobody could have meant it."""
    if not isinstance(value, str) or not _TOOL.fullmatch(value):
        _wrong(f"not a tool's name: {one_line(str(value), 60)!r}")
    return value


def parse_server(row: Json) -> McpServer:
    """The server that a row describes; `UsageError` EMANIFEST that says what is wrong with it."""
    if (
        not isinstance(row, dict)
        or not isinstance(row.get("name"), str)
        or not is_name(row["name"])
    ):
        _wrong("a server has a name: lower-case words joined by hyphens")
    if "url" in row:
        return _web(row["name"], row)
    return (
        _command(row["name"], row)
        if "command" in row
        else _wrong("a server has a url or a command")
    )


def _web(name: str, row: Mapping[str, Json]) -> WebAddress:
    headers = row.get("headers", {})
    if not set(row) <= {"name", "url", "headers"} or not isinstance(row["url"], str):
        _wrong("a server of the web is {name, url, headers}")
    if not isinstance(headers, dict) or len(headers) > PAIRS_MOST:
        _wrong(f"headers are an object of at most {PAIRS_MOST}")
    try:
        target = Target.parse(row["url"])
        fields = check_outgoing([[field, value] for field, value in headers.items()])
    except SigilError as problem:
        raise UsageError(
            "EMANIFEST", problem.message, suggestion="such as https://mcp.example.com/mcp"
        ) from None
    own = next((field for field, _ in fields if field in _OURS or field.startswith("mcp-")), None)
    if own:
        _wrong(f"the header {own} is the protocol's own")
    if names_in(target.path):
        _wrong("a secret goes into a header or the query, not into the path")
    return WebAddress(name, target.url, tuple(sorted(fields)))


def _command(name: str, row: Mapping[str, Json]) -> ProgramCommand:
    words, env = row["command"], row.get("env", {})
    if (
        not set(row) <= {"name", "command", "env"}
        or not isinstance(words, list)
        or not 0 < len(words) <= WORDS_MOST
    ):
        _wrong(
            "a server of this machine is {name, command, env}, its command a list of at most"
            f" {WORDS_MOST} words"
        )
    if (
        not isinstance(env, dict)
        or len(env) > PAIRS_MOST
        or not all(_VARIABLE.fullmatch(key) for key in env)
    ):
        _wrong(f"env is an object of at most {PAIRS_MOST} variables")
    for word in (*words, *env.values()):
        if (
            not isinstance(word, str)
            or len(word) > WORD_CHARACTERS
            or one_line(word, WORD_CHARACTERS) != word.strip()
        ):
            _wrong(f"a word of a command is one line of at most {WORD_CHARACTERS} characters")
    lost = next(
        (
            value
            for value in env.values()
            if value.startswith(SECRET) and not _SECRET_NAME.fullmatch(value[len(SECRET) :])
        ),
        None,
    )
    if lost or not words[0].strip():
        _wrong(f"no secret: {lost!r}" if lost else "a command begins with a program")
    made = ProgramCommand(name, tuple(words), tuple(sorted(env.items())))
    if len(made.mcp[0]) > COMMAND_CHARACTERS:
        _wrong(f"a command has at most {COMMAND_CHARACTERS:,} characters")
    return made


def _wrong(why: str) -> NoReturn:
    raise UsageError(
        "EMANIFEST",
        f"not a capability of a server: {why}",
        suggestion="`sigil mcp add` writes them",
    )
