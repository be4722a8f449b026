"""The MCP server that a command line of `sigil mcp add` describes: an address, or a program of this
machine.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sigil.errors import SigilError, UsageError
from sigil.protocol import is_name

if TYPE_CHECKING:
    from sigil.run.mcp_client.document import McpServerRow, ProgramCommandRow, WebAddressRow

_HEADER = re.compile(r"([A-Za-z0-9-]+):\s*(.+)", re.ASCII)
_SECRET = re.compile(r"secret:([A-Z][A-Z0-9_]{0,62})", re.ASCII)
_SUGGESTED_COMMAND = re.compile(r"`(sigil [^`]+)`")
_COMMON_LABELS = ("www", "mcp", "api")
"""Labels of a host name that name no server."""
_RUNNERS = (
    "npx",
    "uvx",
    "uv",
    "bunx",
    "pipx",
    "python",
    "python3",
    "node",
    "deno",
    "docker",
    "env",
    "sh",
    "bash",
    "run",
    "exec",
    "x",
)
"""Words of a command that start a server and do not name it."""


def parse_server_address(
    place: Sequence[str], name: str, headers: Iterable[str], env: Iterable[str]
) -> McpServerRow:
    """Return the server that a command line describes; `UsageError` when it describes none."""
    row: McpServerRow
    if len(place) == 1 and re.match(r"https?://", place[0]):
        _require_empty(env, "--env", "an address")
        address: WebAddressRow = {"name": name or _name_after_host(place[0]), "url": place[0]}
        for text in headers:
            header = _HEADER.fullmatch(text)
            if header is None:
                raise UsageError(
                    "EUSAGE",
                    f"--header {text!r} is not a header",
                    suggestion="--header 'Authorization: Bearer secret:NAME'",
                )
            header_name, value = header.groups()
            sent = address.setdefault("headers", {})
            sent[header_name.lower()] = _SECRET.sub(r"{{\1}}", value)
        row = address
    else:
        _require_empty(headers, "--header", "a command")
        program: ProgramCommandRow = {
            "name": name or _name_after_command(place),
            "command": list(place),
        }
        variables = [text.partition("=") for text in env]
        if variables:
            program["env"] = {key: value for key, _, value in variables}
        row = program
    if not is_name(row["name"]):
        raise UsageError(
            "EUSAGE",
            f"{name!r} is not a server's name" if name else "the server needs a name",
            suggestion="add --name NAME: lower-case words joined by hyphens",
        )
    return row


def _require_empty(values: Iterable[str], option: str, place: str) -> None:
    if any(values):
        raise UsageError(
            "EUSAGE",
            f"{option} cannot be used with {place}",
            suggestion="--header goes with an address, --env with a command",
        )


def _name_after_host(url: str) -> str:
    """Return `linear` for `https://mcp.linear.app/mcp`; empty for an address in numbers."""
    labels = (urlsplit(url).hostname or "").split(".")[:-1]
    names = [label for label in labels if label not in _COMMON_LABELS]
    if not names or names[-1].isdigit():
        return ""
    return names[-1]


def _name_after_command(words: Sequence[str]) -> str:
    """Return `files` for `npx -y @scope/server-files /srv`: the first word that names the server,
    without its path, its version, and the words `mcp` and `server`.
    """
    for word in words:
        unversioned = re.sub(r"@[0-9][^/]*$", "", word)
        file = unversioned.rstrip("/").rpartition("/")[2].lower()
        stem = re.sub(r"\.(py|js|ts|mjs)$", "", file)
        if not word.startswith("-") and stem not in _RUNNERS:
            parts = re.split(r"[^a-z0-9]+", stem)
            return "-".join(part for part in parts if part not in ("mcp", "server", ""))
    return ""


def absolute_paths(row: McpServerRow, note: Callable[[str], None]) -> McpServerRow:
    """Return the server with absolute paths for files of the current folder: programs start in the
    home folder. Each changed word is reported to `note`.

    `UsageError` when there is no such program.
    """
    if "command" not in row:
        return row
    program, *rest = row["command"]
    if shutil.which(program) is None:
        raise UsageError(
            "ENOENT",
            f"there is no program {program} here",
            source=row["name"],
            suggestion=(
                "name a program on the PATH, or give its path; an address begins with https://"
            ),
        )
    words = [str(Path(program).absolute()) if "/" in program else program]
    for word in rest:
        words.append(str(Path(word).absolute()) if _is_path(word) else word)
    for word, absolute in zip(row["command"], words, strict=True):
        if word != absolute:
            note(f"{word} is {absolute}: programs start in the home folder")
    return {**row, "command": words}


def _is_path(word: str) -> bool:
    """Return whether an argument names a file here, or with a slash a folder. A bare word does not:
    it may be a package.
    """
    if word.startswith(("-", "@")):
        return False
    path = Path(word)
    try:
        if "/" in word or word in (".", ".."):
            return path.exists()
        return "." in word and path.is_file()
    except (OSError, ValueError):
        return False


@contextmanager
def suggest_next_step(row: McpServerRow) -> Iterator[None]:
    """Add the next step to the error of a server that cannot be reached."""
    try:
        yield
    except SigilError as problem:
        problem.suggestion = problem.suggestion or _choose_next_step(problem, row)
        raise


def _choose_next_step(problem: SigilError, row: McpServerRow) -> str:
    command = _SUGGESTED_COMMAND.search(problem.message)
    if command:
        return f"{command[1]}, then this again"
    if "command" in row:
        if problem.code not in ("EREMOTE", "ETIMEDOUT"):
            return ""
        return (
            f"run it by hand: {shlex.join(row['command'])}; it has to speak MCP on its standard"
            " input and output"
        )
    if problem.code == "EPERM":
        return (
            "run it as a program (`sigil mcp add -- COMMAND`), or put it behind https;"
            " SIGIL_LOOPBACK=1 allows one of this machine"
        )
    if problem.code in ("EREMOTE", "ETIMEDOUT", "ENET"):
        return "check the address; it has to speak MCP over streamable HTTP"
    return ""
