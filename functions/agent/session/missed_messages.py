"""Missed messages came while a chat was locked or paused, and nobody works on them.

They are counted, and the people of the chat are told once, not once a message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from functions.texts.en import TEXTS as ENGLISH
from functions.texts.en import Texts
from sigil.protocol import Json
from sigil.storage.evolve import evolve
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, dumps

MOST: Final = 200
"""Up to so many messages the count is exact, and `more than` so many beyond."""
QUIET_SECONDS: Final = 60.0
"""Where the queue cannot tell whether more wait, a notice is not repeated for so long."""
KEPT_SECONDS: Final = 90 * 86_400.0
KIND: Final = "missed"
"""The row in a turn's trace that says how many messages its answer has to mention."""


@dataclass(frozen=True, slots=True)
class MissedMessages(Stored):
    """The ids of the missed messages that nobody was told about yet.

    `teller` is the event whose answer mentions them, `told` when such an answer was last written
    (seconds since 1970). Until the teller's turn is closed it may come again, after a crash, and
    then mentions the same ones.
    """

    events: tuple[str, ...] = ()
    teller: str = ""
    told: float = 0.0

    def for_event(self, event: str) -> MissedMessages:
        """Return what is left to mention when this event is worked on.

        Another teller was closed before, and its messages with it.
        """
        return self if self.teller in ("", event) else evolve(self, events=(), teller="")

    def format_count(self, texts: Texts) -> str:
        """Return how many there are, for people."""
        return texts.more_than(MOST) if len(self.events) > MOST else str(len(self.events))


_MISSED: Final = Shape[MissedMessages](MissedMessages)


def count_missed_message(
    kv: KV,
    session: str,
    event: str,
    notice: str,
    now: float,
    *,
    told_later: bool | None,
    texts: Texts = ENGLISH,
) -> str:
    """Count a message that is not worked on, and return its answer.

    That is the notice and the number of messages that it is about. It is empty when a message
    behind this one will be answered so (`told_later`; None when the queue cannot say).
    """

    def decide(value: bytes | None) -> tuple[bytes, str]:
        missed = _read_missed(value).for_event(event)
        if event not in missed.events:
            missed = evolve(missed, events=(*missed.events, event)[-MOST - 1 :])
        silent = told_later
        if silent is None:
            recent = missed.told > 0.0 and 0.0 <= now - missed.told < QUIET_SECONDS
            silent = recent and not missed.teller
        if silent:
            return dumps(missed), ""
        answer = notice
        if len(missed.events) > 1:
            count = missed.format_count(texts)
            answer = f"{notice} {texts.missed_meanwhile.format(count=count)}"
        return dumps(evolve(missed, teller=event, told=now)), answer

    return update(kv, keys.missed_messages(session), decide, KEPT_SECONDS)


def claim_missed_count(kv: KV, session: str, event: str, texts: Texts = ENGLISH) -> str:
    """Return how many missed messages the answer to this event has to mention, empty for none."""

    def decide(value: bytes | None) -> tuple[bytes | None, str]:
        missed = _read_missed(value).for_event(event)
        if not missed.events:
            return None, ""
        return dumps(evolve(missed, teller=event)), missed.format_count(texts)

    return update(kv, keys.missed_messages(session), decide, KEPT_SECONDS)


def mention_missed(trace: Sequence[Mapping[str, Json]], text: str, texts: Texts = ENGLISH) -> str:
    """Return a turn's answer, below the mention of missed messages that its trace asks for."""
    counts = [str(row["count"]) for row in trace if row.get("kind") == KIND]
    if not counts or not text:
        return text
    messages = texts.count_messages(counts[-1])
    return f"{texts.missed_before.format(messages=messages)}\n\n{text}"


def _read_missed(value: bytes | None) -> MissedMessages:
    if value is None:
        return MissedMessages()
    try:
        return _MISSED.read(value)
    except ValueError:  # a count is no reason to lock a chat
        return MissedMessages()
