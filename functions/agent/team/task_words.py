"""A task in the plain words of a person: `buy milk !2 @alice after #3 due tomorrow 18:00`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Final

from functions.agent.schedules.time_field import read_time
from functions.agent.team.board import NewTask
from functions.texts.en import Texts
from sigil.errors import UsageError

LINE_CHARACTERS: Final = 1_000
"""In a longer line nothing is looked for."""
_OPENED: Final = r"(?:^|(?<=[\s(（,，;；、。：:]))"
_PART: Final = re.compile(
    rf"{_OPENED}(?:"
    r"!(?P<priority>[0-3])"
    r"|(?:priority|Priorität|优先级)\s*[:：]?\s*(?P<named>[0-3])"
    r"|@(?P<owner>[\w.-]{1,80})"
    r"|(?:role|Rolle|角色)\s*[:：]\s*(?P<role>[\w.-]{1,80})"
    r")(?=[\s)）,，;；]|$)",
    re.IGNORECASE,
)
_AND: Final = r"(?:\s*[,，、+&]\s*(?:and\s+|und\s+)?|\s+(?:and|und)\s+|\s*[和与及跟]\s*|\s+)"
_ENDED: Final = (
    r"(?:\s*(?:完成|做完|结束)(?:了)?(?:之后|以后|后)?|\s*(?:之后|以后|后(?![续面来台端])))"
)
_OVER: Final = (
    rf"(?=\s*(?:$|[),:;.!，、：；。！）])|\s+(?:is|are|fertig|erledigt|abgeschlossen)\b|{_ENDED})"
)
"""Stands behind the last number of some: what follows is no thing that it counts."""
_NUMBERS: Final = (
    r"(?:"
    rf"(?:tasks|aufgaben)\s+\d{{1,8}}(?:{_AND}\d{{1,8}})+"
    rf"|(?:(?:tasks?|aufgaben?)\s+#?|任务\s*#?|#)\d{{1,8}}(?:{_AND}(?:#\d{{1,8}}|\d{{1,8}}{_OVER}))*"
    r")"
)
"""Numbers that say themselves that they are those of tasks: `#3`, `task 3`, `#3, #4 and 5`."""
_BARE_NUMBERS: Final = rf"(?:\d{{1,8}}(?:{_AND}\d{{1,8}})+|\d{{1,8}}{_OVER})"
_PHRASES: Final = (
    rf"{_OPENED}(?:blocked\s+by|depends\s+on|waits\s+for|after)\s*{{numbers}}"
    r"(?:\s+(?:is|are)\s+(?:done|finished|completed?|over))?(?!\w)",
    rf"{_OPENED}(?:once|when|as\s+soon\s+as)\s+{{numbers}}"
    r"\s+(?:is|are)\s+(?:done|finished|completed?|over)\b",
    rf"{_OPENED}(?:blockiert\s+durch|wartet\s+auf|im\s+Anschluss\s+an|nach)\s*{{numbers}}(?!\w)",
    rf"{_OPENED}(?:nachdem|sobald|wenn)\s+{{numbers}}"
    r"\s+(?:fertig|erledigt|abgeschlossen)\s+(?:ist|sind)\b",
    rf"(?<![\"'“‘「『])(?:在|等到?|待)\s*{{numbers}}(?:{_ENDED}|再|(?=[\s,，。；;:：)）]|$))再?",
)
_NAMED_IN_CHINESE: Final = rf"{_NUMBERS}{_ENDED}再?"
"""Without a word before the numbers, only those that are named as tasks are such."""


def _compile(numbers: str, *more: str) -> re.Pattern[str]:
    phrases = (phrase.replace("{numbers}", numbers) for phrase in _PHRASES)
    return re.compile("|".join((*phrases, *more)), re.IGNORECASE)


_AFTER: Final = _compile(_NUMBERS, _NAMED_IN_CHINESE)
_PERHAPS_AFTER: Final = _compile(_BARE_NUMBERS)
_MORE: Final = re.compile(rf"{_AND}#?(\d{{1,8}})")
_CLOSING: Final = re.compile(r"\s*[)）:：]")
_IS_OVER: Final = re.compile(_OVER)
_BEFORE_END: Final = re.compile(r" (?=[.!。！]$)")
_EMPTY: Final = re.compile(r"[(（][\s,，;；]*[)）]")
_AROUND: Final = " \t,，;；:：、"
_DUE: Final = re.compile(
    r"(?:^|\s)(?:due|fällig|bis|截止)\s*[:：]?\s*(?P<when>\S.*)$", re.IGNORECASE
)
_NUMBER: Final = re.compile(r"\d+")


class TaskQuestion(UsageError):
    """What the person has to say before there can be a task: its message is for them."""

    def __init__(self, question: str) -> None:
        super().__init__("EINVAL", question, source="task")


def parse_task(
    words: str,
    now: float,
    zone: str,
    texts: Texts,
    list_open: Callable[[], Collection[int]] = tuple,
) -> NewTask:
    """Return the task that somebody wants; the lines after the first one describe it.

    Beside the subject the first line may say a priority (`!2`), an owner (`@alice`), a role
    (`role:coder`), what it waits for (`after #3`), and at its end when it is `due`. What is none of
    these belongs to the subject. `list_open` returns the numbers of the open tasks, where one may
    be meant; `TaskQuestion` asks where that is unclear.
    """
    first, _, description = words.strip().partition("\n")
    if len(first) > LINE_CHARACTERS:  # it is longer than any subject, and is refused for that
        return NewTask(subject=first, description=description.strip())
    priority = 0
    owner = role = ""
    for found in _PART.finditer(first):
        number = found["priority"] or found["named"]
        if number:
            priority = int(number)
        owner = found["owner"] or owner
        role = found["role"] or role
    line, blockers = _split_blockers(_PART.sub("", first), texts, list_open)
    if line != first:
        line = " ".join(_EMPTY.sub(" ", line).split())
        line = _BEFORE_END.sub("", line).strip(_AROUND)
    subject, due = _split_due(line, now, zone, texts)
    return NewTask(
        subject=" ".join(subject.split()),
        description=description.strip(),
        priority=priority,
        owner=owner,
        role=role,
        blocked_by=tuple(blockers),
        due=due,
    )


def _split_blockers(
    line: str, texts: Texts, list_open: Callable[[], Collection[int]]
) -> tuple[str, list[int]]:
    """Return a line without what the task waits for, and the numbers of that."""
    blockers: list[int] = []
    left = ""
    end = 0
    for found in _AFTER.finditer(line):
        numbers = [int(each) for each in _NUMBER.findall(found[0])]
        more = _MORE.match(line, found.end())
        if more:
            raise _ask(texts, [*numbers, int(more[1])])
        blockers += numbers
        left += f"{line[end : found.start()]} "
        end = found.end()
    line = left + line[end:]
    perhaps = _PERHAPS_AFTER.search(line)
    if not perhaps:
        return line, blockers
    numbers = [int(each) for each in _NUMBER.findall(perhaps[0])]
    open_tasks = list_open()
    known = [number for number in numbers if number in open_tasks]
    if not known:
        return line, blockers  # it counts something else
    end_of_some = _IS_OVER if len(numbers) > 1 else _CLOSING
    is_clear = end_of_some.match(line, perhaps.end())
    if known != numbers or not is_clear:
        raise _ask(texts, known)
    return f"{line[: perhaps.start()]} {line[perhaps.end() :]}", [*blockers, *numbers]


def _ask(texts: Texts, numbers: list[int]) -> TaskQuestion:
    tasks = ", ".join(f"#{number}" for number in numbers)
    return TaskQuestion(texts.task_after_unclear.format(tasks=tasks))


def parse_due(words: str, now: float, zone: str, texts: Texts) -> float:
    """Return the one time that words name, in seconds since 1970; `UsageError` EINVAL for none."""
    when = read_time(words, now, zone, texts)
    if when.kind != "at":
        raise UsageError(
            "EINVAL", "a task is due once", source="task", suggestion="give one day and one time"
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
