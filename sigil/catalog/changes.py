"""Which names of a namespace changed, in order, so that whoever follows it reads those again and
nothing else. Reads no manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson

from sigil.errors import Conflict
from sigil.storage.kv import ABSENT, KV, Item, Read, keys
from sigil.storage.kv.encoding import new_version
from sigil.storage.stored import Shape, Stored, dumps

RECENT: Final = 64
"""Names that stand in the log itself: it is read with every query, so it stays small."""
PAGE: Final = 32
"""Names of a page, which the log's oldest ones become when it is full."""
MOST: Final = 4_096
"""Whoever lies further behind reads the whole namespace again."""
KEPT_SECONDS: Final = 30 * 86_400.0
OPEN_MOST: Final = 16
OPEN_SECONDS: Final = 3_600.0
"""A change that began so long ago and did not end was cut short: it counts as made."""
RACES: Final = 20


@dataclass(frozen=True, slots=True)
class ChangeLog(Stored):
    """A namespace's last changes. `epoch`: numbers of another one mean nothing here. `number`: how
    many changes there were.

    `recent`: the names of the last of them. `open`: names that are being changed, each since when;
    a crash leaves it there, and whoever follows the log reads it with whatever changes next.
    """

    epoch: str
    number: int = 0
    recent: tuple[str, ...] = ()
    open: Mapping[str, float] = field(default_factory=dict)

    @property
    def first(self) -> int:
        """The number of the oldest of the recent changes."""
        return self.number - len(self.recent) + 1


@dataclass(frozen=True, slots=True)
class LogPosition(Stored):
    """The place up to which somebody followed a log."""

    epoch: str
    number: int


_LOG: Final = Shape[ChangeLog](ChangeLog, required=("epoch", "number", "recent", "open"))
_POSITION: Final = Shape[LogPosition](LogPosition, required=("epoch", "number"))


def log_of(item: Item | None) -> ChangeLog | None:
    """The log that is stored so, None when there is none or its bytes are none."""
    try:
        log = _LOG.read(item.value) if item else None
    except ValueError:
        return None
    return log if log and len(log.recent) <= log.number else None


def names_since(kv: KV, namespace: str, log: ChangeLog, number: int) -> set[str] | None:
    """The names that changed after change `number` of the same epoch, with those that are open;
    None when that is no longer known.
    """
    if not 0 <= log.number - number <= MOST:
        return None
    recent = log.recent[max(number + 1 - log.first, 0) :]
    older = _paged(kv, namespace, log, number + 1) if number + 1 < log.first else []
    return None if older is None else {*older, *recent, *log.open}


def position_of(item: Item | None) -> LogPosition | None:
    """The position that is stored so, None when there is none or its bytes are none."""
    try:
        return _POSITION.read(item.value) if item else None
    except ValueError:
        return None


@dataclass(slots=True)
class Announcement:
    """A change that the log tells of.

    `position` is set when the change was made: where it stands in the log, if nobody else changed
    anything since the log was read that the change was announced over; else None.
    """

    position: LogPosition | None = None


@contextmanager
def announced_change(
    kv: KV, namespace: str, name: str, now: float, log: Read | None = None
) -> Iterator[Announcement]:
    """Announce in the log that `name` changes, before and after the write that stands inside.

    Both are needed: no crash between the write and its announcement may hide the change. `log` is
    the log as the caller has read it, which saves reading it again.
    """
    announcement = Announcement()
    opened = _write(kv, namespace, lambda log: _opened(log, name, now), log)
    try:
        yield announcement
    finally:
        made = _write(
            kv, namespace, lambda log: _made(log, name, now), opened.item if opened else None
        )
        if log is not None and opened and made and opened.first_try and made.first_try:
            announcement.position = made.position


def announce_changed(kv: KV, namespace: str, name: str, now: float) -> None:
    """Say in the log that `name` was changed."""
    _write(kv, namespace, lambda log: _made(log, name, now))


def restart_log(kv: KV, namespace: str) -> None:
    """Have everybody read the whole namespace again."""
    kv.put(keys.generation(namespace), _dumps(_fresh()))


def _fresh() -> ChangeLog:
    return ChangeLog(new_version())


def _opened(log: ChangeLog, name: str, now: float) -> ChangeLog:
    others = [(other, at) for other, at in log.open.items() if other != name]
    kept = others[-(OPEN_MOST - 1) :]
    cut = [other for other, _ in others[: len(others) - len(kept)]]
    return _with(log, cut, dict([*kept, (name, now)]))


def _made(log: ChangeLog, name: str, now: float) -> ChangeLog:
    late = [
        other
        for other, at in log.open.items()
        if other != name and not 0 <= now - at < OPEN_SECONDS
    ]
    return _with(
        log,
        [*late, name],
        {other: at for other, at in log.open.items() if other not in (name, *late)},
    )


def _with(log: ChangeLog, names: list[str], open_: Mapping[str, float]) -> ChangeLog:
    return replace(log, number=log.number + len(names), recent=(*log.recent, *names), open=open_)


@dataclass(frozen=True, slots=True)
class _WrittenLog:
    """A log that was written: its item, where it ends, and whether nobody came in between."""

    item: Item
    position: LogPosition
    first_try: bool


def _write(
    kv: KV, namespace: str, step: Callable[[ChangeLog], ChangeLog], known: Read | None = None
) -> _WrittenLog | None:
    """Write the next log over `known`, or over what stands there when that was overtaken.

    None when too many write at this moment: then everybody has to read the whole namespace again.
    """
    key = keys.generation(namespace)
    for tried in range(RACES):
        item = kv.get(key) if known is None or tried else _item(known)
        log = step(log_of(item) or _fresh())
        body = _dumps(_shortened(kv, namespace, log))
        try:
            version = kv.put(key, body, expect=item.version if item else ABSENT)
        except Conflict:
            continue
        return _WrittenLog(Item(body, version), LogPosition(log.epoch, log.number), not tried)
    restart_log(kv, namespace)
    return None


def _item(read: Read) -> Item | None:
    return None if read is ABSENT else read


def _shortened(kv: KV, namespace: str, log: ChangeLog) -> ChangeLog:
    """The log with its oldest names on pages of their own; those are the same whoever writes
    them.
    """
    while len(log.recent) > RECENT:
        kv.put(
            keys.changes(namespace, log.epoch, log.first),
            orjson.dumps(log.recent[:PAGE]),
            ttl=KEPT_SECONDS,
        )
        log = replace(log, recent=log.recent[PAGE:])
    return log


def _paged(kv: KV, namespace: str, log: ChangeLog, number: int) -> list[str] | None:
    start = (number - 1) // PAGE * PAGE + 1
    names: list[str] = []
    while start + len(names) < log.first:
        page = _page(kv.get(keys.changes(namespace, log.epoch, start + len(names))))
        if len(page) != PAGE:
            return None
        names += page
    return names[number - start :]


def _page(item: Item | None) -> list[str]:
    try:
        names: Any = orjson.loads(item.value) if item else []
    except orjson.JSONDecodeError:
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _dumps(log: ChangeLog) -> bytes:
    return dumps(log)
