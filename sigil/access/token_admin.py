"""Owners see, make and revoke tokens here, and read the audit, which notes what they do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sigil.access.tokens import TokenHolder, TokenRequest, Tokens
from sigil.catalog.audit import Audit
from sigil.catalog.cursors import require_token_id
from sigil.catalog.owner import require_owner
from sigil.errors import UsageError
from sigil.protocol import Caller

if TYPE_CHECKING:
    from sigil.rows import (
        AuditCheckRow,
        AuditRow,
        BrokenChainRow,
        NewTokenRow,
        TokenRow,
        TokenUseRow,
    )

NAMESPACE_CHARACTERS = 500
BROKEN_MOST = 500
"""Broken chains that are named in one answer."""
LIMIT_MOST = 501
"""Entries of one answer at most: one more than a page has, which shows whether there are more."""


class TokenAdmin:
    """The token verbs of a registry in this process, see `sigil.admin_protocol.TokenVerbs`."""

    def __init__(self, tokens: Tokens, audit: Audit) -> None:
        self._tokens = tokens
        self._audit = audit

    def find_holder(self, value: str) -> TokenHolder:
        """Return a token's holder; `Refused` EAUTH when it has none."""
        return self._tokens.find_holder(value)

    def create(self, request: TokenRequest, caller: Caller) -> NewTokenRow:
        """Make a token and return its row, with its value as `token` this once."""
        require_owner(caller, "makes keys", "keys")
        value, holder = self._tokens.create(request, caller.namespace)
        facts = {
            "key": holder.id,
            "kind": holder.kind,
            "label": holder.name,
            "scopes": holder.scopes,
            "expires": holder.expires,
        }
        self._audit.note(holder.namespace, "key-create", caller=caller, **facts)
        return {**holder.row(), "token": value}

    def rows(self, caller: Caller, after: str = "") -> Iterator[TokenUseRow]:
        """Yield the tokens by id, from beyond the id `after` on, without their values."""
        require_owner(caller, "sees the keys", "keys")
        return self._tokens.list(require_token_id(after))

    def revoke(self, id: str, caller: Caller) -> TokenRow:
        """End a token at once, and return its row."""
        require_owner(caller, "revokes keys", "keys")
        holder = self._tokens.revoke(id)
        self._audit.note(
            holder.namespace or caller.namespace,
            "key-revoke",
            caller=caller,
            key=holder.id,
            kind=holder.kind,
            label=holder.name,
        )
        return holder.row()

    def whoami(self, caller: Caller) -> TokenRow:
        """Return the row of an owner: in this process, everybody who may open the store is one."""
        return TokenHolder("", "admin", caller.namespace).row()


class AuditReader:
    """The audit verbs of a registry in this process, see `sigil.admin_protocol.AuditVerbs`."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    def rows(
        self, caller: Caller, *, namespace: str = "", after: int | None = None, limit: int = 100
    ) -> list[AuditRow]:
        """Return entries with numbers above `after`, oldest first; without it, the last ones."""
        chain = _choose_namespace(caller, namespace)
        most = min(max(limit, 1), LIMIT_MOST)
        if after is None:
            entries = self._audit.read_latest(chain, most)
        else:
            entries = self._audit.read_entries(chain, after=max(after, 0), limit=most)
        return [entry.row for entry in entries]

    def verify(self, caller: Caller, *, namespace: str = "") -> AuditCheckRow:
        """Check a namespace's whole chain, and return whether it holds; without a namespace those
        of all others too.
        """
        chain = _choose_namespace(caller, namespace)
        check = self._audit.verify(chain)
        row: AuditCheckRow = {
            "namespace": chain,
            "entries": check.entries,
            "tip": check.tip,
            "ok": not check.problem,
            "problem": check.problem,
        }
        if namespace:
            return row
        others = [other for other in self._audit.list_namespaces() if other != chain]
        broken: list[BrokenChainRow] = []
        if check.problem:
            broken.append({"namespace": chain, "problem": check.problem})
        for other in others:
            problem = self._audit.verify(other).problem
            if problem:
                broken.append({"namespace": other, "problem": problem})
        if broken and not check.problem:
            row["problem"] = f"{broken[0]['namespace']}: {broken[0]['problem']}"
        row["ok"] = not broken
        return {**row, "namespaces": len(others) + 1, "broken": broken[:BROKEN_MOST]}


def _choose_namespace(caller: Caller, namespace: str) -> str:
    """Return the namespace whose audit is read, by default the caller's; only an owner may."""
    require_owner(caller, "reads the audit", "keys")
    if len(namespace) > NAMESPACE_CHARACTERS:
        raise UsageError("EINVAL", "no such namespace", source="audit")
    return namespace or caller.namespace
