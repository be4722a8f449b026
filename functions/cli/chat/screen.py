"""The terminal of `uncaged chat` shows steps while a turn runs, the answer as markdown while it is
written, and the working set and the tokens after it.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from functions.agent.app import TurnStep
from functions.channels.visible_text import clean_text
from functions.cli.chat.drawn_markdown import print_markdown
from functions.cli.chat.line_editor import LineEditor
from functions.cli.chat.live_answer import LiveAnswer
from functions.texts.en import Texts
from sigil.errors import SigilError, one_line
from sigil.json_fields import as_mapping, as_string
from sigil.protocol import KeptFile

_FENCE = re.compile(r"```\w*[ \t]*$", re.MULTILINE)
"""A mark that begins or ends a code fence: behind it stands nothing but a language."""


class Screen:
    """Prints steps to stderr and answers to stdout, so that a pipe gets the answers alone."""

    def __init__(self) -> None:
        self._out = Console(soft_wrap=False)
        self._err = Console(stderr=True)
        self._live = LiveAnswer(self._out)
        self._texts = Texts()
        self._prompt = ""  # while a line is being typed
        self._editor: LineEditor | None = None
        if sys.stdin.isatty():
            with suppress(ImportError):
                import readline  # arrow keys and history for input()

                # Python turns it off: a pasted text of several lines is one message
                readline.parse_and_bind("set enable-bracketed-paste on")
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")

    def edit_lines(self, editor: LineEditor) -> None:
        """Let a person edit what they type, with what they typed before."""
        self._editor = editor

    def progress(self, line: str) -> None:
        """Print a line about the start."""
        sys.stderr.write(line + "\n")

    def greet(self, model: str, session: str, messages: int) -> None:
        """Print the first line of a conversation."""
        length = f", {messages} messages so far" if messages else ""
        self._print_line(
            Text(
                f"session {session}{length} · model {model} · /help · Ctrl-C stops a turn, Ctrl-D"
                " leaves",
                style="dim",
            )
        )

    @property
    def is_interactive(self) -> bool:
        """Return whether a person types into it and reads from it."""
        return sys.stdin.isatty() and self._out.is_terminal

    @property
    def shows_words(self) -> bool:
        """Return whether answers are shown while they are written."""
        return sys.stdout.isatty() and self._out.is_terminal

    def ask(self) -> str:
        """Read what the person types next: a line, or as many as a code fence has."""
        if not sys.stdin.isatty():
            return input()
        text = self._ask_line("› ")
        while _is_in_fence(text):
            try:
                text += "\n" + self._ask_line("… ")
            except EOFError:
                self.end()
                break
        return text

    def _ask_line(self, prompt: str) -> str:
        self._prompt = prompt
        try:
            line = input(prompt)
        finally:
            self._prompt = ""
        if self._editor:
            self._editor.keep(line)
        return line

    def confirm(self, question: str) -> bool:
        """Ask a person, and return whether they agree, as they do by Enter alone."""
        try:
            return input(f"{question} [Y/n] ").strip().lower() in ("", "y", "yes")
        except EOFError:
            return False

    @contextmanager
    def above_prompt(self) -> Iterator[None]:
        """Print what the block prints above the line that is being typed, if one is.

        Only for the thread that asks, such as in its handler of a signal: whatever is printed, the
        line and its cursor are where readline believes them to be.
        """
        prompt = self._prompt
        if not prompt:
            yield
            return
        before, behind = _read_typed_line()
        width = max(self._out.width, 1)
        row, column = divmod(cell_len(prompt + before), width)
        last_row = cell_len(prompt + before + behind) // width
        out = self._out.file
        out.write((f"\x1b[{row}A" if row else "") + "\r\x1b[J")
        out.flush()
        yield
        up = f"\x1b[{last_row - row}A" if last_row > row else ""
        right = f"\x1b[{column}C" if column else ""
        out.write(f"{prompt}{before}{behind}{up}\r{right}")
        out.flush()

    def show_unread(self, unread: Sequence[tuple[str, str]]) -> None:
        """Print what was said meanwhile, each with its time; in a terminal like an answer.

        Else on stderr: a pipe gets the answer that it asked for alone.
        """
        for stamp, text in unread:
            self._print_line(Text(stamp, style="dim"))
            if self.is_interactive:
                self.show_replies((text,))
            else:
                self._print_line(Text(clean_text(text)))

    def begin_turn(self, texts: Texts) -> None:
        """Show the words of the next answer, with remarks in the language of `texts`."""
        self._texts = texts
        self._live.begin_turn()

    def stop_words(self) -> None:
        """Show no more words of the answer that is being written."""
        self._live.stop()

    def end_turn(self) -> None:
        """Say so where words stand there that were no answer after all."""
        if self._live.has_words:
            self._disown_words()

    def show_step(self, step: TurnStep) -> None:
        """Print one line for what just happened, or the next words of an answer."""
        if step.kind == "ask":
            self._live.wait(self._texts.thinking)
        elif step.kind == "words" and not step.facts.get("anew"):
            self._live.add(step.text)
        elif step.kind == "words" and self._live.has_words:
            self._disown_words()
            self._live.wait(self._texts.thinking)
        elif step.kind == "note" and step.name == "stopped" and self._live.has_words:
            self._live.end()
            self.hint(self._texts.words_stop_here)
        else:
            self._show_line(step)

    def _disown_words(self) -> None:
        """Say that the words which stand there are not the answer."""
        self._live.end()
        self.hint(self._texts.words_were_draft)

    def _show_line(self, step: TurnStep) -> None:
        line = _draw_step(step)
        if line:
            if self._err.is_terminal:
                line.truncate(self._err.width, overflow="ellipsis")
            self._print_line(line)

    def show_answer(self, text: str, visible: str = "") -> None:
        """Print the answer to what was typed, or what its words that stand there lack. `visible` is
        the answer without its drawings, unless these stand there already.
        """
        if visible and not self._live.has_told("<svg"):
            text = visible
        if self._live.has_words:
            if self._live.complete(text):
                return
            self._disown_words()
        self.show_replies((text,))

    def show_replies(self, texts: Sequence[str]) -> None:
        """Print the answers."""
        self._live.settle()
        for text in texts:
            if self._out.is_terminal:
                print_markdown(self._out, text)
            else:
                self._out.file.write(text + "\n")
                self._out.file.flush()

    def show_file(self, path: Path, file: KeptFile) -> None:
        """Print where a file of the answer was saved."""
        self._print_line(Text(f"{path} ({file.type}, {file.size:,} bytes)"))

    def show_picture(self, written: str) -> None:
        """Print what lets the terminal show a picture."""
        if written:
            self._live.settle()
            self._out.file.write(written)
            self._out.file.flush()

    def show_signature(self, text: str) -> None:
        """Print which model answers, below its first answer."""
        self._print_line(Text(text, style="dim"))

    def show_footer(self, resident: Sequence[str], used: int, window: int) -> None:
        """Print the working set and the tokens of the next request."""
        tools = " ".join(["sigil_query", "sigil_deploy", *resident])
        self._print_line(Text(f"tools: {tools} · {used:,} of {window:,} tokens", style="dim"))

    def show_error(self, problem: SigilError) -> None:
        """Print an error with its suggestion."""
        self._print_line(Text(f"error: {problem.message} ({problem.code})", style="red"))
        if problem.suggestion:
            self._print_line(Text(f"help: {problem.suggestion}"))

    def hint(self, text: str) -> None:
        """Print a remark in brackets."""
        self._print_line(Text(f"({text})", style="dim"))

    def end(self) -> None:
        """Leave the line of the prompt."""
        self._err.print()

    def _print_line(self, line: Text) -> None:
        """Print a line on stderr; in a pipe it stays one line, however long."""
        self._live.settle()
        self._err.print(line, soft_wrap=not self._err.is_terminal)


class ScreenListener:
    """Shows the steps of a turn on a screen, and the words of its answer where they can be."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    @property
    def hears_words(self) -> bool:
        """Whether answers go to a terminal; a pipe gets whole ones alone."""
        return self._screen.shows_words

    def __call__(self, step: TurnStep) -> None:
        """Show a step."""
        self._screen.show_step(step)


