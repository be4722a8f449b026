"""The words of an answer that comes as a stream, told while they come.

They are only shown: the answer itself is read from the whole stream, as one that came at once is.
So thoughts and calls written as text are held back as far as they can be known, and what was told
in vain is taken back.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from functions.agent.model.answer_json import parse_answer
from functions.agent.model.base import Tell
from functions.agent.model.chat_wire import read_text
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json

_DONE: Final = b"[DONE]"
_ENDS: Final = frozenset(
    "message_stop response.completed response.incomplete response.failed error".split()
)
"""The events of Messages and Responses with which an answer ends."""
_MARK: Final = re.compile(
    r"<(?:think(?:ing)?>|reasoning>|tool_call>|function_calls>|function=|invoke name=)"
    r"|^[ \t]*</(?:think(?:ing)?|reasoning)>[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
"""Where a thought or a written call begins, and the end of a thought whose beginning the template
wrote; see `chat_wire.remove_thoughts` and `written_calls`.
"""
_THOUGHT_END: Final = re.compile(r"</(?:think(?:ing)?|reasoning)>", re.IGNORECASE)
_WHOLE_CALL: Final = re.compile(r"\{|```\w*\s*\{")
_PERHAPS_WHOLE_CALL: Final = re.compile(r"`{1,2}|```\w*\s*")
"""A text that begins like this may be a call as a whole."""
_TAG_CHARACTERS: Final = 32
"""A tag has no more characters, with the blanks before it."""
_WORD_CHARACTERS: Final = 2_000
"""A longer word is told with the rest of the answer, at its end."""
_CHARACTERS_MOST: Final = 100_000
"""So many characters of an answer are looked at while they come, thoughts among them; what comes
behind them is told at its end. Each word costs more, the more was told before it.
"""
_DATA_LINES_MOST: Final = 64
"""An event has at most so many lines of data; each is read together with those before it."""
_START_BYTES: Final = 64
"""The beginning of a line that shows whether it is that of a whole answer."""
_WIDE: Final = 0x2E80
"""The scripts from here on write words without blanks."""


class StreamedWords:
    """Tells the words in the bytes of a stream.

    `tell` gets the words in order, and None when all that it got since the last None, or since the
    beginning, does not count. A word is told when the next one begins, so that a reader sees whole
    ones.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._told = ""
        self._begin()

    def _begin(self) -> None:
        """Forget the stream that was read so far.

        `is_stream`: what comes is one; `is_ended`: it has said that the answer is over. `_looked`
        is how many characters of what is held end no word, and `_taken` how many came so far.
        """
        self._line = bytearray()
        self._data: list[bytes] = []
        self._place: Json = None
        self._held = ""
        self._looked = 0
        self._taken = 0
        self._has_text = False
        self._is_thought = False
        self._is_silent = False
        self.is_stream = False
        self.is_ended = False

    @property
    def is_cut_off(self) -> bool:
        """Whether a stream has begun and has not come to an end."""
        return self.is_stream and not self.is_ended

    def take(self, part: bytes) -> None:
        """Take the next bytes of an answer, cut anywhere; those of an answer that is no stream have
        no words.
        """
        *lines, rest = part.split(b"\n")
        if lines:
            lines[0] = bytes(self._line) + lines[0]
            self._line.clear()
        self._line += rest
        start = self._line[:_START_BYTES].lstrip()
        if not self.is_stream and start.startswith((b"{", b"[", b"<")):
            self._line.clear()  # a whole answer, of which nothing is told before its end
        for line in lines:
            for event in self._read_line(line.rstrip(b"\r")):
                self.is_stream = True
                self._take_event(event)
        while self._held and not self._is_silent and self._release():
            pass

    def settle(self, text: str) -> None:
        """Tell what is left of an answer that is over and whose text is this one; what was told in
        another way is taken back first.
        """
        is_stream = self.is_stream
        told = self._told
        self._begin()
        if told and text != told.rstrip() and not text.startswith(told):
            self.take_back()
        if is_stream:
            self._say(text[len(self._told) :])
        self._told = ""

    def take_back(self) -> None:
        """Take back what was told of a try that failed; another one may begin."""
        self._begin()
        if self._told:
            self._told = ""
            self._tell(None)

    def _read_line(self, line: bytes) -> Iterator[dict[str, Json]]:
        """Yield the event that is complete with a line; those of some proxies have no blank line
        behind them.
        """
        if not line:
            self._data.clear()
        if not line.startswith(b"data:"):
            return
        data = line[5:].strip()
        if data == _DONE:
            self.is_stream = self.is_ended = True
            return
        if len(self._data) >= _DATA_LINES_MOST:
            self._data.clear()
        self._data.append(data)
        event = parse_answer(b"\n".join(self._data))
        if isinstance(event, dict):
            self._data.clear()
            yield event

    def _take_event(self, event: dict[str, Json]) -> None:
        kind = as_string(event.get("type"))
        if kind in _ENDS or event.get("error"):
            self.is_ended = True
        elif kind == "response.output_text.delta":
            place: Json = [event.get("output_index"), event.get("content_index")]
            self._add(as_string(event.get("delta")), place)
        elif kind == "content_block_delta":
            self._add(as_string(as_mapping(event.get("delta")).get("text")), event.get("index"))
        for choice in as_sequence(event.get("choices"))[:1]:
            fields = as_mapping(choice)
            delta = as_mapping(fields.get("delta")) or as_mapping(fields.get("message"))
            self._add(read_text(delta.get("content")), None)
            self.is_ended = self.is_ended or bool(fields.get("finish_reason"))

    def _add(self, text: str, place: Json) -> None:
        """Add the next piece of text; a text at another place of the answer is another paragraph,
        as the readers of whole answers join them.
        """
        if not text or self._is_silent:
            return
        self._taken += len(text)
        if self._taken > _CHARACTERS_MOST:
            self._is_silent = True
            return
        if self._has_text and place != self._place:
            text = f"\n\n{text}"
        self._place = place
        self._held += text
        self._has_text = True

    def _release(self) -> bool:
        """Tell what is held and is certainly a part of the answer, up to the next mark; return
        whether there is more to look at behind one.
        """
        if self._is_thought and not self._leave_thought():
            return False
        if not self._told:
            self._held = self._held.lstrip()
            if _WHOLE_CALL.match(self._held):
                self._is_silent = True
                return False
            if _PERHAPS_WHOLE_CALL.fullmatch(self._held):
                self._is_silent = len(self._held) > _WORD_CHARACTERS
                return False
        mark = _MARK.search(self._held) if "<" in self._held else None
        if mark and self._counts(mark):
            self._pass_mark(mark)
            return True
        self._say_words()
        return False

    def _say_words(self) -> None:
        """Tell the whole words in what is held, up to what may be a tag."""
        tag = self._held.find("<", max(len(self._held) - _TAG_CHARACTERS, 0))
        upto = tag if tag >= 0 else len(self._held)
        end = _find_word_end(self._held, self._looked, upto)
        self._say(self._held[:end])
        self._held = self._held[end:]
        self._looked = upto - end
        self._is_silent = len(self._held) > _WORD_CHARACTERS

    def _counts(self, mark: re.Match[str]) -> bool:
        """Return whether a mark is one: the end of a thought has its line for itself."""
        if not mark[0].lstrip().startswith("</"):
            return True
        begins_line = mark.start() > 0 or not self._told or self._told.endswith("\n")
        return begins_line and mark.end() < len(self._held)

    def _pass_mark(self, mark: re.Match[str]) -> None:
        """Take in a mark in the text that is held, which goes on behind it."""
        self._looked = 0
        word = mark[0].lstrip().lower()
        if word.startswith("</"):
            self._held = self._held[mark.end() :]
            if self._told:
                self._told = ""
                self._tell(None)
        else:
            self._say(self._held[: mark.start()])
            self._held = self._held[mark.end() :]
            self._is_thought = word.startswith(("<think", "<reasoning"))
            self._is_silent = not self._is_thought

    def _leave_thought(self) -> bool:
        """Go on behind the end of a thought, and return whether that is in what is held."""
        end = _THOUGHT_END.search(self._held)
        if end is None:
            self._held = self._held[-_TAG_CHARACTERS:]
            return False
        self._held = self._held[end.end() :]
        self._looked = 0
        self._is_thought = False
        return True

    def _say(self, text: str) -> None:
        if not self._told:
            text = text.lstrip()
        if text:
            self._told += text
            self._tell(text)


def _find_word_end(text: str, start: int, end: int) -> int:
    """Return where the last word between two places begins that may go on: behind the last blank,
    or the last character of a script that writes words without blanks; 0 where none does.
    """
    for place in range(end, start, -1):
        if _ends_word(text[place - 1]):
            return place
    return 0


def _ends_word(character: str) -> bool:
    if character.isspace():
        return True
    if ord(character) < _WIDE or unicodedata.category(character)[0] not in "LP":
        return False
    # wide forms of ASCII are letters of a word, as those of a key would be
    return not unicodedata.normalize("NFKC", character).isascii()
