"""Files that the agent cannot open yet: their sender is told so in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from functions.events import Event

_KINDS: Final = {
    "photo": "photos",
    "voice": "voice messages",
    "video": "videos",
    "video_note": "video messages",
    "audio": "audio files",
    "animation": "animations",
    "document": "files",
    "story": "stories",
    "paid_media": "paid media",
    "game": "games",
    "invoice": "invoices",
}
_OTHER: Final = "messages of this kind"
_READABLE: Final = ("sticker",)
"""Kinds whose meaning stands beside the file."""
ALONE: Final = "I cannot open {kinds} yet. Please write what I should know."
BESIDE: Final = "I cannot open {kinds} yet, so I answer what you wrote."
NOTE: Final = ", which you cannot open"
"""What the model reads of a file that nobody opens; its sender is told by the runtime."""
SAME_SECONDS: Final = 60.0
"""The photos of an album come as messages of their own, and one sentence is for all of them."""


def is_closed(attachment: Mapping[str, object]) -> bool:
    """Return whether nothing of the file can be read."""
    return attachment.get("kind") not in _READABLE


def describe_kinds(event: Event) -> str:
    """Return what cannot be opened of a message, such as `photos and files`; empty for nothing."""
    kinds = [
        _KINDS.get(str(attachment.get("kind")), _OTHER)
        for attachment in event.attachments
        if is_closed(attachment)
    ]
    return " and ".join(dict.fromkeys(kinds))


def is_all(event: Event) -> bool:
    """Return whether a message has nothing but files that cannot be opened.

    What it answers does not count: the request itself is in the file.
    """
    told = [quote for quote in event.quotes if quote.relation not in ("reply", "passage")]
    if event.text.strip() or any(quote.text for quote in told):
        return False
    return bool(describe_kinds(event))


def mention(event: Event, text: str) -> str:
    """Return an answer below the sentence about what could not be opened of its message."""
    kinds = describe_kinds(event) if event.kind == "message" else ""
    if not kinds or not text:
        return text
    return f"{BESIDE.format(kinds=kinds)}\n\n{text}"
