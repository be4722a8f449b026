"""The audit: what was done to capabilities, grants, secrets and keys, by whom; append-only, one
hash chain a namespace.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
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
"""What the first entry of a chain follows."""
RACES = 50
PAGE = 200
FACT_CHARACTERS = 500
FACTS_MOST = 20
UNREADABLE = "unreadable"
"""The action of an entry that somebody damaged."""
NUMBER_MOST = 10**12 - 1
"""What its key has digits for."""
_SORT = re.compile(r"[0-9]{12}", re.ASCII)
PARTS_MOST = 100
"""Of a list among the facts: a manifest asks for 60 permissions at most."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One line of the audit. `body`: the canonical JSON that `hash` covers; it names the hash
    before it as `previous`.

    `number`: where it stands, which the body says as well.
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
        """Return what people see; of an entry that cannot be read, that."""
        shown = _fields(self)
        if not _is_whole(shown):
            return {
                "number": self.number,
                "at": 0.0,
                "namespace": "",
                "action": UNREADABLE,
                "previous": "",
                "hash": self.hash,
            }
        shown.pop("mark", None)
        return cast("AuditRow", {**shown, "hash": self.hash})


@dataclass(frozen=True, slots=True)
class ChainCheck:
    """Whether a chain holds: `entries` read, the hash of the last one, and the first place where it
    does not hold.
    """

    entries: int
    tip: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Tip:
    number: int
    hash: str
    token: str
    rest: Mapping[str, Json] = field(default_factory=dict)


class Audit:
    """The audit of a store. Two writers cannot fork a chain: an entry is written only where none
    stands.
    """

    def __init__(self, kv: KV, clock: Callable[[], float] = time.time) -> None:
        self._kv = kv
        self._clock = clock

    def note(
        self, namespace: str, action: str, *, caller: Caller | None = None, **facts: Json
    ) -> str:
        """Append `action` (`deploy`, `grant`, …) with its facts (`name=`, `digest=`, …) and return
        the entry's hash.

        What happens in a chat's namespace stands in the agent's chain too, with the `chat`: an
        owner finds it there.

        `caller` becomes `author`, `session`, `token` and `owner`. A fact is a JSON scalar or a list
        of them; texts are cut at 500 characters, and facts that are None are left out. A secret's
        value is no fact. `Conflict` after fifty lost races.
        """
        told = {**_who(caller), **_clean(facts)}
        written = self._written(namespace, action, told)
        chat = chat_of(namespace)
        if chat:
            agent = namespace.removesuffix(f"{CHAT_MARK}{chat}")
            self._written(agent, action, {**told, "chat": one_line(chat, FACT_CHARACTERS)})
        return written

    def read_entries(
        self, namespace: str, *, after: int = 0, limit: int = PAGE
    ) -> list[AuditEntry]:
        """At most `limit` entries with numbers above `after`, oldest first."""
        rows = self._kv.scan(
            keys.audit_entry(namespace, 0).partition, after=_sort(namespace, after), limit=limit
        )
        return [_read(item.value, int(sort) if _SORT.fullmatch(sort) else 0) for sort, item in rows]

    def read_latest(self, namespace: str, limit: int = PAGE) -> list[AuditEntry]:
        """The last `limit` entries, oldest first."""
        return self.read_entries(
            namespace, after=max(self._tip(namespace).number - limit, 0), limit=limit
        )

    def verify(self, namespace: str) -> ChainCheck:
        """Read the whole chain: every hash, every number, and that its end is neither missing nor
        another than was last written.
        """
        known = self._known(namespace)  # first: somebody may append while this reads
        number, tip, rewritten = 0, ROOT, False
        for entry in self._all(namespace):
            fields, number = _fields(entry), number + 1
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
            rewritten |= number == known.number and tip != known.hash
        if rewritten:
            return ChainCheck(number, tip, f"entry {known.number} is not the one that was written")
        if known.number > number:
            return ChainCheck(number, tip, f"the end is missing: there were {known.number} entries")
        return ChainCheck(number, tip)

    def list_namespaces(self) -> Iterator[str]:
        """The namespaces that have an audit."""
        for sort, _ in scan_all(self._kv, keys.audit_tip("").partition):
            yield keys.unescape(sort)

    def _written(self, namespace: str, action: str, facts: Mapping[str, Json]) -> str:
        mark = secrets.token_hex(8)
        tip = self._known(namespace)
        for _ in range(RACES):
            entry = self._entry(namespace, action, facts, mark, tip)
            if self._append(namespace, tip.number + 1, entry, mark):
                self._remember(namespace, tip, entry)
                return entry.hash
            tip = self._tip(namespace)  # the last writer died before it left word
        raise Conflict(f"the audit of {namespace} is being written by too many at this moment")

    def _entry(
        self, namespace: str, action: str, facts: Mapping[str, Json], mark: str, tip: _Tip
    ) -> AuditEntry:
        body = orjson.dumps(
            {
                **facts,
                "number": tip.number + 1,
                "at": round(self._clock(), 3),
                "namespace": namespace,
                "action": action,
                "previous": tip.hash,
                "mark": mark,
            },
            option=orjson.OPT_SORT_KEYS,
        )
        return AuditEntry(body, _hash(body))

    def _append(self, namespace: str, number: int, entry: AuditEntry, mark: str) -> bool:
        """False when somebody else's entry stands there; our own, whose reply was lost, is ours."""
        key = keys.audit_entry(namespace, number)
        try:
            self._kv.put(
                key, orjson.dumps({"body": entry.body.decode(), "hash": entry.hash}), expect=ABSENT
            )
        except Conflict:
            item = self._kv.get(key)
            return item is not None and _fields(_read(item.value)).get("mark") == mark
        return True

    def _tip(self, namespace: str) -> _Tip:
        """The last entry: from where the last writer left word, forward to where nothing stands."""
        tip = self._known(namespace)
        partition, after = keys.audit_entry(namespace, 0).partition, _sort(namespace, tip.number)
        for sort, item in scan_all(self._kv, partition, after=after):
            if _SORT.fullmatch(sort):  # what has no number is no entry of ours
                tip = replace(tip, number=int(sort), hash=_read(item.value).hash)
        return tip

    def _known(self, namespace: str) -> _Tip:
        item = self._kv.get(keys.audit_tip(namespace))
        try:
            fields: dict[str, Json] = (
                orjson.loads(item.value) if item else {"number": 0, "hash": ROOT}
            )
            number = int(fields["number"])
            if 0 <= number <= NUMBER_MOST:
                rest = unknown(fields, ("number", "hash"))
                return _Tip(number, str(fields["hash"]), item.version if item else "", rest)
            raise ValueError(number)
        except (
            ValueError,
            KeyError,
            TypeError,
            OverflowError,
        ):  # damaged: the entries themselves tell
            return _Tip(0, ROOT, item.version if item else "")

    def _remember(self, namespace: str, before: _Tip, entry: AuditEntry) -> None:
        word = orjson.dumps({"number": before.number + 1, "hash": entry.hash, **before.rest})
        try:
            self._kv.put(keys.audit_tip(namespace), word, expect=before.token or ABSENT)
        except Conflict:
            return  # a later writer left word already, and a reader goes on from there

    def _all(self, namespace: str) -> Iterator[AuditEntry]:
        for _, item in scan_all(self._kv, keys.audit_entry(namespace, 0).partition):
            yield _read(item.value)


