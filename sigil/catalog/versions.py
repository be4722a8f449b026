"""Owners and readers list, compare, roll back and yank the versions of a name here."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import orjson

from sigil.catalog.audit import Audit
from sigil.catalog.catalog import Catalog
from sigil.catalog.deployments import Pins
from sigil.catalog.heads import Activation, HeadState
from sigil.catalog.health import CircuitBreaker, HealthSubject
from sigil.catalog.owner import require_owner
from sigil.catalog.records import Head, Record
from sigil.catalog.views import version_state
from sigil.errors import Conflict, Refused, UsageError
from sigil.manifest.languages import BINARY
from sigil.protocol import Caller, Json, Ref, is_name
from sigil.storage.artifacts import Artifacts
from sigil.storage.kv import KV

if TYPE_CHECKING:
    from sigil.rows import (
        ActivationRow,
        Author,
        ChangedVersionRow,
        FieldChangeRow,
        VersionDiffRow,
        VersionRow,
    )

RACES = 5


class VersionAdmin:
    """The verbs on the versions of a name. Those that change something are for owners."""

    def __init__(
        self,
        kv: KV,
        artifacts: Artifacts,
        breaker: CircuitBreaker,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._catalog = Catalog(kv, clock)
        self._artifacts = artifacts
        self._breaker = breaker
        self._clock = clock
        self._audit = Audit(kv, clock)

    def rows(self, name: str, caller: Caller) -> list[VersionRow]:
        """Every version that still runs, newest first."""
        head = self._seen(name, caller)
        return [self._row(head, record) for record in self._catalog.list_versions(head)]

    def history(self, name: str, caller: Caller) -> list[ActivationRow]:
        """Return which version began to run when, by whom and how: the last twenty times, oldest
        first.
        """
        steps = self._seen(name, caller).state.history
        return [
            {"version": step.version, "at": step.at, "by": step.by, "action": step.action}
            for step in steps
        ]

    def diff(
        self, name: str, caller: Caller, older: int | None = None, newer: int | None = None
    ) -> VersionDiffRow:
        """See `compare_versions`. By default the active version against the one before it."""
        head = self._seen(name, caller)
        records = {record.version: record for record in self._catalog.list_versions(head)}
        last = self._one(records, newer, name) if newer is not None else head.record
        before = max((number for number in records if number < last.version), default=None)
        if older is None and before is None:
            raise UsageError(
                "ENOENT",
                f"there is nothing before version {last.version}",
                source=name,
                suggestion="give two versions",
            )
        first = self._one(records, older if older is not None else before, name)
        sources = (self._artifacts.get(first.source), self._artifacts.get(last.source))
        return compare_versions(first, last, sources, (self._pins(first), self._pins(last)))

    def rollback(self, name: str, caller: Caller, version: int | None = None) -> ChangedVersionRow:
        """Let an older version run again: the one given, or the one before. The same once more
        changes nothing.
        """
        require_owner(caller, "rolls back", "registry")
        return self._changed(name, caller, lambda head: self._back(head, version), "rollback")

    def yank(self, ref: str, caller: Caller, *, undo: bool = False) -> ChangedVersionRow:
        """Withdraw a version: neither a query nor the plain name leads to it, its digest still
        runs. `undo` takes that back.
        """
        require_owner(caller, "yanks", "registry")
        wanted = Ref.parse(ref)
        if wanted.version is None and wanted.digest is None:
            raise UsageError(
                "EINVAL",
                "which version?",
                source=wanted.name,
                suggestion=f"`sigil yank {wanted.name}@VERSION`",
            )
        step = self._unyanked if undo else self._yanked
        return self._changed(
            wanted.name,
            caller,
            lambda head: step(head, self._meant(head, wanted)),
            "unyank" if undo else "yank",
        )

    def fall_back(self, degraded: HealthSubject) -> Record | None:
        """The last good version takes the place of a degraded one that runs; None when there is
        none, or another one runs.
        """
        for _ in range(RACES):
            head = self._catalog.load_head(degraded.namespace, degraded.name)
            if head is None or head.removed or head.record.digest != degraded.digest:
                return None
            record = head.record
            good = next(
                (
                    old
                    for old in self._good(head)
                    if old.digest != record.digest and old.version < record.version
                ),
                None,
            )
            if good is None:
                return None
            try:
                self._catalog.save_head(
                    good, head.state.activate(self._step(good, "sigil", "degraded")), head
                )
            except Conflict:
                continue
            self._audit.note(
                record.namespace,
                "rollback",
                name=record.name,
                version=good.version,
                digest=good.digest,
                why="degraded",
            )
            return good
        return None

    def _pins(self, record: Record) -> Pins:
        recorded = self._catalog.deployments.read(record.namespace, record.name, record.digest)
        return recorded.pins if recorded else {}

    def _changed(self, name: str, caller: Caller, change: Change, action: str) -> ChangedVersionRow:
        for _ in range(RACES):
            head = self._own(name, caller)
            record, standing, meant = change(head)
            if (record, standing) == (head.record, head.state):
                return {**self._row(head, meant), "changed": False}
            if record.version != head.record.version:
                standing = standing.activate(self._step(record, caller.author, action))
            try:
                self._catalog.save_head(record, standing, head)
            except Conflict:
                continue
            self._audit.note(
                head.record.namespace,
                action,
                caller=caller,
                name=name,
                version=meant.version,
                digest=meant.digest,
            )
            return {
                **self._row(replace(head, record=record, state=standing), meant),
                "changed": True,
            }
        raise Conflict(f"{name} is being changed by somebody else at this moment")

    def _back(self, head: Head, version: int | None) -> tuple[Record, HeadState, Record]:
        records = self._catalog.list_versions(head)
        record = (
            self._before(head, records)
            if version is None
            else self._one({old.version: old for old in records}, version, head.record.name)
        )
        return record, head.state.unyank(record.version), record

    def _before(self, head: Head, records: list[Record]) -> Record:
        steps, now = head.state.history, head.record
        if (
            steps
            and steps[-1].action in ("rollback", "degraded")
            and not self._breaker.read_health(now).until
        ):
            return now  # it was done, and is well: whoever means yet an older one says which
        older = [
            old
            for old in records
            if old.version < now.version and old.version not in head.state.yanked
        ]
        if not older:
            raise UsageError(
                "ENOENT",
                "there is no older version",
                source=now.name,
                suggestion=f"`sigil versions {now.name}`",
            )
        return next((old for old in older if not self._breaker.read_health(old).until), older[0])

    def _yanked(self, head: Head, meant: Record) -> tuple[Record, HeadState, Record]:
        standing = (
            head.state if meant.version in head.state.yanked else head.state.yank(meant.version)
        )
        if meant.version != head.record.version:
            return head.record, standing, meant
        good = {record.version: record for record in self._good(replace(head, state=standing))}
        instead = good.get(standing.find_previous(meant.version, good.keys()) or 0, head.record)
        return instead, standing, meant

    def _unyanked(self, head: Head, meant: Record) -> tuple[Record, HeadState, Record]:
        steps = head.state.history
        took_over = (
            bool(steps) and steps[-1].action == "yank" and meant.version in head.state.yanked
        )
        ran = next((step.version for step in reversed(steps[:-1])), None)  # before the yank
        return (
            (meant if took_over and ran == meant.version else head.record),
            head.state.unyank(meant.version),
            meant,
        )

    def _good(self, head: Head) -> list[Record]:
        """The versions that may run by the plain name, newest first."""
        known = (
            record
            for record in self._catalog.list_versions(head)
            if record.version not in head.state.yanked
        )
        return [record for record in known if not self._breaker.read_health(record).until]

    def _meant(self, head: Head, ref: Ref) -> Record:
        found = self._catalog.find_in(head.record.namespace, ref)
        if found is None:
            raise _missing(ref.name, f"{ref.version or ref.digest}")
        return found

    def _one(self, records: dict[int, Record], number: int | None, name: str) -> Record:
        if number is None or number not in records:
            raise _missing(name, str(number))
        return records[number]

    def _seen(self, name: str, caller: Caller) -> Head:
        """The nearest head of a name that the caller sees, expired or yanked too."""
        if not is_name(name):
            raise UsageError("ENAME", "not a capability's name", source=name)
        heads = (
            self._catalog.load_head(namespace, name)
            for namespace in caller.sees
            if caller.reaches(namespace, name)
        )
        found = next((head for head in heads if head and not head.removed), None)
        if found is None:
            raise UsageError(
                "ENOENT",
                "no such capability",
                source=name,
                suggestion="`sigil list` shows what there is",
            )
        return found

    def _own(self, name: str, caller: Caller) -> Head:
        head = self._seen(name, caller)
        if head.record.namespace != caller.target:
            raise Refused(
                "EPERM",
                f"{name} is not of your own namespace",
                source=name,
                suggestion="deploy your own under this name instead",
            )
        return head

    def _row(self, head: Head, record: Record) -> VersionRow:
        yanked, health, now = (
            record.version in head.state.yanked,
            self._breaker.read_health(record),
            self._clock(),
        )
        return {
            "capability": record.name,
            "version": record.version,
            "digest": record.digest,
            "author": cast("Author", record.author),
            "session": record.session,
            "at": record.at,
            "expires_at": record.expires_at,
            "lang": record.manifest.lang,
            "bytes": record.size,
            "active": record.version == head.record.version and not yanked,
            "yanked": yanked,
            "state": version_state(head, record, health, now),
            "health": "closed" if health.state_at(now) == "closed" else "degraded",
        }

    def _step(self, record: Record, by: str, action: str) -> Activation:
        return Activation(record.version, self._clock(), by, action)


Change = Callable[[Head], tuple[Record, HeadState, Record]]
"""From how a name stands to how it shall: the record that runs, the standing, and the record that
was meant.
"""


def _missing(name: str, version: str) -> UsageError:
    return UsageError(
        "ENOENT",
        f"there is no version {version} of {name}",
        source=name,
        suggestion=f"`sigil versions {name}` shows them",
    )


SHOWN_CHARACTERS = 200_000
_APART = ("input", "name")
"""Fields that are no row of their own: the schema is a text, the name is the same."""


def compare_versions(
    older: Record, newer: Record, sources: tuple[bytes, bytes], pins: tuple[Pins, Pins]
) -> VersionDiffRow:
    """`manifest`: rows of `field`, `old`, `new`; `pins` among them, when they call other versions.
    `schema`, `source`: unified differences, empty when there are none.
    """
    names = (f"{older.name}@{older.version}", f"{newer.name}@{newer.version}")
    schemas = (_pretty(older.manifest.input), _pretty(newer.manifest.input))
    return {
        "capability": newer.name,
        "from": older.version,
        "to": newer.version,
        "same": older.digest == newer.digest,
        "manifest": [*_fields(older, newer), *_called(pins)],
        "schema": _unified(schemas, names),
        "source": _code((older, newer), sources, names),
    }


def _fields(older: Record, newer: Record) -> Iterator[FieldChangeRow]:
    old, new = (record.manifest.model_dump(mode="json") for record in (older, newer))
    for name in old:
        if name not in _APART and old[name] != new[name]:
            yield {"field": name, "old": old[name], "new": new[name]}


def _called(pins: tuple[Pins, Pins]) -> Iterator[FieldChangeRow]:
    old, new = (dict(each) for each in pins)
    if old != new:
        yield {"field": "pins", "old": old, "new": new}


def _code(
    records: tuple[Record, Record], sources: tuple[bytes, bytes], names: tuple[str, str]
) -> str:
    if sources[0] == sources[1]:
        return ""
    if any(record.manifest.lang in BINARY for record in records):
        return f"the modules differ: {len(sources[0]):,} and {len(sources[1]):,} bytes\n"
    return _unified(
        (sources[0].decode("utf-8", "replace"), sources[1].decode("utf-8", "replace")), names
    )


def _unified(texts: tuple[str, str], names: tuple[str, str]) -> str:
    if texts[0] == texts[1]:
        return ""
    if (
        sum(map(len, texts)) > SHOWN_CHARACTERS
        or min(map(_longest, texts)) > SHOWN_CHARACTERS // 10
    ):
        return f"too large to be compared: {len(texts[0]):,} and {len(texts[1]):,} characters\n"
    lines = difflib.unified_diff(texts[0].splitlines(), texts[1].splitlines(), *names, lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _longest(text: str) -> int:
    return max(map(len, text.splitlines()), default=0)


def _pretty(value: Json) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()
