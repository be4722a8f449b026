"""The programs that an upgrade runs, and how it finds the pip of an environment."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sigil.errors import BackendError, UsageError, one_line

_FIND_PIP: Final = """
from importlib.util import find_spec
from pathlib import Path
if find_spec("pip"):
    print("pip")
else:
    import ensurepip
    print(*sorted((Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl")))
"""
"""Prints `pip` where it is installed, else the wheel of it that comes with Python."""


def find_pip(python: Path) -> list[str]:
    """Return the command of an environment's pip: its own, or the one that comes with its Python.

    `UsageError` when there is neither.
    """
    done = subprocess.run(
        [str(python), "-I", "-c", _FIND_PIP], capture_output=True, text=True, check=False
    )
    found = done.stdout.strip()
    if done.returncode or not found:
        raise UsageError(
            "EUSAGE",
            f"there is no pip for {python}",
            suggestion=f"{python} -m ensurepip; on Debian and Ubuntu the package python3-venv",
        )
    return [str(python), "-I", *(["-m", "pip"] if found == "pip" else [f"{found}/pip"])]


def run_command(words: Sequence[str]) -> str:
    """Return what a command prints; `BackendError` with its last line when it fails."""
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
    except OSError as problem:
        raise BackendError(
            "EUNAVAILABLE", one_line(f"cannot run {words[0]}: {problem.strerror}")
        ) from None
    with process:
        try:
            output, complaint = process.communicate()
        except BaseException:
            process.kill()
            process.wait()  # nothing is taken back while it still works
            raise
    if process.returncode:
        last = (complaint.strip() or output.strip()).rpartition("\n")[2]
        raise BackendError(
            "EUNAVAILABLE",
            one_line(f"{' '.join(words)} failed ({process.returncode}): {last}", 1_000),
        )
    return output
