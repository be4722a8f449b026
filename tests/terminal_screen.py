"""What a person sees of what a program writes to a terminal.

It obeys the few controls that our commands write, and refuses all others: nothing that an answer
says may drive a terminal.
"""

from __future__ import annotations

import re

from rich.cells import cell_len

_PART = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|\x1b\]8;[^\x1b]*\x1b\\|([^\x1b])|(\x1b.{0,5})", re.S)
_SKIPPED = {"m", "l", "h"}
"""Colours, and modes of the keyboard."""


class TerminalScreen:
    """A screen of `columns` × `rows` cells; what scrolls out of it stays in `lines`."""

    def __init__(self, columns: int, rows: int) -> None:
        self._columns = columns
        self._rows = rows
        self._cells: list[list[str]] = [[]]
        self._row = 0
        self._column = 0
        self._wraps = True

    @property
    def lines(self) -> list[str]:
        """All lines so far without the blanks at their ends, but for empty ones at the end."""
        lines = ["".join(row).rstrip() for row in self._cells]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)

    def resize(self, columns: int, rows: int) -> None:
        """Go on with another size; lines stay as they are, as those of xterm do."""
        self._columns = columns
        self._rows = rows

    def feed(self, text: str) -> TerminalScreen:
        """Show `text`, in which a line feed begins a line."""
        for match in _PART.finditer(text):
            arguments, letter, character, bad = match.groups()
            assert bad is None, f"an escape sequence that is not ours: {bad!r}"
            if letter:
                self._obey(arguments, letter)
            elif character:
                self._write(character)
        return self

    def _obey(self, arguments: str, letter: str) -> None:
        count = int(arguments) if arguments.isdigit() else 1
        top = max(len(self._cells) - self._rows, 0)
        match letter:
            case "A":
                self._row = max(self._row - count, top)
            case "C":
                self._column = min(self._column + count, self._columns - 1)
            case "J":
                assert arguments in ("", "0"), "it erases more than what is below"
                del self._cells[self._row + 1 :]
                del self._cells[self._row][self._column :]
            case "K":
                del self._cells[self._row][self._column :]
            case "h" | "l" if arguments == "?7":
                self._wraps = letter == "h"
            case _:
                assert letter in _SKIPPED, f"a control that is not ours: {arguments}{letter}"

    def _write(self, character: str) -> None:
        if character == "\n":
            self._row += 1
            self._column = 0
            while len(self._cells) <= self._row:
                self._cells.append([])
            return
        if character == "\r":
            self._column = 0
            return
        if character == "\a":
            return
        assert character.isprintable() or character in "\u200b\u200d\ufe0f", repr(character)
        width = cell_len(character)
        row = self._cells[self._row]
        if not width:
            if row:
                row[-1] += character
            return
        if self._column + width > self._columns:
            if not self._wraps:
                return
            self._write("\n")
            row = self._cells[self._row]
        row += [" "] * (self._column + width - len(row))
        row[self._column] = character
        for place in range(1, width):
            row[self._column + place] = ""
        self._column += width
