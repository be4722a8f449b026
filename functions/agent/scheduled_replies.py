"""Scheduled work: nobody waits for an answer, so nothing is sent when there is nothing to say."""

from __future__ import annotations

from typing import Final

from functions.agent.messages import RUNTIME_MARK
from functions.events import Event

SILENT: Final = "[SILENT]"
"""The whole answer of a model that has nothing to say."""
NOTE: Final = (
    f"{RUNTIME_MARK} This is scheduled work: nobody waits for an answer, and whatever you answer"
    f" interrupts somebody. When there is nothing that they need to know, answer {SILENT} and"
    " nothing else."
)
KINDS: Final = ("task", "wakeup")
_ADORNED = " \t\n.*_`'\"“”"


def briefed(event: Event, text: str) -> str:
    """The text of an event as it enters the history: scheduled work with the leave to say
    nothing.
    """
    return f"{text}\n{NOTE}" if event.kind in KINDS else text


def told(event: Event, answer: str) -> str:
    """What of a turn's answer is sent: all of it to whoever asked, and nothing when scheduled work
    had nothing to say.

    A mark that stands beside words is taken out, and the words are sent.
    """
    if event.kind not in KINDS:
        return answer
    lines = [line for line in answer.split("\n") if line.strip(_ADORNED).upper() != SILENT]
    return "\n".join(lines).strip()
