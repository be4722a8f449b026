"""Registries by name: a file in the user's own configuration folder with an address, and where its
token is kept, for each.
"""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sigil.client.transport import base_of
from sigil.errors import UsageError, one_line
from sigil.storage.files import OURS, unwritten, write_whole

HERE = "here"
"""The profile that always is: the registry in this process."""
KEPT = "kept"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)
_TOKEN = re.compile(
    r"kept|env:[A-Za-z_][A-Za-z0-9_]{0,99}|(ssm|secretsmanager):[!-~]{1,500}", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Profile:
    """`token` says where the token is: `kept` (by `sigil login`), `env:NAME`, `ssm:NAME` or
    `secretsmanager:NAME`; never what it is.
    """

    name: str
    url: str = ""
    token: str = KEPT


@dataclass(frozen=True, slots=True)
class Book:
    """What the file says. `usual`: the profile of whoever names none."""

    profiles: Mapping[str, Profile] = field(default_factory=dict)
    usual: str = ""


class Profiles:
    """The file `path`. One that others can write is not believed: it says where tokens go."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def find(self, name: str) -> Profile:
        """The profile of this name; `UsageError` with ENOENT when there is none."""
        if name == HERE:
            return Profile(HERE)
        found = self.book().profiles.get(demand_name(name))
        if found is None:
            known = ", ".join((HERE, *self.book().profiles))
            message = f"there is no profile {name}; there are: {known}"
            raise UsageError(
                "ENOENT",
                message,
                suggestion=f"make it: sigil login --profile {name} --url https://…",
            )
        return found

    def usual(self) -> Profile | None:
        """The profile of whoever names none, if one is set."""
        name = self.book().usual
        return self.find(name) if name else None

    def keep(self, profile: Profile) -> None:
        """Add a profile, or put it in the place of the one with its name."""
        if profile.name == HERE:
            raise UsageError(
                "EUSAGE",
                f"{HERE} is the registry in this process and cannot be another",
                suggestion="choose another name",
            )
        book = self.book()
        self._write(Book({**book.profiles, demand_name(profile.name): profile}, book.usual))

    def forget(self, name: str) -> Profile:
        """Take a profile away; one that was the usual one is so no more."""
        gone, book = self.find(name), self.book()
        if name == HERE:
            raise UsageError("EUSAGE", f"{HERE} is always there")
        left = {other: profile for other, profile in book.profiles.items() if other != name}
        self._write(Book(left, "" if book.usual == name else book.usual))
        return gone

    def use(self, name: str) -> Profile:
        """Make a profile the usual one; with `here` none is."""
        profile = self.find(name)
        self._write(Book(self.book().profiles, "" if name == HERE else name))
        return profile

    def book(self) -> Book:
        """What stands in the file; an empty book when there is none."""
        try:
            with self._path.open("rb") as file:
                _demand_own(self._path, os.fstat(file.fileno()))
                table = tomllib.load(file)
        except FileNotFoundError:
            return Book()
        except (OSError, ValueError) as problem:
            reason = (
                problem.strerror if isinstance(problem, OSError) else one_line(str(problem), 100)
            )
            raise UsageError(
                "EPROFILES",
                f"cannot read {self._path}: {reason}",
                suggestion="mend it, or remove it",
            ) from None
        tables = table.get("profile")
        found = (
            (_read(name, fields) for name, fields in tables.items())
            if isinstance(tables, dict)
            else ()
        )
        book = Book({profile.name: profile for profile in found}, str(table.get("default", "")))
        return book if book.usual in book.profiles else Book(book.profiles)

    def _write(self, book: Book) -> None:
        lines = [f"default = {json.dumps(book.usual)}\n"] if book.usual else []
        for name, profile in sorted(book.profiles.items()):
            lines.append(
                f"[profile.{name}]\nurl = {json.dumps(profile.url)}\ntoken ="
                f" {json.dumps(profile.token)}\n"
            )
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as problem:
            raise unwritten(self._path, problem) from None
        write_whole(self._path, "\n".join(lines).encode("ascii"), OURS)


def demand_name(name: str) -> str:
    """`name`, if a profile may have it."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            "EUSAGE",
            f"{one_line(name, 60)!r} names no profile",
            suggestion="lower-case letters, digits and hyphens",
        )
    return name


def demand_token(reference: str) -> str:
    """`reference`, if it says where a token is."""
    if not _TOKEN.fullmatch(reference):
        raise UsageError(
            "EUSAGE",
            "that says not where a token is",
            suggestion="env:NAME, ssm:NAME or secretsmanager:NAME",
        )
    return reference


def _read(name: str, fields: object) -> Profile:
    given = fields if isinstance(fields, dict) else {}
    profile = Profile(
        demand_name(name), str(given.get("url", "")), demand_token(str(given.get("token", KEPT)))
    )
    base_of(profile.url)
    return profile


def _demand_own(path: Path, found: os.stat_result) -> None:
    if stat.S_IMODE(found.st_mode) & 0o022 or found.st_uid != os.getuid():
        raise UsageError(
            "EPROFILES",
            f"{path} can be written by others, or is somebody else's",
            suggestion=f"chmod 600 {path}",
        )
