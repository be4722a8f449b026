"""Messages that a locked or paused chat does not work on: they are counted, and its people are told
once, not once a message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import orjson

from functions.agent.app import App
from functions.agent.session.document import Turn
from functions.events import Event
from sigil.storage.kv import KV, keys

MOST: Final = 200
"""Of so many messages the count is exact; `more than` so many otherwise."""
QUIET_SECONDS: Final = 60.0
"""Where the queue cannot tell whether more wait: so long after a notice it is not said again."""
KEPT_SECONDS: Final = 90 * 86_400.0
KIND: Final = "missed"
"""The row in a turn's trace that says how many it has to tell of."""
MEANWHILE: Final = (
    "I do not work on the {count} messages that came meanwhile: send again later what still"
    " matters."
)
BEFORE: Final = (
    "I did not work on {count} that came while I was stopped: send again what still matters."
)


@dataclass(frozen=True, slots=True)
class Missed:
    """The ids of the messages that nobody was told of yet. `teller`: the event whose answer tells
    of them; `told`: when one last did.

    Until `teller` is closed it may come again, after a crash, and then tells of the same ones.
    """

    events: tuple[str, ...] = ()
    teller: str = ""
    told: float = 0.0

    def seen_by(self, event: str) -> Missed:
        """What is left to tell when this event is worked on: an earlier teller was closed before,
        and its messages with it.
        """
        return self if self.teller in ("", event) else replace(self, events=(), teller="")

    @property
    def count(self) -> str:
        return f"more than {MOST}" if len(self.events) > MOST else str(len(self.events))


def noted(event: Event, app: App, notice: str, behind: Sequence[Event] | None) -> str:
    """The answer to a message that is not worked on: the notice, and how many it is about; empty
    while another one behind it will tell.

    `behind`: what waits there; None when the queue cannot tell.
    """
    session, now = keys.session_of(app.name, event.session), app.clock.now()
    missed = _read(app.kv, session).seen_by(event.id)
    if event.id not in missed.events:
        missed = replace(missed, events=(*missed.events, event.id)[-MOST - 1 :])
    if behind is None:
        silent = (
            not missed.teller and missed.told > 0.0 and 0.0 <= now - missed.told < QUIET_SECONDS
        )
    else:
        silent = any(_tells(other, event, app) for other in behind)
    _write(app.kv, session, missed if silent else replace(missed, teller=event.id, told=now))
    if silent:
        return ""
    return f"{notice} {MEANWHILE.format(count=missed.count)}" if len(missed.events) > 1 else notice


def owed(event: Event, app: App, turn: Turn) -> Turn:
    """The turn of the first message after a lock or a pause; its answer tells of those that nobody
    was told of.
    """
    session = keys.session_of(app.name, event.session)
    missed = _read(app.kv, session).seen_by(event.id)
    if event.kind != "message" or not missed.events:
        return turn
    _write(app.kv, session, replace(missed, teller=event.id))
    return turn.did(KIND, count=missed.count)


def told(turn: Turn, text: str) -> str:
    """The turn's answer, and before it what it owes."""
    counts = [str(row["count"]) for row in turn.trace if row.get("kind") == KIND]
    if not counts or not text:
        return text
    messages = "a message" if counts[-1] == "1" else f"{counts[-1]} messages"
    return f"{BEFORE.format(count=messages)}\n\n{text}"


def _tells(other: Event, event: Event, app: App) -> bool:
    """Whether the event behind this one is answered with a notice as well: a message to us, no
    command, of somebody who may talk.
    """
    plain = other.kind == "message" and not other.text.lstrip().startswith(("/", "\uff0f"))
    return (
        plain
        and other.addressed in ((), event.addressed)
        and app.rules.may_talk(app.people.find_role(other))
    )


def _read(kv: KV, session: str) -> Missed:
    item = kv.get(keys.missed_messages(session))
    try:
        fields = orjson.loads(item.value) if item else {}
        return Missed(
            tuple(map(str, fields.get("events", ()))),
            str(fields.get("teller", "")),
            float(fields.get("told", 0.0)),
        )
    except (ValueError, TypeError, AttributeError):  # a count is no reason to lock a chat
        return Missed()


def _write(kv: KV, session: str, missed: Missed) -> None:
    kv.put(keys.missed_messages(session), orjson.dumps(missed), ttl=KEPT_SECONDS)
