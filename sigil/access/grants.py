"""Owners grant permissions to one version of a capability, by its digest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Protocol

from sigil.access.secret_store import author_of
from sigil.catalog.catalog import Record
from sigil.catalog.cursors import chat_of
from sigil.errors import BackendError, Conflict
from sigil.manifest.model import Manifest
from sigil.manifest.permissions import requested_permissions
from sigil.protocol import LIBRARY, Caller
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.update import scan_all, update
from sigil.storage.stored import Shape, Stored, damaged, dumps

KEPT = 20
"""Versions of a capability whose grants are kept."""
UNREADABLE = "unreadable"
"""What is told of grants that somebody damaged."""


@dataclass(frozen=True, slots=True)
class Grant(Stored):
    """The permissions that one version was granted. `at`: seconds since the epoch."""

    digest: str
    permissions: tuple[str, ...]
    at: float
    by: str


_GRANTS: Final = Shape[tuple[Grant, ...]](tuple[Grant, ...])


class GrantedVersion(Protocol):
    """A version that a grant is bound to: a record, or a part of a run."""

    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def manifest(self) -> Manifest: ...


Revoked = Callable[[str, frozenset[str]], None]


def _untold(home: str, permissions: frozenset[str]) -> None:
    """Tell nobody."""


class GrantStore:
    """The grants of a store; each verb reads it anew, so what is revoked is gone at the next call.
    `revoked` is told for whom, and what.
    """

    def __init__(
        self, kv: KV, clock: Callable[[], float] = time.time, revoked: Revoked = _untold
    ) -> None:
        self._kv = kv
        self._clock = clock
        self._revoked = revoked

    def granted_permissions(self, record: GrantedVersion, home: str = "") -> frozenset[str]:
        """Those of the permissions it asks for that are granted to this digest. `home`: for whom it
        runs, see `home_of`.
        """
        wanted = requested_permissions(record.manifest)
        if not wanted:
            return frozenset()
        grants = self.list_grants(record.namespace, record.name, home)
        return frozenset(
            text
            for grant in grants
            if grant.digest == record.digest
            for text in grant.permissions
            if text in wanted
        )

    def list_grants(self, namespace: str, name: str, home: str = "") -> tuple[Grant, ...]:
        """Every grant of a capability, newest first."""
        return read_grants(self._kv.get(keys.grants(namespace, home or namespace, name)), name)

    def granted_at(self, version: GrantedVersion) -> float | None:
        """Return when the owners of its namespace granted something to this digest.

        It is None when nothing stands, or nothing that can be read.
        """
        key = keys.grants(version.namespace, version.namespace, version.name)
        item = self._kv.get(key)
        grants, _ = _try_read(item.value if item else None)
        theirs = (grant for grant in grants if grant.digest == version.digest)
        found = (grant.at for grant in theirs if grant.permissions)
        return next(found, None)

    def grant(self, record: Record, permissions: frozenset[str], who: str, home: str = "") -> Grant:
        """Let this digest have exactly `permissions`, of those that it asks for."""
        given = Grant(
            record.digest,
            tuple(text for text in requested_permissions(record.manifest) if text in permissions),
            self._clock(),
            who,
        )
        key = keys.grants(record.namespace, home or record.namespace, record.name)
        self._change(
            key,
            lambda grants: (given, *(grant for grant in grants if grant.digest != record.digest))[
                :KEPT
            ],
        )
        return given

    def revoke(
        self, namespace: str, name: str, permission: str = "", home: str = ""
    ) -> frozenset[str]:
        """Take `permission` (empty: all of them) from every version of a capability; what was
        taken.

        Grants that cannot be read go as a whole, as `UNREADABLE`.
        """
        key = keys.grants(namespace, home or namespace, name)
        item = self._kv.get(key)
        _, is_readable = _try_read(item.value if item else None)
        before = self._change(
            key,
            lambda grants: tuple(filter(_holds, (_without(grant, permission) for grant in grants))),
        )
        taken = frozenset(
            text for grant in before for text in grant.permissions if permission in ("", text)
        )
        self._revoked(home or namespace, taken)
        return taken if is_readable else frozenset((UNREADABLE,))

    def forget_version(self, namespace: str, name: str, digest: str) -> None:
        """Take everything from one version, as it begins: what it was granted before it went is not
        for whoever brings it back.
        """
        key = keys.grants(namespace, namespace, name)
        self._change(key, lambda grants: tuple(grant for grant in grants if grant.digest != digest))

    def carry_over(self, before: Record | None, record: Record, caller: Caller) -> None:
        """An owner's own redeploy that asks for nothing new keeps what stood for the version that
        it replaces.
        """
        if (
            before is None
            or before.digest == record.digest
            or not caller.owner
            or caller.author != "person"
        ):
            return
        if record.manifest.lang == "mcp":
            return  # what changed is not the owner's own doing, but the server's
        if record.manifest.public and not before.manifest.public:
            return  # for others to call is more than what was granted
        wanted = set(requested_permissions(record.manifest))
        if wanted and wanted <= set(requested_permissions(before.manifest)):
            key = keys.grants(record.namespace, record.namespace, record.name)
            self._change(
                key, lambda grants: self._carried(grants, before, record, author_of(caller))
            )

    def list_names(self, namespace: str, home: str = "", after: str = "") -> Iterator[str]:
        """The capabilities of a namespace that ever had grants from the owners of `home`, by name,
        from beyond `after` on.
        """
        partition, prefix = keys.grants(namespace, home or namespace, "")
        for sort, _ in scan_all(self._kv, partition, prefix, after=f"{prefix}{after}"):
            yield sort.removeprefix(prefix)

    def _carried(
        self, grants: tuple[Grant, ...], before: GrantedVersion, record: GrantedVersion, who: str
    ) -> tuple[Grant, ...]:
        """The grants with those of `before` for `record` too, unless it has some of its own."""
        standing = {grant.digest: grant.permissions for grant in grants}
        kept = tuple(
            text
            for text in requested_permissions(record.manifest)
            if text in standing.get(before.digest, ())
        )
        if not kept or standing.get(record.digest):
            return grants
        others = (grant for grant in grants if grant.digest != record.digest)
        return (Grant(record.digest, kept, self._clock(), who), *others)[:KEPT]

    def _change(
        self, key: Key, change: Callable[[tuple[Grant, ...]], tuple[Grant, ...]]
    ) -> tuple[Grant, ...]:
        """Write what `change` makes of the grants that stand at that moment, if it is something
        else; what stood.
        """

        def decide(value: bytes | None) -> tuple[bytes | None, tuple[Grant, ...]]:
            before, is_readable = _try_read(value)
            after = change(before)
            is_same = after == before and is_readable
            return None if is_same else dumps(after), before

        try:
            return update(self._kv, key, decide)
        except Conflict:
            message = "the grants are being changed by somebody else at this moment"
            raise Conflict(message) from None


def home_of(namespace: str, caller: Caller) -> str:
    """Return whose grants, secrets and stored keys a run has: those of the capability's namespace;
    for the library's, those of the caller's.
    """
    return caller.namespace if namespace == LIBRARY else namespace


def how_to_grant(namespace: str, name: str) -> str:
    """Return how an owner lets a capability of `namespace` do what it asks for: of a chat's own
    nothing is granted.
    """
    chat = chat_of(namespace)
    return (
        f"publish it first: `sigil publish {name} --session {chat}`"
        if chat
        else f"`sigil grant {name}`"
    )


def _try_read(value: bytes | None) -> tuple[tuple[Grant, ...], bool]:
    """Return the grants, and whether they could be read: those that cannot be are none, and are
    written anew.
    """
    try:
        return (_GRANTS.read(value) if value else ()), True
    except (ValueError, BackendError):
        return (), False


def read_grants(item: Item | None, name: str) -> tuple[Grant, ...]:
    """The grants of the capability `name`, as they are stored; `BackendError` EDAMAGED when they
    cannot be read.
    """
    try:
        return _GRANTS.read(item.value) if item else ()
    except ValueError:
        help = f"`sigil revoke {name}` forgets them; then grant them anew"
        raise damaged(
            "what was granted to it cannot be read", source=name, suggestion=help
        ) from None


def _without(grant: Grant, permission: str) -> Grant:
    return replace(
        grant, permissions=tuple(text for text in grant.permissions if permission not in ("", text))
    )


def _holds(grant: Grant) -> bool:
    return bool(grant.permissions)
