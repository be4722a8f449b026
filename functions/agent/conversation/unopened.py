"""Files that the agent cannot open yet: their sender is told so in one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from functions.events import Event
from functions.texts.en import Texts

_READABLE: Final = ("sticker",)
"""Kinds whose meaning is given beside the file."""
NOTE: Final = ", which you cannot open"
"""What the model reads of a file that nobody opens; its sender is told by the runtime."""
KEPT: Final = ", kept as {path}: read-file reads it"
"""What the model reads of a text that is a file of the chat by now."""
SAME_SECONDS: Final = 60.0
"""The photos of an album come as messages of their own, and one sentence is for all of them."""


def is_closed(attachment: Mapping[str, object]) -> bool:
    """Return whether nothing of the file can be read."""
    return attachment.get("kind") not in _READABLE and not attachment.get("path")


def is_all(event: Event) -> bool:
    """Return whether a message has nothing but files that cannot be opened.

    What it answers does not count: the request itself is in the file.
    """
    told = [quote for quote in event.quotes if quote.relation not in ("reply", "passage")]
    if event.text.strip() or any(quote.text for quote in told):
        return False
    return any(map(is_closed, event.attachments))


def write_answer(event: Event, texts: Texts) -> str:
    """Return the answer to a message that has nothing but files that cannot be opened."""
    return texts.cannot_open.format(kinds=_describe_kinds([event], texts))


def mention(events: Sequence[Event], text: str, texts: Texts) -> str:
    """Return an answer below the sentence about what could not be opened of its messages."""
    kinds = _describe_kinds(events, texts)
    if not kinds or not text:
        return text
    return f"{texts.cannot_open_beside.format(kinds=kinds)}\n\n{text}"


def _describe_kinds(events: Sequence[Event], texts: Texts) -> str:
    """Return what cannot be opened of messages, such as `photos and files`; empty for nothing."""
    kinds = [
        texts.file_kinds.get(str(attachment.get("kind"))) or texts.file_kinds[""]
        for event in events
        if event.kind == "message"
        for attachment in event.attachments
        if is_closed(attachment)
    ]
    return texts.join_words(list(dict.fromkeys(kinds)))
