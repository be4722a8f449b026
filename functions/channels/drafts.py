"""What the drafts of all platforms have in common: their form, how a bot's fare, and how much of an
answer one shows while the rest is still being written.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import Final

from functions.channels.render.pictures import take_pictures
from sigil.errors import Refused

FAILURES_MOST: Final = 3
"""After so many failures in a row a bot shows no draft any more."""
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_PICTURE = re.compile(r"^ {0,3}<(?:svg[\s>]|\?xml\s)", re.IGNORECASE | re.MULTILINE)
"""The beginning of a picture that is drawn in the answer."""


class NoDrafts(Refused):
    """The platform has no drafts, or none for this bot: there is no use in showing another one."""

    def __init__(self, message: str, *, source: str) -> None:
        super().__init__("EBLOCKED", message, source=source)


@dataclass(frozen=True, slots=True)
class DraftForm:
    """How a platform shows drafts.

    `pace` is the seconds between two changes of one, `characters` how much markdown it shows.
    Where it goes away by itself, it is shown anew after `renewal` seconds (0: never). At most
    `shows_most` changes are made for one answer. `is_replaced`: the answer takes its place, so that
    it is taken away only where none comes. `only_grows`: more is added to what is shown, so an open
    code block stays open.
    """

    pace: float
    characters: int
    renewal: float = 0.0
    shows_most: int = 1_000
    is_replaced: bool = False
    only_grows: bool = False


class DraftHealth:
    """Whether a bot's drafts work, for all threads of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0
        self._is_off = False

    @property
    def is_off(self) -> bool:
        """Return whether the bot shows none any more."""
        return self._is_off

    def note_success(self) -> None:
        """Note that a draft was shown."""
        with self._lock:
            self._failures = 0

    def note_failure(self, *, is_final: bool = False) -> bool:
        """Note that one could not be shown, and return whether that was once too often. `is_final`:
        no other one could be either.
        """
        with self._lock:
            self._failures += 1
            if self._is_off or not (is_final or self._failures >= FAILURES_MOST):
                return False
            self._is_off = True
            return True


def cut_draft(markdown: str, characters: int, *, only_grows: bool = False) -> str:
    """Return what a draft shows of an answer that is not finished: at most so many characters, up
    to the end of a word, with an open code block closed unless it `only_grows`. Pictures that are
    drawn in it are left out, and what comes behind one that is not finished.
    """
    text, _ = take_pictures(markdown)
    picture = _PICTURE.search(text)
    if picture:
        lines = text[: picture.start()].rstrip().split("\n")
        is_in_fence = _FENCE.match(lines[-1]) is not None
        text = "\n".join(lines[:-1] if is_in_fence else lines)
    text = text.strip()
    room = characters - 10  # for the end of a code block
    if len(text) > room:
        cut = text[:room]
        words = re.search(r"\A.*\s", cut, re.DOTALL)
        text = (words[0] if words and len(words[0]) > room // 2 else cut).rstrip()
    return text if only_grows else _close_fence(text)


def _close_fence(text: str) -> str:
    mark = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if found and not mark:
            mark = found[1]
        elif found and found[1].startswith(mark) and not line.strip(f" {mark[0]}"):
            mark = ""
    return f"{text}\n{mark}" if mark else text
