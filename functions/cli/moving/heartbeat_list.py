"""Reads `HEARTBEAT.md` of OpenClaw and nanobot: the list that their agents look at again and again.
It becomes a schedule, and each of its tasks with an interval of its own becomes one more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from functions.agent.management.moved_work import MovedSchedule
from functions.agent.sanitize import clean_text
from functions.agent.schedules.schedule import NAME_CHARACTERS, TEXT_CHARACTERS
from functions.agent.schedules.when import SHORTEST, When
from functions.cli.moving.foreign_agent import Collector
from functions.cli.moving.source_folder import SourceFolder
from sigil.errors import UsageError, one_line
from sigil.protocol import Json

PLACE: Final = "HEARTBEAT.md"
USUAL_SECONDS: Final = 1800.0
"""How often they look where the settings do not say so."""
TASKS_MOST: Final = 500
REQUEST: Final = "Go through this list and do what is due now. Say only what somebody should know."
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HEADING: Final = re.compile(r"(#{1,6})[ \t]+(\S[^\n]*)")
_DONE_HEADING: Final = re.compile(r"\W*(?:completed|done|erledigt|已完成)", re.IGNORECASE)
_DONE_ITEM: Final = re.compile(r"[ \t]*[-*+][ \t]+\[[xX]\](?:[ \t]|\Z)")
_EMPTY: Final = re.compile(r"(?:[-*+](?:[ \t]+\[ \])?|-{3,}|```\w*)?")
_TASK_FIELD: Final = re.compile(r"[ \t]*(?:(-)[ \t]+)?(name|interval|prompt):[ \t]*(\S.*)")
_DURATION: Final = re.compile(
    r"(?=\d)(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m(?:in)?)?(?:(\d{1,8})s)?", re.ASCII
)
_MINUTES: Final = re.compile(r"\d{1,6}", re.ASCII)


def read_heartbeat(
    collector: Collector, workspace: SourceFolder, every: float | None, zone: str = ""
) -> None:
    """Take the list of a workspace, which is looked at every so many seconds."""
    try:
        text = workspace.read_text(PLACE)
    except UsageError as problem:
        collector.leave(PLACE, f"cannot be read: {problem.message}", problem.suggestion)
        return
    if text is None:
        return
    lines = _COMMENT.sub("", clean_text(text)).split("\n")
    tasks, rest = _split_tasks(_drop_done(lines))
    listed = "\n".join(rest).strip()
    has_list = any(not _EMPTY.fullmatch(line.strip()) and not _HEADING.match(line) for line in rest)
    if not (tasks or has_list):
        collector.leave(PLACE, "has nothing to look at")
    if len(tasks) > TASKS_MOST:
        collector.leave(f"tasks of {PLACE}", f"the first {TASKS_MOST} are taken")
    for task in tasks[:TASKS_MOST]:
        seconds = read_duration(task.get("interval", ""))
        prompt = task.get("prompt", "")
        name = task.get("name", "")
        if seconds is None or not prompt:
            what = f"the task {one_line(name, NAME_CHARACTERS)} of {PLACE}"
            collector.leave(what, "does not say what to do, or how often")
            continue
        _add(collector, prompt, name, seconds, zone)
    if has_list:
        _add(collector, f"{REQUEST}\n\n{listed}", "Heartbeat", every or USUAL_SECONDS, zone)


def read_duration(words: Json) -> float | None:
    """Return the seconds of a duration such as `30m`, `1h30m` or `45`, which are minutes; None for
    what is none, or for no time at all.
    """
    if not isinstance(words, str):
        return None
    words = words.strip().lower()
    if _MINUTES.fullmatch(words):
        words = f"{words}m"
    found = _DURATION.fullmatch(words)
    if found is None:
        return None
    units = zip(found.groups(), (86_400, 3_600, 60, 1), strict=True)
    return float(sum(int(count or 0) * seconds for count, seconds in units)) or None


def _add(collector: Collector, text: str, name: str, seconds: float, zone: str) -> None:
    text = collector.hide(text, PLACE)
    if len(text) > TEXT_CHARACTERS:
        why = f"has {len(text):,} characters, and a schedule at most {TEXT_CHARACTERS:,}"
        collector.leave(PLACE, why, "shorten it there, and import again")
        return
    collector.add_schedule(
        MovedSchedule(
            when=When(kind="every", every=max(seconds, SHORTEST), zone=zone),
            text=text,
            name=one_line(collector.hide(name, PLACE), NAME_CHARACTERS),
            place=PLACE,
        )
    )


def _drop_done(lines: Sequence[str]) -> list[str]:
    """Return the lines of a list without what is done: items with a tick, and what stands below a
    heading that says so.
    """
    kept = []
    level = 0
    for line in lines:
        heading = _HEADING.match(line)
        if heading and (not level or len(heading[1]) <= level):
            level = len(heading[1]) if _DONE_HEADING.match(heading[2]) else 0
        if not level and not _DONE_ITEM.match(line):
            kept.append(line)
    return kept


def _split_tasks(lines: Sequence[str]) -> tuple[list[dict[str, str]], list[str]]:
    """Return the tasks below a line `tasks:`, each with its fields, and all other lines.

    A task is `- name: NAME` with `interval: 30m` and `prompt: WORDS` below it.
    """
    tasks: list[dict[str, str]] = []
    rest: list[str] = []
    inside = False
    for line in lines:
        if line.strip() == "tasks:":
            inside = True
            continue
        found = _TASK_FIELD.fullmatch(line) if inside else None
        if found and (found[1] or tasks):
            if found[1]:
                tasks.append({})
            tasks[-1][found[2]] = found[3].strip().strip("\"'")
        else:
            inside = inside and not line.strip()
            rest.append(line)
    return tasks, rest
