"""The head of a name says which of its versions runs, which are yanked and what happened to it.

It is written and read without the manifest of its version. Where that version had an end, the one
that ran before it takes its place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from types import UnionType
from typing import Any, Final, NotRequired, Self, TypedDict, cast

import orjson

from sigil.protocol import Json
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import Stored, damaged, require_format, unknown

HISTORY_MOST = 20
PAGE = 500
EXPIRED = "expire"
"""The action under which an older version runs again."""


@dataclass(frozen=True, slots=True)
class Activation:
    """One activation: which version began to run, when, by whom and through which verb.

    `at` is in seconds since 1970; `by` is `person`, `model`, `library` or `sigil`. `rest` is what a
    newer version of this software wrote behind them.
    """

    version: int
    at: float
    by: str
    action: str
    rest: tuple[Json, ...] = ()


class VersionFields(TypedDict):
    """The fields of a record that tell if its version runs and who sees it."""

    version: int
    digest: str
    expires_at: float | None
    manifest: dict[str, Json]


class RecordFields(VersionFields):
    """The fields of a record that are read without making its manifest; it holds others too."""

    namespace: str
    name: str
    at: float
    size: NotRequired[int]


_STATE_TYPES: Final[Mapping[str, type]] = {
    "latest": int,
    "removed": bool,
    "floor": int,
    "size": int,
    "inactive": bool,
}
_RECORD_TYPES: Final[Mapping[str, type | UnionType]] = {
    **dict.fromkeys(("namespace", "name", "digest"), str),
    "version": int,
    "manifest": dict,
    "at": int | float,
    "expires_at": int | float | None,
}
"""The fields of a record that are read without its manifest."""


@dataclass(frozen=True, slots=True)
class HeadState(Stored):
    """The store keeps this of a name beside its active record.

    `latest` is the highest number ever given. Versions below `floor` were removed and do not run,
    whatever is still stored. `size` counts the bytes of all versions. `inactive` means unused for
    so long that a query does not show it. `history` holds the last activations, oldest first.
    """

    latest: int
    removed: bool = False
    floor: int = 1
    size: int = 0
    inactive: bool = False
    yanked: tuple[int, ...] = ()
    history: tuple[Activation, ...] = ()

    def activate(self, step: Activation) -> Self:
        """Return the state after a version began to run."""
        return replace(
            self,
            latest=max(self.latest, step.version),
            removed=False,
            inactive=False,
            history=(*self.history, step)[-HISTORY_MOST:],
        )

    def find_previous(self, version: int, good: Collection[int]) -> int | None:
        """Return the version of `good` that ran last before `version` does.

        It is the newest of them when none of the last steps names one, None when there are none.
        """
        for step in reversed(self.history):
            if step.version != version and step.version in good:
                return step.version
        return max(good, default=None)

    def yank(self, version: int) -> Self:
        """Return the state with a version yanked."""
        others = [number for number in self.yanked if number != version]
        return replace(self, yanked=(*others, version))

    def unyank(self, version: int) -> Self:
        """Return the state with a version that is yanked no more."""
        return replace(self, yanked=tuple(number for number in self.yanked if number != version))

    def remove(self) -> Self:
        """Return a tombstone: the numbers go on from here, and nothing below them runs."""
        return replace(
            self, removed=True, floor=self.latest + 1, size=0, inactive=False, yanked=(), history=()
        )


def encode_head(state: HeadState, record: bytes) -> bytes:
    """Return the head as it is stored; `record` is the JSON of its active record."""
    history = [[step.version, step.at, step.by, step.action, *step.rest] for step in state.history]
    fields = {
        "latest": state.latest,
        "removed": state.removed,
        "floor": state.floor,
        "size": state.size,
        "inactive": state.inactive,
        "yanked": state.yanked,
        "history": history,
    }
    return orjson.dumps({**fields, "record": orjson.Fragment(record), **(state._rest or {})})


def decode_head(data: bytes) -> tuple[HeadState, RecordFields]:
    """Return what `encode_head` wrote: the name's state, and the fields of its active record.

    Raises `BackendError` EDAMAGED for anything else.
    """
    try:
        raw: Mapping[str, Any] = orjson.loads(data)
        require_format(raw)
        state = {name: raw[name] for name in _STATE_TYPES if name in raw}
        yanked = tuple(raw.get("yanked", ()))
        history: list[Activation] = []
        for version, at, by, action, *more in raw.get("history", ()):
            history.append(Activation(version, at, by, action, tuple(more)))
        record = raw["record"]
        rest = unknown(raw, (*_STATE_TYPES, "yanked", "history", "record"))
    except (ValueError, LookupError, TypeError, AttributeError):
        raise damaged() from None
    is_typed = (
        "latest" in state
        and all(type(value) is _STATE_TYPES[name] for name, value in state.items())
        and all(type(number) is int for number in yanked)
        and all(
            type(step.version) is int
            and isinstance(step.at, int | float)
            and isinstance(step.by, str)
            and isinstance(step.action, str)
            for step in history
        )
    )
    if not is_typed:
        raise damaged()
    head = HeadState(**state, yanked=yanked, history=tuple(history), _rest=rest or None)
    return head, _require_record(record)


def decode_record(data: bytes) -> RecordFields:
    """Return the fields of a version's record as it is stored.

    Raises `BackendError` EDAMAGED for anything else.
    """
    try:
        return _require_record(orjson.loads(data))
    except ValueError:
        raise damaged() from None


def _require_record(record: object) -> RecordFields:
    """Return a record's fields, once those that are read here are known to be of their types."""
    if not isinstance(record, dict):
        raise damaged()
    for name, kind in _RECORD_TYPES.items():
        if not isinstance(record.get(name), kind):
            raise damaged()
    return cast("RecordFields", record)


def is_expired(record: VersionFields, now: float) -> bool:
    """Return whether the time of a record's fields has run out."""
    end = record.get("expires_at")
    return end is not None and end <= now


def encode_record(record: RecordFields) -> bytes:
    """Return a record's fields as `encode_head` takes them."""
    return orjson.dumps(record)


def resolve_expired(kv: KV, data: bytes, now: float) -> bytes:
    """Return a stored head as it is to be read at `now` (seconds since 1970).

    It is `data` itself, unless its version ran out and an older one lasts.
    """
    state, record = decode_head(data)
    if not is_expired(record, now):
        return data
    return fall_back(kv, state, record, now) or data


def fall_back(kv: KV, state: HeadState, record: RecordFields, now: float) -> bytes | None:
    """Return the head with another version in the place of `record`, None when there is none.

    It is the version that ran last, of those that are neither yanked nor at their end.
    """
    if state.removed or state.latest <= state.floor:
        return None
    size = 0
    good: dict[int, tuple[RecordFields, bytes]] = {}
    name = record["name"]
    partition = keys.version(record["namespace"], name, 0).partition
    for _, item in scan_all(kv, partition, f"{name}#", page=PAGE):
        fields = decode_record(item.value)
        if fields["version"] < state.floor or is_expired(fields, now):
            continue
        size += fields.get("size", 0)
        if fields["version"] not in state.yanked:
            good[fields["version"]] = (fields, item.value)
    number = state.find_previous(record["version"], good.keys())
    if number is None:
        return None
    older, body = good[number]
    expires_at = record["expires_at"]
    end = now if expires_at is None else float(expires_at)
    step = Activation(older["version"], end, "sigil", EXPIRED)
    return encode_head(replace(state.activate(step), size=size), body)
