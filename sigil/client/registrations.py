"""The programs as which `sigil mcp login` is known at authorization servers, in a file that its
owner alone can read.

A registration is for one port of this machine, so it is this machine that remembers it: a sign-in
that was left half-way, or that has ended, is begun again without another registration.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sigil.access.sign_in import ClientAuthentication
from sigil.errors import BackendError
from sigil.storage.files import OURS, make_write_error, read_bounded, write_whole
from sigil.storage.stored import Shape, Stored, dumps

FILE_BYTES: Final = 1 << 20
MOST: Final = 100
"""The registrations that are remembered; the oldest go."""


@dataclass(frozen=True, slots=True)
class ClientRegistration(Stored):
    """A registration at `issuer` for the MCP server `resource`, of the time `at`."""

    issuer: str
    resource: str
    client_id: str
    redirect_uri: str
    client_secret: str = ""
    client_auth: ClientAuthentication = "none"
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class _File(Stored):
    registrations: tuple[ClientRegistration, ...] = field(default=())


_FILE: Final = Shape[_File](_File)


@dataclass(frozen=True, slots=True)
class ClientRegistrations:
    """The file `path`. One that cannot be read is as good as none: nothing is lost with it."""

    path: Path

    def find(self, issuer: str, resource: str) -> ClientRegistration | None:
        """Return the registration for a server, None when there is none."""
        for each in self._load():
            if (each.issuer, each.resource) == (issuer, resource):
                return each
        return None

    def remember(self, registration: ClientRegistration) -> None:
        """Store a registration in the place of an older one for the same server."""
        others = self._list_others(registration.issuer, registration.resource)
        self._write((*others[-MOST + 1 :], registration))

    def forget(self, issuer: str, resource: str) -> None:
        """Remove the registration for a server."""
        self._write(self._list_others(issuer, resource))

    def _list_others(self, issuer: str, resource: str) -> tuple[ClientRegistration, ...]:
        known = self._load()
        return tuple(each for each in known if (each.issuer, each.resource) != (issuer, resource))

    def _load(self) -> tuple[ClientRegistration, ...]:
        try:
            return _FILE.read(read_bounded(self.path, FILE_BYTES)).registrations
        except (OSError, ValueError, BackendError):
            return ()

    def _write(self, registrations: tuple[ClientRegistration, ...]) -> None:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as problem:
            raise make_write_error(self.path, problem) from None
        write_whole(self.path, dumps(_File(registrations)), OURS)
