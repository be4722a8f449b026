"""Store registries by name, in a file of the user's own configuration folder.

It has an address for each, and where its token is.
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
from sigil.storage.files import OURS, make_write_error, write_whole

HERE = "here"
"""The profile that always exists: the registry in this process."""
KEPT = "kept"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)
_TOKEN = re.compile(
    r"kept|env:[A-Za-z_][A-Za-z0-9_]{0,99}|(ssm|secretsmanager):[!-~]{1,500}", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Profile:
    """A registry with a name.

    `token` says where its token is, never the token itself: `kept` (by `sigil login`), `env:NAME`,
    `ssm:NAME` or `secretsmanager:NAME`.
    """

    name: str
    url: str = ""
    token: str = KEPT


@dataclass(frozen=True, slots=True)
class ProfileTable:
    """The contents of the file. `default`: the profile that is used when none is named."""

    profiles: Mapping[str, Profile] = field(default_factory=dict)
    default: str = ""


class Profiles:
    """The file `path`. One that others can write is refused: it says where tokens go."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def find(self, name: str) -> Profile:
        """Return the profile of this name; `UsageError` ENOENT when there is none."""
        if name == HERE:
            return Profile(HERE)
        profiles = self.load().profiles
        found = profiles.get(require_name(name))
        if found is None:
            known = ", ".join((HERE, *profiles))
            message = f"there is no profile {name}; there are: {known}"
            raise UsageError(
                "ENOENT",
                message,
                suggestion=f"create it: sigil login --profile {name} --url https://…",
            )
        return found

    def find_default(self) -> Profile | None:
        """Return the profile that is used when none is named, if one is set."""
        name = self.load().default
        return self.find(name) if name else None

    def save(self, profile: Profile) -> None:
        """Add a profile, or replace the one with its name."""
        if profile.name == HERE:
            raise UsageError(
                "EUSAGE",
                f"{HERE} is the registry in this process and cannot be another",
                suggestion="choose another name",
            )
        table = self.load()
        profiles = {**table.profiles, require_name(profile.name): profile}
        self._write(ProfileTable(profiles, table.default))

    def forget(self, name: str) -> Profile:
        """Remove a profile, which is then no default any more, and return it."""
        profile = self.find(name)
        if name == HERE:
            raise UsageError("EUSAGE", f"{HERE} is always there")
        table = self.load()
        left = {other: each for other, each in table.profiles.items() if other != name}
        self._write(ProfileTable(left, "" if table.default == name else table.default))
        return profile

    def use(self, name: str) -> Profile:
        """Make a profile the default; with `here` there is none any more."""
        profile = self.find(name)
        self._write(ProfileTable(self.load().profiles, "" if name == HERE else name))
        return profile

    def load(self) -> ProfileTable:
        """Return the contents of the file, empty when there is none.

        `UsageError` EPROFILES when the file cannot be read or others can write it.
        """
        try:
            with self._path.open("rb") as file:
                status = os.fstat(file.fileno())
                if stat.S_IMODE(status.st_mode) & 0o022 or status.st_uid != os.getuid():
                    raise UsageError(
                        "EPROFILES",
                        f"{self._path} can be written by others, or belongs to another user",
                        suggestion=f"chmod 600 {self._path}",
                    )
                table = tomllib.load(file)
        except FileNotFoundError:
            return ProfileTable()
        except (OSError, ValueError) as problem:
            reason = one_line(str(problem), 100)
            if isinstance(problem, OSError):
                reason = problem.strerror or "it cannot be read"
            raise UsageError(
                "EPROFILES",
                f"cannot read {self._path}: {reason}",
                suggestion="repair it, or remove it",
            ) from None
        profiles: dict[str, Profile] = {}
        tables = table.get("profile")
        for name, fields in tables.items() if isinstance(tables, dict) else ():
            known = fields if isinstance(fields, dict) else {}
            url = str(known.get("url", ""))
            token = require_token_reference(str(known.get("token", KEPT)))
            base_of(url)  # raises unless it is an address
            profiles[name] = Profile(require_name(name), url, token)
        default = str(table.get("default", ""))
        return ProfileTable(profiles, default if default in profiles else "")

    def _write(self, table: ProfileTable) -> None:
        lines = [f"default = {json.dumps(table.default)}\n"] if table.default else []
        for name, profile in sorted(table.profiles.items()):
            lines.append(
                f"[profile.{name}]\nurl = {json.dumps(profile.url)}\ntoken ="
                f" {json.dumps(profile.token)}\n"
            )
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as problem:
            raise make_write_error(self._path, problem) from None
        write_whole(self._path, "\n".join(lines).encode("ascii"), OURS)


def require_name(name: str) -> str:
    """Return `name`; `UsageError` EUSAGE unless a profile may have it."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            "EUSAGE",
            f"{one_line(name, 60)!r} names no profile",
            suggestion="lower-case letters, digits and hyphens",
        )
    return name


def require_token_reference(reference: str) -> str:
    """Return `reference`; `UsageError` EUSAGE unless it says where a token is."""
    if not _TOKEN.fullmatch(reference):
        raise UsageError(
            "EUSAGE",
            "this does not say where a token is",
            suggestion="env:NAME, ssm:NAME or secretsmanager:NAME",
        )
    return reference
