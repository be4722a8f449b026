"""The answer at the bottom of a terminal while the model writes it.

Blocks of Markdown that are complete are printed once. The one that is still open is drawn anew with
its next words, so it is never higher than the screen: of a longer one the end is shown.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Final

from rich.console import Console
from rich.markdown import Markdown
from rich.segment import Segment, Segments
from rich.text import Text

from functions.channels.visible_text import clean_text
from functions.cli.chat.drawn_markdown import MAX_DRAWN_CHARACTERS, draw_markdown, find_last_block

_AS_IT_IS, _WRAPPED = "\x1b[?7l", "\x1b[?7h"
"""Around what is drawn: a terminal that takes a character for wider than Rich does would wrap the
line, and nobody knew how many rows there are to be drawn anew.
"""
_FENCE: Final = re.compile(r" {0,3}(?:`{3,}|~{3,})[^\n]*\n")
_TABLE: Final = re.compile(r"[^\n]*\n {0,3}[|:-][-:| \t]*\n")
"""What a long block begins with that its last lines would be drawn in another way without."""
_CONTAINERS: Final = ("blockquote", "bullet_list", "ordered_list", "table")
_LOOK_SHARE: Final = 9
"""Looks for complete blocks take at most a tenth of the time, drawings half of it."""


class LiveAnswer:
    """What is written of an answer on a console. Without a terminal that can move its cursor the
    complete blocks alone are shown.

    The thread of a turn and the one that waits for it use it. `monotonic` returns seconds.
    """

    def __init__(self, console: Console, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._monotonic = monotonic
        self._lock = threading.RLock()
        self._rows = 0  # drawn, and to be drawn anew
        self._is_stopped = False
        self._begin()

    def _begin(self) -> None:
        """Forget the words of the answer before."""
        self._told = ""
        self._open = ""  # what of them is not printed for good
        self._looked_to = 0  # no block of the open text ends before this place
        self._needs_blank = False
        self._definitions: dict[str, object] = {}
        self._look_at = 0.0
        self._draw_at = 0.0

    @property
    def has_words(self) -> bool:
        """Whether words stand there that nothing was made of yet."""
        return bool(self._told.strip())

    def has_told(self, words: str) -> bool:
        """Return whether these words stand there that nothing was made of yet."""
        return words in self._told

    def begin_turn(self) -> None:
        """Show the words of the next answer."""
        self._is_stopped = False

    def wait(self, sign: str) -> None:
        """Show a sign until the first word of the next answer comes."""
        with self._lock:
            self.end()
            if not self._is_stopped:
                self._draw(self._console.render_lines(Text(sign, style="dim"), pad=False))

    def add(self, words: str) -> None:
        """Show the next words; those after a stop are left out."""
        with self._lock:
            if self._is_stopped:
                return
            # half a line break of Windows may have come before
            new = words.removeprefix("\n") if self._told.endswith("\r") else words
            self._told += words
            self._open += clean_text(new)
            if self._monotonic() >= self._look_at:
                self._print_complete_blocks()
            began = self._monotonic()
            if began >= self._draw_at and self._open.strip():
                self._draw_open_block()
                ended = self._monotonic()
                self._draw_at = ended + (ended - began)

    def stop(self) -> None:
        """Show no more words of this turn; it waits for no drawing."""
        self._is_stopped = True

    def settle(self) -> None:
        """Print for good what is drawn: something else follows below it."""
        with self._lock:
            if self._rows or self._open:
                self._print(self._open)
            self._open = ""
            self._looked_to = 0
            self._needs_blank = False

    def end(self) -> None:
        """Let the words stand that are there, and begin with another answer."""
        with self._lock:
            self.settle()
            self._begin()

    def complete(self, answer: str) -> bool:
        """Print what the answer has beside the words that stand there, and return whether it has
        them at all; without them nothing is printed.
        """
        with self._lock:
            told = clean_text(self._told).strip()
            above, found, below = clean_text(answer).partition(told)
            above = above.lstrip()
            if not found or (above and not above.endswith("\n\n")):
                return False
            self._open = f"{self._open.rstrip()}{below}"
            if above:
                self._open = f"{self._open.rstrip()}\n\n{above}"
            self.end()
            return True

    def _print_complete_blocks(self) -> None:
        end = self._open.rfind("\n") + 1
        if end <= self._looked_to or end > MAX_DRAWN_CHARACTERS:
            return
        began = self._monotonic()
        start = find_last_block(self._open[:end])
        self._looked_to = end - start
        if start:
            self._print(self._open[:start])
            self._open = self._open[start:]
        ended = self._monotonic()
        self._look_at = ended + _LOOK_SHARE * (ended - began)

    def _print(self, text: str) -> None:
        """Print whole blocks for good, in the place of what is drawn."""
        if len(text) > MAX_DRAWN_CHARACTERS:
            self._write(f"{self._erase()}{text.rstrip()}\n")
            return
        drawing = draw_markdown(text, self._definitions)
        with self._console.capture() as printed:
            if drawing.parsed:
                if self._is_blank_due(drawing):
                    self._console.print()
                self._console.print(drawing)
                self._needs_blank = drawing.parsed[-1].type != "hr"
        self._write(self._erase() + printed.get())

    def _draw_open_block(self) -> None:
        width, height = self._console.size
        text = _cut_block(self._open, width, height)
        # what is defined in an open block may be half an address
        drawing = draw_markdown(text, deepcopy(self._definitions))
        if not drawing.parsed:
            return
        lines = self._console.render_lines(drawing, pad=False)
        self._draw([[], *lines] if self._is_blank_due(drawing) else lines)

    def _is_blank_due(self, drawing: Markdown) -> bool:
        """Return whether an empty line is between what stands there and a drawing: above a block
        that has others in it Rich draws one itself.
        """
        return self._needs_blank and not drawing.parsed[0].type.startswith(_CONTAINERS)

    def _draw(self, lines: list[list[Segment]]) -> None:
        """Draw the last of these lines in the place of what is drawn."""
        if self._console.is_dumb_terminal or self._console.legacy_windows:
            return
        lines = lines[-max(self._console.height - 1, 1) :]
        with self._console.capture() as drawn:
            self._console.print(Segments(_join(lines)), end="")
        self._write(f"{self._erase()}{_AS_IT_IS}{drawn.get()}{_WRAPPED}")
        self._rows = len(lines)

    def _erase(self) -> str:
        """Return what erases the rows that are drawn."""
        rows, self._rows = self._rows, 0
        if not rows:
            return ""
        up = f"\x1b[{rows - 1}A" if rows > 1 else ""
        return f"\r{up}\x1b[J"

    def _write(self, text: str) -> None:
        if text:
            self._console.file.write(text)
            self._console.file.flush()


def _join(lines: Iterable[list[Segment]]) -> list[Segment]:
    """Return lines as they are written: without the blanks at their ends that nobody sees, and the
    last one without its end, behind which the cursor stands.
    """
    joined: list[Segment] = []
    for number, line in enumerate(lines):
        if number:
            joined.append(Segment.line())
        joined += _strip_blanks(line)
    return joined


def _strip_blanks(line: list[Segment]) -> list[Segment]:
    stripped = [*line]
    while stripped and not (stripped[-1].style and stripped[-1].style.bgcolor):
        text = stripped[-1].text.rstrip(" ")
        if text:
            stripped[-1] = Segment(text, stripped[-1].style)
            break
        stripped.pop()
    return stripped


def _cut_block(text: str, width: int, height: int) -> str:
    """Return the end of a block that fills a screen, below the lines that say what it is."""
    room = width * height
    if len(text) <= 2 * room:
        return text
    head = _FENCE.match(text) or _TABLE.match(text)
    tail = text[-room:]
    cut = tail.find("\n") + 1
    if not head or not cut or len(head[0]) > room:
        return tail[cut:]
    return head[0] + tail[cut:]
