"""What a registry offers to those who keep it, beside its four verbs: the same in this process and
over HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

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
    """The capabilities that stand in the registry."""

    def list(self, caller: Caller) -> Iterator[ListRow]:
        """One row for each name that the caller sees, nearest namespace first, then by name."""

    def explore(self, text: str, caller: Caller, *, limit: int = 20) -> Sequence[Glimpse]:
        """Return what there is, or what there is for `text`, so that what stands below does not
        repeat what stands above.
        """

    def remove(self, name: str, caller: Caller) -> None:
        """Take a capability of the caller's own away; `UsageError` with ENOENT when there is
        none.
        """

    def status(self, caller: Caller) -> StatusRow:
        """Return how the caller's capabilities fare, and what the registry itself is doing."""

    def close(self) -> None:
        """Give back what it holds."""


class VersionVerbs(Protocol):
    """The versions of a capability."""

    def versions(self, name: str, caller: Caller) -> Sequence[VersionRow]:
        """Its versions, newest first."""

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
    """Capabilities that go from one place to another."""

    def publish(
        self, name: str, caller: Caller, *, session: str = "", replace: bool = False
    ) -> Deployed:
        """Bring a chat's capability into the agent's namespace; an owner's act."""

    def export(self, refs: Sequence[str], caller: Caller) -> bytes:
        """Capabilities as one file."""

    def import_bundle(
        self, body: bytes, caller: Caller, *, public: bool = False, replace: bool = False
    ) -> Sequence[Deployed]:
        """What `export` wrote, checked and deployed; an owner's act. `public`: stay so; `replace`:
        over what keeps something here.
        """


class GrantVerbs(Protocol):
    """The grants of permissions; all but asking is an owner's act."""

    def asked(self, ref: str, caller: Caller) -> PermissionRequestRow:
        """Return what a capability asks for, and what is new in it."""

    def grant(self, ref: str, caller: Caller, digest: str = "") -> PermissionRequestRow:
        """Grant what it asks for; `Conflict` when `ref` no longer means `digest`."""

    def revoke(self, name: str, caller: Caller, permission: str = "") -> RevokedRow:
        """Take a permission back, or all of them."""

    def rows(self, caller: Caller, after: str = "") -> Iterable[GrantRow]:
        """Return what waits and what stands, by name; `after` is where a page of it ended
        (`sigil.catalog.cursors`).
        """


class SecretVerbs(Protocol):
    """The secrets of a namespace; values go in and never come out."""

    def set(self, name: str, value: str, caller: Caller) -> StoredSecretRow:
        """Keep a secret's value."""

    def remove(self, name: str, caller: Caller) -> None:
        """Forget a secret."""

    def rows(self, caller: Caller, after: str = "") -> Iterable[SecretRow]:
        """Their names, and since when; from beyond the name `after` on."""


class ImportVerbs(Protocol):
    """The tools of MCP servers; an owner's to ask."""

    def tools(
        self, server: Json, caller: Caller, only: Sequence[str] = ()
    ) -> Sequence[ServerToolRow]:
        """The tools of a server, each with the capability that it can become, or the problem."""


class TokenVerbs(Protocol):
    """The access tokens; an owner's matter."""

    def create(self, request: TokenRequest, caller: Caller) -> NewTokenRow:
        """A new token: its row, with the token itself as `token`, this once."""

    def rows(self, caller: Caller, after: str = "") -> Iterable[TokenUseRow]:
        """The tokens, without their values; from beyond the id `after` on."""

    def revoke(self, id: str, caller: Caller) -> TokenRow:
        """End a token at once; its row."""

    def whoami(self, caller: Caller) -> TokenRow:
        """Return who the caller is to the registry."""


class TokenAuthority(TokenVerbs, TokenResolver, Protocol):
    """The access tokens as a server sees them."""


class AuditVerbs(Protocol):
    """The audit of a namespace; an owner's to read."""

    def rows(
        self, caller: Caller, *, namespace: str = "", after: int | None = None, limit: int = 100
    ) -> Sequence[AuditRow]:
        """Entries with numbers above `after`, oldest first; the last ones when `after` is None."""

    def verify(self, caller: Caller, *, namespace: str = "") -> AuditCheckRow:
        """Return whether the chain holds: `{"namespace", "entries", "tip", "ok", "problem"}`."""


class AdminRegistry(Registry, CapabilityAdmin, VersionVerbs, TransferVerbs, Protocol):
    """A registry with everything that its keepers need."""

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
    """A registry that a server can carry: it knows whose token is whose."""

    @property
    def keys(self) -> TokenAuthority: ...
