"""/recall and /forget: what is remembered of a chat, shown to its people and taken away by them,
without the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from functions.agent.commands.command import ALWAYS, Asked, Command, Commands, Effect
from functions.agent.memory.thing import Thing, is_id
from functions.agent.memory.things import Things, answer_order
from functions.agent.services.call_context import Place
from functions.agent.services.presentation import moment
from functions.agent.services.search_history import HISTORY, search_history
from sigil.errors import UsageError, one_line
from sigil.protocol import Json

SHOWN: Final = 10
"""Things, and as many excerpts of what was said."""
LINE_CHARACTERS: Final = 300
DAY: Final = len("2026-11-22")
NOTHING_YET: Final = "Nothing is remembered of this chat yet."
NOTHING: Final = f"{NOTHING_YET} /mem takes what was said here into memory."
NOT_FOUND: Final = "I found nothing of that, neither remembered nor said."
NO_ID: Final = "Send `/forget ID`, with an id that /recall shows."
GONE: Final = "Nothing of this id is remembered here."


def recall(asked: Asked) -> Effect:
    """Without words the chat's memory and what was remembered last; with words what says them,
    remembered or said.
    """
    place = _place(asked)
    parts = list(_found(place, asked.text) if asked.text else _all(place))
    nothing = NOTHING if asked.event.private or asked.role == "owner" else NOTHING_YET
    return asked.says("\n\n".join(parts) or (NOT_FOUND if asked.text else nothing))


def forget(asked: Asked) -> Effect:
    """Take one thing away, by its id: of this chat, or of all chats when an owner says so in
    private.
    """
    if not is_id(asked.text):
        return asked.says(NO_ID)
    place = _place(asked)
    shelves = (place.things, place.shared) if place.owner else (place.things,)
    gone = next((thing for shelf in shelves if (thing := _dropped(shelf, asked.text, place))), None)
    return asked.says(f"Forgotten: {gone.told}" if gone else GONE)


def _dropped(shelf: Things, id: str, place: Place) -> Thing | None:
    with place.app.aids.lock:
        return shelf.drop(id)


def _place(asked: Asked) -> Place:
    return Place(
        asked.app,
        asked.session,
        asked.role == "owner" and asked.event.private,
        asked.event.sender.id,
        asked.event.id,
    )


def _all(place: Place) -> Iterator[str]:
    memory = place.app.documents.read(place.session, "memory").text
    if memory:
        yield memory
    yield from _listed("Remembered last:", place.things.newest(SHOWN))


def _found(place: Place, words: str) -> Iterator[str]:
    found = [each for things in (place.things, place.shared) for each in things.find(words, SHOWN)]
    found.sort(key=answer_order)
    yield from _listed("Remembered:", (each.thing for each in found[:SHOWN]))
    try:
        said = search_history(place, {"query": words, "limit": SHOWN})
    except UsageError:  # no word to search for
        return
    items = said["items"] if isinstance(said, dict) else []
    if items:
        yield "\n".join(["Said:", *(f"- {_excerpt(item)}" for item in items)])


def _listed(title: str, things: Iterable[Thing]) -> Iterator[str]:
    lines = [
        f"- `{thing.id}` {one_line(thing.told, LINE_CHARACTERS)} ({_from(thing)})"
        for thing in things
    ]
    if lines:
        yield "\n".join([title, *lines])


def _from(thing: Thing) -> str:
    """When and from where; `disputed` where a surer value says something else."""
    return ", ".join(
        [moment(thing.at)[:DAY], thing.source, *(["disputed"] if thing.disputed else [])]
    )


def _excerpt(item: Json) -> str:
    """`2026-11-22T01:30Z, user: text`; an entry of HISTORY begins with its own date."""
    head = "" if item["who"] == HISTORY else f"{item['at']}, {item['who']}: "
    return head + one_line(item["text"], LINE_CHARACTERS)


COMMANDS: Final[Commands] = {
    "recall": Command(
        "shows what I remember here; with words, searches that and what was said",
        recall,
        takes="[words]",
    ),
    "forget": Command(
        "takes one remembered thing away, by the id that /recall shows",
        forget,
        takes="ID",
        changes=ALWAYS,
    ),
}
