"""A transcript: messages as lines that a person can search and a model can sum up, none of which
can pass for another.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from functions.agent import tokens
from functions.agent.messages import Message
from functions.agent.origin import name_in
from functions.agent.sanitize import clean
from sigil.errors import one_line

SAID_CHARACTERS = 8_000
"""Of what a person or the agent said."""
GIVEN_CHARACTERS = 600
"""Of what a tool gave."""
MOST_CHARACTERS = 60_000
"""Of a whole transcript."""
LEAST_CHARACTERS = 200
_INDENT = "\n    "


def stamp(at: float) -> str:
    """`2026-11-22 01:30`, UTC."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(max(at, 0.0)))


def line(message: Message, most: int = SAID_CHARACTERS) -> str:
    """`[2026-11-22 01:30] USER: content`, what follows a line end indented; the tools that were
    called in brackets, in a group the name.
    """
    names = ", ".join(one_line(call.name, 64) for call in message.calls)
    person = name_in(message.origin).replace(":", " ")
    head = (
        message.role.upper()
        + (f" ({person})" if person else "")
        + (f" [tools: {names}]" if names else "")
    )
    return f"[{stamp(message.at)}] {head}: {_content(message, most)}"


def fitting(messages: Sequence[Message], room: float) -> tuple[int, str]:
    """How many of the messages, from the first on, fit into `room` estimated tokens, and their
    lines. One always does, cut if need be.
    """
    lines: list[str] = []
    left, characters = room, MOST_CHARACTERS
    for message in messages:
        made = line(message)
        cost = tokens.of_text(made) + 1
        if lines and (cost > left or len(made) > characters):
            break
        if cost > left:
            made = line(
                message,
                max(
                    int(min(len(message.content), SAID_CHARACTERS) * left / cost), LEAST_CHARACTERS
                ),
            )
        lines.append(made)
        left, characters = left - cost, characters - len(made)
    return len(lines), "\n".join(lines)


def _content(message: Message, most: int) -> str:
    most = min(most, GIVEN_CHARACTERS) if message.role == "tool" else most
    over = len(message.content) - most
    text = clean(message.content[:most]) + (f" [… {over:,} characters more]" if over > 0 else "")
    return text.strip().replace("\n", _INDENT)
