"""A path names a file of a workspace, and can name nothing beside it.

The same rules hold wherever a path comes from: a model, a command, a request or a folder. What
they refuse is what some system takes for another file than a reader does, so that a workspace can
be written into any folder, and a rule of a policy means the file that it names.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, NoReturn

from functions.agent.sanitize import find_unseen
from sigil.errors import UsageError, one_line

PATH_CHARACTERS: Final = 200
PATH_BYTES: Final = 300
"""In UTF-8. Every store takes a key that is three times as long and has the number of a version."""
STEP_BYTES: Final = 200
"""What is between two slashes has so many bytes in UTF-8 at most: systems take 255."""
STEPS_MOST: Final = 12
RECEIVED: Final = "received"
"""The folder of what people sent. Only the runtime writes there."""
TEAM: Final = "team"
"""The folder that the root and the agents below it share, where an agent's own files are used."""
_FORBIDDEN: Final = re.compile(r'[\\%:*?"<>|\x00-\x1f\x7f-\x9f\ue000-\uf8ff\ufffd]')
"""What leads elsewhere once it is decoded, means something else in a pattern, or is in no name on
some system.
"""
_DEVICE: Final = re.compile(
    r"(?:con|prn|aux|nul|clock\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE | re.DOTALL
)
"""The names that are devices on Windows, whatever follows a dot."""
_GIT: Final = re.compile(r"\.git(?:[^\w].*)?|git~\d+|\.git(?:modules|attributes|ignore)", re.DOTALL)
"""The names that git gives a meaning of its own: a workspace is exported as a repository."""


def parse_path(text: str) -> str:
    """Return the path of a file; `UsageError` EINVAL says what is wrong with it."""
    if not text:
        _refuse(text, "is empty")
    if len(text) > PATH_CHARACTERS:
        _refuse(text, f"has {len(text):,} characters", f"at most {PATH_CHARACTERS}")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        _refuse(text, "is no text: it has a lone surrogate")
    if size > PATH_BYTES:
        _refuse(text, f"has {size} bytes", f"at most {PATH_BYTES} in UTF-8")
    found = _FORBIDDEN.search(text)
    if found:
        _refuse(text, f"has {found[0]!a}", 'leave out \\ % : * ? " < > | and control characters')
    if find_unseen(text) is not None or not text.isprintable():
        _refuse(text, "has a character that nobody sees")
    if unicodedata.normalize("NFC", text) != text:
        _refuse(text, "is not in the normal form NFC", "write it composed, as keyboards do")
    steps = text.split("/")
    if len(steps) > STEPS_MOST:
        _refuse(text, f"has {len(steps)} steps", f"at most {STEPS_MOST}")
    for step in steps:
        _check_step(text, step)
    return text


def _check_step(path: str, step: str) -> None:
    """Raise `UsageError` EINVAL for a name between two slashes that no file or folder may have."""
    if not step:
        _refuse(path, "begins or ends with /, or has two of them", "a path is names with / between")
    folded = fold_path(step)
    if set(folded) == {"."}:
        _refuse(path, f"has the step {step}", "name the file from the top of the workspace")
    if "/" in folded or "\\" in folded:
        _refuse(path, "has a letter that looks like a slash", "write the slash itself")
    if step != step.strip() or step.endswith("."):
        _refuse(
            path, f"has the name {step!r}", "no name begins or ends with a space or ends with ."
        )
    if step.startswith(("~", "-")):
        _refuse(path, f"has the name {step!r}", f"no name begins with {step[0]}")
    if len(step.encode()) > STEP_BYTES:
        _refuse(path, "has a name that is too long", f"at most {STEP_BYTES} bytes each")
    if _DEVICE.fullmatch(folded) or _GIT.fullmatch(folded):
        _refuse(path, f"has the name {step!r}, which is reserved", "choose another name")


def fold_path(path: str) -> str:
    """Return what all paths have in common that a reader, or some system, takes for the same."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold())


def require_writable(path: str) -> str:
    """Return a path that people and the agent may write; `UsageError` EINVAL for `received/`."""
    if fold_path(path).partition("/")[0] == RECEIVED:
        raise UsageError(
            "EINVAL",
            f"{path} is where files stand as people sent them",
            suggestion="write it under another path",
        )
    return path


def _refuse(path: str, why: str, hint: str = "") -> NoReturn:
    raise UsageError(
        "EINVAL",
        f"the path {one_line(path, 60)!r} {why}",
        suggestion=hint or "a path is names with / between",
    )
