"""What programs ask about schedules over HTTP: the fields of a request become a schedule, and a
schedule becomes a row of an answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from functions.agent.app import App
from functions.agent.language import choose_texts_of
from functions.agent.schedules.description import (
    choose_texts_of_time,
    describe_next,
    describe_when,
)
from functions.agent.schedules.schedule import (
    NAME_CHARACTERS,
    TEXT_CHARACTERS,
    Run,
    Schedule,
    Schedules,
    is_schedule_id,
    make_event,
)
from functions.agent.schedules.time_field import read_time
from functions.events import OWN, Event
from functions.texts.en import Texts
from functions.texts.languages import READ_CHARACTERS, find_by_name, list_codes, load_texts
from functions.time.time_zone import find_zone, is_known
from sigil.errors import UsageError, one_line
from sigil.protocol import Json
from sigil.storage.kv import keys
from sigil.storage.kv.base import get_many
from sigil.storage.stored import row

BY: Final = "http:admin"
PAGE: Final = 64
WORDS_CHARACTERS: Final = 240
"""A time has so many characters at most."""
SESSION_CHARACTERS: Final = 300
TIMES_MOST: Final = 1_000_000
SHOWN_CHARACTERS: Final = 60
NEXT_SHOWN: Final = 3
FIELDS: Final = frozenset(
    (
        "when",
        "text",
        "say",
        "session",
        "zone",
        "name",
        "until",
        "times",
        "language",
        "behaviour",
        "model",
    )
)
HOW: Final = ("behaviour", "model")
"""The fields that say how a schedule that works is gone about."""
CHANGES: Final = frozenset(("paused", "name", *HOW))
_LIMIT: Final = re.compile(r"[0-9]{1,3}", re.ASCII)
_MODEL: Final = re.compile(r"[!-~]{1,100}", re.ASCII)
_HTTP_CHAT: Final = re.compile(r"http:admin:[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True)
class WakeupPage:
    """Which schedules a program wants to see: those of a chat, or of all of them (empty)."""

    session: str = ""
    after: str = ""
    limit: int = PAGE


def read_page(query: Mapping[str, str]) -> WakeupPage:
    """Return the page that the parameters of a request name; `UsageError` for what is none."""
    limit = query.get("limit", str(PAGE))
    after = query.get("after", "")
    if not _LIMIT.fullmatch(limit) or not 1 <= int(limit) <= PAGE:
        raise _refuse(f"limit is a number from 1 to {PAGE}")
    if after and not is_schedule_id(after):
        raise _refuse("after is the id of a schedule, such as `next` of the page before")
    return WakeupPage(query.get("session", ""), after, int(limit))


def list_schedules(app: App, page: WakeupPage) -> dict[str, object]:
    """Return a page of an agent's schedules that are not over, by id."""
    found = [
        each
        for each in sorted(app.schedules.list_of_chat(page.session), key=lambda each: each.id)
        if each.id > page.after
    ]
    shown = found[: page.limit]
    answer: dict[str, object] = {"items": [make_row(each, app) for each in shown]}
    if len(found) > page.limit:
        answer["next"] = shown[-1].id
    return answer


def make_schedule(app: App, fields: Mapping[str, Json]) -> tuple[Schedule, bool]:
    """Store the schedule that the fields of a request describe; the second value says whether it is
    new. `UsageError` for fields that describe none, and nothing is stored.
    """
    _require_known(fields, FIELDS)
    session = _read_text(fields, "session", SESSION_CHARACTERS)
    words = _read_text(fields, "when", WORDS_CHARACTERS)
    texts = _read_language(fields) or _choose_texts(app, fields, session)
    now = app.clock.now()
    zone = _read_zone(fields, now, texts) or require_chat(app, session)
    until = _read_text(fields, "until", WORDS_CHARACTERS, needed=False)
    when = read_time(words, now, zone, texts, until)
    times = fields.get("times")
    if times is not None:
        if isinstance(times, bool) or not isinstance(times, int) or not 1 <= times <= TIMES_MOST:
            raise _refuse(f"times is a whole number from 1 to {TIMES_MOST:,}")
        if when.kind == "at":
            raise _refuse("times is for what comes again and again, and this comes once")
        when = replace(when, times=times)
    behaviour, model = _read_how(app, fields)
    say = _read_text(fields, "say", TEXT_CHARACTERS, needed=False)
    if say and behaviour:
        raise _refuse("what is said as it is takes no behaviour: leave it out, or give a text")
    wanted = Schedule(
        id="",
        when=when,
        session=session,
        by=BY,
        since=now,
        text=_read_text(fields, "text", TEXT_CHARACTERS, needed=False),
        say=say,
        name=_read_name(fields),
        behaviour=behaviour,
        model=model,
        language=texts.code,
    )
    require_chat(app, session)
    _require_leave(app)
    return app.schedules.add(wanted)


