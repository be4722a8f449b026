"""The audit records what was done to capabilities, grants, secrets and keys, and by whom.

It is append-only: each namespace has one hash chain.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import orjson

from sigil.catalog.cursors import CHAT_MARK, chat_of
from sigil.errors import Conflict, one_line
from sigil.protocol import Caller, Json
from sigil.storage.kv import ABSENT, KV, keys
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import unknown

if TYPE_CHECKING:
    from sigil.rows import AuditRow

ROOT = "0" * 64
"""The hash that the first entry of a chain follows."""
RACES = 50
PAGE = 200
FACT_CHARACTERS = 500
FACTS_MOST = 20
UNREADABLE = "unreadable"
"""The action of an entry that somebody damaged."""
NUMBER_MOST = 10**12 - 1
"""The highest number that a key has digits for."""
PARTS_MOST = 100
"""Parts of a list among the facts: a manifest asks for 60 permissions at most."""
_SORT = re.compile(r"[0-9]{12}", re.ASCII)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One entry of the audit.

    `body` is the canonical JSON that `hash` covers; it names the hash before it as `previous`.
    `number` is its place in the chain, which the body says as well.
    """

    body: bytes
    hash: str
    number: int = 0

    @property
    def fields(self) -> dict[str, Json]:
        """`number`, `at`, `namespace`, `action`, `previous`, `mark`, and the facts."""
        return dict(orjson.loads(self.body))

    @property
    def row(self) -> AuditRow:
        """The row that people see; an entry that cannot be read says so as its action."""
        fields = _read_fields(self)
        is_whole = (
            all(isinstance(fields.get(name), str) for name in ("namespace", "action", "previous"))
            and isinstance(fields.get("number"), int)
            and isinstance(fields.get("at"), int | float)
        )
        if not is_whole:
            return {
                "number": self.number,
                "at": 0.0,
                "namespace": "",
                "action": UNREADABLE,
                "previous": "",
                "hash": self.hash,
            }
        fields.pop("mark", None)
        return cast("AuditRow", {**fields, "hash": self.hash})


@dataclass(frozen=True, slots=True)
class ChainCheck:
    """The check of a chain: how many entries hold, the hash of the last one, and the problem.

    `problem` says what is wrong at the first place that does not hold; it is empty when all do.
    """

    entries: int
    tip: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Tip:
    """The end of a chain; `token` is the version of the item that says so, empty for none."""

    number: int
    hash: str
    token: str
    rest: Mapping[str, Json] = field(default_factory=dict)


