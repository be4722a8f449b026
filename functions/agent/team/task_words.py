"""A task in the plain words of a person: `buy milk !2 @alice after #3 due tomorrow 18:00`."""

from __future__ import annotations

import re
from typing import Final

from functions.agent.schedules.time_field import read_time
from functions.agent.team.board import NewTask
from functions.texts.en import Texts
from sigil.errors import UsageError

_NUMBERS: Final = r"#\d{1,8}(?:(?:\s*,\s*|\s+(?:and|und|和)?\s*)#\d{1,8})*"
_PART: Final = re.compile(
    r"(?:^|\s)(?:"
    r"!(?P<priority>[0-3])"
    r"|(?:priority|Priorität|优先级)\s*[:：]?\s*(?P<named>[0-3])"
    r"|@(?P<owner>[\w.-]{1,80})"
    r"|(?:role|Rolle|角色)\s*[:：]\s*(?P<role>[\w.-]{1,80})"
    rf"|(?:(?:blocked\s+by|after|nach)\s+|(?:在|等)\s*)(?P<blockers>{_NUMBERS})(?:\s*之?后)?"
    r")(?=\s|$)",
    re.IGNORECASE,
)
_DUE: Final = re.compile(
    r"(?:^|\s)(?:due|fällig|bis|截止)\s*[:：]?\s*(?P<when>\S.*)$", re.IGNORECASE
)
_NUMBER: Final = re.compile(r"#(\d+)")


def parse_task(words: str, now: float, zone: str, texts: Texts) -> NewTask:
    """Return the task that somebody wants; the lines after the first one describe it.

    Beside the subject the first line may say a priority (`!2`), an owner (`@alice`), a role
    (`role:coder`), what it waits for (`after #3`), and at its end when it is `due`. What is none of
    these belongs to the subject.
    """
    first, _, description = words.strip().partition("\n")
    priority = 0
    owner = role = ""
    blockers: list[int] = []
    for found in _PART.finditer(first):
        number = found["priority"] or found["named"]
        if number:
            priority = int(number)
        owner = found["owner"] or owner
        role = found["role"] or role
        blockers += [int(each) for each in _NUMBER.findall(found["blockers"] or "")]
    subject, due = _split_due(_PART.sub("", first), now, zone, texts)
    return NewTask(
        subject=" ".join(subject.split()),
        description=description.strip(),
        priority=priority,
        owner=owner,
        role=role,
        blocked_by=tuple(blockers),
        due=due,
    )


def parse_due(words: str, now: float, zone: str, texts: Texts) -> float:
    """Return the one time that words name, in seconds since 1970; `UsageError` EINVAL for none."""
    when = read_time(words, now, zone, texts)
    if when.kind != "at":
        raise UsageError(
            "EINVAL", "a task is due once", source="task", suggestion="write tomorrow at 18:00"
        )
    return when.at


def _split_due(line: str, now: float, zone: str, texts: Texts) -> tuple[str, float]:
    """Return a line without when it is due, and that time, 0.0 where it says none."""
    found = _DUE.search(line)
    if found:
        try:
            return line[: found.start()], parse_due(found["when"].strip(), now, zone, texts)
        except UsageError:
            pass  # the word means something else there
    return line, 0.0
