"""When somebody last looked at each chat on the page, in whatever browser: a chat that has answered
since then is marked in their list.

It is written down when a chat is shown that has something new, and at no other look.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from sigil.storage.evolve import evolve
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, dumps

CHATS_MOST: Final = 200
"""How many chats are remembered for a person, those of the last looks."""


@dataclass(frozen=True, slots=True)
class ReadMarks(Stored):
    """The looks of the person `who`: at each chat (its session) the last one, and since when looks
    are noted, all in seconds since 1970. What was answered before `since` counts as read.
    """

    who: str
    since: float
    chats: Mapping[str, float] = field(default_factory=dict)

    def find(self, session: str) -> float:
        """Return until when what was answered in a chat is read."""
        return self.chats.get(session, self.since)


_MARKS: Final = Shape[ReadMarks](ReadMarks)


def read_marks(kv: KV, agent: str, who: str) -> ReadMarks | None:
    """Return the looks of a person; None for one who has not looked at any chat yet."""
    item = kv.get(keys.web_seen(agent, who))
    return _parse(item.value if item else None)


def note_look(kv: KV, agent: str, who: str, session: str, now: float) -> ReadMarks:
    """Write down that somebody looks at a chat now, and return all their looks."""

    def decide(value: bytes | None) -> tuple[bytes, ReadMarks]:
        known = _parse(value) or ReadMarks(who, now)
        chats = {**known.chats, session: max(now, known.chats.get(session, 0.0))}
        last = sorted(chats, key=lambda name: chats[name])[-CHATS_MOST:]
        marks = evolve(known, chats={name: chats[name] for name in last})
        return dumps(marks), marks

    return update(kv, keys.web_seen(agent, who), decide)


def _parse(value: bytes | None) -> ReadMarks | None:
    """Return stored looks; None for none, or for damaged ones."""
    try:
        return _MARKS.read(value or b"")
    except ValueError:
        return None
