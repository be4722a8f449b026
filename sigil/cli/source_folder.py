"""A capability's folder as the commands read it: errors with file and line, notes before slow
steps.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.names import TOOLCHAIN, name_own_command
from sigil.errors import Refused, UsageError

if TYPE_CHECKING:
    from sigil.cli.shell import Shell
    from sigil.manifest.package import Package
    from sigil.protocol import Deployed, Json

MANIFEST = "sigil.toml"
DEPLOY_TRIES = 5
LONGEST_PAUSE_SECONDS = 30.0
EXCERPT_CHARACTERS = 76
"""The most of a line of a source that is shown with an error: it fits into 80 columns."""
_LOCATED = re.compile(r"line ([0-9]+)(?:, column ([0-9]+))?: (.*)")

Folder = Annotated[
    Path,
    typer.Argument(metavar="FOLDER", help="A folder with a sigil.toml (default: the current one)."),
]
CURRENT_FOLDER = Path()
"""The folder that a command uses when none is named."""


def read_package(folder: Path, *, has_code: bool = True) -> Package:
    """Return the package in a folder, its permissions checked too; `UsageError` names the line and
    the field that are wrong. One that `has_code` is no bundle.
    """
    from sigil.manifest import permissions
    from sigil.manifest.languages import BUNDLE, HOST
    from sigil.manifest.messages import with_line
    from sigil.manifest.package import read_folder

    package = read_folder(folder)
    if package.manifest.lang == HOST:
        raise Refused(
            "EPERM",
            "it is a part of the agent: it cannot be built, tested or deployed",
            source=package.manifest.name,
            suggestion="ask the agent for it in a chat",
        )
    if has_code and package.manifest.lang == BUNDLE:
        raise UsageError(
            "EUSAGE",
            "it is a bundle, which has no code to build or test",
            source=package.manifest.name,
            suggestion="`sigil deploy FOLDER` checks that its members are there",
        )
    try:
        permissions.require_valid_permissions(package.manifest)
    except UsageError as problem:
        path = folder / MANIFEST
        raise with_line(problem, str(path), path.read_text("utf-8")) from None
    return package


@contextmanager
def locate_errors(folder: Path | None, *, here: bool = True) -> Iterator[None]:
    """Add the file of `folder` to a refusal that names a line of its source, and to one that wants
    a compiler the command that installs it `here`, in this very installation.
    """
    try:
        yield
    except Refused as problem:
        if here:
            problem.suggestion = name_own_command(problem.suggestion)
        located = _LOCATED.fullmatch(problem.message)
        if problem.code != "EMODULE" or folder is None or not located:
            raise
        from sigil.manifest.package import parse_toml

        line, column, message = located.groups()
        source = folder / parse_toml((folder / MANIFEST).read_text("utf-8"))[1]
        place = f"{source}:{line}:{column}" if column else f"{source}:{line}"
        located_problem = Refused(
            "EMODULE",
            f"{place}: {message}",
            source=problem.source,
            suggestion=problem.suggestion,
        )
        excerpt = _point_at(source, int(line), int(column)) if column else ""
        if excerpt:
            located_problem.add_note(excerpt)
        raise located_problem from None


def _point_at(source: Path, line: int, column: int) -> str:
    """Return a line of a source and a caret below its column; empty when there is no such place."""
    try:
        lines = source.read_text("utf-8").split("\n")
    except (OSError, ValueError):
        return ""
    if not 1 <= line <= len(lines) or not 1 <= column <= len(lines[line - 1]) + 1:
        return ""
    text = "".join(" " if each.isspace() else each for each in lines[line - 1])
    begin = max(column - 1 - EXCERPT_CHARACTERS // 2, 0)
    shown = text[begin : begin + EXCERPT_CHARACTERS]
    indent = min(len(shown) - len(shown.lstrip()), column - 1 - begin)
    caret = " " * (column - 1 - begin - indent)
    return f"  {shown[indent:].rstrip()}\n  {caret}^"


def warn_of_slow_compile(shell: Shell, lang: object, code: bytes) -> None:
    """Say so before the first C source of a cache takes some seconds longer."""
    if lang != "c":
        return
    from sigil.compile.toolchain.c import needs_library

    if needs_library(code):
        shell.printer.note(
            "the C library is compiled once, for this and all later sources: about ten seconds"
        )


def deploy_package(
    shell: Shell,
    deploy: Callable[[], Deployed],
    spec: Mapping[str, Json],
    folder: Path | None = None,
) -> Deployed:
    """Deploy `spec` and return the result, after the pause between two deploys that a registry asks
    for.
    """
    if shell.is_remote():
        try:
            return retry_when_limited(shell, deploy)
        except Refused as problem:
            if TOOLCHAIN in problem.suggestion:
                problem.suggestion = f"on the machine of the registry: {problem.suggestion}"
            with locate_errors(folder, here=False):
                raise
    code = str(spec.get("code", "")).encode("utf-8", "replace")
    warn_of_slow_compile(shell, spec.get("lang"), code)
    with locate_errors(folder):
        return retry_when_limited(shell, deploy)


def retry_when_limited(shell: Shell, deploy: Callable[[], Deployed]) -> Deployed:
    """Call `deploy` again after each ERATE, which says how many seconds to wait."""
    for _ in range(DEPLOY_TRIES - 1):
        try:
            return deploy()
        except Refused as problem:
            if problem.code != "ERATE" or not 0 < problem.retry_after <= LONGEST_PAUSE_SECONDS:
                raise
            shell.printer.note(f"{problem.message}: trying again in {problem.retry_after:.0f} s")
            time.sleep(problem.retry_after)
    return deploy()
