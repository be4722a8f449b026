"""The code of a capability of kind `mcp` is a document that names a server and one of its tools.

The permissions that the capability asks for follow from it.

    {"server": {"name": "tracker", "url": "https://mcp.example.com/mcp",
                "headers": {"authorization": "Bearer {{TOKEN}}"}},
     "tool": "find"}

    {"server": {"name": "files", "command": ["npx", "-y", "files-server", "/srv"],
                "env": {"KEY": "secret:NAME"}},
     "tool": "read"}
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NotRequired, TypedDict, final

from sigil.access.sign_in import name_token_secret
from sigil.errors import SigilError, UsageError, one_line
from sigil.network.headers import check_outgoing
from sigil.network.urls import Target
from sigil.protocol import Json, is_name
from sigil.run.host_calls.placeholders import names_in
from sigil.strict_json import canonical, loads

SECRET = "secret:"
WORDS_MOST = 50
WORD_CHARACTERS = 500
COMMAND_CHARACTERS = 1_000
PAIRS_MOST = 10
_TOOL = re.compile(r"[\w./:-]{1,128}")
"""A tool's name: letters of any script, digits, and what paths and namespaces have between them."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_SECRET_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,62}", re.ASCII)
_OURS = ("accept", "content-type", "last-event-id")


@final
class WebAddressRow(TypedDict):
    """A server behind an address, as a document describes it."""

    name: str
    url: str
    headers: NotRequired[dict[str, str]]


@final
class ProgramCommandRow(TypedDict):
    """A server that is a program, as a document describes it."""

    name: str
    command: list[str]
    env: NotRequired[dict[str, str]]


McpServerRow = WebAddressRow | ProgramCommandRow


@dataclass(frozen=True, slots=True)
class WebAddress:
    """A server behind an address.

    The names of `headers` are in lower case; a secret is `{{NAME}}` in their values.
    """

    name: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def target(self) -> Target:
        return Target.parse(self.url)

    @property
    def http(self) -> tuple[str, ...]:
        """The rules that it asks for under `permissions.http`."""
        return (f"POST {self.target.authority}{self.target.path}",)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The rules that it asks for under `permissions.secrets`."""
        names = sorted(names_in(self.url, *(value for _, value in self.headers)))
        return tuple(f"{name}@{self.target.authority}" for name in names)

    @property
    def mcp(self) -> tuple[str, ...]:
        return ()

    @property
    def row(self) -> WebAddressRow:
        """The server as a document has it."""
        row: WebAddressRow = {"name": self.name, "url": self.url}
        if self.headers:
            row["headers"] = dict(self.headers)
        return row


@dataclass(frozen=True, slots=True)
class ProgramCommand:
    """A server that is a program of this machine.

    `env` has its variables; a value `secret:NAME` means that secret.
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
        """The rule that it asks for under `permissions.mcp`.

        It is the name and the whole command line, so that the owner who grants it sees what runs.
        """
        variables = (f"{name}={shlex.quote(value)}" for name, value in self.env)
        return (" ".join((self.name, *variables, shlex.join(self.words))),)

    @property
    def row(self) -> ProgramCommandRow:
        """The server as a document has it."""
        row: ProgramCommandRow = {"name": self.name, "command": list(self.words)}
        if self.env:
            row["env"] = dict(self.env)
        return row


McpServer = WebAddress | ProgramCommand


@dataclass(frozen=True, slots=True)
class ServerToolDocument:
    """One tool of one server."""

    server: McpServer
    tool: str

    @property
    def code(self) -> bytes:
        """The document in bytes, which are equal for equal documents."""
        return canonical({"server": self.server.row, "tool": self.tool})


def read_document(code: bytes | str) -> ServerToolDocument:
    """Return the document that `code` is; raise `UsageError` EMANIFEST when it is none."""
    value = loads(code)
    if not isinstance(value, dict) or set(value) != {"server", "tool"}:
        raise _invalid("it is {server, tool}")
    return ServerToolDocument(parse_server(value["server"]), read_tool_name(value["tool"]))


