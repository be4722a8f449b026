"""The keys of a registry in this process: its tokens and its audit, for owners alone, and told in
the audit.
"""

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
    from sigil.rows import AuditCheckRow, AuditRow, NewTokenRow, TokenRow, TokenUseRow

NAMESPACE_CHARACTERS = 500
LIMIT_MOST = 501
"""One more than a page has: so it is seen whether there are more."""


class TokenAdmin:
    """See `sigil.admin_protocol.TokenVerbs`."""

    def __init__(self, tokens: Tokens, audit: Audit) -> None:
        self._tokens = tokens
        self._audit = audit

    def find_holder(self, value: str) -> TokenHolder:
        """Return whose token it is; `Refused` with EAUTH when it is nobody's."""
        return self._tokens.find_holder(value)

    def create(self, wish: TokenRequest, caller: Caller) -> NewTokenRow:
        """A new token: its row, with the token itself as `token`, this once."""
        require_owner(caller, "makes keys", "keys")
        value, holder = self._tokens.create(wish, caller.namespace)
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
        """The tokens by id, from beyond the id `after` on, without their values."""
        require_owner(caller, "sees the keys", "keys")
        return self._tokens.list(require_token_id(after))

    def revoke(self, id: str, caller: Caller) -> TokenRow:
        """End a token at once; its row."""
        require_owner(caller, "revokes keys", "keys")
        holder = self._tokens.revoke(id)
        place = holder.namespace or caller.namespace
        self._audit.note(
            place, "key-revoke", caller=caller, key=holder.id, kind=holder.kind, label=holder.name
        )
        return holder.row()

    def whoami(self, caller: Caller) -> TokenRow:
        """In this process whoever may open the store is its owner."""
        return TokenHolder("", "admin", caller.namespace).row()


class AuditReader:
    """See `sigil.admin_protocol.AuditVerbs`."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    def rows(
        self, caller: Caller, *, namespace: str = "", after: int | None = None, limit: int = 100
    ) -> list[AuditRow]:
        """Entries with numbers above `after`, oldest first; the last ones when `after` is None."""
        place, most = _place(caller, namespace), min(max(limit, 1), LIMIT_MOST)
        entries = (
            self._audit.read_latest(place, most)
            if after is None
            else self._audit.read_entries(place, after=max(after, 0), limit=most)
        )
        return [entry.row for entry in entries]

    def verify(self, caller: Caller, *, namespace: str = "") -> AuditCheckRow:
        """Return whether the chain holds."""
        place = _place(caller, namespace)
        found = self._audit.verify(place)
        return {
            "namespace": place,
            "entries": found.entries,
            "tip": found.tip,
            "ok": not found.problem,
            "problem": found.problem,
        }


def _place(caller: Caller, namespace: str) -> str:
    require_owner(caller, "reads the audit", "keys")
    if len(namespace) > NAMESPACE_CHARACTERS:
        raise UsageError("EINVAL", "no such namespace", source="audit")
    return namespace or caller.namespace
