"""Owners see here what a capability asks for, grant it, and take it back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import chain, groupby
from typing import TYPE_CHECKING

from sigil.access.grants import GrantStore, home_of, how_to_grant
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
from sigil.catalog.owner import has_access_token, require_owner, require_owner_or_deployer
from sigil.errors import Conflict, Refused, UsageError, one_line
from sigil.manifest.permission_rules import parse_call_rule, parse_secret_rule
from sigil.manifest.permissions import (
    CALL,
    SECRET,
    requested_permissions,
    ungranted_permissions,
)
from sigil.mcp.hints import find_hints
from sigil.protocol import Caller, Ref, is_name

if TYPE_CHECKING:
    from sigil.rows import GrantRow, PermissionRequestRow, RevokedRow


def record_nothing(_: Record) -> None:
    """Do nothing: there are no older calls to record."""


class GrantAdmin:
    """The verbs behind `sigil grant`, `sigil grants` and `sigil revoke`.

    They are for owners. Who deployed a version with an access token may see what it asks for, take
    permissions back, and let it call what the token itself may run. Everything else that leaves the
    sandbox is granted by an owner.
    """

    def __init__(
        self,
        catalog: Catalog,
        grant_store: GrantStore,
        secret_store: SecretStore,
        note: Note = note_nowhere,
        record_calls: Callable[[Record], object] = record_nothing,
    ) -> None:
        self._catalog = catalog
        self._grants = grant_store
        self._secrets = secret_store
        self._note = note
        self._record_calls = record_calls

    def find_request(self, ref: str, caller: Caller) -> PermissionRequestRow:
        """Return what a version asks for, and what of that is granted.

        `{"capability", "namespace", "version", "digest", "asked", "granted", "new", "widened",
        "before", "secrets_missing"}`: `new` is asked for but not granted to this version, `widened`
        neither to the one that had grants before it, whose digest is `before`.
        """
        return self._request_row(self._resolve(ref, caller), caller)

    def grant(self, ref: str, caller: Caller, digest: str = "") -> PermissionRequestRow:
        """Grant all that a version asks for.

        `digest` is the version that the person was shown. Raises `Conflict` when `ref` means
        another one by now, `UsageError` EINVAL when it asks for nothing.
        """
        record = self._resolve(ref, caller)
        if chat_of(record.namespace):
            raise _only_in_chat(record)
        if digest and record.digest != digest:
            raise Conflict(f"{record.name} was changed while you looked at it")
        requested = requested_permissions(record.manifest)
        if not requested:
            raise UsageError(
                "EINVAL", "it asks for no permission that an owner has to grant", source=record.name
            )
        home = home_of(record.namespace, caller)
        before = self._grants.granted_permissions(record, home)
        kept_back = _list_owners_only(requested, caller)
        allowed = [text for text in requested if text in before or text not in kept_back]
        if kept_back and before.issuperset(allowed):
            missing = ", ".join(text for text in requested if text not in before)
            if not missing:
                return self._request_row(record, caller)
            raise Refused(
                "EPERM",
                f"only an owner grants {one_line(missing, 200)}",
                source=record.name,
                suggestion="ask an owner of the registry:"
                f" `sigil grant {record.namespace}/{record.name}`",
            )
        self._grants.grant(record, frozenset(allowed), author_of(caller), home)
        self._note(
            caller.namespace,
            "grant",
            caller=caller,
            name=record.name,
            digest=record.digest,
            permissions=allowed,
        )
        # what an older release stored calls the versions that there are at its grant
        self._record_calls(record)
        return self._request_row(record, caller)

    def revoke(self, name: str, caller: Caller, permission: str = "") -> RevokedRow:
        """Take one permission, or all, from every version of a capability.

        The name is meant wherever the caller sees it: a capability of the library behind the
        caller's own one too. Raises `UsageError` ENOENT when nothing of it is granted.
        """
        if not is_name(name):
            raise UsageError("ENAME", "not a capability's name", source=name[:60])
        if has_access_token(caller):
            head = self._catalog.load_head(caller.namespace, name)
            versions = (head.record, *self._catalog.list_versions(head)) if head else ()
            require_owner_or_deployer(caller, versions, self._catalog.deployments, "revokes it")
        else:
            require_owner(caller)
        namespaces = []
        revoked: set[str] = set()
        for namespace in caller.sees if caller.owner else (caller.namespace,):
            home = home_of(namespace, caller)
            taken = self._grants.revoke(namespace, name, permission, home)
            if taken and namespace not in namespaces:
                namespaces.append(namespace)
            revoked |= taken
        if not namespaces:
            raise UsageError(
                "ENOENT",
                f"{permission!r} is not granted" if permission else "nothing is granted",
                source=name,
                suggestion="`sigil grants` shows what is granted and what waits",
            )
        self._note(
            caller.namespace,
            "revoke",
            caller=caller,
            name=name,
            namespaces=namespaces,
            permissions=sorted(revoked),
        )
        return {
            "capability": name,
            "namespace": namespaces[0],
            "namespaces": namespaces,
            "revoked": sorted(revoked),
        }

    def rows(self, caller: Caller, after: str = "") -> Iterator[GrantRow]:
        """Yield what waits for an owner and what is granted, by name, from beyond `after` on.

        First come the namespaces that the caller sees. Then comes what waits in the agent's other
        chats, each with its `chat`: it is published before it is granted anything. A version whose
        grants change while somebody turns the pages appears with what it had when its page was
        made. A token sees its own namespace alone, as far as it reaches.
        """
        if not has_access_token(caller):
            require_owner(caller)
        return self._list_rows(caller, parse_grant_place(after))

    def _resolve(self, ref: str, caller: Caller) -> Record:
        """Return the record that an owner means, which must be the agent's or the library's."""
        parsed = Ref.parse(ref)
        if has_access_token(caller):
            record = self._catalog.resolve(parsed, caller)
            require_owner_or_deployer(
                caller, (record,), self._catalog.deployments, "grants its permissions"
            )
            return record
        require_owner(caller)
        if not parsed.namespace and self._catalog.find(parsed, caller) is None:
            for namespace in self._list_other_chats(caller):
                found = self._catalog.find_in(namespace, parsed)
                if found:
                    raise _only_in_chat(found)
        record = self._catalog.resolve(parsed, caller)
        if record.namespace not in caller.sees:
            raise Refused(
                "EPERM",
                f"only the owners of {record.namespace} can grant its permissions",
                source=record.name,
            )
        return record

    def _list_other_chats(self, caller: Caller) -> Iterator[str]:
        """Yield the namespaces of the agent's other chats, in the order of their keys."""
        for namespace in self._catalog.list_namespaces(f"{caller.namespace}{CHAT_MARK}"):
            if namespace not in caller.sees:
                yield namespace

    def _list_rows(self, caller: Caller, start: GrantPlace) -> Iterator[GrantRow]:
        """Yield the rows that come after `start`."""
        first = (start.namespace, start.chat)
        namespaces: Iterable[str] = (caller.namespace,)
        if not has_access_token(caller):
            namespaces = chain(dict.fromkeys(caller.sees), self._list_other_chats(caller))
        for namespace in namespaces:
            here = namespace_place(namespace, caller)
            if here < first:
                continue
            after = start.name if here == first else ""
            for name in self._list_names(namespace, home_of(namespace, caller), after):
                if not caller.reaches(namespace, name):
                    continue
                for row in self._rows_of(namespace, name, caller):
                    if grant_place(row, caller) > start:
                        yield row

    def _list_names(self, namespace: str, home: str, after: str) -> Iterator[str]:
        """Yield the names that ask for something or were granted something, in order.

        `after` itself comes once more, for what is left of it.
        """
        asking = (
            record.name
            for record in self._catalog.list_visible(namespace, after)
            if requested_permissions(record.manifest)
        )
        granted = self._grants.list_names(namespace, home, after)
        names = merge([after] if after else [], asking, granted)
        return (name for name, _ in groupby(names))

    def _rows_of(self, namespace: str, name: str, caller: Caller) -> list[GrantRow]:
        """Return what waits and what is granted of one capability, by digest."""
        head = self._catalog.load_head(namespace, name)
        grants = self._grants.list_grants(namespace, name, home_of(namespace, caller))
        rows: list[GrantRow] = []
        for grant in grants:
            if grant.permissions:
                record = self._catalog.find_digest(namespace, name, grant.digest)
                hints = _list_hints(record) if record else []
                rows.append(
                    {
                        "capability": name,
                        "namespace": namespace,
                        "version": record.version if record else None,
                        "digest": grant.digest,
                        "state": "stands",
                        "permissions": list(grant.permissions),
                        "at": grant.at,
                        "by": grant.by,
                        "hints": hints,
                    }
                )
        if head and self._catalog.is_visible(head):
            record = head.record
            granted: set[str] = set()
            for grant in grants:
                if grant.digest == record.digest:
                    granted.update(grant.permissions)
            missing = ungranted_permissions(record.manifest, frozenset(granted))
            if missing:
                rows.append(
                    {
                        "capability": record.name,
                        "namespace": record.namespace,
                        "version": record.version,
                        "digest": record.digest,
                        "state": "waits",
                        "permissions": list(missing),
                        "hints": _list_hints(record),
                    }
                )
        for row in rows:
            if not row["hints"]:
                del row["hints"]
        chat = chat_of(namespace)
        if chat:
            for row in rows:
                row["chat"] = chat
        return sorted(rows, key=lambda row: grant_place(row, caller))

    def _request_row(self, record: Record, caller: Caller) -> PermissionRequestRow:
        home = home_of(record.namespace, caller)
        requested = requested_permissions(record.manifest)
        granted = self._grants.granted_permissions(record, home)
        grants = self._grants.list_grants(record.namespace, record.name, home)
        before = next((grant for grant in grants if grant.digest != record.digest), None)
        granted_before = before.permissions if before else ()
        missing: dict[str, None] = {}
        for text in requested:
            if text.startswith(SECRET):
                secret = parse_secret_rule(text.removeprefix(SECRET)).name
                if not self._secrets.has_secret(home.partition(CHAT_MARK)[0], secret):
                    missing[secret] = None
        new = [text for text in requested if text not in granted]
        row: PermissionRequestRow = {
            "capability": record.name,
            "namespace": record.namespace,
            "version": record.version,
            "digest": record.digest,
            "asked": list(requested),
            "granted": [text for text in requested if text in granted],
            "new": new,
            "widened": [text for text in new if text not in granted_before],
            "before": before.digest if before else None,
            "secrets_missing": list(missing),
        }
        hints = _list_hints(record)
        if hints:
            row["hints"] = hints
        kept_back = _list_owners_only(new, caller)
        if kept_back:
            row["owners_only"] = kept_back
        return row


def _list_hints(record: Record) -> list[str]:
    """Return what an MCP server says of the effects of a tool."""
    return find_hints(record.manifest.tags) if record.manifest.lang == "mcp" else []


def _list_owners_only(permissions: Iterable[str], caller: Caller) -> list[str]:
    """Return those of the permissions that the caller cannot grant.

    An owner grants everything. A token grants calls of what it may run itself.
    """
    if not has_access_token(caller):
        return []
    kept_back = []
    for text in permissions:
        if text.startswith(CALL):
            rule = parse_call_rule(text.removeprefix(CALL))
            if caller.reaches(rule.namespace or caller.namespace, rule.name):
                continue
        kept_back.append(text)
    return kept_back


def _only_in_chat(record: Record) -> Refused:
    """Return the error for a grant to what only a chat has.

    The grant would hold for whatever the people of that chat make of it later.
    """
    return Refused(
        "EPERM",
        f"only the chat {chat_of(record.namespace)} has it, and grants are for the agent's own"
        " capabilities",
        source=record.name,
        suggestion=how_to_grant(record.namespace, record.name),
    )
