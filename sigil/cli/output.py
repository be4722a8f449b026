"""The output of a command: running its line, explaining a wrong one, and a standard output that is
full, closed, or no longer read.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import typer

from sigil.cli.exit_codes import FAILED
from sigil.errors import Refused, SigilError, UsageError

_WRITE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""The errors of an unbuffered write to a stdout that is full or closed. They carry no file name; an
error about a file of ours does.
"""
_SUGGESTIONS = {"EMODULE": "correct the source; `sigil check` tells whether it may run"}


@contextmanager
def guard_output() -> Iterator[None]:
    """Write out everything that is printed inside, or fail as `flush_output` does.

    Other exceptions pass.
    """
    # a stream that was closed before we began: stdin has ended, printing to stdout has to fail,
    # what goes to stderr is lost, and no other file may get their numbers
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY), encoding="utf-8")
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    try:
        yield
    except BrokenPipeError as problem:
        _discard_output()
        if problem.filename is not None:
            raise
        raise typer.Exit(FAILED) from None  # an unbuffered write of ours; see `flush_output`
    except OSError as problem:
        flush_output()
        if problem.errno in _WRITE_ERRORS and problem.filename is None:
            raise _make_write_error(problem) from None
        raise
    except SystemExit:
        flush_output()
        raise
    flush_output()


def flush_output() -> None:
    """Write out what is still buffered.

    `SigilError` with EWRITE when that fails; `typer.Exit` with 1 and no message when the reader has
    closed the pipe.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        raise typer.Exit(FAILED) from None
    except OSError as problem:
        raise _make_write_error(problem) from None


def _make_write_error(problem: OSError) -> SigilError:
    _discard_output()
    return SigilError("EWRITE", f"cannot write the output: {problem.strerror}")


def _discard_output() -> None:
    """Send what is still buffered nowhere, so that it fails no more when the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@cache
def build_command(app: typer.Typer) -> Any:
    """Return the command tree of an app, built once: that takes longer than most commands."""
    return typer.main.get_command(app)


def run_command(app: typer.Typer, program: str, words: Sequence[str]) -> int:
    """Run one command line and return its exit code. Every exception passes: typer's own `main`
    would handle Ctrl-C itself.
    """
    command = build_command(app)
    with command.make_context(program, [*words]) as context:
        result = command.invoke(context)
    return result if isinstance(result, int) else 0


def explain_usage_error(problem: typer.TyperException, program: str) -> SigilError:
    """Return a wrong command line as an error that names the command whose help explains it."""
    context = getattr(problem, "ctx", None)
    command = context.command_path if context else program
    if type(problem).__name__ == "NoArgsIsHelpError":
        message = f"{command}: which command?"
    else:
        message = problem.format_message().replace("Value error, ", "")
    suggestion = f"{command} --help"
    unknown_option = str(getattr(problem, "option_name", ""))
    if unknown_option.startswith("--") and context and command == "sigil run":
        suggestion = (
            f"if it is an argument of the capability, write -a {unknown_option[2:]}=…; the options"
            f" are in {command} --help"
        )
    elif unknown_option and context:
        from difflib import get_close_matches

        commands = [context.command, context.find_root().command]
        options = {name for each in commands for param in each.params for name in param.opts}
        similar = get_close_matches(unknown_option, sorted(options), n=2, cutoff=0.6)
        if similar:
            suggestion = f"did you mean {' or '.join(similar)}? {suggestion}"
    return SigilError("EUSAGE", message, suggestion=suggestion)


def add_suggestion(problem: SigilError, program: str, words: Sequence[str]) -> SigilError:
    """Give a failure that the user can correct a next step: its own, or else the command's help."""
    if isinstance(problem, UsageError | Refused) and not problem.suggestion:
        command = next((word for word in words if not word.startswith("-")), "")
        help_command = " ".join(filter(None, (program, command, "--help")))
        problem.suggestion = _SUGGESTIONS.get(problem.code) or help_command
    return problem
