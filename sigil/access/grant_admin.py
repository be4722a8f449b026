"""An owner's acts on permissions: see what a capability asks for, grant it, take it back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from itertools import chain, groupby
from typing import TYPE_CHECKING

from sigil.access.grants import Grant, GrantStore, home_of, how_to_grant
from sigil.access.secret_store import Note, SecretStore, author_of, note_nowhere
from sigil.catalog.catalog import Catalog, Record
from sigil.catalog.cursors import (
    CHAT_MARK,
    GrantPlace,
    chat_of,
    grant_place,
    namespace_place,
    parse_grant_place,
)
from sigil.catalog.owner import require_owner
from sigil.errors import Conflict, Refused, UsageError
from sigil.manifest.permission_rules import parse_secret_rule
from sigil.manifest.permissions import SECRET, requested_permissions, ungranted_permissions
from sigil.protocol import Caller, Ref, is_name

if TYPE_CHECKING:
    from sigil.rows import GrantRow, PermissionRequestRow, RevokedRow


def unrecorded(_: Record) -> None:
    """Record nothing."""


class GrantAdmin:
    """The verbs behind `sigil grant`, `sigil grants` and `sigil revoke`; every one of them is an
    owner's.
    """

    def __init__(
        self,
        catalog: Catalog,
        grant_store: GrantStore,
        secret_store: SecretStore,
        note: Note = note_nowhere,
        record_calls: Callable[[Record], object] = unrecorded,
    ) -> None:
        self._catalog = catalog
        self._book = grant_store
        self._secrets = secret_store
        self._note = note
        self._record_calls = record_calls

    def asked(self, ref: str, caller: Caller) -> PermissionRequestRow:
        """Return what a version asks for, beside what stands and what the version granted last had.

        `{"capability", "namespace", "version", "digest", "asked", "granted", "new", "widened",
        "before", "secrets_missing"}`: `new` is asked for but not granted to this version, `widened`
        neither to the one that had grants before it, whose digest is `before`.
        """
        return self._row(self._resolved(ref, caller), caller)

    def grant(self, ref: str, caller: Caller, digest: str = "") -> PermissionRequestRow:
        """Grant all that a version asks for. `digest`: what the person was shown; `Conflict` when
        `ref` means another one by now.
        """
        record = self._resolved(ref, caller)
        if chat_of(record.namespace):
            raise _of_chat(record)
        if digest and record.digest != digest:
            raise Conflict(f"{record.name} was changed while you looked at it")
        wanted = requested_permissions(record.manifest)
        if not wanted:
            raise UsageError(
                "EINVAL", "it asks for nothing that an owner has to grant", source=record.name
            )
        self._book.grant(
            record, frozenset(wanted), author_of(caller), home_of(record.namespace, caller)
        )
        facts = {"name": record.name, "digest": record.digest, "permissions": list(wanted)}
        self._note(caller.namespace, "grant", caller=caller, **facts)
        self._record_calls(record)  # what an older release stored calls what stands at its grant
        return self._row(record, caller)

    def revoke(self, name: str, caller: Caller, permission: str = "") -> RevokedRow:
        """Take one permission, or all, from every version of a capability; `UsageError` ENOENT when
        nothing of it stands.

        What is called so is meant wherever the caller sees it: a capability of the library behind
        the caller's own one too.
        """
        require_owner(caller)
        if not is_name(name):
            raise UsageError("ENAME", "not a capability's name", source=name[:60])
        taken = {
            namespace: self._book.revoke(namespace, name, permission, home_of(namespace, caller))
            for namespace in caller.sees
        }
        found = [namespace for namespace, texts in taken.items() if texts]
        if found:
            revoked = sorted(frozenset().union(*taken.values()))
            self._note(
                caller.namespace,
                "revoke",
                caller=caller,
                name=name,
                namespaces=found,
                permissions=revoked,
            )
            return {
                "capability": name,
                "namespace": found[0],
                "namespaces": found,
                "revoked": revoked,
            }
        what = f"{permission!r} is not granted" if permission else "nothing is granted"
        raise UsageError(
            "ENOENT",
            what,
            source=name,
            suggestion="`sigil grants` shows what stands and what waits",
        )

    def rows(self, caller: Caller, after: str = "") -> Iterator[GrantRow]:
        """Return what waits for an owner and what stands, in the namespaces that the caller sees:
        by name, from beyond `after` on.

        Then what waits in the agent's other chats, each with its `chat`: it is published before it
        is granted anything. A version whose grants change while somebody turns the pages is told
        with what it had when its page was made.
        """
        require_owner(caller)
        return self._rows(caller, parse_grant_place(after))

    def _resolved(self, ref: str, caller: Caller) -> Record:
        require_owner(caller)
        wanted = Ref.parse(ref)
        if self._catalog.find(wanted, caller) is None and not wanted.namespace:
            self._require_no_chat(wanted, caller)
        record = self._catalog.resolve(wanted, caller)
        if record.namespace not in caller.sees:
            raise Refused(
                "EPERM",
                f"the owners of {record.namespace} grant what it may do",
                source=record.name,
            )
        return record

    def _require_no_chat(self, wanted: Ref, caller: Caller) -> None:
        """`Refused` EPERM when a chat has what the agent has not."""
        found = (self._catalog.find_in(namespace, wanted) for namespace in self._chats(caller))
        record = next((record for record in found if record), None)
        if record:
            raise _of_chat(record)

    def _chats(self, caller: Caller) -> Iterator[str]:
        """The namespaces of the other chats of the caller's agent, in the order of their keys."""
        return (
            each
            for each in self._catalog.list_namespaces(f"{caller.namespace}{CHAT_MARK}")
            if each not in caller.sees
        )

    def _rows(self, caller: Caller, start: GrantPlace) -> Iterator[GrantRow]:
        for namespace in chain(dict.fromkeys(caller.sees), self._chats(caller)):
            here = namespace_place(namespace, caller)
            if here < (start.namespace, start.chat):
                continue
            after = start.name if here == (start.namespace, start.chat) else ""
            for name in self._names(namespace, home_of(namespace, caller), after):
                rows = self._of(namespace, name, caller)
                yield from (row for row in rows if grant_place(row, caller) > start)

    def _names(self, namespace: str, home: str, after: str) -> Iterator[str]:
        """Those that ask for something or were granted something, by name; `after` itself once
        more, for what is left of it.
        """
        asking = (
            record.name
            for record in self._catalog.list_visible(namespace, after)
            if requested_permissions(record.manifest)
        )
        both = merge(
            (after,) if after else (), asking, self._book.list_names(namespace, home, after)
        )
        return (name for name, _ in groupby(both))

    def _of(self, namespace: str, name: str, caller: Caller) -> list[GrantRow]:
        """Return what waits and what stands of one capability, by digest."""
        head, home = self._catalog.load_head(namespace, name), home_of(namespace, caller)
        grants = self._book.list_grants(namespace, name, home)
        rows = [self._standing(namespace, name, grant) for grant in grants if grant.permissions]
        if head and self._catalog.is_visible(head):
            granted = {
                text
                for grant in grants
                if grant.digest == head.record.digest
                for text in grant.permissions
            }
            missing = ungranted_permissions(head.record.manifest, frozenset(granted))
            if missing:
                rows.append(_waiting_row(head.record, missing))
        chat = chat_of(namespace)
        if chat:
            for row in rows:
                row["chat"] = chat
        return sorted(rows, key=lambda row: grant_place(row, caller))

    def _standing(self, namespace: str, name: str, grant: Grant) -> GrantRow:
        record = self._catalog.find_digest(namespace, name, grant.digest)
        return {
            "capability": name,
            "namespace": namespace,
            "version": record.version if record else None,
            "digest": grant.digest,
            "state": "stands",
            "permissions": list(grant.permissions),
            "at": grant.at,
            "by": grant.by,
        }

    def _row(self, record: Record, caller: Caller) -> PermissionRequestRow:
        home = home_of(record.namespace, caller)
        wanted, granted = (
            requested_permissions(record.manifest),
            self._book.granted_permissions(record, home),
        )
        others = [
            grant
            for grant in self._book.list_grants(record.namespace, record.name, home)
            if grant.digest != record.digest
        ]
        known = {text for grant in others[:1] for text in grant.permissions}
        names = [
            parse_secret_rule(text.removeprefix(SECRET)).name
            for text in wanted
            if text.startswith(SECRET)
        ]
        return {
            "capability": record.name,
            "namespace": record.namespace,
            "version": record.version,
            "digest": record.digest,
            "asked": list(wanted),
            "granted": [text for text in wanted if text in granted],
            "new": [text for text in wanted if text not in granted],
            "widened": [text for text in wanted if text not in granted and text not in known],
            "before": others[0].digest if others else None,
            "secrets_missing": [
                name
                for name in dict.fromkeys(names)
                if not self._secrets.has_secret(home.partition("~")[0], name)
            ],
        }


def _waiting_row(record: Record, missing: Sequence[str]) -> GrantRow:
    return {
        "capability": record.name,
        "namespace": record.namespace,
        "version": record.version,
        "digest": record.digest,
        "state": "waits",
        "permissions": list(missing),
    }


def _of_chat(record: Record) -> Refused:
    """For what only a chat has: the grant would hold for what anybody in that chat makes of it."""
    message = (
        f"only the chat {chat_of(record.namespace)} has it, and what it asks for is granted to the"
        " agent's own"
    )
    return Refused(
        "EPERM", message, source=record.name, suggestion=how_to_grant(record.namespace, record.name)
    )
