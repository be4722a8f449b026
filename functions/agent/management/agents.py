"""What people and programs ask about the agents below the root: to make one, to show what each of
them is and what it is doing, and to bring it into another state.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, get_args

from functions.agent.access.roles import Access
from functions.agent.agents.lifecycle import create_agent, with_identity
from functions.agent.agents.record import (
    LIMIT_MOST,
    NEXT_STATES,
    PROMPT_CHARACTERS,
    TEXT_CHARACTERS,
    AgentRecord,
    State,
    change_state,
    join_name,
    make_did,
    make_record,
    require_new_name,
)
from functions.agent.app import App
from functions.agent.conversation.compaction import load_strategy
from functions.agent.conversation.messages import HEARTBEAT_TEXT
from functions.agent.memory.documents import Documents, check_document_text
from functions.agent.safety.guides import load_guide
from functions.agent.safety.hp import NO_HP, enable_work, load_account
from functions.agent.schedules.heartbeat import make_heartbeat, parse_interval, read_versions
from functions.agent.schedules.schedule import Schedules
from functions.texts.en import Texts
from sigil.errors import UsageError, one_line
from sigil.storage.stored import row

ACCESS: Final[tuple[str, ...]] = get_args(Access)
OFF: Final = "off"
HEARTBEAT: Final = "30m"
"""What a new agent looks at itself after, where nobody says something else."""
ENABLE: Final = "enable"
STEPS: Final[Mapping[str, State]] = {
    ENABLE: "enabled",
    "disable": "disabled",
    "archive": "archived",
    "purge": "purged",
}
"""The words that bring an agent into another state."""
RUNNING, SLEEPING = "running", "sleeping"
"""The states that are not stored: a turn of it is in progress, or its next wakeup is to come."""
_TAG: Final = re.compile('"([0-9a-f]{16})"')
_TEXTS: Final = frozenset(("model", "guide", "context", "access", "prompt", "role", "self"))
_NUMBERS: Final = frozenset(("tokens", "session_tokens", "ticks"))
FIELDS: Final = frozenset(("name", "heartbeat", "session", "temporary")) | _TEXTS | _NUMBERS


@dataclass(frozen=True, slots=True)
class NewAgent:
    """An agent that is to be made: its short name, its record, the texts of its documents `role`
    and `self` (empty for none), the seconds between two looks of its heartbeat (0 for none) and the
    chat in which that tells something.
    """

    name: str
    record: AgentRecord
    role: str = ""
    self: str = ""
    heartbeat: float = 0.0
    session: str = ""


def read_new_agent(fields: Mapping[str, object], by: str, now: float, session: str) -> NewAgent:
    """Return the agent that the fields of a request describe; `UsageError` EINVAL for what is none.

    `by` makes it, and `session` is where its heartbeat tells something if the fields name no chat.
    """
    unknown = sorted(set(fields) - FIELDS)
    if unknown:
        raise UsageError(
            "EINVAL",
            f"{one_line(unknown[0], 40)!r} is no field of an agent",
            suggestion=f"there are {', '.join(sorted(FIELDS))}",
        )
    texts: dict[str, str] = {}
    for name in (*_TEXTS, "name", "heartbeat", "session"):
        value = fields.get(name)
        if value is not None and not isinstance(value, str):
            raise UsageError("EINVAL", f"{name} is a text")
        texts[name] = value or ""
    for name in _NUMBERS:
        number = fields.get(name) or 0
        if not isinstance(number, int) or not 0 <= number < LIMIT_MOST:
            raise UsageError("EINVAL", f"{name} is a whole number from 0 to {LIMIT_MOST - 1:,}")
    if not texts["name"]:
        raise UsageError("EINVAL", "name is missing", suggestion="such as alice")
    if len(texts["model"]) > TEXT_CHARACTERS:
        raise UsageError("ETOOBIG", f"model has at most {TEXT_CHARACTERS} characters")
    if texts["access"] and texts["access"] not in ACCESS:
        shown = one_line(texts["access"], 40)
        raise UsageError("EINVAL", f"access is {', '.join(ACCESS)}, not {shown!r}")
    if texts["guide"]:
        load_guide(texts["guide"])
    if texts["context"]:
        load_strategy(texts["context"])
    if len(texts["prompt"]) > PROMPT_CHARACTERS:
        raise UsageError("ETOOBIG", f"prompt has at most {PROMPT_CHARACTERS:,} characters")
    every = 0.0
    wanted = texts["heartbeat"] or HEARTBEAT
    if wanted.lower() != OFF:
        every = parse_interval(wanted)
        if not every:
            raise UsageError(
                "EINVAL",
                f"heartbeat: {one_line(wanted, 40)!r} is no time from a minute to a day",
                suggestion="write it as `30m`, `2h` or `1d`, or `off`",
            )
    record = make_record(
        {
            "kind": "agent",
            "state": "enabled",
            "since": now,
            "by": by,
            "model": texts["model"],
            "guide": texts["guide"],
            "context": texts["context"],
            "access": texts["access"] or None,
            "tokens": fields.get("tokens") or 0,
            "session_tokens": fields.get("session_tokens"),
            "ticks": fields.get("ticks"),
            "role": find_title(texts["role"]),
            "prompt": texts["prompt"],
            "home": texts["session"] or session,
            "temporary": fields.get("temporary") or False,
        }
    )
    return NewAgent(
        texts["name"],
        record,
        texts["role"],
        texts["self"],
        every,
        texts["session"] or session,
    )


def find_title(text: str) -> str:
    """Return the first line of a text that says something, without the marks of a heading."""
    lines = (line.strip(" \t#*_") for line in text.splitlines())
    return one_line(next(filter(None, lines), ""), TEXT_CHARACTERS // 2)


def make_agent(app: App, new: NewAgent, texts: Texts) -> dict[str, object]:
    """Make an agent below the root with its documents and its heartbeat, and return its row.

    `app` is the root. The documents are checked before anything is written.
    """
    name = new.name
    require_new_name(app.root, name)
    documents = {}
    if new.role.strip():
        documents["role"] = new.role
    if new.self.strip():
        documents["self"] = with_identity(new.self, app.root, name)
    for document, text in documents.items():
        check_document_text(document, text)
    record = create_agent(app.kv, app.root, name, new.record, most=app.agents_most)
    full = join_name(app.root, name)
    written = Documents(app.kv, full, app.clock.now)
    for document, text in documents.items():
        written.write(written.agent, document, text, by=record.by, why="the agent was made")
    if new.heartbeat:
        arm_heartbeat(app, new, texts)
    return make_row(app, name, record)


def arm_heartbeat(app: App, new: NewAgent, texts: Texts) -> None:
    """Let a new agent look by itself whether something is new, and work on what it is for."""
    full = join_name(app.root, new.name)
    heartbeat = make_heartbeat(
        new.heartbeat,
        session=new.session,
        by=new.record.by,
        now=app.clock.now(),
        zone=app.zone,
        known=read_versions(app.kv, full),
        texts=texts,
        text="\n\n".join(filter(None, (new.record.prompt[:2_000], HEARTBEAT_TEXT))),
    )
    Schedules(app.kv, full, app.wake_scheduler).set_heartbeat(heartbeat)


def make_row(
    app: App,
    name: str,
    record: AgentRecord | None,
    running: Collection[str] = (),
) -> dict[str, object]:
    """Return an agent as programs get it, by its short name; `running` are the full names of the
    agents that have a turn in progress.
    """
    full = join_name(app.root, name)
    about: dict[str, object] = {"name": name, "agent": full, "did": make_did(app.root, name)}
    if record is None:
        return {**about, "state": "damaged", "status": "damaged", "next": None, "hp": None}
    due = find_next_wakeup(app, full) if record.state == "enabled" else None
    hp = None
    if app.hp.most > 0 and record.is_live:
        now = app.clock.now()
        hp = row(load_account(app.kv, full, app.hp, now).report(now))
    status: str = record.state
    if record.state == "enabled" and full in running:
        status = RUNNING
    elif record.state == "enabled" and hp and hp["state"] == "disabled":
        status = NO_HP
    elif record.state == "enabled" and due:
        status = SLEEPING
    return {**about, **row(record), "status": status, "next": due, "hp": hp}


def find_next_wakeup(app: App, agent: str) -> float | None:
    """Return when an agent is woken next (seconds since 1970), None where nothing wakes it."""
    due = [each.due for each in Schedules(app.kv, agent).list_of_chat() if not each.paused]
    return min((each for each in due if each > 0), default=None)


def take_step(app: App, name: str, step: str, known: str = "") -> AgentRecord:
    """Enable, disable or archive an agent by its short name, and return its record.

    `UsageError` EINVAL with the steps that are possible where this one is not. For `known` see
    `change_state`.
    """
    record = change_state(app.kv, app.root, name, STEPS[step], app.clock.now(), known=known)
    if step == ENABLE:
        enable_work(app.kv, join_name(app.root, name), app.hp, app.clock.now())
    return record


def read_condition(headers: Mapping[str, str]) -> str:
    """Return the fingerprint of the record that a step is taken from, by `If-Match`; empty without
    a condition.
    """
    match = headers.get("if-match")
    if match is None:
        return ""
    found = _TAG.fullmatch(match.strip())
    if not found:
        raise UsageError(
            "EINVAL", "a condition is If-Match, with the ETag of the agent", source="http"
        )
    return found[1]


def list_steps(state: State) -> list[str]:
    """Return the words that lead from a state to another one."""
    return [word for word, reached in STEPS.items() if reached in NEXT_STATES[state]]
