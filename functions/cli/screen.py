"""The terminal of `uncaged chat`: steps while a turn runs, the answer as markdown, the working set
and the tokens after it.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextlib import suppress

import orjson
from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from functions.agent.app import TurnStep
from functions.channels.visible_text import clean_text
from sigil.errors import SigilError, one_line


class Screen:
    """Prints steps to stderr and answers to stdout, so that a pipe gets the answers alone."""

    def __init__(self) -> None:
        self._out = Console(soft_wrap=False)
        self._err = Console(stderr=True)
        self._history()
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")

    def _history(self) -> None:
        if sys.stdin.isatty():
            with suppress(ImportError):
                import readline  # noqa: F401  arrow keys and history for input()

    def greet(self, model: str, session: str, messages: int) -> None:
        """Print the first line of a conversation."""
        kept = f", {messages} messages so far" if messages else ""
        self._say(
            Text(
                f"session {session}{kept} · model {model} · /help · Ctrl-C stops a turn, Ctrl-D"
                " leaves",
                style="dim",
            )
        )

    def ask(self) -> str:
        """Read what the person types next."""
        return input("› " if sys.stdin.isatty() else "")

    def step(self, step: TurnStep) -> None:
        """Print one line for what just happened."""
        draw = _LINES.get(step.kind)
        if draw and (step.kind != "request" or step.error):
            line = draw(step)
            if self._err.is_terminal:
                line.truncate(self._err.width, overflow="ellipsis")
            self._say(line)

    def replies(self, texts: Sequence[str]) -> None:
        """Print the answers."""
        for text in texts:
            if self._out.is_terminal:
                self._out.print(_drawn(text))
            else:
                self._out.file.write(text + "\n")
                self._out.file.flush()

    def footer(self, resident: Sequence[str], used: int, window: int) -> None:
        """Print the working set and the tokens of the next request."""
        tools = " ".join(["sigil_query", "sigil_deploy", *resident])
        self._say(Text(f"tools: {tools} · {used:,} of {window:,} tokens", style="dim"))

    def failure(self, problem: SigilError) -> None:
        """Print an error with its suggestion."""
        self._say(Text(f"error: {problem.message} ({problem.code})", style="red"))
        if problem.suggestion:
            self._say(Text(f"help: {problem.suggestion}"))

    def hint(self, text: str) -> None:
        self._say(Text(f"({text})", style="dim"))

    def bye(self) -> None:
        self._err.print()

    def _say(self, line: Text) -> None:
        """Print a line on stderr; in a pipe it stays one line, however long."""
        self._err.print(line, soft_wrap=not self._err.is_terminal)


def _drawn(text: str) -> Markdown:
    """Return Markdown whose line breaks stay, as chat platforms show it."""
    drawn = Markdown(clean_text(text))
    for token in drawn.parsed:
        for part in token.children or ():
            if part.type == "softbreak":
                part.type = "hardbreak"
    return drawn


def _call(step: TurnStep) -> Text:
    return Text.assemble(
        ("  → ", "cyan"), (step.name, "bold"), (" " + one_line(step.text, 200), "dim")
    )


def _answer(step: TurnStep) -> Text:
    mark, style = ("  ✗ ", "red") if step.error else ("  ← ", "green")
    return Text.assemble((mark, style), (_result(step), ""), (f"  {step.ms:.0f} ms", "dim"))


def _result(step: TurnStep) -> str:
    try:
        body = orjson.loads(step.text.partition("\n")[0])
    except orjson.JSONDecodeError:
        return one_line(step.text, 200)
    if step.error:
        return one_line(f"{step.error}: {body['error']['message']}", 200)
    found = body["ok"].get("items") if isinstance(body.get("ok"), dict) else None
    if step.name == "sigil_deploy":
        return f"created {body['ok'].get('capability')} version {body['ok'].get('version')}"
    if isinstance(found, list) and step.name == "sigil_query":
        return (
            "found " + ", ".join(str(item.get("capability")) for item in found)
            if found
            else "nothing found"
        )
    return one_line(orjson.dumps(body.get("ok")).decode(), 200)


def _request(step: TurnStep) -> Text:
    """Return why the model gave no answer; whoever sits at the machine may read it."""
    return Text.assemble(("  ✗ ", "red"), (one_line(step.text, 300), ""))


def _load(step: TurnStep) -> Text:
    return Text.assemble(("  ↑ ", "magenta"), (step.name, "bold"), (" paged in", "dim"))


def _evict(step: TurnStep) -> Text:
    gone = ", ".join(step.facts.get("tools", ()))
    return Text.assemble(
        ("  ↓ ", "magenta"),
        (f"compacted: {step.text}", "dim"),
        (f"; gone: {gone}" if gone else "", "dim"),
    )


def _note(step: TurnStep) -> Text:
    return Text(f"  · {step.text}", style="dim")


_LINES = {
    "request": _request,
    "call": _call,
    "answer": _answer,
    "load": _load,
    "evict": _evict,
    "note": _note,
}
