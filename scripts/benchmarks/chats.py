"""Makes chats of plain talk, for the benchmarks of sessions and stores."""

from __future__ import annotations

from typing import Final

from functions.agent.conversation.messages import Message, Role
from functions.agent.session.document import Document
from functions.events import Event, Sender, order_of

PLAIN_TALK: Final = "A sentence or two of plain talk, as people write it. " * 3


def make_document(count: int) -> Document:
    """Return a document of `count` messages, of a person and the agent in turns."""
    messages = []
    for number in range(count):
        role: Role = "assistant" if number % 2 else "user"
        messages.append(Message(role, PLAIN_TALK, at=1.0))
    return Document().add(*messages)


def make_event(session: str, number: int) -> Event:
    """Return the message with this number that a person writes into the session."""
    return Event(
        f"{session}:{number}",
        "message",
        "main",
        session,
        Sender("terminal:local"),
        PLAIN_TALK,
        1.0,
        order_of(1.0, number),
        private=True,
    )
