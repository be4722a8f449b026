"""A capability's folder as the commands read it: what is wrong is told with its file and line, what
takes long before it begins.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sigil.errors import Refused, UsageError

if TYPE_CHECKING:
    from sigil.cli.shell import Shell
    from sigil.manifest.package import Package
    from sigil.protocol import Deployed, Json

TRIES = 5
PATIENCE_SECONDS = 30.0
_PLACE = re.compile(r"line ([0-9]+)(?:, column ([0-9]+))?: (.*)")
MANIFEST = "sigil.toml"


def read(folder: Path) -> Package:
    """The package in a folder, its permissions read too; `UsageError` names the line and the field
    that are wrong.
    """
    from sigil.manifest import permissions
    from sigil.manifest.languages import HOST
    from sigil.manifest.messages import with_line as on_its_line
    from sigil.manifest.package import read_folder

    package = read_folder(folder)
    if package.manifest.lang == HOST:
        message = "it is a part of the agent: there is nothing to build, to test or to deploy"
        raise Refused(
            "EPERM",
            message,
            source=package.manifest.name,
            suggestion="ask the agent for it in a chat",
        )
    try:
        permissions.require_valid_permissions(package.manifest)
    except UsageError as problem:
        path = folder / MANIFEST
        raise on_its_line(problem, str(path), path.read_text("utf-8")) from None
    return package


@contextmanager
def placed(folder: Path | None) -> Iterator[None]:
    """A module that is refused with a line of its source is refused with the file of `folder`
    too.
    """
    try:
        yield
    except Refused as problem:
        found = _PLACE.fullmatch(problem.message)
        if problem.code != "EMODULE" or folder is None or not found:
            raise
        place = ":".join(part for part in (_source(folder), found[1], found[2]) if part)
        raise Refused(
            "EMODULE", f"{place}: {found[3]}", source=problem.source, suggestion=problem.suggestion
        ) from None


def warn(shell: Shell, lang: object, code: bytes) -> None:
    """Say so before the first C source of a cache makes everybody wait."""
    if lang != "c":
        return
    from sigil.compile.toolchain.c import waits

    if waits(code):
        shell.printer.note(
            "the C library is compiled once, for this and all later sources: about half a minute"
        )


def deployed(
    shell: Shell,
    deploy: Callable[[], Deployed],
    spec: Mapping[str, Json],
    folder: Path | None = None,
) -> Deployed:
    """What `deploy` made of `spec`. A registry that wants a pause between two deploys gets it."""
    if not shell.address():
        warn(shell, spec.get("lang"), str(spec.get("code", "")).encode("utf-8", "replace"))
    with placed(folder):
        return patient(shell, deploy)


def patient(shell: Shell, deploy: Callable[[], Deployed]) -> Deployed:
    """What `deploy` made, perhaps not at the first time: ERATE says when the next one is due."""
    for _ in range(TRIES - 1):
        try:
            return deploy()
        except Refused as problem:
            if problem.code != "ERATE" or not 0 < problem.retry_after <= PATIENCE_SECONDS:
                raise
            shell.printer.note(f"{problem.message}: trying again in {problem.retry_after:.0f} s")
            time.sleep(problem.retry_after)
    return deploy()


def _source(folder: Path) -> str:
    from sigil.manifest.package import parse_toml

    return str(folder / parse_toml((folder / MANIFEST).read_text("utf-8"))[1])
