"""Running a command line, explaining a wrong one, and a standard output that is full, closed, or no
longer read.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer

from sigil.cli.exit_codes import FAILED
from sigil.errors import Refused, SigilError, UsageError

_UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""What an unbuffered write to a stdout that is full or closed fails with; a file of ours that fails
has a name.
"""
_STEPS = {"EMODULE": "mend the source; `sigil check` tells whether it may run"}


@contextmanager
def guard_output() -> Iterator[None]:
    """Write out everything that is printed inside, or fail as `flush_output` does.

    Other exceptions pass.
    """
    _open_missing_streams()
    try:
        yield
    except BrokenPipeError as problem:
        _discard_output()
        if problem.filename is not None:
            raise
        raise typer.Exit(FAILED) from None  # an unbuffered write of ours; see `settle`
    except OSError as problem:
        flush_output()
        if problem.errno in _UNWRITTEN and problem.filename is None:
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


def run_command(app: typer.Typer, program: str, words: Sequence[str]) -> int:
    """Run one command line and return its exit code. Every exception passes: typer's own `main`
    would handle Ctrl-C itself.
    """
    command = typer.main.get_command(app)
    with command.make_context(program, [*words]) as context:
        result = command.invoke(context)
    return result if isinstance(result, int) else 0


def explain_usage_error(problem: typer.TyperException, program: str) -> SigilError:
    """Return a wrong command line as an error that names the command whose help explains it."""
    context = getattr(problem, "ctx", None)
    wanted = context.command_path if context else program
    message = (
        f"{wanted}: which command?"
        if type(problem).__name__ == "NoArgsIsHelpError"
        else problem.format_message()
    )
    near = _near(str(getattr(problem, "option_name", "")), context)
    return SigilError(
        "EUSAGE", message.replace("Value error, ", ""), suggestion=f"{near}{wanted} --help"
    )


def _near(option: str, context: typer.Context | None) -> str:
    """Return the existing options that look like `option`, of the command or of all commands."""
    from difflib import get_close_matches

    commands = [context.command, context.find_root().command] if context and option else []
    known = {name for command in commands for param in command.params for name in param.opts}
    near = get_close_matches(option, sorted(known), n=2, cutoff=0.6)
    return f"did you mean {' or '.join(near)}? " if near else ""


def add_suggestion(problem: SigilError, program: str, words: Sequence[str]) -> SigilError:
    """Give a failure that the user can mend a next step: its own, or else the command's help."""
    command = next((word for word in words if not word.startswith("-")), "")
    if isinstance(problem, UsageError | Refused) and not problem.suggestion:
        problem.suggestion = _STEPS.get(problem.code) or f"{program} {command} --help".replace(
            "  ", " "
        )
    return problem


def _make_write_error(problem: OSError) -> SigilError:
    _discard_output()
    return SigilError("EWRITE", f"cannot write the output: {problem.strerror}")


def _open_missing_streams() -> None:
    # closed before we began: what is printed fails, what is only said is lost, and no other file
    # takes their numbers
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def _discard_output() -> None:
    # what is still buffered must not complain when the interpreter ends
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
