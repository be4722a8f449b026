"""The tokens that `sigil login` keeps: one for each address, in a file that its owner alone can
read.
"""

from __future__ import annotations

import json
import os
import stat
import tomllib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from sigil.client.transport import base_of
from sigil.errors import UsageError
from sigil.storage.files import OURS, unwritten, write_whole

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Credentials:
    """The file `path`: a table for each address, with its token."""

    path: Path

    def token(self, url: str, profile: str = "") -> str:
        """The token kept for exactly this address (and profile), empty when there is none."""
        return self._kept().get(_key(url, profile), "")

    def keep(self, url: str, token: str, profile: str = "") -> None:
        """Keep the token for this address in the place of an older one; a profile has one of its
        own there.
        """
        self._write({**self._kept(), _key(url, profile): token})

    def forget(self, url: str, profile: str = "") -> bool:
        """Whether a token was kept for this address; it is no more. A file that others can read is
        no reason to keep it.

        A damaged file goes as a whole, and with it whatever it still held.
        """
        place = _key(url, profile)
        if self.damaged:
            self._remove()
            return True
        kept = self._read(private=False)
        if place in kept:
            self._write({other: token for other, token in kept.items() if other != place})
        return place in kept

    @property
    def damaged(self) -> bool:
        """Whether there is a file that cannot be read as what it should be."""
        try:
            self._read(private=False)
        except ValueError:
            return True
        return False

    def addresses(self) -> tuple[str, ...]:
        """The addresses that a token is kept for, without those of profiles; none when the file
        cannot be used.
        """
        try:
            return tuple(place for place in self._kept() if "#" not in place)
        except UsageError:
            return ()

    def _kept(self) -> dict[str, str]:
        try:
            return self._read()
        except ValueError:
            message = f"{self.path} is no TOML"
            raise UsageError(
                "ECREDENTIALS", message, suggestion="mend it, or remove it and log in again"
            ) from None

    def _read(self, *, private: bool = True) -> dict[str, str]:
        try:
            with self.path.open("rb") as file:
                if private:
                    _demand_private(self.path, os.fstat(file.fileno()))
                tables = tomllib.load(file)
        except FileNotFoundError:
            return {}
        except OSError as problem:
            raise UsageError(
                "ECREDENTIALS", f"cannot read {self.path}: {problem.strerror}"
            ) from None
        return {
            url: str(table["token"])
            for url, table in tables.items()
            if isinstance(table, dict) and "token" in table
        }

    def _write(self, tokens: dict[str, str]) -> None:
        text = "".join(
            f"[{json.dumps(url)}]\ntoken = {json.dumps(token)}\n\n"
            for url, token in sorted(tokens.items())
        )
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as problem:
            raise unwritten(self.path, problem) from None
        write_whole(self.path, text.encode("ascii"), OURS)

    def _remove(self) -> None:
        try:
            self.path.unlink(missing_ok=True)
        except OSError as problem:
            raise unwritten(self.path, problem) from None


def place_of(url: str) -> str:
    """An address in the one way in which it is kept; another port, scheme, host or path is another
    address.
    """
    parts = urlsplit(base_of(url))
    try:
        port = parts.port
    except ValueError:
        raise UsageError(
            "ESETTING",
            "SIGIL_URL has no port that could be",
            suggestion="such as https://sigil.example.com",
        ) from None
    host = (parts.hostname or "").lower()
    shown = f"[{host}]" if ":" in host else host
    scheme = parts.scheme.lower()
    place = shown if port in (None, _PORTS[scheme]) else f"{shown}:{port}"
    return f"{scheme}://{place}{parts.path.rstrip('/')}"


def _key(url: str, profile: str) -> str:
    return place_of(url) + (
        f"#{profile}" if profile else ""
    )  # no address has a fragment: one cannot be taken for the other


def _demand_private(path: Path, found: os.stat_result) -> None:
    """What others can read is no secret; what others own is not ours to believe."""
    if stat.S_IMODE(found.st_mode) & 0o077 or found.st_uid != os.getuid():
        raise UsageError(
            "ECREDENTIALS",
            f"{path} can be read by others, or is somebody else's",
            suggestion=f"chmod 600 {path}",
        )
