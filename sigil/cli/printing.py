"""Printing: data on stdout, everything else on stderr, in UTF-8 and without characters that steer a
terminal.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sigil.cli.output import flush_output
from sigil.cli.progress import Spinner
from sigil.cli.tables import align_columns, draw_table
from sigil.cli.times import format_time
from sigil.errors import SigilError, one_line

CELL_LIMIT, WHOLE_LIMIT = 600, 1_000_000


@dataclass(frozen=True, slots=True)
class Printer:
    """Prints for a command. `json`: one JSON document on stdout; `quiet`: only errors on stderr;
    `verbose`: also each request to a registry.
    """

    json: bool = False
    quiet: bool = False
    color: bool = True
    verbose: bool = False
    spinner: Spinner = field(default_factory=Spinner)

    def document(self, value: Any) -> None:
        """Print one JSON document."""
        import orjson

        _write(orjson.dumps(value, option=orjson.OPT_INDENT_2 if _terminal() else 0) + b"\n")

    def encoded(self, document: bytes) -> None:
        """Print one JSON document that is already encoded, byte for byte unless a terminal shows
        it.
        """
        _write((_for_people(document.decode()).encode() if _terminal() else document) + b"\n")

    def line(self, text: str) -> None:
        """Print a line of data, cleaned."""
        _write(one_line(text, 10_000).encode() + b"\n")

    def text(self, text: str) -> None:
        """Print a text as it is; on a terminal without characters that could steer it."""
        _write((_for_people(text) if _terminal() else text).encode("utf-8", "replace") + b"\n")

    def table(
        self, header: Sequence[str], rows: Sequence[Sequence[object]], *, whole: bool = False
    ) -> None:
        """Print rows under a header: drawn on a terminal, aligned columns otherwise. `whole`: no
        cell is cut.
        """
        cells = [
            [one_line(str(cell), WHOLE_LIMIT if whole else CELL_LIMIT) for cell in row]
            for row in rows
        ]
        if _terminal():
            draw_table(header, cells, color=self.color)
        else:
            _write("".join(f"{line}\n" for line in align_columns([list(header), *cells])).encode())

    def note(self, text: str) -> None:
        """Print a line about what happens, on stderr."""
        if not self.quiet:
            self._complain(one_line(text, 1_000))

    def event(self, what: str, /, **facts: object) -> None:
        """Print what a server did, on stderr: a line for people, or one of JSON."""
        at = format_time(time.time())
        if self.json:
            import orjson

            self._complain(orjson.dumps({"at": at, "step": what, **facts}, default=str).decode())
        elif not self.quiet:
            told = "  ".join(
                f"{name}={value}" for name, value in facts.items() if value not in ("", None)
            )
            self._complain(one_line(f"{at}  {what}  {told}", 1_000))

    def detail(self, text: str) -> None:
        """Print a line on stderr when the command is verbose."""
        if self.verbose:
            self._complain(f"# {one_line(text, 1_000)}")

    def traceback(self, problem: BaseException) -> None:
        """Print an exception's traceback on stderr when the command is verbose."""
        if self.verbose:
            import traceback

            for line in traceback.format_exception(problem):
                self._complain(line.rstrip("\n"))

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Show on a terminal's stderr that something takes long; elsewhere nothing."""
        if self.json or self.quiet or not sys.stderr.isatty():
            yield
            return
        with self.spinner.turning(what, color=self.color):
            yield

    def error(self, problem: SigilError) -> None:
        """Print a failure on stderr: two lines for people, or one line of JSON."""
        fields = problem.as_dict()
        if self.json:
            import orjson

            self._complain(orjson.dumps({"error": fields}).decode())
            return
        said = re.match(
            rf"{re.escape(fields['source'])}\b", fields["message"]
        )  # a name that the message begins with is not told twice
        source = f"{fields['source']}: " if fields["source"] and not said else ""
        self._complain(f"error: {source}{fields['message']} ({fields['code']})")
        if fields["suggestion"]:
            self._complain(f"help: {fields['suggestion']}")

    def _complain(self, line: str) -> None:
        with self.spinner.paused():
            _complain(line)


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
        flush_output()


def _complain(line: str) -> None:
    sys.stderr.write(
        line.encode(sys.stderr.encoding or "utf-8", "replace").decode(
            sys.stderr.encoding or "utf-8"
        )
        + "\n"
    )
    sys.stderr.flush()
