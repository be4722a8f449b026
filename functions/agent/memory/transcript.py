"""A transcript has messages as lines, which a person can search and a model can sum up.

No line can pass for another.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from functions.agent import tokens
from functions.agent.messages import Message, sender_name
from functions.agent.sanitize import clean_text
from sigil.errors import one_line

SAID_CHARACTERS = 8_000
"""At most so many characters of a message of a person or the agent."""
RESULT_CHARACTERS = 600
"""At most so many characters of a tool's result."""
MOST_CHARACTERS = 60_000
"""At most so many characters of a whole transcript."""
LEAST_CHARACTERS = 200
_INDENT = "\n    "


def format_stamp(at: float) -> str:
    """Return seconds since 1970 as `2026-11-22 01:30`, UTC."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(max(at, 0.0)))


def format_message(message: Message, most: int = SAID_CHARACTERS) -> str:
    """Return a message as `[2026-11-22 01:30] USER: content`.

    Further lines are indented. The head has the tools that were called in brackets, and in a group
    the person's name. At most `most` characters of the content are kept.
    """
    head = message.role.upper()
    person = sender_name(message.origin).replace(":", " ")
    if person:
        head += f" ({person})"
    names = ", ".join(one_line(call.name, 64) for call in message.calls)
    if names:
        head += f" [tools: {names}]"
    if message.role == "tool":
        most = min(most, RESULT_CHARACTERS)
    text = clean_text(message.content[:most])
    over = len(message.content) - most
    if over > 0:
        text += f" [… {over:,} characters more]"
    text = text.strip().replace("\n", _INDENT)
    return f"[{format_stamp(message.at)}] {head}: {text}"


def format_newest(messages: Sequence[Message], limit: float) -> str:
    """Return the lines of the newest messages that fit into `limit` estimated tokens."""
    lines: list[str] = []
    left = limit
    characters = MOST_CHARACTERS
    for message in reversed(messages):
        line = format_message(message)
        left -= tokens.of_text(line) + 1
        characters -= len(line)
        if left < 0 or characters < 0:
            break
        lines.append(line)
    return "\n".join(reversed(lines))


def fit_messages(messages: Sequence[Message], limit: float) -> tuple[int, str]:
    """Return how many messages fit into `limit` estimated tokens, and their lines.

    They are taken from the first on. One always fits, cut if need be.
    """
    lines: list[str] = []
    left = limit
    characters = MOST_CHARACTERS
    for message in messages:
        line = format_message(message)
        cost = tokens.of_text(line) + 1
        if lines and (cost > left or len(line) > characters):
            break
        if cost > left:
            share = int(min(len(message.content), SAID_CHARACTERS) * left / cost)
            line = format_message(message, max(share, LEAST_CHARACTERS))
        lines.append(line)
        left -= cost
        characters -= len(line)
    return len(lines), "\n".join(lines)