def _read_typed_line() -> tuple[str, str]:
    """Return what was typed so far, before the cursor and behind it."""
    import ctypes

    try:
        import readline
    except ImportError:
        return "", ""
    line = readline.get_line_buffer()
    try:
        library = ctypes.CDLL(readline.__file__)
        point = ctypes.c_int.in_dll(library, "rl_point").value  # in bytes
    except (AttributeError, OSError, ValueError):  # another library, or none of its own
        return line, ""
    before = os.fsencode(line)[:point].decode(errors="replace")
    return before, line[len(before) :]


def _is_in_fence(text: str) -> bool:
    """Return whether a code fence began in `text` and has not ended."""
    return text.count("```") % 2 == 1 and bool(_FENCE.search(text))


def _draw_step(step: TurnStep) -> Text | None:
    """Return the line of a step; None for one that is not shown."""
    match step.kind:
        case "request" if step.error:
            # why the model gave no answer: a person at the machine may read it
            return Text.assemble(("  ✗ ", "red"), (one_line(step.text, 300), ""))
        case "call":
            arguments = (" " + one_line(step.text, 200), "dim")
            return Text.assemble(("  → ", "cyan"), (step.name, "bold"), arguments)
        case "progress":
            said = (f"  {one_line(step.text, 240)}", "dim")
            return Text.assemble(("  … ", "cyan"), (step.name, "bold"), said)
        case "answer":
            mark = ("  ✗ ", "red") if step.error else ("  ← ", "green")
            return Text.assemble(
                mark, (_summarize_result(step), ""), (f"  {step.ms:.0f} ms", "dim")
            )
        case "load":
            return Text.assemble(("  ↑ ", "magenta"), (step.name, "bold"), (" paged in", "dim"))
        case "evict":
            tools = step.facts.get("tools")
            gone = ", ".join(map(str, tools)) if isinstance(tools, list | tuple) else ""
            line = f"compacted: {step.text}" + (f"; gone: {gone}" if gone else "")
            return Text.assemble(("  ↓ ", "magenta"), (line, "dim"))
        case "note":
            return Text(f"  · {step.text}", style="dim")
    return None


def _summarize_result(step: TurnStep) -> str:
    """Return the result of a call in one line."""
    try:
        body = orjson.loads(step.text.partition("\n")[0])
    except orjson.JSONDecodeError:
        return one_line(step.text, 200)
    if step.error:
        return one_line(f"{step.error}: {body['error']['message']}", 200)
    result = body.get("ok")
    if step.name == "sigil_deploy":
        return f"created {result.get('capability')} version {result.get('version')}"
    items = result.get("items") if isinstance(result, dict) else None
    if isinstance(items, list) and step.name == "sigil_query":
        skill = as_string(as_mapping(result.get("skill")).get("name"))
        found = [f"the skill {skill}"] if skill else []
        found += [str(item.get("capability")) for item in items]
        return f"found {', '.join(found)}" if found else "nothing found"
    return one_line(orjson.dumps(result).decode(), 200)
