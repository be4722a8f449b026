"""What the command prints: data on stdout, everything else on stderr; UTF-8, and nothing that could steer a terminal."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sigil.cli.output import settle
from sigil.errors import SigilError, one_line

CELL_LIMIT, WHOLE_LIMIT = 600, 1_000_000


@dataclass(frozen=True, slots=True)
class Printer:
    """`json`: one JSON document on stdout. `quiet`: errors alone on stderr."""

    json: bool = False
    quiet: bool = False
    color: bool = True

    def document(self, value: Any) -> None:
        """One JSON document."""
        import orjson

        _write(orjson.dumps(value, option=orjson.OPT_INDENT_2 if _terminal() else 0) + b"\n")

    def encoded(self, document: bytes) -> None:
        """One JSON document that is already encoded, byte for byte unless a terminal shows it."""
        _write((_for_people(document.decode()).encode() if _terminal() else document) + b"\n")

    def line(self, text: str) -> None:
        """A line of data, cleaned."""
        _write(one_line(text, 10_000).encode() + b"\n")

    def text(self, text: str) -> None:
        """A text as it is; on a terminal without what could steer it."""
        _write((_for_people(text) if _terminal() else text).encode("utf-8", "replace") + b"\n")

    def table(self, header: Sequence[str], rows: Sequence[Sequence[object]], *, whole: bool = False) -> None:
        """Rows under a header: drawn on a terminal, aligned columns otherwise. `whole`: cells are as long as they are."""
        cells = [[one_line(str(cell), WHOLE_LIMIT if whole else CELL_LIMIT) for cell in row] for row in rows]
        if _terminal():
            _drawn(header, cells, self.color)
        else:
            _write("".join(f"{line}\n" for line in aligned([list(header), *cells])).encode())

    def note(self, text: str) -> None:
        """A line about what happens, on stderr."""
        if not self.quiet:
            _complain(one_line(text, 1_000))

    def error(self, problem: SigilError) -> None:
        """A failure on stderr: two lines for people, or one line of JSON."""
        fields = problem.as_dict()
        if self.json:
            import orjson

            _complain(orjson.dumps({"error": fields}).decode())
            return
        said = re.match(rf"{re.escape(fields['source'])}\b", fields["message"])  # a name that the message begins with is not told twice
        source = f"{fields['source']}: " if fields["source"] and not said else ""
        _complain(f"error: {source}{fields['message']} ({fields['code']})")
        if fields["suggestion"]:
            _complain(f"help: {fields['suggestion']}")


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows as lines, each column as wide as its widest cell; wide East Asian characters count as two."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _drawn(header: Sequence[str], rows: Sequence[Sequence[str]], color: bool) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in header:
        table.add_column(name, overflow="fold")  # what is too wide goes on in the next line: nothing is cut
    for row in rows:
        table.add_row(*map(Text, row))
    Console(no_color=None if color else True, highlight=False).print(table)


def _for_people(text: str) -> str:
    """`text` without characters that could steer a terminal; lines and their indentation stay."""
    return "\n".join(_clean(line.expandtabs(4)) for line in text.split("\n"))


def _clean(line: str) -> str:
    indent = len(line) - len(line.lstrip(" "))
    return line[:indent] + one_line(line, len(line) + 1)


def _terminal() -> bool:
    return sys.stdout.isatty()


def _write(data: bytes) -> None:
    try:
        sys.stdout.buffer.write(data)
    finally:
        settle()


def _complain(line: str) -> None:
    sys.stderr.write(line.encode(sys.stderr.encoding or "utf-8", "replace").decode(sys.stderr.encoding or "utf-8") + "\n")
    sys.stderr.flush()
