"""Store the tokens of `sigil login`: one for each address, in a file that its owner alone can
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
from sigil.storage.files import OURS, make_write_error, write_whole

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Credentials:
    """The file `path`: a table for each address, with its token."""

    path: Path

    def find_token(self, url: str, profile: str = "") -> str:
        """Return the token of exactly this address (and profile), empty when there is none."""
        return self._load().get(_key(url, profile), "")

    def save(self, url: str, token: str, profile: str = "") -> None:
        """Store the token of this address in the place of an older one; a profile has one of its
        own there.
        """
        self._write({**self._load(), _key(url, profile): token})

    def forget(self, url: str, profile: str = "") -> bool:
        """Remove the token of this address, also from a file that others can read; return if there
        was one.

        A damaged file goes as a whole, and with it whatever it still held.
        """
        key = _key(url, profile)
        if self.is_damaged:
            try:
                self.path.unlink(missing_ok=True)
            except OSError as problem:
                raise make_write_error(self.path, problem) from None
            return True
        tokens = self._read(private=False)
        if key in tokens:
            self._write({other: token for other, token in tokens.items() if other != key})
        return key in tokens

    @property
    def is_damaged(self) -> bool:
        """True when there is a file that is no TOML."""
        try:
            self._read(private=False)
        except ValueError:
            return True
        return False

    def addresses(self) -> tuple[str, ...]:
        """Return the addresses that have a token, without those of profiles; none when the file
        cannot be used.
        """
        try:
            return tuple(key for key in self._load() if "#" not in key)
        except UsageError:
            return ()

    def _load(self) -> dict[str, str]:
        try:
            return self._read()
        except ValueError:
            message = f"{self.path} is no TOML"
            raise UsageError(
                "ECREDENTIALS", message, suggestion="repair it, or remove it and log in again"
            ) from None

    def _read(self, *, private: bool = True) -> dict[str, str]:
        try:
            with self.path.open("rb") as file:
                if private:
                    _require_private(self.path, os.fstat(file.fileno()))
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
            raise make_write_error(self.path, problem) from None
        write_whole(self.path, text.encode("ascii"), OURS)


def normalize_address(url: str) -> str:
    """Return an address in its one spelling; another port, scheme, host or path is another
    address.
    """
    parts = urlsplit(base_of(url))
    try:
        port = parts.port
    except ValueError:
        raise UsageError(
            "ESETTING",
            "SIGIL_URL has a port that cannot be",
            suggestion="such as https://sigil.example.com",
        ) from None
    host = (parts.hostname or "").lower()
    if ":" in host:
        host = f"[{host}]"
    scheme = parts.scheme.lower()
    if port not in (None, _PORTS[scheme]):
        host = f"{host}:{port}"
    return f"{scheme}://{host}{parts.path.rstrip('/')}"


def _key(url: str, profile: str) -> str:
    if not profile:
        return normalize_address(url)
    # no address has a fragment, so one cannot be taken for the other
    return f"{normalize_address(url)}#{profile}"


def _require_private(path: Path, status: os.stat_result) -> None:
    """Raise `UsageError` ECREDENTIALS when others can read the file, or own it."""
    if stat.S_IMODE(status.st_mode) & 0o077 or status.st_uid != os.getuid():
        raise UsageError(
            "ECREDENTIALS",
            f"{path} can be read by others, or belongs to another user",
            suggestion=f"chmod 600 {path}",
        )
