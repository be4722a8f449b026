"""Reads the schedules of nanobot and OpenClaw, which both keep them in `cron/jobs.json`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from functions.agent.management.moved_work import MovedSchedule
from functions.agent.sanitize import clean_text
from functions.agent.schedules.schedule import NAME_CHARACTERS, TEXT_CHARACTERS
from functions.agent.schedules.when import When
from functions.cli.moving.foreign_agent import Collector
from functions.cli.moving.source_folder import SourceFolder
from functions.cli.moving.workspace_files import read_stamp
from functions.time.time_zone import LATEST, is_known
from sigil.errors import UsageError, one_line
from sigil.protocol import Json

PLACE: Final = "cron/jobs.json"
JOBS_MOST: Final = 500
_SHOWN: Final = 60
_SAID: Final = frozenset(("direct_deliver",))
"""The kinds of jobs whose message is said as it is; every other one is worked on."""


class _UnfitJob(Exception):
    """A job that cannot become a schedule, and why."""


def read_jobs(
    collector: Collector,
    folder: SourceFolder,
    zone: str = "",
    takes: Callable[[str], bool] | None = None,
) -> None:
    """Take the jobs of a folder; those that do not say so are in the time zone `zone`.

    `takes` says whether a job is taken, by the name of the agent that it is for, empty where it
    names none; without it all are. A file that cannot be read is left out, and the rest of the
    agent comes along.
    """
    try:
        jobs = folder.read_config(PLACE).get("jobs", [])
    except UsageError as problem:
        collector.leave(PLACE, f"cannot be read: {problem.message}", problem.suggestion)
        return
    if not isinstance(jobs, list):
        collector.leave(PLACE, "has no list of jobs")
        return
    if len(jobs) > JOBS_MOST:
        collector.leave(f"{len(jobs) - JOBS_MOST:,} jobs", f"the first {JOBS_MOST} are taken")
    for number, job in enumerate(jobs[:JOBS_MOST], 1):
        if takes and not takes(_find_agent(job)):
            continue
        try:
            collector.add_schedule(_read_job(collector, job, zone))
        except _UnfitJob as problem:
            collector.leave(f"the schedule {_find_title(job, number)}", str(problem))


def _find_agent(job: Json) -> str:
    name = job.get("agentId") if isinstance(job, dict) else None
    return name if isinstance(name, str) else ""


def _find_title(job: Json, number: int) -> str:
    """Return the name of a job, or its place in the list."""
    name = job.get("name") if isinstance(job, dict) else None
    return one_line(name, _SHOWN) if isinstance(name, str) and name.strip() else f"number {number}"


def _read_job(collector: Collector, job: Json, zone: str) -> MovedSchedule:
    if not isinstance(job, dict):
        raise _UnfitJob("is no object")
    schedule, payload = job.get("schedule"), job.get("payload")
    if not isinstance(schedule, dict) or not isinstance(payload, dict):
        raise _UnfitJob("has no times or no message")
    words = payload.get("message", payload.get("text"))
    text = clean_text(words).strip() if isinstance(words, str) else ""
    if not text:
        raise _UnfitJob("has no message")
    if len(text) > TEXT_CHARACTERS:
        raise _UnfitJob(f"has {len(text):,} characters, and a schedule at most {TEXT_CHARACTERS:,}")
    when = _read_when(schedule, zone)
    text = collector.hide(text, PLACE)
    name = job.get("name")
    name = collector.hide(name, PLACE) if isinstance(name, str) else ""
    is_said = payload.get("kind") in _SAID
    return MovedSchedule(
        when=when,
        text="" if is_said else text,
        say=text if is_said else "",
        name=one_line(clean_text(name), NAME_CHARACTERS),
        place=PLACE,
    )


def _read_when(schedule: dict[str, Json], usual: str) -> When:
    """Return the times of a job; `_UnfitJob` for what tells none."""
    named = schedule.get("tz", schedule.get("timezone"))
    if named is not None and not (isinstance(named, str) and is_known(named)):
        raise _UnfitJob(f"names no time zone that is known: {one_line(str(named), _SHOWN)!r}")
    zone = named if isinstance(named, str) else usual
    kind = schedule.get("kind")
    if kind == "cron":
        cron = schedule.get("expr")
        if not isinstance(cron, str):
            raise _UnfitJob("has no expression of cron")
        return When(kind="cron", cron=cron, zone=zone)
    if kind == "every":
        every = _read_seconds(schedule.get("everyMs"))
        if every is None:
            raise _UnfitJob("does not say how often it comes")
        return When(kind="every", every=every, zone=zone)
    if kind == "at":
        at = _read_seconds(schedule.get("atMs"))
        stamp = schedule.get("at")
        if at is None and isinstance(stamp, str):
            at = read_stamp(stamp.replace("Z", "+00:00"))
        if at is None or not 0 < at < LATEST:
            raise _UnfitJob("does not say when it comes")
        return When(kind="at", at=at, zone=zone)
    raise _UnfitJob(f"is of a kind that is not known: {one_line(str(kind), _SHOWN)!r}")


def _read_seconds(value: Json) -> float | None:
    """Return a number of milliseconds in seconds, None for what is none."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 < value < LATEST * 1e3
    ):
        return None
    return value / 1000
