"""Skills on a disk: a folder with a `SKILL.md` each, read from it and written to it.

A folder from elsewhere may hold links: none is followed, so that it does not choose what is read or
written outside of it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from functions.agent.skills.package import FILE_BYTES, FILES_MOST, SkillPackage
from functions.agent.skills.skill import FILE
from sigil.errors import UsageError, one_line
from sigil.storage.obeyed_names import disable_path, restore_path

DEPTH_MOST: Final = 8
FOLDERS_MOST: Final = 500
_LEFT_OUT: Final = ("__pycache__", "node_modules")
"""Folders that tools make; what begins with a dot is left out too, but what `write_skills` wrote.
"""


@dataclass(frozen=True, slots=True)
class SkillOnDisk:
    """A skill that was read, and the name of the folder or file that it stood in."""

    package: SkillPackage
    place: str


def read_skills(path: Path) -> list[SkillOnDisk]:
    """Return the skills at a path: that of a Markdown file, of a folder with a `SKILL.md`, or of
    each folder within a folder that has one.
    """
    try:
        if path.is_file():
            body = _read_file(path)
            return [SkillOnDisk(SkillPackage(body), "" if path.name == FILE else path.stem)]
        if not path.is_dir():
            raise UsageError(
                "ENOENT", f"there is no {path}", suggestion=f"name a folder with {FILE}"
            )
        if os.path.lexists(path / FILE):
            return [_read_skill(path)]
        folders = [
            each
            for each in sorted(path.iterdir())
            if not each.is_symlink()
            and not _is_left_out(each.name)
            and os.path.lexists(each / FILE)
        ]
        if not folders:
            hint = "a skill is a folder with that file; a folder of such folders is taken too"
            raise UsageError("ENOENT", f"{path} has no {FILE}", suggestion=hint)
        if len(folders) > FOLDERS_MOST:
            raise UsageError("ETOOBIG", f"{path} has {len(folders):,} skills")
        return list(map(_read_skill, folders))
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise UsageError("EINVAL", f"{path} cannot be read: {why}") from None


def _read_skill(folder: Path) -> SkillOnDisk:
    files: dict[str, bytes] = {}
    for written, path in _list_files(folder, "", 0):
        name = restore_path(written)
        if len(files) >= FILES_MOST:
            hint = f"a skill has at most {FILES_MOST}"
            raise UsageError("ETOOBIG", f"{folder} has too many files", suggestion=hint)
        if name in files:
            hint = "remove one of them"
            raise UsageError("EINVAL", f"{folder} has {name} and {written}", suggestion=hint)
        files[name] = _read_file(path)
    body = files.pop(FILE)
    return SkillOnDisk(SkillPackage(body, files), folder.resolve().name)


def _list_files(folder: Path, prefix: str, depth: int) -> Iterator[tuple[str, Path]]:
    if depth > DEPTH_MOST:
        raise UsageError("EINVAL", f"{folder} is nested too deeply")
    for path in sorted(folder.iterdir()):
        if _is_left_out(path.name):
            continue
        if path.is_symlink():
            hint = "put the file itself in its place: what a link leads to is not read"
            raise UsageError("EINVAL", f"{path} is a link", suggestion=hint)
        if path.is_dir():
            yield from _list_files(path, f"{prefix}{path.name}/", depth + 1)
        else:
            yield f"{prefix}{path.name}", path


def _is_left_out(name: str) -> bool:
    is_hidden = name.startswith(".") and restore_path(name) == name
    return is_hidden or name in _LEFT_OUT


def _read_file(path: Path) -> bytes:
    """Return the bytes of a plain file; no link, and no pipe that would never end."""
    if path.is_symlink():
        hint = "name the file itself: what a link leads to is not read"
        raise UsageError("EINVAL", f"{path} is a link", suggestion=hint)
    if not stat.S_ISREG(path.lstat().st_mode):
        raise UsageError("EINVAL", f"{path} is no file", suggestion="a skill has plain files only")
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(descriptor, "rb") as stream:
        body = stream.read(FILE_BYTES + 1)
    if len(body) > FILE_BYTES:
        hint = f"at most {FILE_BYTES:,} bytes a file"
        raise UsageError("ETOOBIG", f"{one_line(str(path), 120)} is too large", suggestion=hint)
    return body


def require_free(folder: Path, names: Mapping[str, SkillPackage]) -> None:
    """Raise `UsageError` EEXIST unless the folders of these skills can be made in a folder."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError("EINVAL", f"{folder} is a link, or no folder")
    for name in names:
        place = folder / name
        if os.path.lexists(place):
            hint = "name another folder, or remove that one first"
            raise UsageError("EEXIST", f"{place} is there already", suggestion=hint)


def write_skills(folder: Path, packages: Mapping[str, SkillPackage]) -> list[str]:
    """Write skills into a folder, each into a new one of its name, as they were added.

    Return the paths there of files whose names some program would obey: they have another one.
    """
    require_free(folder, packages)
    disabled: list[str] = []
    try:
        for name, package in packages.items():
            for path, body in {FILE: package.body, **package.files}.items():
                place = f"{name}/{disable_path(path)}"
                if place != f"{name}/{path}":
                    disabled.append(place)
                file = folder / place
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("xb") as stream:
                    stream.write(body)
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise UsageError("EINVAL", f"{folder} cannot be written: {why}") from None
    return disabled
