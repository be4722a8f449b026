"""Questions of `uncaged setup` to a person at a terminal; with `--yes` the defaults answer them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import typer

from sigil.cli.printing import Printer
from sigil.errors import UsageError, one_line


@dataclass(frozen=True, slots=True)
class Questions:
    """Asks on stderr. `yes`: nothing is asked, and what has no default needs its flag."""

    printer: Printer
    yes: bool

    def ask(self, question: str, default: str, flag: str) -> str:
        """Return a text; `flag` is how a script gives it."""
        if self.yes:
            if not default:
                raise _make_missing_error(flag)
            return default
        self._require_terminal(flag)
        answer = typer.prompt(
            one_line(question, 300), default=one_line(default, 2_000) or None, err=True
        )
        return one_line(str(answer), 2_000).strip()

    def ask_secret(self, question: str, flag: str, *, optional: bool = False) -> str:
        """Return a text that the terminal does not show; an `optional` one may be empty."""
        if self.yes:
            if optional:
                return ""
            raise _make_missing_error(flag)
        self._require_terminal(flag)
        default = "" if optional else None
        answer = typer.prompt(
            question, default=default, hide_input=True, show_default=False, err=True
        )
        return str(answer).strip()

    def choose(self, question: str, options: Mapping[str, str], default: str, flag: str) -> str:
        """Return the name of one of the options, which are shown with their meaning."""
        if self.yes:
            return default
        self._require_terminal(flag)
        names = list(options)
        width = max(map(len, names))
        for number, (name, meaning) in enumerate(options.items(), 1):
            self.printer.note(f"  {number:>2}  {name:<{width}}  {meaning}")
        while True:
            answer = str(typer.prompt(question, default=default, err=True)).strip().lower()
            if answer.isascii() and answer.isdigit() and 1 <= int(answer) <= len(names):
                return names[int(answer) - 1]
            if answer in options:
                return answer
            self.printer.note(f"  write a number from 1 to {len(names)}, or a name")

    def confirm(self, question: str, default: bool) -> bool:
        """Return the answer to a question of yes or no."""
        if self.yes:
            return default
        self._require_terminal("--yes")
        return typer.confirm(one_line(question, 300), default=default, err=True)

    def _require_terminal(self, flag: str) -> None:
        if not sys.stdin.isatty():
            raise UsageError(
                "EUSAGE",
                "there is no terminal to answer the questions",
                suggestion=f"use --yes, and {flag}" if flag != "--yes" else "use --yes",
            )


def _make_missing_error(flag: str) -> UsageError:
    return UsageError("EUSAGE", f"--yes needs {flag} as well", suggestion=f"add {flag}")


def require_choice(flag: str, value: str, choices: Sequence[str]) -> str:
    """Return a flag's value; `UsageError` when it is none of the choices."""
    if value not in choices:
        raise UsageError(
            "EUSAGE",
            f"{flag} {one_line(value, 40)!r} is unknown",
            suggestion=f"use {', '.join(choices)}",
        )
    return value
