"""The versions of a document as lines of a chat, and the way back to one of them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import islice
from typing import Final

from functions.agent.commands.command import CommandCall
from functions.agent.memory.documents import Doc
from functions.agent.safety.failure_codes import describe_refusal
from functions.texts.en import Texts
from sigil.errors import BackendError, SigilError, UsageError

SHOWN: Final = 20
"""A chat is shown so many versions, the newest first."""


def format_versions(versions: Iterable[Doc], texts: Texts, *, sizes: bool = False) -> list[str]:
    """Return a line for each version: its number, when and by whom it was written, and why.

    `sizes` adds the number of characters.
    """
    lines = []
    for doc in islice(versions, SHOWN):
        written = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(doc.at))
        line = texts.version_line.format(version=doc.version, written=written, by=doc.by)
        if doc.why:
            line += f", {doc.why}"
        if sizes:
            line += texts.version_size.format(count=len(doc.text))
        lines.append(line)
    return lines


def roll_back(call: CommandCall, scope: str, name: str, version: int) -> str:
    """Make an earlier version the document again.

    Returns why it cannot be done, as a sentence; empty when it is done.
    """
    try:
        call.app.documents.roll_back(scope, name, version, call.event.sender.id)
    except UsageError as problem:
        return _explain_refusal(problem, call.texts)
    except BackendError as problem:
        if problem.code != "EDAMAGED":
            raise
        return _explain_refusal(problem, call.texts)
    return ""


def _explain_refusal(problem: SigilError, texts: Texts) -> str:
    own = texts.version_refused.get(problem.code)
    return own or f"{describe_refusal(problem, texts)}."
