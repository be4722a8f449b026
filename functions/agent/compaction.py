"""Eviction: a history that grew too long keeps its first user message and its end; what tools came
from the middle are gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from functions.agent import tokens
from functions.agent.messages import Message
from functions.agent.toolset import in_scope

MOST = 40
KEPT = 10


@dataclass(frozen=True, slots=True)
class Compacted:
    """`kept` is the new history, `dropped` what left it, in order."""

    kept: tuple[Message, ...]
    dropped: tuple[Message, ...] = ()


def compact(
    messages: Sequence[Message], room: float, *, most: int = MOST, keep: int = KEPT
) -> Compacted:
    """The history that fits: at most `most` messages, and messages and tools of at most `room`
    tokens.

    A history that does not fit keeps the first user message and the last `keep`; when even these
    are too large, fewer.
    """
    if len(messages) <= most and size(messages) <= room:
        return Compacted(tuple(messages))
    kept = _ends(messages, keep)
    while keep > 1 and size(kept) > room:
        keep //= 2
        kept = _ends(messages, keep)
    stays = {message.seq for message in kept}
    return Compacted(kept, tuple(message for message in messages if message.seq not in stays))


def size(messages: Sequence[Message]) -> float:
    """Estimated tokens of the messages and of the tools that are in scope through them."""
    return tokens.of_messages(messages) + tokens.of_offers(in_scope(messages))


def _ends(messages: Sequence[Message], keep: int) -> tuple[Message, ...]:
    first = next(
        (position for position, message in enumerate(messages) if message.role == "user"),
        len(messages),
    )
    start = max(len(messages) - keep, 0)
    head = [messages[first]] if first < start else []
    return without_orphans([*head, *messages[start:]])


def without_orphans(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages but for tool results whose call is missing, and for calls that are missing a
    result.
    """
    kept: list[Message] = []
    position = 0
    while position < len(messages):
        message = messages[position]
        end = position + 1
        while end < len(messages) and messages[end].role == "tool":
            end += 1
        if message.role != "tool":
            kept.extend(_paired(message, messages[position + 1 : end]))
        position = end
    return tuple(kept)


def _paired(message: Message, results: Sequence[Message]) -> list[Message]:
    """`message` with its results; alone when it makes no calls; nothing when one of its calls has
    no result.
    """
    wanted = {call.id for call in message.calls}
    answers = [result for result in results if result.call_id in wanted]
    return [message, *answers] if {answer.call_id for answer in answers} == wanted else []
