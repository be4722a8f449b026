"""The text of a schedule as an agent changes it: what it does or says, and above it, in TOML
between two lines of `+++`, when that is and how it is gone about.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Final

import orjson

from functions.agent.behaviours.behaviour import FENCE
from functions.agent.schedules.description import describe_when
from functions.agent.schedules.schedule import NAME_CHARACTERS, Schedule
from functions.agent.schedules.time_field import read_time
from functions.agent.schedules.when import When
from functions.texts.languages import load_texts
from functions.time.time_zone import is_known
from sigil.errors import UsageError, one_line

FIELDS: Final = ("when", "zone", "name", "behaviour", "model")
FIELD_CHARACTERS: Final = 200


def write_schedule(schedule: Schedule, now: float) -> str:
    """Return the text of a schedule."""
    when = schedule.when
    values = {
        "when": describe_when(when, load_texts("en"), now),
        "zone": when.zone,
        "name": schedule.name,
        "behaviour": schedule.behaviour,
        "model": schedule.model,
    }
    lines = [f"{name} = {orjson.dumps(value).decode()}" for name, value in values.items() if value]
    return "\n".join([FENCE, *lines, FENCE, (schedule.text or schedule.say).strip()])


def read_schedule(known: Schedule, text: str, now: float) -> Schedule:
    """Return a schedule that says what a text says of it; `UsageError` for one that says nothing.

    Words that say when it is already leave that as it is.
    """
    lines = text.strip().splitlines()
    ends = [number for number, line in enumerate(lines) if line.rstrip() == FENCE]
    if len(ends) < 2 or ends[0]:
        raise _fault("its front matter is missing", f"write it between two lines of {FENCE}")
    try:
        fields = tomllib.loads("\n".join(lines[1 : ends[1]]))
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        why = one_line(str(problem), 200)
        hint = 'such as when = "every day at 8"'
        raise _fault(f"its front matter is no TOML: {why}", hint) from None
    for name, value in fields.items():
        is_text = isinstance(value, str) and len(value) <= FIELD_CHARACTERS
        if name not in FIELDS or not is_text:
            raise _fault(f"{one_line(name, 40)} is none of its fields", f"use {', '.join(FIELDS)}")
    name = str(fields.get("name", ""))
    if one_line(name, NAME_CHARACTERS) != name:
        raise _fault("its name is one line", f"at most {NAME_CHARACTERS} characters")
    words = "\n".join(lines[ends[1] + 1 :]).strip()
    return replace(
        known,
        when=_read_when(known, fields, now),
        name=name,
        behaviour=str(fields.get("behaviour", "")),
        model=str(fields.get("model", "")),
        text="" if known.say else words,
        say=words if known.say else "",
    )


def _read_when(known: Schedule, fields: dict[str, object], now: float) -> When:
    zone = str(fields.get("zone", known.when.zone))
    words = str(fields.get("when", ""))
    said = describe_when(known.when, load_texts("en"), now)
    if zone == known.when.zone and words in ("", said):
        return known.when
    if not is_known(zone):
        raise _fault(f"no time zone is called {one_line(zone, 40)!r}", "such as Europe/Berlin")
    if known.heartbeat:
        raise _fault("nobody but a person moves a heartbeat", "leave when and zone as they are")
    if not words or words == said:
        # the same words on other clocks
        return replace(known.when, zone=zone)
    when = read_time(words, now, zone, load_texts("en"))
    return replace(when, times=known.when.times, until=when.until or known.when.until)


def _fault(what: str, hint: str) -> UsageError:
    return UsageError("EINVAL", f"a schedule: {what}", suggestion=hint)
