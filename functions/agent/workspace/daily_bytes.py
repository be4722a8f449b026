"""Members may send 100 MB of files a day into one chat: each file is a fetch, a child process and a
body that is kept. Owners have no limit, and what guests send is not fetched.

A chat without files has no row, and its turns read none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final

from msgspec import Meta

from functions.time.time_zone import DAY_SECONDS, to_local
from sigil.storage.kv import KV, Key, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, dumps

DAILY_BYTES: Final = 100_000_000
KEPT_SECONDS: Final = 3.0 * DAY_SECONDS
"""A date is over everywhere two days and two hours after it began somewhere."""
RECENT: Final = 32
"""So many files are known: one that comes again after a crash counts once."""

Amount = Annotated[int, Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class ReceivedBytes(Stored):
    """The bytes of files that came into a chat on a day; `recent` has those of the last files."""

    total: Amount = 0
    recent: Mapping[str, Amount] = field(default_factory=dict)


_SHAPE: Final = Shape[ReceivedBytes](ReceivedBytes)
ALL_USED: Final = ReceivedBytes(total=1 << 60)


class DailyBytes:
    """The bytes of files that may still come into a chat on the day of `zone` that it is now. `now`
    returns seconds since 1970.
    """

    def __init__(self, kv: KV, session: str, zone: str, now: Callable[[], float]) -> None:
        self._kv = kv
        self._session = session
        self._zone = zone
        self._now = now

    def read_left(self, event: str) -> int:
        """Return how many bytes may come with an event. What came with it before a crash may come
        again.
        """
        item = self._kv.get(self._find_key())
        counted = _read(item.value if item else None)
        again = sum(size for file, size in counted.recent.items() if file.startswith(f"{event}:"))
        return max(DAILY_BYTES - counted.total + again, 0)

    def count(self, file: str, size: int) -> None:
        """Add the bytes of a file that came; `file` is the id of its event and its number there,
        and the same one is counted once.
        """

        def decide(value: bytes | None) -> tuple[bytes | None, None]:
            counted = _read(value)
            if file in counted.recent:
                return None, None
            recent = dict([*counted.recent.items(), (file, size)][-RECENT:])
            return dumps(ReceivedBytes(counted.total + size, recent)), None

        update(self._kv, self._find_key(), decide, KEPT_SECONDS)

    def _find_key(self) -> Key:
        day = to_local(self._now(), self._zone).date().isoformat()
        return keys.received_bytes(self._session, day)


def _read(value: bytes | None) -> ReceivedBytes:
    """Return the stored count; one that is damaged counts as all used up."""
    if value is None:
        return ReceivedBytes()
    try:
        return _SHAPE.read(value)
    except ValueError:
        return ALL_USED
