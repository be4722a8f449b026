"""A document's versions in a chat: shown as lines, and taken back."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import islice
from typing import Final

from functions.agent.commands.command import Asked
from functions.agent.memory.documents import Doc
from sigil.errors import BackendError, UsageError

SHOWN: Final = 20
"""Versions that a chat is shown, the newest first."""


def version_lines(versions: Iterable[Doc], *, sizes: bool = False) -> list[str]:
    """A line for each version: its number, when and by whom it was written, and why; `sizes` adds
    how long it is.
    """
    lines = []
    for doc in islice(versions, SHOWN):
        size = f" ({len(doc.text):,} characters)" if sizes else ""
        lines.append(
            f"- {doc.version}: {_day(doc.at)} by {doc.by}{f', {doc.why}' if doc.why else ''}{size}"
        )
    return lines


def roll_back(asked: Asked, scope: str, name: str, version: int) -> str:
    """Make an earlier version the document again; why not, as a sentence, or empty when it is
    done.
    """
    try:
        asked.app.documents.roll_back(scope, name, version, asked.event.sender.id)
    except (UsageError, BackendError) as problem:
        if isinstance(problem, BackendError) and problem.code != "EDAMAGED":
            raise
        return f"{problem.message}; {problem.suggestion}."
    return ""


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(at))
