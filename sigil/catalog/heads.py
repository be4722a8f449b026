"""The head of a name says which of its versions runs, which are yanked and what happened to it.

It is written and read without the manifest of its version. Where that version had an end, the one
that ran before it takes its place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import orjson

from sigil.protocol import Json
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import Stored, damaged, require_format, unknown

HISTORY_MOST = 20


@dataclass(frozen=True, slots=True)
class Activation:
    """One activation: which version began to run, when, by whom (`person`, `model`, `library`,
    `sigil`), through which verb.

    `rest`: what a newer version wrote behind them.
    """

    version: int
    at: float
    by: str
    action: str
    rest: tuple[Json, ...] = ()


_STANDS: Final[Mapping[str, type]] = {
    "latest": int,
    "removed": bool,
    "floor": int,
    "size": int,
    "inactive": bool,
}
_READ: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("namespace", "name", "digest"), str),
    "version": int,
    "manifest": dict,
    "at": int | float,
    "expires_at": int | float | None,
}


@dataclass(frozen=True, slots=True)
class HeadState(Stored):
    """What the store says of a name beside its active record.

    `latest`: the highest number ever given. `floor`: versions below it were removed and do not run,
    whatever is still stored. `size`: bytes of all its versions. `inactive`: unused for so long that
    a query does not show it. `history`: the last steps.
    """

    latest: int
    removed: bool = False
    floor: int = 1
    size: int = 0
    inactive: bool = False
    yanked: tuple[int, ...] = ()
    history: tuple[Activation, ...] = ()

    def activate(self, step: Activation) -> Self:
        """The same after a version began to run."""
        return replace(
            self,
            latest=max(self.latest, step.version),
            removed=False,
            inactive=False,
            history=(*self.history, step)[-HISTORY_MOST:],
        )

    def find_previous(self, version: int, good: Collection[int]) -> int | None:
        """The version of `good` that ran last before `version` does; the newest of them when none
        of the last steps names one.
        """
        ran = (
            step.version
            for step in reversed(self.history)
            if step.version != version and step.version in good
        )
        return next(ran, max(good, default=None))

    def yank(self, version: int) -> Self:
        """The same with a version yanked."""
        return replace(
            self, yanked=(*(number for number in self.yanked if number != version), version)
        )

    def unyank(self, version: int) -> Self:
        """The same with a version that is yanked no more."""
        return replace(self, yanked=tuple(number for number in self.yanked if number != version))

    def remove(self) -> Self:
        """A tombstone: the numbers go on from here, nothing below them runs."""
        return replace(
            self, removed=True, floor=self.latest + 1, size=0, inactive=False, yanked=(), history=()
        )


def encode_head(standing: HeadState, record: bytes) -> bytes:
    """The head as it is stored; `record` is JSON."""
    steps = [[step.version, step.at, step.by, step.action, *step.rest] for step in standing.history]
    fields = {
        "latest": standing.latest,
        "removed": standing.removed,
        "floor": standing.floor,
        "size": standing.size,
        "inactive": standing.inactive,
        "yanked": standing.yanked,
        "history": steps,
    }
    return orjson.dumps({**fields, "record": orjson.Fragment(record), **(standing._rest or {})})


def decode_head(data: bytes) -> tuple[HeadState, dict[str, Any]]:
    """Return what `encode_head` wrote: how the name stands, and the fields of its active record;
    `BackendError` EDAMAGED for anything else.
    """
    try:
        given: Mapping[str, Any] = orjson.loads(data)
        require_format(given)
        stands = {name: given[name] for name in _STANDS if name in given}
        yanked = tuple(given.get("yanked", ()))
        steps = tuple(map(_read_step, given.get("history", ())))
        record = given["record"]
        rest = unknown(given, (*_STANDS, "yanked", "history", "record"))
    except (ValueError, LookupError, TypeError, AttributeError):
        raise damaged() from None
    typed = all(type(value) is _STANDS[name] for name, value in stands.items()) and all(
        type(number) is int for number in yanked
    )
    if "latest" not in stands or not typed or not all(map(_is_step, steps)):
        raise damaged()
    return HeadState(**stands, yanked=yanked, history=steps, _rest=rest or None), _whole(record)


def decode_fields(data: bytes) -> dict[str, Any]:
    """The fields of a version's record as it is stored; `BackendError` EDAMAGED for anything
    else.
    """
    try:
        return _whole(orjson.loads(data))
    except ValueError:
        raise damaged() from None


def _read_step(row: list[Any]) -> Activation:
    version, at, by, action, *rest = row
    return Activation(version, at, by, action, tuple(rest))


def _is_step(step: Activation) -> bool:
    texts = isinstance(step.by, str) and isinstance(step.action, str)
    return type(step.version) is int and isinstance(step.at, int | float) and texts


def _whole(record: object) -> dict[str, Any]:
    """A record's fields, those that are read without its manifest being of their type."""
    if not isinstance(record, dict) or not all(
        isinstance(record.get(name), kind) for name, kind in _READ.items()
    ):
        raise damaged()
    return record


def is_expired(record: Mapping[str, Any], now: float) -> bool:
    """Return whether the time of a record's fields has run out."""
    end = record.get("expires_at")
    return end is not None and end <= now


def encode_fields(record: Mapping[str, Any]) -> bytes:
    """A record's fields as `encode_head` takes them."""
    return orjson.dumps(record)


PAGE = 500
ENDED = "expire"
"""The action under which the older version runs again."""


def resolve_expired(kv: KV, data: bytes, now: float) -> bytes:
    """A stored head as it stands at this moment: `data` itself, unless its version ran out and an
    older one lasts.
    """
    standing, record = decode_head(data)
    return (fall_back(kv, standing, record, now) if is_expired(record, now) else None) or data


def fall_back(kv: KV, standing: HeadState, record: dict[str, Any], now: float) -> bytes | None:
    """The head with a version that is neither withdrawn nor at its end in the place of `record`:
    the last that ran; None without one.
    """
    if standing.removed or standing.latest <= standing.floor:
        return None
    alive = [
        row
        for row in _read_versions(kv, record["namespace"], record["name"], standing.floor)
        if not is_expired(row[0], now)
    ]
    good = [row for row in alive if row[0]["version"] not in standing.yanked]
    if not good:
        return None
    found = {int(fields["version"]): (fields, body) for fields, body in good}
    older, body = found[standing.find_previous(int(record["version"]), found.keys()) or max(found)]
    step = Activation(older["version"], float(record["expires_at"]), "sigil", ENDED)
    size = sum(fields.get("size", 0) for fields, _ in alive)
    return encode_head(replace(standing.activate(step), size=size), body)


def _read_versions(
    kv: KV, namespace: str, name: str, floor: int
) -> list[tuple[dict[str, Any], bytes]]:
    """The fields of every version from `floor` on, with the record as it is stored."""
    partition = keys.version(namespace, name, 0).partition
    stored = scan_all(kv, partition, f"{name}#", page=PAGE)
    rows = [(decode_fields(item.value), item.value) for _, item in stored]
    return [row for row in rows if row[0]["version"] >= floor]
