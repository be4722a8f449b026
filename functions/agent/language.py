"""The language in which the agent's own texts are written to somebody."""

from __future__ import annotations

import re
from collections.abc import Iterator

from functions.agent.conversation.messages import is_from_person, read_own_words
from functions.agent.session.document import Document
from functions.channels.platforms import find_command_sign
from functions.events import Event
from functions.texts.en import Texts
from functions.texts.languages import READ_CHARACTERS, choose_texts, find_texts, load_texts

NEWEST = 5
"""So many of a chat's newest messages may show its language."""


def choose_texts_for(event: Event, document: Document | None = None) -> Texts:
    """Return the texts for the sender of an event.

    What the chat set with `/language` decides, then the words of the event and of the chat's newest
    messages, then the language of the sender's app. Commands are written as its platform types
    them; for the agent's own work that is the platform of the chat which hears of it.
    """
    chosen = document.language if document else ""
    sign = find_command_sign(event.session) or find_command_sign(str(event.data.get("home")))
    return choose_texts(chosen, _list_written(event, document), event.language, sign)


def choose_texts_of(document: Document, chat: str = "") -> Texts:
    """Return the texts for the people of a chat, whoever writes next; the terminal has no name."""
    sign = find_command_sign(chat)
    return choose_texts(document.language, _list_messages(document), "", sign)


def load_texts_for(code: str, chat: str) -> Texts:
    """Return the texts of a language for a chat, with commands as its platform types them."""
    return load_texts(code, find_command_sign(chat))


def mentions_time(text: str) -> bool:
    """Return whether a text speaks of a day or a time where its writer is."""
    text = text[:READ_CHARACTERS]
    return re.search(find_texts(text).time_words, text, re.IGNORECASE) is not None


def _list_written(event: Event, document: Document | None) -> Iterator[str]:
    """Yield what may show the language, the newest first.

    The words of a command are none: what is to be remembered may be in any language.
    """
    text = event.text.strip()
    if event.kind == "message" and text and not text.startswith(("/", "\uff0f")):
        yield text
    if document:
        yield from _list_messages(document)


def _list_messages(document: Document) -> Iterator[str]:
    """Yield the newest words that people of the chat wrote themselves.

    What they quote, or forward, is somebody else's, and the lines around it are the runtime's.
    """
    count = 0
    for message in reversed(document.messages):
        if is_from_person(message):
            words = read_own_words(message.content)
            if not words.strip():
                continue
            yield words
            count += 1
            if count == NEWEST:
                return
