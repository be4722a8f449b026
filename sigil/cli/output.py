"""A command line that runs, or is wrong, and standard output that is full, closed, or read by
somebody who leaves early.
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
def guarded() -> Iterator[None]:
    """Whatever is printed inside has left at the end, or it is said in one way: see `settle`. Other
    failures pass.
    """
    _reopen()
    try:
        yield
    except BrokenPipeError as problem:
        _forget()
        if problem.filename is not None:
            raise
        raise typer.Exit(FAILED) from None  # an unbuffered write of ours; see `settle`
    except OSError as problem:
        settle()
        if problem.errno in _UNWRITTEN and problem.filename is None:
            raise _lost(problem) from None
        raise
    except SystemExit:
        settle()
        raise
    settle()


def settle() -> None:
    """Write out what is still buffered.

    `SigilError` with EWRITE when that cannot be done; `typer.Exit` with 1 and no word when whoever
    read us has seen enough.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _forget()
        raise typer.Exit(FAILED) from None
    except OSError as problem:
        raise _lost(problem) from None


def invoked(app: typer.Typer, program: str, words: Sequence[str]) -> int:
    """Run one command line; its exit code. Every exception passes: typer's own `main` would take
    Ctrl-C's for itself.
    """
    command = typer.main.get_command(app)
    with command.make_context(program, [*words]) as context:
        result = command.invoke(context)
    return result if isinstance(result, int) else 0


def misused(problem: typer.TyperException, program: str) -> SigilError:
    """A wrong command line, with the command whose help tells how it is right."""
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
    """The options that look like one that there is not, of the command or of all commands."""
    from difflib import get_close_matches

    commands = [context.command, context.find_root().command] if context and option else []
    known = {name for command in commands for param in command.params for name in param.opts}
    near = get_close_matches(option, sorted(known), n=2, cutoff=0.6)
    return f"did you mean {' or '.join(near)}? " if near else ""


def helped(problem: SigilError, program: str, words: Sequence[str]) -> SigilError:
    """A failure that whoever typed the command can mend always has a next step: without one of its
    own, the command's help.
    """
    command = next((word for word in words if not word.startswith("-")), "")
    if isinstance(problem, UsageError | Refused) and not problem.suggestion:
        problem.suggestion = _STEPS.get(problem.code) or f"{program} {command} --help".replace(
            "  ", " "
        )
    return problem


def _lost(problem: OSError) -> SigilError:
    _forget()
    return SigilError("EWRITE", f"cannot write the output: {problem.strerror}")


def _reopen() -> None:
    # closed before we began: what is printed fails, what is only said is lost, and no other file
    # takes their numbers
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def _forget() -> None:
    # what is still buffered must not complain when the interpreter ends
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