def _who(caller: Caller | None) -> dict[str, Json]:
    if caller is None:
        return {}
    fields = {
        "author": caller.author,
        "session": caller.session,
        "token": caller.token,
        "owner": caller.owner,
    }
    return {name: value for name, value in fields.items() if value not in ("", None)}


def _clean(facts: Mapping[str, Json]) -> dict[str, Json]:
    return {
        one_line(name, 40): _scalar(value)
        for name, value in list(facts.items())[:FACTS_MOST]
        if value is not None
    }


def _scalar(value: Json) -> Json:
    if isinstance(value, (list, tuple)):
        parts = [_scalar(part) for part in value if not isinstance(part, (list, tuple))]
        return (
            parts
            if len(parts) <= PARTS_MOST
            else [*parts[: PARTS_MOST - 1], f"and {len(parts) - PARTS_MOST + 1} more"]
        )
    return value if isinstance(value, (bool, int, float)) else one_line(str(value), FACT_CHARACTERS)


def _hash(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _sort(namespace: str, number: int) -> str:
    return keys.audit_entry(namespace, number).sort if number else ""


def _read(value: bytes, number: int = 0) -> AuditEntry:
    """An entry as it stands; one that somebody damaged reads as one whose hash does not fit."""
    try:
        fields = orjson.loads(value)
        return AuditEntry(str(fields["body"]).encode(), str(fields["hash"]), number)
    except (ValueError, KeyError, TypeError):
        return AuditEntry(b"{}", "", number)


def _fields(entry: AuditEntry) -> dict[str, Json]:
    try:
        fields = entry.fields
    except (ValueError, TypeError):
        return {}
    return fields


def _is_whole(fields: Mapping[str, Json]) -> bool:
    """Return whether an entry says what every entry says."""
    texts = all(isinstance(fields.get(name), str) for name in ("namespace", "action", "previous"))
    return (
        texts
        and isinstance(fields.get("number"), int)
        and isinstance(fields.get("at"), int | float)
    )
