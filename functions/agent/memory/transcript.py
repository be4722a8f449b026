"""A transcript has messages as lines, which a person can search and a model can sum up.

No line can pass for another.
"""

from __future__ import annotations

from collections.abc import Sequence

from functions.agent.conversation import tokens
from functions.agent.conversation.messages import MAIL_ORIGIN, Message, sanitize_said, sender_name
from functions.time.time_zone import DEFAULT, format_stamp
from sigil.errors import one_line

SAID_CHARACTERS = 8_000
"""At most so many characters of a message of a person or the agent."""
RESULT_CHARACTERS = 600
"""At most so many characters of a tool's result."""
MOST_CHARACTERS = 60_000
"""At most so many characters of a whole transcript."""
LEAST_CHARACTERS = 200
_INDENT = "\n    "


def format_message(message: Message, zone: str = DEFAULT, most: int = SAID_CHARACTERS) -> str:
    """Return a message as `[2026-11-22 01:30] USER: content`, with the time in a zone.

    Further lines are indented. The head has the tools that were called in brackets, and in a group
    the person's name. At most `most` characters of the content are kept.
    """
    # nobody of the chat wrote a mail
    head = (MAIL_ORIGIN if message.origin == MAIL_ORIGIN else message.role).upper()
    person = sender_name(message.origin).replace(":", " ")
    if person:
        head += f" ({person})"
    names = ", ".join(one_line(call.name, 64) for call in message.calls)
    if names:
        head += f" [tools: {names}]"
    if message.role == "tool":
        most = min(most, RESULT_CHARACTERS)
    text = sanitize_said(message, most)
    over = len(message.content) - most
    if over > 0:
        text += f" [… {over:,} characters more]"
    text = text.strip().replace("\n", _INDENT)
    return f"[{format_stamp(message.at, zone)}] {head}: {text}"


def split_messages(text: str) -> list[str]:
    """Return the texts that `format_message` made of each of the messages of a transcript."""
    parts: list[str] = []
    for line in text.split("\n"):
        if parts and line.startswith(_INDENT[1:]):
            parts[-1] += f"\n{line}"
        else:
            parts.append(line)
    return parts


def format_newest(messages: Sequence[Message], limit: float, zone: str = DEFAULT) -> str:
    """Return the lines of the newest messages that fit into `limit` estimated tokens."""
    lines: list[str] = []
    left = limit
    characters = MOST_CHARACTERS
    for message in reversed(messages):
        line = format_message(message, zone)
        left -= tokens.of_text(line) + 1
        characters -= len(line)
        if left < 0 or characters < 0:
            break
        lines.append(line)
    return "\n".join(reversed(lines))


def fit_messages(messages: Sequence[Message], limit: float, zone: str = DEFAULT) -> tuple[int, str]:
    """Return how many messages fit into `limit` estimated tokens, and their lines.

    They are taken from the first on. One always fits, cut if need be.
    """
    lines: list[str] = []
    left = limit
    characters = MOST_CHARACTERS
    for message in messages:
        line = format_message(message, zone)
        cost = tokens.of_text(line) + 1
        if lines and (cost > left or len(line) > characters):
            break
        if cost > left:
            share = int(min(len(message.content), SAID_CHARACTERS) * left / cost)
            line = format_message(message, zone, max(share, LEAST_CHARACTERS))
        lines.append(line)
        left -= cost
        characters -= len(line)
    return len(lines), "\n".join(lines)
