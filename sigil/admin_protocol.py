"""Define what a registry offers to those who keep it, the same in this process and over HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from sigil.access.sign_in import SignIn
from sigil.access.tokens import TokenRequest, TokenResolver
from sigil.protocol import Caller, Deployed, Glimpse, Json, Registry

if TYPE_CHECKING:
    from sigil.rows import (
        ActivationRow,
        AuditCheckRow,
        AuditRow,
        ChangedVersionRow,
        GrantRow,
        ListRow,
        NewTokenRow,
        PermissionRequestRow,
        RevokedRow,
        SecretRow,
        ServerToolRow,
        StatusRow,
        StoredSecretRow,
        TokenRow,
        TokenUseRow,
        VersionDiffRow,
        VersionRow,
    )


class CapabilityAdmin(Protocol):
    """The capabilities of the registry."""

    def list(self, caller: Caller) -> Iterator[ListRow]:
        """Return a row for each name that the caller sees: nearest namespace first, by name."""

    def explore(self, text: str, caller: Caller, *, limit: int = 20) -> Sequence[Glimpse]:
        """Return a choice of all capabilities, or of those for `text`, each unlike the ones before
        it.
        """

    def remove(self, name: str, caller: Caller) -> None:
        """Remove a capability of the caller's own; `UsageError` ENOENT when there is none."""

    def status(self, caller: Caller) -> StatusRow:
        """Return how the caller's capabilities do, and what the registry itself is doing."""

    def close(self) -> None:
        """Close everything that is open."""


class VersionVerbs(Protocol):
    """The versions of a capability."""

    def versions(self, name: str, caller: Caller) -> Sequence[VersionRow]:
        """Return its versions, newest first."""

    def history(self, name: str, caller: Caller) -> Sequence[ActivationRow]:
        """Return what was made active when, oldest first."""

    def diff(
        self, name: str, caller: Caller, older: int | None = None, newer: int | None = None
    ) -> VersionDiffRow:
        """Return what changed between two versions; by default between the active one and the one
        before it.
        """

    def rollback(self, name: str, caller: Caller, version: int | None = None) -> ChangedVersionRow:
        """Make an older version the active one; an owner's act."""

    def yank(self, ref: str, caller: Caller, *, undo: bool = False) -> ChangedVersionRow:
        """Hide a version, or show it again; an owner's act."""


class TransferVerbs(Protocol):
    """The transfer of capabilities from one place to another."""

    def publish(
        self, name: str, caller: Caller, *, session: str = "", replace: bool = False
    ) -> Deployed:
        """Bring a chat's capability into the agent's namespace; an owner's act."""

    def export(self, refs: Sequence[str], caller: Caller) -> bytes:
        """Return capabilities as one file."""

    def import_bundle(
        self, body: bytes, caller: Caller, *, public: bool = False, replace: bool = False
    ) -> Sequence[Deployed]:
        """Check and deploy what `export` wrote; an owner's act.

        `public`: those that were public stay so. `replace`: also over capabilities that have stored
        something here, and where one of the library is hidden.
        """


class GrantVerbs(Protocol):
    """The grants of permissions; all but `find_request` is an owner's act."""

    def find_request(self, ref: str, caller: Caller) -> PermissionRequestRow:
        """Return the permissions that a capability asks for, and which of them are new."""

    def grant(self, ref: str, caller: Caller, digest: str = "") -> PermissionRequestRow:
        """Grant what it asks for; `Conflict` when `ref` no longer means `digest`."""

    def revoke(self, name: str, caller: Caller, permission: str = "") -> RevokedRow:
        """Take a permission back, or all of them."""

    def rows(self, caller: Caller, after: str = "") -> Iterable[GrantRow]:
        """Return the permissions that wait and those that were granted, by name; `after` is where a
        page ended (`sigil.catalog.cursors`).
        """


class SecretVerbs(Protocol):
    """The secrets of a namespace; values go in and never come out."""

    def set(
        self, name: str, value: str, caller: Caller, sign_in: SignIn | None = None
    ) -> StoredSecretRow:
        """Store a secret's value; with a `sign_in` it is an access token, which that renews."""

    def remove(self, name: str, caller: Caller) -> None:
        """Forget a secret."""

    def rows(self, caller: Caller, after: str = "") -> Iterable[SecretRow]:
        """Return their names and ages, from beyond the name `after` on."""


class ImportVerbs(Protocol):
    """The tools of MCP servers, for owners."""

    def tools(
        self, server: Json, caller: Caller, only: Sequence[str] = ()
    ) -> Sequence[ServerToolRow]:
        """Return the tools of a server, each with the capability that it can become, or the
        problem.
        """


class TokenVerbs(Protocol):
    """The access tokens, for owners."""

    def create(self, request: TokenRequest, caller: Caller) -> NewTokenRow:
        """Create a token; return its row, with the token itself as `token` this once."""

    def rows(self, caller: Caller, after: str = "") -> Iterable[TokenUseRow]:
        """Return the tokens without their values, from beyond the id `after` on."""

    def revoke(self, id: str, caller: Caller) -> TokenRow:
        """End a token at once, and return its row."""

    def whoami(self, caller: Caller) -> TokenRow:
        """Return who the caller is to the registry."""


class TokenAuthority(TokenVerbs, TokenResolver, Protocol):
    """The access tokens as a server sees them."""


class AuditVerbs(Protocol):
    """The audit of a namespace, for owners."""

    def rows(
        self, caller: Caller, *, namespace: str = "", after: int | None = None, limit: int = 100
    ) -> Sequence[AuditRow]:
        """Return the entries with numbers above `after`, oldest first; without it the last ones."""

    def verify(self, caller: Caller, *, namespace: str = "") -> AuditCheckRow:
        """Check the chain of a namespace, or the caller's own and all others; see
        `AuditCheckRow`.
        """


class AdminRegistry(Registry, CapabilityAdmin, VersionVerbs, TransferVerbs, Protocol):
    """A registry with everything that those who keep it need."""

    @property
    def granting(self) -> GrantVerbs: ...

    @property
    def secrets(self) -> SecretVerbs: ...

    @property
    def importing(self) -> ImportVerbs: ...

    @property
    def keys(self) -> TokenVerbs: ...

    @property
    def log(self) -> AuditVerbs: ...


class ServedRegistry(AdminRegistry, Protocol):
    """A registry that a server can serve: it resolves tokens."""

    @property
    def keys(self) -> TokenAuthority: ...
