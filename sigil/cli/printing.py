"""The printer: it writes data to stdout and everything else to stderr, in UTF-8 and without
characters that control a terminal.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from sigil.cli.output import flush_output
from sigil.cli.progress import Spinner
from sigil.cli.tables import align_columns, draw_table
from sigil.cli.times import format_time
from sigil.errors import SigilError, one_line

CELL_CHARACTERS = 600
WHOLE_CELL_CHARACTERS = 1_000_000
LINE_CHARACTERS = 10_000
NOTE_CHARACTERS = 1_000


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

    def document(self, value: object) -> None:
        """Print one JSON document."""
        import orjson

        option = orjson.OPT_INDENT_2 if sys.stdout.isatty() else 0
        _write_stdout(orjson.dumps(value, option=option) + b"\n")

    def encoded_document(self, document: bytes) -> None:
        """Print one JSON document that is already encoded, byte for byte unless a terminal shows
        it.
        """
        if sys.stdout.isatty():
            document = _strip_controls(document.decode()).encode()
        _write_stdout(document + b"\n")

    def line(self, text: str) -> None:
        """Print a line of data, cleaned."""
        _write_stdout(one_line(text, LINE_CHARACTERS).encode() + b"\n")

    def words(self, text: str) -> None:
        """Print a line of data that a terminal shows on several, each ending between words."""
        if not sys.stdout.isatty():
            self.line(text)
            return
        import shutil
        import textwrap

        width = shutil.get_terminal_size().columns
        for line in textwrap.wrap(
            one_line(text, LINE_CHARACTERS), width, subsequent_indent="  ", break_on_hyphens=False
        ):
            self.line(line)

    def text(self, text: str) -> None:
        """Print a text as it is; on a terminal without characters that could control it."""
        if sys.stdout.isatty():
            text = _strip_controls(text)
        _write_stdout(text.encode("utf-8", "replace") + b"\n")

    def table(
        self, header: Sequence[str], rows: Sequence[Sequence[object]], *, whole: bool = False
    ) -> None:
        """Print rows under a header: drawn on a terminal, aligned columns otherwise. `whole`: no
        cell is cut.
        """
        limit = WHOLE_CELL_CHARACTERS if whole else CELL_CHARACTERS
        cells = [[one_line(str(cell), limit) for cell in row] for row in rows]
        if sys.stdout.isatty():
            draw_table(header, cells, color=self.color)
            return
        lines = align_columns([list(header), *cells])
        _write_stdout("".join(f"{line}\n" for line in lines).encode())

    def note(self, text: str) -> None:
        """Print a line about what happens, on stderr."""
        if not self.quiet:
            self._write_stderr(one_line(text, NOTE_CHARACTERS))

    def address(self, url: str) -> None:
        """Print an address that a person has to open, on stderr, whole and even when quiet."""
        self._write_stderr(one_line(url, LINE_CHARACTERS))

    def result(self, row: Mapping[str, object], note: str) -> None:
        """Print what a command did: the row as a JSON document, or a note for people."""
        if self.json:
            self.document(row)
        else:
            self.note(note)

    def event(self, what: str, /, **facts: object) -> None:
        """Print what a server did, on stderr: a line for people, or one of JSON."""
        at = format_time(time.time())
        if self.json:
            import orjson

            row = {"at": at, "step": what, **facts}
            self._write_stderr(orjson.dumps(row, default=str).decode())
        elif not self.quiet:
            words = [f"{name}={value}" for name, value in facts.items() if value not in ("", None)]
            self._write_stderr(one_line("  ".join((at, what, *words)), NOTE_CHARACTERS))

    def detail(self, text: str) -> None:
        """Print a line on stderr when the command is verbose."""
        if self.verbose:
            self._write_stderr(f"# {one_line(text, NOTE_CHARACTERS)}")

    def traceback(self, problem: BaseException) -> None:
        """Print an exception's traceback on stderr when the command is verbose."""
        if self.verbose:
            import traceback

            for line in traceback.format_exception(problem):
                self._write_stderr(line.rstrip("\n"))

    @contextmanager
    def progress(self, step: str) -> Iterator[None]:
        """Show on a terminal's stderr that a step takes long; elsewhere nothing."""
        if self.json or self.quiet or not sys.stderr.isatty():
            yield
            return
        with self.spinner.show(step, color=self.color):
            yield

    def error(self, problem: SigilError) -> None:
        """Print a failure on stderr: two lines for people, with its notes between them, or one line
        of JSON.
        """
        fields = problem.as_dict()
        if self.json:
            import orjson

            self._write_stderr(orjson.dumps({"error": fields}).decode())
            return
        # what a model reads as a result begins so by itself
        message = fields["message"].removeprefix("Error: ")
        source = fields["source"]
        # a name with which the message begins is not printed twice
        if source and not re.match(rf"{re.escape(source)}\b", message):
            message = f"{source}: {message}"
        self._write_stderr(f"error: {message} ({fields['code']})")
        for note in getattr(problem, "__notes__", ()):
            self._write_stderr(_strip_controls(note))
        if fields["suggestion"]:
            self._write_stderr(f"help: {fields['suggestion']}")

    def _write_stderr(self, line: str) -> None:
        encoding = sys.stderr.encoding or "utf-8"
        printable = line.encode(encoding, "replace").decode(encoding)
        with self.spinner.pause():
            sys.stderr.write(f"{printable}\n")
            sys.stderr.flush()


def _strip_controls(text: str) -> str:
    """Return `text` without characters that could control a terminal; lines and their indentation
    stay.
    """
    lines = []
    for line in text.split("\n"):
        expanded = line.expandtabs(4)
        indent = len(expanded) - len(expanded.lstrip(" "))
        lines.append(expanded[:indent] + one_line(expanded, len(expanded) + 1))
    return "\n".join(lines)


def _write_stdout(data: bytes) -> None:
    try:
        sys.stdout.buffer.write(data)
    finally:
        flush_output()