def list_secrets(permission: str) -> frozenset[str]:
    """Return the secrets that a permission to start a program passes on.

    The permission begins with a name, then come the variables, then the command.
    """
    names = set()
    for word in shlex.split(permission)[1:]:
        key, equals, value = word.partition("=")
        if not equals or not _VARIABLE.fullmatch(key):
            break
        if value.startswith(SECRET):
            names.add(value.removeprefix(SECRET))
    return frozenset(names)


def make_sign_in_header(server: str) -> str:
    """Return the value of `authorization` for the access token of a server."""
    return f"Bearer {{{{{name_token_secret(server)}}}}}"


def read_tool_name(value: Json) -> str:
    """Return a tool's name; raise `UsageError` EMANIFEST for what cannot be one."""
    if not isinstance(value, str) or not _TOOL.fullmatch(value):
        raise _invalid(f"not a tool's name: {one_line(str(value), 60)!r}")
    return value


def parse_server(row: Json) -> McpServer:
    """Return the server that a row describes.

    Raises `UsageError` EMANIFEST that says what is wrong with it.
    """
    if (
        not isinstance(row, dict)
        or not isinstance(row.get("name"), str)
        or not is_name(row["name"])
    ):
        raise _invalid("a server has a name: lower-case words joined by hyphens")
    if "url" in row:
        return _parse_address(row["name"], row)
    if "command" in row:
        return _parse_command(row["name"], row)
    raise _invalid("a server has a url or a command")


def _parse_address(name: str, row: Mapping[str, Json]) -> WebAddress:
    headers = row.get("headers", {})
    if not set(row) <= {"name", "url", "headers"} or not isinstance(row["url"], str):
        raise _invalid("a server of the web is {name, url, headers}")
    if not isinstance(headers, dict) or len(headers) > PAIRS_MOST:
        raise _invalid(f"headers are an object of at most {PAIRS_MOST}")
    try:
        target = Target.parse(row["url"])
        fields = check_outgoing([[field, value] for field, value in headers.items()])
    except SigilError as problem:
        raise UsageError(
            "EMANIFEST", problem.message, suggestion="such as https://mcp.example.com/mcp"
        ) from None
    for field, _ in fields:
        if field in _OURS or field.startswith("mcp-"):
            raise _invalid(f"the header {field} is the protocol's own")
    if names_in(target.path):
        raise _invalid("a secret goes into a header or the query, not into the path")
    return WebAddress(name, target.url, tuple(sorted(fields)))


def _parse_command(name: str, row: Mapping[str, Json]) -> ProgramCommand:
    words = row["command"]
    if (
        not isinstance(words, list)
        or not 0 < len(words) <= WORDS_MOST
        or not set(row) <= {"name", "command", "env"}
    ):
        raise _invalid(
            "a server of this machine is {name, command, env}, its command a list of at most"
            f" {WORDS_MOST} words"
        )
    env = row.get("env", {})
    if (
        not isinstance(env, dict)
        or len(env) > PAIRS_MOST
        or not all(_VARIABLE.fullmatch(key) for key in env)
    ):
        raise _invalid(f"env is an object of at most {PAIRS_MOST} variables")
    for word in (*words, *env.values()):
        if (
            not isinstance(word, str)
            or len(word) > WORD_CHARACTERS
            or one_line(word, WORD_CHARACTERS) != word.strip()
        ):
            raise _invalid(
                f"a word of a command is one line of at most {WORD_CHARACTERS} characters"
            )
    for value in env.values():
        if value.startswith(SECRET) and not _SECRET_NAME.fullmatch(value[len(SECRET) :]):
            raise _invalid(f"no secret: {value!r}")
    if not words[0].strip():
        raise _invalid("a command begins with a program")
    command = ProgramCommand(name, tuple(words), tuple(sorted(env.items())))
    if len(command.mcp[0]) > COMMAND_CHARACTERS:
        raise _invalid(f"a command has at most {COMMAND_CHARACTERS:,} characters")
    return command


def _invalid(why: str) -> UsageError:
    return UsageError(
        "EMANIFEST",
        f"not a capability of a server: {why}",
        suggestion="`sigil mcp add` writes them",
    )
