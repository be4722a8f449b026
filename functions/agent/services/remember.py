"""`remember`: a value under a key, a fact, or an event, with where it is from."""

from __future__ import annotations

from datetime import UTC, datetime

from functions.agent.memory.thing import (
    FIELDS,
    USER,
    Kind,
    Thing,
    checked,
    checked_source,
    is_address,
)
from functions.agent.services.call_context import Arguments, Place, flag, share, text
from functions.agent.services.presentation import shown
from sigil.errors import UsageError
from sigil.protocol import Json

SURE, HEARD = 1.0, 0.5
"""The confidence in what a person said here, and in what came from elsewhere, unless the model says
more.
"""
SURER = (
    "what stands under this key is surer and was not replaced; both are kept: ask the user which"
    " one holds"
)
"""What the model is told of a value that contradicts a surer one."""
ONE = "give one of these: key and value; subject, predicate and object; type and payload"


def remember(place: Place, given: Arguments) -> Json:
    """Keep one thing, and say what it replaced, or which surer one it contradicts and stands
    beside.

    `UsageError` EINVAL unless it says where it is from.
    """
    thing = _thing(place, given)
    if thing.source != USER and not is_address(thing.source):
        place.demand_called(thing.source)
    shared = flag(given, "shared")
    if shared:
        place.demand_owner()
    things = place.shared if shared else place.things
    with place.app.aids.lock:
        kept = things.keep(thing)
    other = kept.before and kept.before.texts != kept.thing.texts
    replaced = {"replaced": shown(kept.before, shared=shared)} if kept.before and other else {}
    conflict = (
        {"conflict": {"stands": shown(kept.stands, shared=shared), "note": SURER}}
        if kept.stands
        else {}
    )
    return {"remembered": shown(kept.thing, shared=shared), "new": kept.new, **replaced, **conflict}


def _thing(place: Place, given: Arguments) -> Thing:
    kind, source = _kind(given), checked_source(text(given, "source"))
    texts = tuple(text(given, field) for field in FIELDS[kind])
    confidence = share(given, "confidence", SURE if source == USER else HEARD)
    when = text(given, "when")
    if when and kind != "event":
        raise UsageError(
            "EINVAL", "when belongs to an event", suggestion="say it in the text instead"
        )
    at = _moment(when) if when else place.app.clock.now()
    return checked(
        Thing(
            kind,
            texts,
            source,
            confidence,
            at,
            place.by,
            mark=place.call if kind == "event" else "",
        )
    )


def _kind(given: Arguments) -> Kind:
    """The one kind whose fields are given, all of them."""
    met = [kind for kind, fields in FIELDS.items() if any(text(given, field) for field in fields)]
    if len(met) != 1:
        raise UsageError("EINVAL", "it is not clear what to remember", suggestion=ONE)
    missing = next((field for field in FIELDS[met[0]] if not text(given, field)), "")
    if missing:
        raise UsageError("EINVAL", f"{missing} is missing", suggestion=ONE)
    return met[0]


def _moment(said: str) -> float:
    try:
        moment = datetime.fromisoformat(said)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        hint = "write it as 2026-05-01 or 2026-05-01T18:30Z, or leave it out for now"
        raise UsageError("EINVAL", "when is no date and no time", suggestion=hint) from None
