"""What programs and commands ask about the files of an agent: rows of them, and changes by people,
of which the agent is told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from mimetypes import guess_type
from typing import Final

from functions.agent.workspace.edits import note_edit
from functions.agent.workspace.file import FileConflict, FileHead, FileVersion
from functions.agent.workspace.files import FILES_MOST, TOTAL_BYTES, Workspace, Writer
from functions.agent.workspace.path import parse_path, require_writable
from sigil.errors import UsageError
from sigil.storage.kv import KV

_RANGE: Final = re.compile(r"([0-9]{1,9})?\.\.([0-9]{1,9})?", re.ASCII)
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
_TAG: Final = re.compile(r'"([0-9]{1,9})"', re.ASCII)
TEXT_TYPE: Final = "text/plain; charset=utf-8"
PLAIN_TYPES: Final = frozenset(
    ("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf", "application/zip")
)
"""What a browser may be told of bytes that are no text; it runs none of these."""


class FileEditor:
    """The files of an agent or a chat as a person changes them, by their id."""

    def __init__(self, kv: KV, files: Workspace, by: str) -> None:
        self.files = files
        self._kv = kv
        self._by = by

    def write(
        self, path: str, body: bytes, *, base: int | None = None, why: str = ""
    ) -> FileVersion:
        """Write a file, and return its version."""
        require_writable(parse_path(path))
        known = self.files.find(path)
        made = self.files.write(path, body, Writer(self._by), base=base, why=why)
        return self._note(made, known)

    def roll_back(self, path: str, version: int) -> FileVersion:
        """Make an earlier version the newest again, as a new one."""
        require_writable(parse_path(path))
        known = self.files.find(path)
        return self._note(self.files.roll_back(path, version, Writer(self._by)), known)

    def remove(self, path: str, *, base: int | None = None) -> FileVersion:
        """Remove a file; its versions stay for a while."""
        known = self.files.require(parse_path(path))
        return self._note(self.files.remove(path, Writer(self._by), base=base), known)

    def _note(self, made: FileVersion, known: FileHead | None) -> FileVersion:
        if known is None or made.version != known.version:
            note_edit(self._kv, self.files.scope, made)
        return made


def list_files(heads: Sequence[FileHead], prefix: str) -> dict[str, object]:
    """Return those of the files whose path begins with a prefix, with what there is in all."""
    return {
        "items": [describe_head(head) for head in heads if head.path.startswith(prefix)],
        "files": len(heads),
        "bytes": sum(head.size for head in heads),
        "most": {"files": FILES_MOST, "bytes": TOTAL_BYTES},
    }


def describe_head(head: FileHead) -> dict[str, object]:
    """Return the newest version of a file as programs see it."""
    return {
        "path": head.path,
        "version": head.version,
        "bytes": head.size,
        "sha256": head.sha,
        "by": head.by,
        "task": head.task,
        "at": head.at,
    }


def describe_version(version: FileVersion) -> dict[str, object]:
    """Return one version of a file as programs see it."""
    row = {**describe_head(version.make_head()), "before": version.before, "why": version.why}
    return {
        **row,
        "added": version.added,
        "removed": version.gone,
        "deleted": version.removed,
        "diff": version.diff,
    }


def compare_versions(files: Workspace, path: str, first: int, last: int) -> dict[str, object]:
    """Return what changed between two versions of a file; 0 for the last ones."""
    first, last, found = files.compare(path, first, last)
    return {
        "path": path,
        "from": first,
        "to": last,
        "added": found.added,
        "removed": found.removed,
        "diff": found.text,
    }


def read_range(text: str) -> tuple[int, int]:
    """Return the two versions in `3..5`, 0 for one that is left out; `UsageError` for another."""
    found = _RANGE.fullmatch(text)
    if not found:
        raise UsageError("EINVAL", "two versions are written like 3..5")
    return int(found[1] or 0), int(found[2] or 0)


def read_number(query: Mapping[str, str], name: str) -> int:
    """Return the version that a parameter names, 0 where it is missing."""
    text = query.get(name)
    if text is None:
        return 0
    if not _NUMBER.fullmatch(text):
        raise UsageError("EINVAL", f"{name} is the number of a version")
    return int(text)


def read_condition(headers: Mapping[str, str]) -> int | None:
    """Return the version that a change is made from, by `If-Match: "3"`, or 0 for a file that is
    not to be there, by `If-None-Match: *`; None without a condition.
    """
    match = headers.get("if-match")
    none = headers.get("if-none-match")
    if match is None and none is None:
        return None
    if match is not None and none is None:
        found = _TAG.fullmatch(match.strip())
        if found:
            return int(found[1])
    elif match is None and none is not None and none.strip() == "*":
        return 0
    raise UsageError(
        "EINVAL",
        'a condition is If-Match: "3", with the ETag of the file, or If-None-Match: *',
        source="files",
    )


def fail_condition(conflict: FileConflict) -> UsageError:
    """Return the error of a request whose condition does not hold."""
    return UsageError(
        "EPRECONDITION", conflict.message, source="files", suggestion=conflict.suggestion
    )


def find_type(path: str, text: str | None) -> str:
    """Return the media type with which a file is sent: no browser takes it for a page or a
    program.
    """
    if text is not None:
        return TEXT_TYPE
    guessed = guess_type(path)[0] or ""
    return guessed if guessed in PLAIN_TYPES else "application/octet-stream"
