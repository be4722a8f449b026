"""What people and programs ask of the ledger: its entries since a time, and if they all hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final
from uuid import uuid4

from functions.agent.access.roles import LOCAL_OWNERS
from functions.agent.app import App
from functions.agent.ledger.chain import LedgerChain, Row, describe_entry
from functions.agent.ledger.entry import Entry, hash_name
from functions.agent.ledger.ledger import Ledger, LedgerCheck
from functions.agent.policy.proposals import Proposal, describe_decision
from functions.agent.safety.session_usage import list_spenders
from functions.agent.session.store import Sessions
from functions.events import WEB
from sigil.errors import BackendError, Conflict, UsageError
from sigil.storage.kv import KV, keys

PAGE: Final = 200
TRIES: Final = 32
MACHINE: Final = "own:machine"
"""The session whose chain has what is decided on the machine, outside of turns."""
DAY_SECONDS: Final = 86_400.0
SINCE: Final = "since is a number of days, such as 7, or a date, such as 2026-11-20"
_DAYS: Final = re.compile(r"[0-9]{1,4}", re.ASCII)
_PLACE: Final = re.compile(r"[0-9a-f]{1,32}#[0-9]{12}", re.ASCII)


def read_since(text: str, now: float) -> float:
    """Return the time that `since` names, in seconds since 1970; `UsageError` for none."""
    if not text:
        return 0.0
    if _DAYS.fullmatch(text):
        return now - int(text) * DAY_SECONDS
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError("EINVAL", SINCE, source="ledger") from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def scan_entries(app: App, agent: str, since: float) -> Iterator[dict[str, object]]:
    """Yield the entries of an agent as people and programs get them: chain by chain, in order.

    `by` is the id of a person whom the agent knows, and their hash where it knows none any more.
    """
    people = _KnownPeople(app, agent)
    for chain, row in Ledger(app.kv, agent).scan(since):
        yield people.describe(chain, row)


def list_entries(app: App, agent: str, query: Mapping[str, str]) -> dict[str, object]:
    """Return a page of an agent's entries; `UsageError` EINVAL for parameters that name none."""
    if not set(query) <= {"since", "after"}:
        raise UsageError("EINVAL", "ask by since or after", source="http")
    after = query.get("after", "")
    if after and not _PLACE.fullmatch(after):
        raise UsageError("EINVAL", "after is `next` of the page before", source="http")
    since = read_since(query.get("since", ""), app.clock.now())
    people = _KnownPeople(app, agent)
    items: list[dict[str, object]] = []
    last = ""
    for place, chain, rows in Ledger(app.kv, agent).scan_places(after):
        if len(items) >= PAGE:
            return {"items": items, "next": last}
        items += [people.describe(chain, row) for row in rows if _is_since(row, since)]
        last = place
    return {"items": items}


def add_entries(app: App, entries: Sequence[Entry], by: str, event: str = "") -> None:
    """Add what a person decided on the machine, in no turn: it has a chain of its own.

    With an `event`, which names what was decided, they are added once however often it is asked.
    Raises `Conflict` where too many do so at this moment.
    """
    now = app.clock.now()
    note_entries(app.kv, app.sessions, app.name, entries, now=now, by=by, event=event)


def note_entries(
    kv: KV,
    sessions: Sessions,
    agent: str,
    entries: Sequence[Entry],
    *,
    now: float,
    by: str,
    event: str,
) -> None:
    """Add what somebody or something did in no turn to the ledger of an agent (its full name); for
    the `event` and what is raised see `add_entries`.
    """
    key = keys.session_of(agent, MACHINE)
    events = [event or f"machine:{uuid4().hex}" for _ in entries]
    ledger = Ledger(kv, agent)
    for _ in range(TRIES):
        opened = sessions.open(key)
        document = opened.document
        # what is pending there was saved, and may not be written down yet
        chain = ledger.flush(document.ledger).with_salt()
        if event and ledger.mentions(chain.name, [f'"{event}"']):
            return
        rows = [
            describe_entry(entry, event, "machine", by, now, salt=chain.salt)
            for entry, event in zip(entries, events, strict=True)
        ]
        chain = chain.append(rows)
        try:
            saved = sessions.save(opened, replace(document, ledger=chain))
        except Conflict:
            continue
        ledger.flush(saved.document.ledger)
        return
    raise Conflict("the ledger is being written by too many at this moment")


def note_decision(app: App, proposal: Proposal) -> None:
    """Add what a person decided on a proposal in no turn, once however often they decide the same;
    the turn of a message adds what was decided in it.
    """
    if proposal.decided_in:
        return
    event = f"machine:proposal:{proposal.id}:{proposal.round}"
    by = proposal.decided_by
    if proposal.rolled_back_at:
        event += ":rollback"
        by = proposal.rolled_back_by
    add_entries(app, [describe_decision(proposal)], by, event)


def verify(app: App, agent: str) -> LedgerCheck:
    """Check the whole ledger of an agent, its ends by what the sessions know of them."""
    ends = {chain.name: chain for chain in _scan_chains(app.kv, app.sessions, agent)}
    return Ledger(app.kv, agent).verify(ends)


def _scan_chains(kv: KV, sessions: Sessions, agent: str) -> Iterator[LedgerChain]:
    """Yield the ends of the chains of an agent's sessions.

    The sessions are those that ever spent tokens, and that of the machine; the documents of damaged
    ones say nothing.
    """
    begin = keys.session_of(agent, "")
    spenders = list_spenders(kv, keys.root_of(agent))
    own = sorted(session for session in spenders if session.startswith(begin))
    for session in (f"{begin}{keys.escape(MACHINE)}", *own):
        try:
            chain = sessions.open(session).document.ledger
        except BackendError:
            continue
        if chain.count:
            yield chain


class _KnownPeople:
    """The people whom an agent knows. Their hashes are others in each chain: the session that has
    the chain is read for its salt, once an entry of it is described.
    """

    def __init__(self, app: App, agent: str) -> None:
        members = [one.id for one in app.people.list_members()]
        ids = (*app.rules.owners, *members, *LOCAL_OWNERS)
        # what they do on the page is done by `web:ID`
        self._ids = (*ids, *(f"{WEB}:{id}" for id in ids))
        self._unread = _scan_chains(app.kv, app.sessions, agent)
        self._salts: dict[str, str] = {}
        self._names: dict[str, Mapping[str, str]] = {}

    def describe(self, chain: str, row: Row) -> dict[str, object]:
        """Return an entry of a chain, with the id of the person instead of their hash."""
        if chain not in self._names:
            salt = self._find_salt(chain)
            self._names[chain] = {hash_name(id, salt): id for id in self._ids} if salt else {}
        by = row.get("by")
        return {"chain": chain, **row, "by": self._names[chain].get(str(by), by)}

    def _find_salt(self, chain: str) -> str:
        """Return the salt of a chain, empty when no session has it any more."""
        while chain not in self._salts:
            read = next(self._unread, None)
            if read is None:
                return ""
            self._salts[read.name] = read.salt
        return self._salts[chain]


def _is_since(row: Row, since: float) -> bool:
    at = row.get("at")
    return isinstance(at, int | float) and at >= since
