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

VERSIONS_MOST = 20
"""Versions of a capability whose grants are stored."""
UNREADABLE = "unreadable"
"""The name of the permissions that were revoked when somebody damaged them."""


@dataclass(frozen=True, slots=True)
class Grant(Stored):
    """The permissions that one version was granted. `at` is in seconds since 1970."""

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
"""A function that gets the home whose permissions were revoked (see `home_of`), and which."""


def _ignore_revoked(home: str, permissions: frozenset[str]) -> None:
    """Do nothing about what was revoked."""


class GrantStore:
    """The grants of a store.

    Each verb reads them anew, so a revoked one is gone at the next call. `revoked` is called
    for each revocation.
    """

    def __init__(
        self, kv: KV, clock: Callable[[], float] = time.time, revoked: Revoked = _ignore_revoked
    ) -> None:
        self._kv = kv
        self._clock = clock
        self._revoked = revoked

    def granted_permissions(self, record: GrantedVersion, home: str = "") -> frozenset[str]:
        """Return the permissions of those it asks for that are granted to this digest.

        `home` is for whom it runs, see `home_of`.
        """
        requested = requested_permissions(record.manifest)
        if not requested:
            return frozenset()
        granted: set[str] = set()
        for grant in self.list_grants(record.namespace, record.name, home):
            if grant.digest == record.digest:
                granted.update(grant.permissions)
        return frozenset(granted.intersection(requested))

    def list_grants(self, namespace: str, name: str, home: str = "") -> tuple[Grant, ...]:
        """Return every grant of a capability, newest first."""
        return read_grants(self._kv.get(keys.grants(namespace, home or namespace, name)), name)

    def granted_at(self, version: GrantedVersion) -> float | None:
        """Return when the owners of its namespace granted something to this digest.

        It is None when nothing is granted, or nothing that can be read.
        """
        key = keys.grants(version.namespace, version.namespace, version.name)
        item = self._kv.get(key)
        grants, _ = _try_read(item.value if item else None)
        for grant in grants:
            if grant.digest == version.digest and grant.permissions:
                return grant.at
        return None

    def grant(self, record: Record, permissions: frozenset[str], who: str, home: str = "") -> Grant:
        """Let this digest have exactly `permissions`, of those that it asks for."""
        requested = requested_permissions(record.manifest)
        granted = tuple(text for text in requested if text in permissions)
        grant = Grant(record.digest, granted, self._clock(), who)
        key = keys.grants(record.namespace, home or record.namespace, record.name)
        self._change(key, lambda grants: _put_grant(grants, grant))
        return grant

    def revoke(
        self, namespace: str, name: str, permission: str = "", home: str = ""
    ) -> frozenset[str]:
        """Take `permission` from every version of a capability; an empty one means all of them.

        Return what was taken. Grants that cannot be read go as a whole, as `UNREADABLE`.
        """
        key = keys.grants(namespace, home or namespace, name)
        item = self._kv.get(key)
        _, is_readable = _try_read(item.value if item else None)

        def take(grants: tuple[Grant, ...]) -> tuple[Grant, ...]:
            left = []
            for grant in grants:
                kept = tuple(text for text in grant.permissions if permission not in ("", text))
                if kept:
                    left.append(replace(grant, permissions=kept))
            return tuple(left)

        before = self._change(key, take)
        taken = frozenset(
            text for grant in before for text in grant.permissions if permission in ("", text)
        )
        self._revoked(home or namespace, taken)
        return taken if is_readable else frozenset((UNREADABLE,))

    def forget_version(self, namespace: str, name: str, digest: str) -> None:
        """Take everything from one version, as it begins.

        Its old grants are not for the next author who brings it back.
        """
        key = keys.grants(namespace, namespace, name)
        self._change(key, lambda grants: tuple(grant for grant in grants if grant.digest != digest))

    def carry_over(self, before: Record | None, record: Record, caller: Caller) -> None:
        """Grant to `record` what `before`, which it replaces, had been granted.

        That is for an owner's own deploy which asks for nothing new.
        """
        if before is None or before.digest == record.digest:
            return
        if not caller.owner or caller.author != "person":
            return
        if record.manifest.lang == "mcp":
            return  # what changed is not the owner's own doing, but the server's
        if record.manifest.public and not before.manifest.public:
            return  # for others to call is more than what was granted
        requested = requested_permissions(record.manifest)
        if not requested or not set(requested) <= set(requested_permissions(before.manifest)):
            return
        old_digest = before.digest

        def carry(grants: tuple[Grant, ...]) -> tuple[Grant, ...]:
            granted = {grant.digest: grant.permissions for grant in grants}
            carried = tuple(text for text in requested if text in granted.get(old_digest, ()))
            if not carried or granted.get(record.digest):
                return grants
            grant = Grant(record.digest, carried, self._clock(), author_of(caller))
            return _put_grant(grants, grant)

        self._change(keys.grants(record.namespace, record.namespace, record.name), carry)

    def list_names(self, namespace: str, home: str = "", after: str = "") -> Iterator[str]:
        """Yield the capabilities of a namespace that ever had grants from the owners of `home`.

        They come by name, from beyond `after` on.
        """
        partition, prefix = keys.grants(namespace, home or namespace, "")
        for sort, _ in scan_all(self._kv, partition, prefix, after=f"{prefix}{after}"):
            yield sort.removeprefix(prefix)

    def _change(
        self, key: Key, change: Callable[[tuple[Grant, ...]], tuple[Grant, ...]]
    ) -> tuple[Grant, ...]:
        """Write what `change` makes of the grants, and return those that there were before."""

        def decide(value: bytes | None) -> tuple[bytes | None, tuple[Grant, ...]]:
            before, is_readable = _try_read(value)
            after = change(before)
            is_same = after == before and is_readable
            return None if is_same else dumps(after), before

        try:
            return update(self._kv, key, decide)
        except Conflict:
            raise Conflict("the grants are being changed by somebody else at this moment") from None


def _put_grant(grants: tuple[Grant, ...], grant: Grant) -> tuple[Grant, ...]:
    """Return the grants with this one as the newest, in the place of its version's own."""
    others = [other for other in grants if other.digest != grant.digest]
    return (grant, *others)[:VERSIONS_MOST]


def home_of(namespace: str, caller: Caller) -> str:
    """Return the namespace whose grants, secrets and stored values a run has.

    It is the capability's own; for the library's capabilities, it is the caller's.
    """
    return caller.namespace if namespace == LIBRARY else namespace


def how_to_grant(namespace: str, name: str) -> str:
    """Return how an owner lets a capability do what it asks for.

    Nothing is granted to what a chat has of its own.
    """
    chat = chat_of(namespace)
    if chat:
        return f"publish it first: `sigil publish {name} --session {chat}`"
    return f"`sigil grant {name}`"


def _try_read(value: bytes | None) -> tuple[tuple[Grant, ...], bool]:
    """Return the grants, and whether they could be read.

    Those that cannot be read are none, and are written anew.
    """
    try:
        return (_GRANTS.read(value) if value else ()), True
    except (ValueError, BackendError):
        return (), False


def read_grants(item: Item | None, name: str) -> tuple[Grant, ...]:
    """Return the grants of the capability `name`, as they are stored.

    Raises `BackendError` EDAMAGED when they cannot be read.
    """
    try:
        return _GRANTS.read(item.value) if item else ()
    except ValueError:
        raise damaged(
            "its grants cannot be read",
            source=name,
            suggestion=f"`sigil revoke {name}` forgets them; then grant them anew",
        ) from None
