"""`recall`: what is remembered of this chat, and what all chats share, by key, by subject, by
words.
"""

from __future__ import annotations

from collections.abc import Iterator

from functions.agent.memory.thing import FIELDS, Kind, folded
from functions.agent.memory.things import Recalled, Things, answer_order
from functions.agent.sanitize import clean
from functions.agent.services.call_context import Arguments, Place, number, text
from functions.agent.services.presentation import shown
from sigil.errors import UsageError
from sigil.protocol import Json

USUAL, MOST = 8, 20
ABOUT_MOST = 200
"""Of what is about one subject, so many are looked at, the newest."""


def recall(place: Place, given: Arguments) -> Json:
    """The best first, each with its source and confidence, a surer value before those that dispute
    it.

    Without key, subject and query: what was written last.
    """
    limit, kind = number(given, "limit", USUAL, MOST), _kind(text(given, "kind"))
    found = [
        (each, shared)
        for shared, things in _shelves(place)
        for each in _found(things, given, kind, limit)
    ]
    found.sort(key=lambda pair: answer_order(pair[0]))
    ranked = bool(text(given, "query"))
    items = [
        shown(each.thing, shared=shared, score=each.score if ranked else None)
        for each, shared in found[:limit]
    ]
    return {"items": items, "found": len(items)}


def _shelves(place: Place) -> Iterator[tuple[bool, Things]]:
    yield False, place.things
    yield True, place.shared


def _found(things: Things, given: Arguments, kind: Kind | None, limit: int) -> list[Recalled]:
    key, subject, words = (clean(text(given, name)) for name in ("key", "subject", "query"))
    if key:
        return (
            [Recalled(thing, 1.0) for thing in things.values(key)] if kind in (None, "kv") else []
        )
    if words:
        return things.find(words, limit, kind, subject)
    named = (
        (things.get(id) for id in things.about(subject)[:ABOUT_MOST])
        if subject
        else things.newest(limit)
    )
    fitting = (thing for thing in named if thing and kind in (None, thing.kind))
    met = [
        Recalled(thing, 1.0)
        for thing in fitting
        if not subject or folded(thing.about) == folded(subject)
    ]
    return things.with_surer(met[:limit])


def _kind(said: str) -> Kind | None:
    kind: Kind | None = next((kind for kind in FIELDS if kind == said), None)
    if said and kind is None:
        raise UsageError("EINVAL", f"kind is one of {', '.join(FIELDS)}")
    return kind
