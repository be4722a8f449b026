"""The folder that another program keeps its agent in. It may come from anybody: no link in it is
followed, nothing outside of it is read, and every file has a limit.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Final

import orjson

from sigil.errors import UsageError, one_line
from sigil.lenient_json import read_json
from sigil.protocol import Json
from sigil.storage.files import read_bounded
from sigil.strict_json import DEPTH_LIMIT, is_within_depth

DOCUMENT_BYTES: Final = 1024 * 1024
NAMES_MOST: Final = 2_000
_TEXT_OR_COMMENT: Final = re.compile(
    r'"(?:[^"\\]|\\.?)*+(?:"|\Z)'
    r"|'(?:[^'\\]|\\.?)*+(?:'|\Z)"
    r"|(?P<comment>//[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))",
    re.DOTALL,
)
"""A text, or a comment as JSON5 has them. One without an end goes to the end."""


class SourceFolder:
    """A folder and what may be read in it, by paths with `/` below it."""

    def __init__(self, root: Path) -> None:
        try:
            self.root = root.resolve(strict=True)
        except (OSError, RuntimeError) as problem:
            why = getattr(problem, "strerror", None) or "it leads nowhere"
            raise UsageError("ENOENT", f"{root} cannot be read: {why}") from None
        if not self.root.is_dir():
            raise UsageError("ENOENT", f"{root} is no folder", suggestion="name the folder itself")

    def enter(self, name: str) -> SourceFolder | None:
        """Return a folder in this one, None when there is none."""
        path = self._find(name)
        return SourceFolder(path) if path and path.is_dir() else None

    def list_names(self, path: str = "") -> list[str]:
        """Return the names in a folder, sorted; none when it is not there."""
        found = self._find(path)
        if found is None or not found.is_dir():
            return []
        try:
            names = sorted(entry.name for entry in found.iterdir())
        except OSError as problem:
            raise _make_error(path or str(self.root), problem) from None
        if len(names) > NAMES_MOST:
            raise UsageError("ETOOBIG", f"{one_line(path or '.', 80)} has {len(names):,} entries")
        return names

    def is_folder(self, path: str) -> bool:
        """Return whether there is a folder, and no link to one."""
        found = self.root / path
        return found.is_dir() and not found.is_symlink()

    def read_text(self, path: str, most: int = DOCUMENT_BYTES) -> str | None:
        """Return the text of a file, None when it is not there; `UsageError` when it is no file,
        larger than `most` bytes or not in UTF-8.
        """
        found = self._find(path)
        return None if found is None else read_text_file(found, path, most)

    def read_time(self, path: str) -> float:
        """Return when a file was changed last, in seconds since 1970."""
        return (self.root / path).lstat().st_mtime

    def read_config(self, path: str) -> dict[str, Json]:
        """Return the settings in a file of JSON, which may have comments; none without the file."""
        text = self.read_text(path)
        return {} if text is None else parse_config(text, path)

    def _find(self, path: str) -> Path | None:
        """Return where a path leads to, None for nowhere; `UsageError` for a link on the way."""
        place = self.root
        for step in filter(None, path.split("/")):
            place /= step
            try:
                mode = place.lstat().st_mode
            except (FileNotFoundError, NotADirectoryError):
                return None
            except OSError as problem:
                raise _make_error(path, problem) from None
            if stat.S_ISLNK(mode):
                raise UsageError(
                    "EINVAL",
                    f"{one_line(path, 120)} is a link, or stands behind one",
                    suggestion="put a file in its place: nothing outside of the folder is read",
                )
        return place


def read_text_file(file: Path, name: str, most: int) -> str:
    """Return the text of a file that anybody may have made; `name` is what errors call it."""
    try:
        return read_bounded(file, most).decode("utf-8-sig")
    except UnicodeDecodeError:
        hint = "save it as UTF-8"
        raise UsageError("EINVAL", f"{name} is not UTF-8 text", suggestion=hint) from None
    except OSError as problem:
        raise _make_error(name, problem) from None


def parse_config(text: str, name: str) -> dict[str, Json]:
    """Return the object in a text of JSON, which may have comments, commas before a bracket, and
    names without quotes.
    """
    try:
        value = read_json(_TEXT_OR_COMMENT.sub(_drop_comment, text))
    except orjson.JSONDecodeError as problem:
        where = f"line {problem.lineno}, column {problem.colno}"
        raise UsageError("EJSON", f"{name} is not JSON: {problem.msg} ({where})") from None
    if not isinstance(value, dict):
        raise UsageError("EJSON", f"{name} must be a JSON object")
    if not is_within_depth(value, DEPTH_LIMIT):
        raise UsageError("EJSON", f"{name} is nested deeper than {DEPTH_LIMIT}")
    return value


def _drop_comment(found: re.Match[str]) -> str:
    comment = found["comment"]
    # its line ends stay, so that a problem is named by the line on which it is
    return found[0] if comment is None else " " + "\n" * comment.count("\n")


def _make_error(name: str, problem: OSError) -> UsageError:
    why = problem.strerror or str(problem)
    return UsageError("EINVAL", f"{one_line(name, 120)} cannot be read: {why}")