def find_schedule(schedules: Schedules, id: str) -> Schedule:
    """Return a schedule that is not over; `UsageError` ENOENT when there is none with this id."""
    found = schedules.find(id) if is_schedule_id(id) else None
    if found is None or found.is_over or found.collects:
        raise UsageError("ENOENT", "there is no such schedule", source="schedule")
    return found


def change_schedule(app: App, id: str, fields: Mapping[str, Json]) -> Schedule:
    """Pause, resume or name a schedule, or choose how it is gone about, as the fields of a request
    say.
    """
    _require_known(fields, CHANGES)
    if not fields:
        raise _refuse(f"say what is to change: {', '.join(sorted(CHANGES))}")
    paused = fields.get("paused")
    if "paused" in fields and not isinstance(paused, bool):
        raise _refuse("paused is true or false")
    name = _read_name(fields)
    behaviour, model = _read_how(app, fields)
    find_schedule(app.schedules, id)
    if paused is False or any(each in fields for each in HOW):
        _require_leave(app)
    if any(each in fields for each in HOW):
        app.schedules.set_how(
            id,
            behaviour=behaviour if "behaviour" in fields else None,
            model=model if "model" in fields else None,
        )
    if "name" in fields:
        app.schedules.rename(id, name)
    if paused:
        app.schedules.pause(id)
    elif "paused" in fields:
        app.schedules.resume(id, app.clock.now())
    changed = app.schedules.find(id)
    if changed is None:
        raise UsageError("ENOENT", "there is no such schedule", source="schedule")
    return changed


def drop_schedule(app: App, id: str) -> None:
    """Delete a schedule; `UsageError` ENOENT when there is none with this id."""
    find_schedule(app.schedules, id)
    app.schedules.drop(id)


def make_run(app: App, id: str, name: str) -> Event:
    """Return the event that runs a schedule once now; its own times stay as they are.

    The same `name` makes the same event.
    """
    schedule = find_schedule(app.schedules, id)
    _require_leave(app)
    digest = sha256(name.encode(errors="replace")).hexdigest()[:16]
    return make_event(schedule, app.name, f"now-{digest}", app.clock.now())


def list_runs(app: App, id: str) -> dict[str, object]:
    """Return what became of the last runs of a schedule, the newest first."""
    find_schedule(app.schedules, id)
    return {"items": [_make_run_row(run) for run in app.schedules.list_runs(id)]}


def make_row(schedule: Schedule, app: App) -> dict[str, object]:
    """Return a schedule as programs see it: its times in seconds since 1970 and in words."""
    texts = load_texts(schedule.language)
    now = app.clock.now()
    when = schedule.when
    times = schedule.list_coming(NEXT_SHOWN)
    fields = row(schedule)
    shown = ("id", "name", "text", "say", "session", "number", "paused", "by", "language", "model")
    return {
        **{name: fields[name] for name in shown},
        "agent": app.name,
        "behaviour": schedule.behaviour,
        "heartbeat": schedule.heartbeat,
        "when": row(when),
        "zone": when.zone,
        "in_words": describe_when(when, texts, now),
        "next": list(times),
        "next_in_words": describe_next(times, when.zone, texts) if times else "",
        **{name: fields[name] for name in ("since", "runs", "skipped", "missed", "failures")},
        "last": _make_run_row(schedule.last) if schedule.last else None,
    }


def _make_run_row(run: Run) -> dict[str, object]:
    return row(run)


