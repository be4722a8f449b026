"""The outline is the part of the remembered things that is in the prompt of every turn.

It has the things that were written last and those that are recalled most, of the chat and of what
all chats share. They are only what people said: what a page or a tool claims does not enter the
system message. The things themselves are read, so that none is shown that was forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from functions.agent.memory.helpers import Terms
from functions.agent.memory.thing import USER, Thing
from functions.agent.memory.things import Things
from functions.time.time_zone import format_stamp
from sigil.errors import one_line
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.base import get_many

THINGS_MOST: Final = 30
USED_MOST: Final = 12
"""So many of its things may be there because they are recalled often."""
SHARED_MOST: Final = 10
"""So many may be things that all chats share."""
READ_MOST: Final = 45
"""So many are read, as not all may be shown."""
LINE_CHARACTERS: Final = 200
CHARACTERS_MOST: Final = 3_000
"""So long the lines may be together."""
DAY: Final = len("2026-11-22")
TITLE: Final = "## Remembered, the newest and the most used"
MORE: Final = "Search with sigil_query for what it is about to find what else is remembered."


class Outline:
    """The outline of one session (S of the keys) of an agent, an `escape`d name."""

    def __init__(self, kv: KV, session: str, agent: str, terms: Terms) -> None:
        self._kv = kv
        self._own = Things(kv, session, terms)
        self._shared = Things(kv, agent, terms)
        self._scopes = (session, agent)

    def list_keys(self) -> list[Key]:
        """Return the keys of the records that `write` takes."""
        return [keys.thing_totals(scope) for scope in self._scopes]

    def write(self, items: Sequence[Item | None]) -> str:
        """Return the outline, from what was just read at `list_keys`; empty without any thing.

        Its order is that of time, whatever is used most, so that a prompt changes as seldom as
        what is in it.
        """
        own, shared = items
        shared_ids = self._shared.list_outline(shared, SHARED_MOST // 2, SHARED_MOST)
        own_ids = self._own.list_outline(own, USED_MOST, READ_MOST - len(shared_ids))
        places = [keys.thing(self._scopes[0], id) for id in own_ids]
        places += [keys.thing(self._scopes[1], id) for id in shared_ids]
        if not places:
            return ""
        items = get_many(self._kv, places)
        kept: list[tuple[Thing, str]] = []
        left = CHARACTERS_MOST
        # what all chats share is little, and first, so that it is not left out
        for place in (*range(len(own_ids), len(places)), *range(len(own_ids))):
            thing = Things.read_item(places[place].sort, items[place])
            if thing is None or thing.disputed or thing.ended or thing.source != USER:
                continue
            if len(kept) == THINGS_MOST:
                break
            line = _format_thing(thing, shared=place >= len(own_ids))
            left -= len(line) + 1
            if left >= 0:
                kept.append((thing, line))
        if not kept:
            return ""
        kept.sort(key=lambda pair: (-pair[0].at, pair[0].id))
        return "\n".join([TITLE, "", *(line for _, line in kept), "", MORE])


def _format_thing(thing: Thing, *, shared: bool) -> str:
    """Return a thing as a line with its date, its source and the person who said it.

    What all chats share does not tell who said it.
    """
    facts = [format_stamp(thing.at)[:DAY], thing.source]
    if shared:
        facts.append("shared")
    elif thing.by:
        facts.append(f"by {thing.by}")
    if thing.confidence < 1:
        facts.append(f"confidence {thing.confidence:g}")
    return f"- {one_line(thing.in_words, LINE_CHARACTERS)} ({', '.join(facts)})"
