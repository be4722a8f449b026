"""`forget`: one thing by its id or its key, or everything about a subject."""

from __future__ import annotations

from functions.agent.memory.thing import folded, id_of, is_id
from functions.agent.memory.things import Things
from functions.agent.sanitize import clean
from functions.agent.services.call_context import Arguments, Place, flag, text
from sigil.errors import UsageError
from sigil.protocol import Json

AT_ONCE = 100
ONE = "give one of these: id (recall tells it), key, or subject"


def forget(place: Place, given: Arguments) -> Json:
    """How many were forgotten, and how many are left of what was meant. What is not there is
    forgotten already.
    """
    shared = flag(given, "shared")
    if shared:
        place.demand_owner()
    things = place.shared if shared else place.things
    ids = _meant(things, given)
    with place.app.aids.lock:
        gone = sum(things.drop(id) is not None for id in ids[:AT_ONCE])
    return {"forgotten": gone, "left": len(ids[AT_ONCE:])}


def _meant(things: Things, given: Arguments) -> list[str]:
    id, key, subject = (clean(text(given, name)) for name in ("id", "key", "subject"))
    if sum(map(bool, (id, key, subject))) != 1:
        raise UsageError("EINVAL", "it is not clear what to forget", suggestion=ONE)
    if id and not is_id(id):
        raise UsageError("EINVAL", "id is 16 hexadecimal digits", suggestion="recall tells the ids")
    if id:
        return [id]
    if key:
        return list(
            dict.fromkeys([id_of("kv", key, ""), *(thing.id for thing in things.values(key))])
        )
    named = ((each, things.get(each)) for each in things.about(subject))
    return [each for each, thing in named if thing and folded(thing.about) == folded(subject)]
