"""The log of changes lists the names of a namespace that changed, in order.

Whoever follows a namespace reads those names again and nothing else. The log needs no manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

import orjson

from sigil.errors import Conflict
from sigil.storage.kv import KV, Item, Read, keys
from sigil.storage.kv.encoding import new_version
from sigil.storage.kv.update import update_item
from sigil.storage.stored import Shape, Stored, dumps

RECENT: Final = 64
"""Names that the log itself holds: it is read with every query, so it stays small."""
PAGE: Final = 32
"""Names of a page, which the log's oldest ones become when it is full."""
MOST: Final = 4_096
"""Whoever lies further behind reads the whole namespace again."""
KEPT_SECONDS: Final = 30 * 86_400.0
OPEN_MOST: Final = 16
OPEN_SECONDS: Final = 3_600.0
"""A change that began so long ago and did not end was cut short: it counts as finished."""
RACES: Final = 20


@dataclass(frozen=True, slots=True)
class ChangeLog(Stored):
    """The log holds a namespace's last changes.

    Numbers mean nothing in a log of another `epoch`. `number` counts the changes there were, and
    `recent` are the names of the last of them. `open` are names that are being changed, each since
    when (seconds since 1970); a crash leaves one there, and readers of the log read it with the
    next change.
    """

    epoch: str
    number: int = 0
    recent: tuple[str, ...] = ()
    open: Mapping[str, float] = field(default_factory=dict)

    @property
    def first(self) -> int:
        """The number of the oldest of the recent changes."""
        return self.number - len(self.recent) + 1

    def append(self, names: list[str], still_open: Mapping[str, float]) -> ChangeLog:
        """Return the log with these names as its last changes, and those that are still open."""
        return replace(
            self,
            number=self.number + len(names),
            recent=(*self.recent, *names),
            open=still_open,
        )


@dataclass(frozen=True, slots=True)
class LogPosition(Stored):
    """A position is the number up to which somebody followed the log of one epoch."""

    epoch: str
    number: int


_LOG: Final = Shape[ChangeLog](ChangeLog, required=("epoch", "number", "recent", "open"))
_POSITION: Final = Shape[LogPosition](LogPosition, required=("epoch", "number"))


def log_of(item: Item | None) -> ChangeLog | None:
    """Return the log that is stored in an item, None when there is none or it cannot be read."""
    try:
        log = _LOG.read(item.value) if item else None
    except ValueError:
        return None
    return log if log and len(log.recent) <= log.number else None


def position_of(item: Item | None) -> LogPosition | None:
    """Return the position that is stored in an item, None when there is none that can be read."""
    try:
        return _POSITION.read(item.value) if item else None
    except ValueError:
        return None


def names_since(kv: KV, namespace: str, log: ChangeLog, number: int) -> set[str] | None:
    """Return the names that changed after change `number` of the same epoch, the open ones too.

    None means that this is no longer known.
    """
    if not 0 <= log.number - number <= MOST:
        return None
    recent = log.recent[max(number + 1 - log.first, 0) :]
    names = {*recent, *log.open}
    if number + 1 < log.first:
        older = _read_pages(kv, namespace, log, number + 1)
        if older is None:
            return None
        names.update(older)
    return names


def _read_pages(kv: KV, namespace: str, log: ChangeLog, number: int) -> list[str] | None:
    """Return the names from change `number` to the log's own first one; None without a page."""
    start = (number - 1) // PAGE * PAGE + 1
    names: list[str] = []
    while start + len(names) < log.first:
        item = kv.get(keys.changes_page(namespace, log.epoch, start + len(names)))
        try:
            page: object = orjson.loads(item.value) if item else None
        except orjson.JSONDecodeError:
            return None
        if not isinstance(page, list) or len(page) != PAGE:
            return None
        if not all(isinstance(name, str) for name in page):
            return None
        names += page
    return names[number - start :]


@dataclass(slots=True)
class Announcement:
    """A change that is announced in the log.

    `position` is set when the change was finished: its place in the log, if nobody else changed
    anything since the log was read that the change was announced over; else None.
    """

    position: LogPosition | None = None


@contextmanager
def announced_change(
    kv: KV, namespace: str, name: str, now: float, log: Read | None = None
) -> Iterator[Announcement]:
    """Announce in the log that `name` changes, before and after the write that is made inside.

    Both are needed: no crash between the write and its announcement may hide the change. `log` is
    the log as the caller has read it, which saves reading it again.
    """
    announcement = Announcement()
    begun = _write_log(kv, namespace, lambda log: _open_change(log, name, now), log)
    known = begun.item if begun else None
    try:
        yield announcement
    finally:
        ended = _write_log(kv, namespace, lambda log: _close_change(log, name, now), known)
        if log is not None and begun and ended and begun.first_try and ended.first_try:
            announcement.position = ended.position


def restart_log(kv: KV, namespace: str) -> None:
    """Have everybody read the whole namespace again."""
    kv.put(keys.generation(namespace), dumps(ChangeLog(new_version())))


def _open_change(log: ChangeLog, name: str, now: float) -> ChangeLog:
    """Return the log with `name` open; of too many open names the oldest count as finished."""
    others = [(other, at) for other, at in log.open.items() if other != name]
    still_open = others[-(OPEN_MOST - 1) :]
    finished = [other for other, _ in others[: len(others) - len(still_open)]]
    return log.append(finished, {**dict(still_open), name: now})


def _close_change(log: ChangeLog, name: str, now: float) -> ChangeLog:
    """Return the log after the change of `name`, and of those that have been open for too long."""
    finished = []
    still_open = {}
    for other, at in log.open.items():
        if other == name:
            continue
        if 0 <= now - at < OPEN_SECONDS:
            still_open[other] = at
        else:
            finished.append(other)
    return log.append([*finished, name], still_open)


@dataclass(frozen=True, slots=True)
class _WrittenLog:
    """A log that was written: its item, its end, and whether nobody wrote in between."""

    item: Item
    position: LogPosition
    first_try: bool


def _write_log(
    kv: KV, namespace: str, change: Callable[[ChangeLog], ChangeLog], known: Read | None = None
) -> _WrittenLog | None:
    """Write the next log over `known`, or over a newer one when that was overtaken.

    None means that too many write at this moment: then everybody reads the whole namespace again.
    """

    def decide(item: Item | None) -> tuple[bytes, ChangeLog]:
        log = change(log_of(item) or ChangeLog(new_version()))
        while len(log.recent) > RECENT:
            # the oldest names go to a page of their own, which is the same whichever process
            # writes it: a second write does no harm
            page = keys.changes_page(namespace, log.epoch, log.first)
            kv.put(page, orjson.dumps(log.recent[:PAGE]), ttl=KEPT_SECONDS)
            log = replace(log, recent=log.recent[PAGE:])
        return dumps(log), log

    try:
        done = update_item(kv, keys.generation(namespace), decide, known=known, tries=RACES)
    except Conflict:
        restart_log(kv, namespace)
        return None
    assert done.item is not None
    position = LogPosition(done.answer.epoch, done.answer.number)
    return _WrittenLog(done.item, position, first_try=not done.lost)
