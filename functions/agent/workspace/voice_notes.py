"""A voice message is heard as soon as its turn begins, and becomes words of its sender.

What was said is kept among the files of the chat, under the hash of the sound, so that nothing is
heard, and paid for, twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from functions.agent.sanitize import clean_text
from functions.agent.workspace.files import TRANSCRIPT, Workspace, Writer
from functions.agent.workspace.path import RECEIVED
from functions.events import QUOTE_LIMIT, TEXT_LIMIT, Event, Quote
from sigil.errors import SigilError, ToolError
from sigil.json_fields import as_number
from sigil.storage.artifacts import artifact_name

if TYPE_CHECKING:
    from functions.agent.memory.helpers import Transcriber

CLOSED: Final = "no_speech"
"""The reason of a voice message that is not heard as nothing here hears."""
_SAID: Final = "transcript"
"""The field of an attachment with what was said in it."""
_SECONDS: Final = "seconds"
_HASH_CHARACTERS: Final = 16


@dataclass(slots=True)
class VoiceNotes:
    """Hears the voice messages of one chat's event. `cost` is what it has paid for so far, in the
    currency of the prices.
    """

    transcriber: Transcriber
    language: str = ""
    cost: float = 0.0

    def require_open(self) -> None:
        """Raise `ToolError` where nothing can be heard: the sound need not be fetched."""
        if not self.transcriber.is_open:
            raise ToolError("EFILE", "nothing here hears", reason=CLOSED)

    def hears(self, body: bytes, *, spoken: bool) -> bool:
        """Return whether a file is a sound, by its content; `spoken`: it came as one."""
        return self.transcriber.hears(body, spoken=spoken)

    def hear(self, body: bytes, files: Workspace, writer: Writer) -> Mapping[str, object]:
        """Return what is known of a sound: what was said, and its seconds. `ToolError` says why it
        is not heard.
        """
        path = f"{RECEIVED}/voice-{artifact_name(body)[:_HASH_CHARACTERS]}.{TRANSCRIPT}"
        with suppress(SigilError):
            text = files.read(path).body.decode(errors="replace")
            return {_SAID: text, _SECONDS: self.transcriber.measure(body)}
        self.require_open()
        heard = self.transcriber.transcribe(body, self.language)
        self.cost += heard.cost
        text = " ".join(clean_text(heard.text).split())
        if not text:
            raise ToolError("EFILE", "nothing was said", reason="no_words")
        with suppress(SigilError):  # it is no file that the chat needs
            files.write(path, text.encode(), writer)
        return {_SAID: text, _SECONDS: heard.seconds}


def take_transcripts(event: Event) -> Event:
    """Return an event with what was said in its sounds as words of its own: no command, however it
    sounds, and no file that is left to open.
    """
    words, files = _part(event.attachments)
    text = "\n".join((*filter(None, [event.text]), *words))[:TEXT_LIMIT]
    quotes = tuple(_take_quoted(quote) if quote.files else quote for quote in event.quotes)
    return replace(event, text=text, attachments=files, quotes=quotes)


def _take_quoted(quote: Quote) -> Quote:
    words, files = _part(quote.files)
    if not words:
        return quote
    text = "\n".join((*filter(None, [quote.text]), *words))
    kept = text[:QUOTE_LIMIT]
    return replace(quote, text=kept, length=max(quote.length, len(text)), files=files)


def _part(
    attachments: Iterable[Mapping[str, object]],
) -> tuple[list[str], tuple[Mapping[str, object], ...]]:
    """Return what was said in files, a line for each, and the other files."""
    words = []
    files = []
    for file in attachments:
        if _SAID in file:
            seconds = round(as_number(file.get(_SECONDS)))
            length = f", {seconds} s" if seconds else ""
            words.append(f"[voice{length}, transcribed] {file[_SAID]}")
        else:
            files.append(file)
    return words, tuple(files)
