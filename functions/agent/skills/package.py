"""A package is a skill as it travels: the bytes of its `SKILL.md`, and of the files beside it.

All files are kept as they are and given back as they were; none of them ever runs.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from functions.agent.skills.skill import FILE, Skill, parse_skill
from sigil.errors import UsageError, one_line

FILE_BYTES: Final = 256 * 1024
FILES_MOST: Final = 100
PACKAGE_BYTES: Final = 4 * 1024 * 1024
PATH_CHARACTERS: Final = 200
_FORBIDDEN: Final = frozenset('\\:*?"<>|')
"""Characters of a path that are not the same, or not allowed, on every system."""


@dataclass(frozen=True, slots=True)
class SkillPackage:
    """A skill with its files: `files` maps their paths to their bytes, without `SKILL.md`."""

    body: bytes
    files: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text of its `SKILL.md`; `UsageError` when that is no UTF-8."""
        try:
            return self.body.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise UsageError(
                "EINVAL", f"{FILE} is not UTF-8 text", suggestion="save it as UTF-8"
            ) from None

    def parse(self) -> Skill:
        """Return the skill; `UsageError` for one that cannot be kept."""
        if len(self.files) + 1 > FILES_MOST:
            raise UsageError(
                "ETOOBIG",
                f"it has {len(self.files) + 1:,} files",
                suggestion=f"a skill has at most {FILES_MOST}",
            )
        seen: dict[str, str] = {}
        for path in (FILE, *self.files):
            twin = seen.setdefault(unicodedata.normalize("NFC", path).casefold(), path)
            if twin != path:
                raise UsageError(
                    "EINVAL",
                    f"{one_line(path, 80)} and {one_line(twin, 80)} are one file on many systems",
                    suggestion="rename one of them",
                )
        for path, body in {FILE: self.body, **self.files}.items():
            require_path(path)
            if len(body) > FILE_BYTES:
                raise UsageError(
                    "ETOOBIG",
                    f"{one_line(path, 80)} has {len(body):,} bytes",
                    suggestion=f"at most {FILE_BYTES:,} bytes a file",
                )
        size = len(self.body) + sum(map(len, self.files.values()))
        if size > PACKAGE_BYTES:
            raise UsageError(
                "ETOOBIG",
                f"its files have {size:,} bytes together",
                suggestion=f"at most {PACKAGE_BYTES:,}",
            )
        return parse_skill(self.text)


def require_path(path: str) -> str:
    """Return the path of a skill's file; `UsageError` for one that may lead elsewhere, or that not
    every system can have.
    """
    parts = path.split("/")
    is_plain = path.isprintable() and _FORBIDDEN.isdisjoint(path)
    is_inside = all(part and part.strip(" .") and part[-1] not in " ." for part in parts)
    if len(path) > PATH_CHARACTERS or not is_plain or not is_inside or _is_half(path):
        raise UsageError(
            "EINVAL",
            f"{one_line(path, 80)!r} is no path of a skill's file",
            suggestion=f"such as references/forms.md, at most {PATH_CHARACTERS} characters",
        )
    return path


def _is_half(path: str) -> bool:
    """Return whether a path has half a character, as names have that are no UTF-8."""
    return any("\ud800" <= each <= "\udfff" for each in path)
