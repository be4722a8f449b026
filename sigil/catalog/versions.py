"""Owners, deployers and readers list, compare, roll back and yank the versions of a name."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import orjson

from sigil.catalog.audit import Audit
from sigil.catalog.catalog import Catalog
from sigil.catalog.deployments import Pins
from sigil.catalog.heads import Activation, HeadState
from sigil.catalog.health import CircuitBreaker, HealthSubject
from sigil.catalog.owner import require_owner_or_deployer
from sigil.catalog.records import Head, Record
from sigil.catalog.views import version_state
from sigil.errors import Conflict, Refused, UsageError
from sigil.manifest.languages import BINARY
from sigil.protocol import Caller, Json, Ref, is_name
from sigil.storage.artifacts import Artifacts
from sigil.storage.kv import KV
from sigil.storage.kv.update import retry_conflicts

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
SHOWN_CHARACTERS = 200_000
_NOT_COMPARED = ("input", "name")
"""Fields of a manifest without a row of their own: the schema is a text, the name is the same."""


@dataclass(frozen=True, slots=True)
class _StateChange:
    """A change of a name: the record and the state after it, and the version that it is about."""

    active: Record
    state: HeadState
    subject: Record


class VersionAdmin:
    """The verbs on the versions of a name.

    Those that change something are for owners, and for who deployed the versions with a token.
    """

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

    def list_versions(self, name: str, caller: Caller) -> list[VersionRow]:
        """Return a row for every version that still runs, newest first."""
        head = self._find_head(name, caller)
        return [self._version_row(head, record) for record in self._catalog.list_versions(head)]

    def list_activations(self, name: str, caller: Caller) -> list[ActivationRow]:
        """Return which version began to run when, by whom and how.

        There are the last twenty times, oldest first.
        """
        steps = self._find_head(name, caller).state.history
        return [
            {"version": step.version, "at": step.at, "by": step.by, "action": step.action}
            for step in steps
        ]

    def diff(
        self, name: str, caller: Caller, older: int | None = None, newer: int | None = None
    ) -> VersionDiffRow:
        """Compare two versions, see `compare_versions`.

        By default the active version is compared with the one before it. Raises `UsageError` ENOENT
        when there is no such version.
        """
        head = self._find_head(name, caller)
        records = {record.version: record for record in self._catalog.list_versions(head)}
        last = head.record
        if newer is not None:
            last = _require_version(records, newer, name)
        if older is None:
            older = max((number for number in records if number < last.version), default=None)
        if older is None:
            raise UsageError(
                "ENOENT",
                f"there is nothing before version {last.version}",
                source=name,
                suggestion="give two versions",
            )
        first = _require_version(records, older, name)
        sources = (self._artifacts.get(first.source), self._artifacts.get(last.source))
        return compare_versions(first, last, sources, (self._pins(first), self._pins(last)))

    def _pins(self, record: Record) -> Pins:
        deployment = self._catalog.deployments.read(record.namespace, record.name, record.digest)
        return deployment.pins if deployment else {}

    def rollback(self, name: str, caller: Caller, version: int | None = None) -> ChangedVersionRow:
        """Let an older version run again: the one given, or the one before.

        The same once more changes nothing.
        """
        require_owner_or_deployer(caller, (), self._catalog.deployments, "rolls back")

        def roll_back(head: Head) -> _StateChange:
            records = self._catalog.list_versions(head)
            if version is None:
                record = self._choose_older(head, records)
            else:
                record = _require_version({old.version: old for old in records}, version, name)
            self._require_own(caller, "rolls it back", head.record, record)
            return _StateChange(record, head.state.unyank(record.version), record)

        return self._change(name, caller, roll_back, "rollback")

    def yank(self, ref: str, caller: Caller, *, undo: bool = False) -> ChangedVersionRow:
        """Withdraw a version; `undo` takes that back.

        Neither a query nor the plain name leads to it then, and its digest still runs.
        """
        require_owner_or_deployer(caller, (), self._catalog.deployments, "yanks")
        parsed = Ref.parse(ref)
        if parsed.version is None and parsed.digest is None:
            raise UsageError(
                "EINVAL",
                "no version was given",
                source=parsed.name,
                suggestion=f"`sigil yank {parsed.name}@VERSION`",
            )

        def yank_version(head: Head) -> _StateChange:
            record = self._catalog.find_in(head.record.namespace, parsed)
            if record is None:
                raise _missing_version(parsed.name, f"{parsed.version or parsed.digest}")
            self._require_own(caller, "yanks it", record)
            return _take_yank_back(head, record) if undo else self._withdraw(head, record)

        return self._change(parsed.name, caller, yank_version, "unyank" if undo else "yank")

    def fall_back(self, degraded: HealthSubject) -> Record | None:
        """Put the last good version in the place of a degraded one that runs, and return it.

        It is None when there is none, or when another version runs.
        """

        def save_older() -> Record | None:
            head = self._catalog.load_head(degraded.namespace, degraded.name)
            if head is None or head.removed or head.record.digest != degraded.digest:
                return None
            for old in self._list_good(head):
                if old.version < head.record.version and old.digest != head.record.digest:
                    step = self._activation(old, "sigil", "degraded")
                    self._catalog.save_head(old, head.state.activate(step), head)
                    return old
            return None

        try:
            good = retry_conflicts(save_older, RACES)
        except Conflict:
            return None
        if good:
            self._audit.note(
                good.namespace,
                "rollback",
                name=good.name,
                version=good.version,
                digest=good.digest,
                why="degraded",
            )
        return good

    def _change(
        self, name: str, caller: Caller, decide: Callable[[Head], _StateChange], action: str
    ) -> ChangedVersionRow:
        """Change what runs under a name to what `decide` returns for its head.

        `decide` is asked again after a lost race.
        """

        def save() -> tuple[Head, Record, bool]:
            head = self._find_head(name, caller)
            if head.record.namespace != caller.target:
                raise Refused(
                    "EPERM",
                    f"{name} is not in your own namespace",
                    source=name,
                    suggestion="deploy your own under this name instead",
                )
            change = decide(head)
            if (change.active, change.state) == (head.record, head.state):
                return head, change.subject, False
            state = change.state
            if change.active.version != head.record.version:
                state = state.activate(self._activation(change.active, caller.author, action))
            self._catalog.save_head(change.active, state, head)
            return replace(head, record=change.active, state=state), change.subject, True

        try:
            head, subject, is_changed = retry_conflicts(save, RACES)
        except Conflict:
            message = f"{name} is being changed by somebody else at this moment"
            raise Conflict(message) from None
        if is_changed:
            self._audit.note(
                head.record.namespace,
                action,
                caller=caller,
                name=name,
                version=subject.version,
                digest=subject.digest,
            )
        return {**self._version_row(head, subject), "changed": is_changed}

    def _require_own(self, caller: Caller, action: str, *records: Record) -> None:
        require_owner_or_deployer(caller, records, self._catalog.deployments, action)

    def _choose_older(self, head: Head, records: list[Record]) -> Record:
        """Return the version that a rollback to no version in particular brings back.

        It is the newest of the older versions that is not degraded, else the newest of them.
        """
        steps = head.state.history
        active = head.record
        was_rolled_back = bool(steps) and steps[-1].action in ("rollback", "degraded")
        if was_rolled_back and not self._breaker.read_health(active).until:
            return active  # it works; a rollback to a still older one names it
        older = [
            old
            for old in records
            if old.version < active.version and old.version not in head.state.yanked
        ]
        if not older:
            raise UsageError(
                "ENOENT",
                "there is no older version",
                source=active.name,
                suggestion=f"`sigil versions {active.name}`",
            )
        for old in older:
            if not self._breaker.read_health(old).until:
                return old
        return older[0]

    def _withdraw(self, head: Head, record: Record) -> _StateChange:
        """Withdraw a version; where it runs, the good one that ran before it takes its place."""
        state = head.state
        if record.version not in state.yanked:
            state = state.yank(record.version)
        if record.version != head.record.version:
            return _StateChange(head.record, state, record)
        good = {each.version: each for each in self._list_good(replace(head, state=state))}
        number = state.find_previous(record.version, good.keys())
        return _StateChange(good.get(number or 0, head.record), state, record)

    def _list_good(self, head: Head) -> list[Record]:
        """Return the versions that may run by the plain name, newest first."""
        good = []
        for record in self._catalog.list_versions(head):
            if record.version in head.state.yanked:
                continue
            if not self._breaker.read_health(record).until:
                good.append(record)
        return good

    def _find_head(self, name: str, caller: Caller) -> Head:
        """Return the nearest head of a name that the caller sees, expired or yanked too."""
        if not is_name(name):
            raise UsageError("ENAME", "not a capability's name", source=name)
        for namespace in caller.sees:
            if caller.reaches(namespace, name):
                head = self._catalog.load_head(namespace, name)
                if head and not head.removed:
                    return head
        raise UsageError(
            "ENOENT",
            "no such capability",
            source=name,
            suggestion="`sigil list` shows what there is",
        )

    def _version_row(self, head: Head, record: Record) -> VersionRow:
        is_yanked = record.version in head.state.yanked
        health = self._breaker.read_health(record)
        now = self._clock()
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
            "active": record.version == head.record.version and not is_yanked,
            "yanked": is_yanked,
            "state": version_state(head, record, health, now),
            "health": "closed" if health.state_at(now) == "closed" else "degraded",
        }

    def _activation(self, record: Record, by: str, action: str) -> Activation:
        return Activation(record.version, self._clock(), by, action)


def _take_yank_back(head: Head, record: Record) -> _StateChange:
    """Take a yank back. The version runs again where it ran until then, and where the name leads
    to nothing because the others are withdrawn.
    """
    state = head.state.unyank(record.version)
    if record.version not in head.state.yanked:
        return _StateChange(head.record, state, record)
    steps = head.state.history
    ran_before = steps[-2].version if len(steps) > 1 and steps[-1].action == "yank" else None
    runs = ran_before == record.version or head.record.version in state.yanked
    return _StateChange(record if runs else head.record, state, record)


def _require_version(records: dict[int, Record], number: int, name: str) -> Record:
    if number not in records:
        raise _missing_version(name, str(number))
    return records[number]


def _missing_version(name: str, version: str) -> UsageError:
    return UsageError(
        "ENOENT",
        f"there is no version {version} of {name}",
        source=name,
        suggestion=f"`sigil versions {name}` shows them",
    )


def compare_versions(
    older: Record, newer: Record, sources: tuple[bytes, bytes], pins: tuple[Pins, Pins]
) -> VersionDiffRow:
    """Return the differences of two versions; `sources` and `pins` begin with the older one's.

    `manifest` holds rows of `field`, `old` and `new`, with `pins` among them when they call other
    versions. `schema` and `source` are unified differences, empty when there are none.
    """
    changed: list[FieldChangeRow] = []
    old_fields = older.manifest.model_dump(mode="json")
    new_fields = newer.manifest.model_dump(mode="json")
    for name, old in old_fields.items():
        if name not in _NOT_COMPARED and old != new_fields[name]:
            changed.append({"field": name, "old": old, "new": new_fields[name]})
    old_pins = dict(pins[0])
    new_pins = dict(pins[1])
    if old_pins != new_pins:
        changed.append({"field": "pins", "old": old_pins, "new": new_pins})
    names = (f"{older.name}@{older.version}", f"{newer.name}@{newer.version}")
    source = ""
    if sources[0] != sources[1]:
        if older.manifest.lang in BINARY or newer.manifest.lang in BINARY:
            source = f"the modules differ: {len(sources[0]):,} and {len(sources[1]):,} bytes\n"
        else:
            texts = (sources[0].decode("utf-8", "replace"), sources[1].decode("utf-8", "replace"))
            source = _unified_diff(texts, names)
    schemas = (_pretty(older.manifest.input), _pretty(newer.manifest.input))
    return {
        "capability": newer.name,
        "from": older.version,
        "to": newer.version,
        "same": older.digest == newer.digest,
        "manifest": changed,
        "schema": _unified_diff(schemas, names),
        "source": source,
    }


def _unified_diff(texts: tuple[str, str], names: tuple[str, str]) -> str:
    if texts[0] == texts[1]:
        return ""
    old_lines = texts[0].splitlines()
    new_lines = texts[1].splitlines()
    # where both have very long lines, a difference would show little but those
    longest = min(max(map(len, lines), default=0) for lines in (old_lines, new_lines))
    if sum(map(len, texts)) > SHOWN_CHARACTERS or longest > SHOWN_CHARACTERS // 10:
        return f"too large to be compared: {len(texts[0]):,} and {len(texts[1]):,} characters\n"
    lines = difflib.unified_diff(old_lines, new_lines, *names, lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _pretty(value: Json) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()