class Audit:
    """The audit of a store.

    Two writers cannot fork a chain: an entry is written only where there is none.
    """

    def __init__(self, kv: KV, clock: Callable[[], float] = time.time) -> None:
        self._kv = kv
        self._clock = clock

    def note(
        self, namespace: str, action: str, *, caller: Caller | None = None, **facts: Json
    ) -> str:
        """Append `action` (`deploy`, `grant`, …) with its facts (`name=`, `digest=`, …) and return
        the entry's hash.

        What happens in a chat's namespace is noted in the agent's chain too, with the `chat`: an
        owner finds it there.

        `caller` becomes `author`, `session`, `token` and `owner`. A fact is a JSON scalar or a list
        of them; texts are cut at 500 characters, and facts that are None are left out. A secret's
        value is no fact. Raises `Conflict` after fifty lost races.
        """
        noted: dict[str, Json] = {}
        if caller:
            noted = {"author": caller.author, "session": caller.session, "token": caller.token}
            noted["owner"] = caller.owner
            noted = {name: value for name, value in noted.items() if value not in ("", None)}
        for name, value in list(facts.items())[:FACTS_MOST]:
            if value is not None:
                noted[one_line(name, 40)] = _shorten_fact(value)
        hash_ = self._append(namespace, action, noted)
        chat = chat_of(namespace)
        if chat:
            agent = namespace.removesuffix(f"{CHAT_MARK}{chat}")
            self._append(agent, action, {**noted, "chat": one_line(chat, FACT_CHARACTERS)})
        return hash_

    def read_entries(
        self, namespace: str, *, after: int = 0, limit: int = PAGE
    ) -> list[AuditEntry]:
        """Return at most `limit` entries with numbers above `after`, oldest first."""
        entries = []
        partition = keys.audit_entry(namespace, 0).partition
        for sort, item in self._kv.scan(partition, after=_sort_key(namespace, after), limit=limit):
            number = int(sort) if _SORT.fullmatch(sort) else 0
            entries.append(_read_entry(item.value, number))
        return entries

    def read_latest(self, namespace: str, limit: int = PAGE) -> list[AuditEntry]:
        """Return the last `limit` entries, oldest first."""
        last = self._find_tip(namespace).number
        return self.read_entries(namespace, after=max(last - limit, 0), limit=limit)

    def verify(self, namespace: str) -> ChainCheck:
        """Read the whole chain and check every hash and number, and that its end is whole.

        An end is not whole when it is missing, or when it is another one than was written.
        """
        known = self._read_tip(namespace)  # first: somebody may append while this reads
        number = 0
        tip = ROOT
        is_rewritten = False
        for _, item in scan_all(self._kv, keys.audit_entry(namespace, 0).partition):
            entry = _read_entry(item.value)
            fields = _read_fields(entry)
            number += 1
            if _hash(entry.body) != entry.hash:
                return ChainCheck(number - 1, tip, f"entry {number} was changed")
            if (
                fields.get("number") != number
                or fields.get("previous") != tip
                or fields.get("namespace") != namespace
            ):
                return ChainCheck(
                    number - 1,
                    tip,
                    f"entry {number} is missing, or does not follow the one before it",
                )
            tip = entry.hash
            if number == known.number and tip != known.hash:
                is_rewritten = True
        if is_rewritten:
            return ChainCheck(number, tip, f"entry {known.number} is not the one that was written")
        if known.number > number:
            return ChainCheck(number, tip, f"the end is missing: there were {known.number} entries")
        return ChainCheck(number, tip)

    def list_namespaces(self) -> list[str]:
        """Return the namespaces that have an audit, or that ever had a capability: whoever takes
        the note of a chain's end away does not hide the chain.
        """
        places = (keys.audit_tip("").partition, keys.generation("").partition)
        found = {sort for place in places for sort, _ in scan_all(self._kv, place)}
        return sorted(map(keys.unescape, found))

    def _append(self, namespace: str, action: str, facts: Mapping[str, Json]) -> str:
        """Append an entry to one chain and return its hash."""
        mark = secrets.token_hex(8)
        tip = self._read_tip(namespace)
        for _ in range(RACES):
            fields = {
                **facts,
                "number": tip.number + 1,
                "at": round(self._clock(), 3),
                "namespace": namespace,
                "action": action,
                "previous": tip.hash,
                "mark": mark,
            }
            body = orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)
            entry = AuditEntry(body, _hash(body), tip.number + 1)
            if self._write_entry(namespace, entry, mark):
                value = orjson.dumps({"number": entry.number, "hash": entry.hash, **tip.rest})
                # a later writer may have written it already, and a reader goes on from there
                with suppress(Conflict):
                    self._kv.put(keys.audit_tip(namespace), value, expect=tip.token or ABSENT)
                return entry.hash
            tip = self._find_tip(namespace)  # the last writer died before it wrote the tip
        raise Conflict(f"the audit of {namespace} is being written by too many at this moment")

    def _write_entry(self, namespace: str, entry: AuditEntry, mark: str) -> bool:
        """Write an entry, and return False when somebody else's has its number.

        Our own one is known by its mark, when only the store's reply was lost.
        """
        key = keys.audit_entry(namespace, entry.number)
        row = orjson.dumps({"body": entry.body.decode(), "hash": entry.hash})
        try:
            self._kv.put(key, row, expect=ABSENT)
        except Conflict:
            item = self._kv.get(key)
            return item is not None and _read_fields(_read_entry(item.value)).get("mark") == mark
        return True

    def _find_tip(self, namespace: str) -> _Tip:
        """Return the end of a chain: from the tip that was written last, forward to the end."""
        tip = self._read_tip(namespace)
        number = tip.number
        last = tip.hash
        partition = keys.audit_entry(namespace, 0).partition
        for sort, item in scan_all(self._kv, partition, after=_sort_key(namespace, number)):
            if _SORT.fullmatch(sort):  # what has no number is no entry of ours
                number = int(sort)
                last = _read_entry(item.value).hash
        return _Tip(number, last, tip.token, tip.rest)

    def _read_tip(self, namespace: str) -> _Tip:
        """Return the tip that was written last; entries may have been appended since.

        One that is damaged is the beginning, since the entries themselves tell.
        """
        item = self._kv.get(keys.audit_tip(namespace))
        if item is None:
            return _Tip(0, ROOT, "")
        try:
            fields = orjson.loads(item.value)
            number = int(fields["number"])
            if not 0 <= number <= NUMBER_MOST:
                raise ValueError(number)
            rest = unknown(fields, ("number", "hash"))
            return _Tip(number, str(fields["hash"]), item.version, rest)
        except (ValueError, KeyError, TypeError, OverflowError):
            return _Tip(0, ROOT, item.version)


def _shorten_fact(value: Json) -> Json:
    """Return a fact with its texts cut; a list loses lists within it, and parts of too many."""
    if isinstance(value, (bool, int, float)):
        return value
    if not isinstance(value, (list, tuple)):
        return one_line(str(value), FACT_CHARACTERS)
    parts = [_shorten_fact(part) for part in value if not isinstance(part, (list, tuple))]
    if len(parts) <= PARTS_MOST:
        return parts
    return [*parts[: PARTS_MOST - 1], f"and {len(parts) - PARTS_MOST + 1} more"]


def _hash(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _sort_key(namespace: str, number: int) -> str:
    return keys.audit_entry(namespace, number).sort if number else ""


def _read_entry(value: bytes, number: int = 0) -> AuditEntry:
    """Return a stored entry; one that somebody damaged reads as one whose hash does not fit."""
    try:
        fields = orjson.loads(value)
        return AuditEntry(str(fields["body"]).encode(), str(fields["hash"]), number)
    except (ValueError, KeyError, TypeError):
        return AuditEntry(b"{}", "", number)


def _read_fields(entry: AuditEntry) -> dict[str, Json]:
    """Return the fields of an entry, none of one that somebody damaged."""
    try:
        return entry.fields
    except (ValueError, TypeError):
        return {}