def _require_leave(app: App) -> None:
    """Raise `PolicyRefusal` where the policy lets not even an owner schedule anything."""
    app.make_gate(app.load_policies(), "owner", private=True).require_undenied("schedule")


def _require_known(fields: Mapping[str, Json], known: frozenset[str]) -> None:
    for name in sorted(fields.keys() - known):
        shown = one_line(name, SHOWN_CHARACTERS)
        raise _refuse(f"nothing is called {shown!r} here: it takes {', '.join(sorted(known))}")


def _read_text(fields: Mapping[str, Json], name: str, most: int, *, needed: bool = True) -> str:
    value = fields.get(name)
    if value is None and not needed:
        return ""
    if not isinstance(value, str) or (needed and not value.strip()):
        raise _refuse(f"{name} is a text")
    if len(value) > most:
        raise _refuse(f"{name} has at most {most:,} characters, not {len(value):,}")
    return value.strip()


def _read_how(app: App, fields: Mapping[str, Json]) -> tuple[str, str]:
    """Return the behaviour and the model that the fields choose, each empty for none."""
    behaviour = _read_text(fields, "behaviour", WORDS_CHARACTERS, needed=False)
    if behaviour:
        app.require_behaviour(behaviour)
    model = _read_text(fields, "model", WORDS_CHARACTERS, needed=False)
    if model and not _MODEL.fullmatch(model):
        raise _refuse("model is the name of a model")
    return behaviour, model


def _read_name(fields: Mapping[str, Json]) -> str:
    name = _read_text(fields, "name", NAME_CHARACTERS, needed=False)
    if one_line(name, NAME_CHARACTERS) != name:
        raise _refuse("name is one line")
    return name


def _read_language(fields: Mapping[str, Json]) -> Texts | None:
    language = _read_text(fields, "language", SHOWN_CHARACTERS, needed=False)
    if not language:
        return None
    code = find_by_name(language)
    if not code:
        raise _refuse(f"language is one of {', '.join(list_codes())}")
    return load_texts(code)


def _choose_texts(app: App, fields: Mapping[str, Json], session: str) -> Texts:
    """Return the texts in the language of a request: the one that the chat chose, then that of the
    time, of what is said then, and of the chat.
    """
    document = app.sessions.open(keys.session_of(app.name, session)).document
    told = f"{fields.get('when')} {fields.get('say') or fields.get('text') or ''}"
    texts = choose_texts_of(document, session)
    return choose_texts_of_time(told[:READ_CHARACTERS], texts, document)


def _read_zone(fields: Mapping[str, Json], now: float, texts: Texts) -> str:
    asked = _read_text(fields, "zone", SHOWN_CHARACTERS, needed=False)
    zone = find_zone(asked) if asked else ""
    if asked and not (zone and is_known(zone)):
        from functions.agent.schedules.phrase import ask_for_zone

        raise _refuse(ask_for_zone(one_line(asked, SHOWN_CHARACTERS), now, texts).message)
    return zone


def require_chat(app: App, session: str) -> str:
    """Return the time zone of a chat; `UsageError` for one that the agent does not know.

    A chat of the HTTP API begins with whoever holds the admin token, so that it may be a new one.
    """
    platform, _, chat = session.partition(":")
    if not (platform and chat):
        raise _refuse("session is PLATFORM:CHAT, such as telegram:42")
    if platform == OWN:
        raise _refuse("session is a chat: nobody hears what is said in the agent's own work")
    names = dict.fromkeys((app.root, app.name))
    heads = [keys.session_head(keys.session_of(name, session)) for name in names]
    if not any(get_many(app.kv, heads)) and not _HTTP_CHAT.fullmatch(session):
        shown = one_line(session, SHOWN_CHARACTERS)
        raise UsageError(
            "ENOENT",
            f"nobody has written in {shown!r} yet",
            source="schedule",
            suggestion="take a chat that exists, or http:admin:NAME",
        )
    document = app.sessions.open(keys.session_of(app.name, session)).document
    return app.find_zone(document)


def _refuse(message: str) -> UsageError:
    return UsageError("EINVAL", message, source="schedule")
