"""The way to an MCP server that somebody adds: its files by their whole names, and what helps when
it cannot be asked.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sigil.errors import SigilError, UsageError
from sigil.protocol import Json

_COMMAND = re.compile(r"`(sigil [^`]+)`")


def placed(row: dict[str, Json], say: Callable[[str], None]) -> dict[str, Json]:
    """The server, with the files of the current folder by their whole names: its program starts in
    the home folder.

    `UsageError` when there is no such program.
    """
    if "command" not in row:
        return row
    program, *rest = row["command"]
    if shutil.which(program) is None:
        suggestion = (
            "a program stands on the PATH, or is given with its path; an address begins with"
            " https://"
        )
        raise UsageError(
            "ENOENT",
            f"there is no program {program} here",
            source=row["name"],
            suggestion=suggestion,
        )
    words = [str(Path(program).absolute()) if "/" in program else program, *map(_whole, rest)]
    for word, whole in zip(row["command"], words, strict=True):
        if word != whole:
            say(f"{word} is {whole}: programs start in the home folder")
    return {**row, "command": words}


@contextmanager
def reached(row: dict[str, Json]) -> Iterator[None]:
    """A server that cannot be asked is told with the next step."""
    try:
        yield
    except SigilError as problem:
        problem.suggestion = problem.suggestion or _next_step(problem, row)
        raise


def _whole(word: str) -> str:
    """A word that names a file here, or with a slash a folder; bare words are left alone, as they
    name packages too.
    """
    path, named = Path(word), "/" in word or word in (".", "..")
    try:
        there = not word.startswith(("-", "@")) and (
            path.is_file() if "." in word and not named else named and path.exists()
        )
    except (OSError, ValueError):
        there = False
    return str(path.absolute()) if there else word


def _next_step(problem: SigilError, row: dict[str, Json]) -> str:
    told = _COMMAND.search(problem.message)
    if told:
        return f"{told[1]}, then this again"
    if "command" in row:
        by_hand = (
            f"run it by hand: {shlex.join(row['command'])}; it has to speak MCP on its standard"
            " input and output"
        )
        return by_hand if problem.code in ("EREMOTE", "ETIMEDOUT") else ""
    if problem.code == "EPERM":
        return (
            "run it as a program (`sigil mcp add -- COMMAND`), or put it behind https;"
            " SIGIL_LOOPBACK=1 lets you try one of this machine"
        )
    return (
        "check the address; it has to speak MCP over streamable HTTP"
        if problem.code in ("EREMOTE", "ETIMEDOUT", "ENET")
        else ""
    )
