"""The roster of a team says who is on it, and who works, idles or has shut down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from functions.agent.agents.record import scan_agents
from functions.agent.app import App
from functions.agent.safety.hp import NO_HP, NO_HP_LEFT, HpLimits, list_drained
from functions.agent.team.member import Members, hash_person
from functions.texts.en import Texts
from sigil.protocol import Json
from sigil.storage.kv import KV

if TYPE_CHECKING:
    from functions.agent.team.progress import WorkProgress

NO_ROLE: Final = "teammate"
ENDED_SECONDS: Final = 3_600.0
"""So long after it has shut down a teammate is still named."""


@dataclass(frozen=True, slots=True)
class Teammate:
    """A teammate as people see it: `status` is `working`, `idle` or `shutdown`, or that it is
    disabled, since `since` (seconds since 1970), and `task` the number of the task that it works
    on, 0 for none. `stopped` is as in `Member`, and `plan` the one whose answer it waits for.
    """

    name: str
    role: str
    status: str
    since: float
    task: int = 0
    trouble: str = ""
    home: str = ""
    by: str = ""
    stay: bool = False
    recall: bool = False
    stopped: str = ""
    plan: str = ""

    def describe(self) -> dict[str, Json]:
        """Return it as a row of the API."""
        waits: dict[str, Json] = {"plan": self.plan} if self.plan else {}
        return {
            "name": self.name,
            "role": self.role,
            "status": self.status,
            "since": self.since,
            "task": self.task or None,
            "trouble": self.trouble or None,
            "stay": self.stay,
            "recall": self.recall,
            "stopped": bool(self.stopped),
            **waits,
        }


def list_team(
    kv: KV, root: str, now: float, idle_seconds: float, hp: HpLimits | None = None
) -> list[Teammate]:
    """Return the teammates of a root by name; with the limits of their HP it is told as well who
    has none left.
    """
    changing = dict(Members(kv, root).scan())
    if not changing:
        return []
    drained = list_drained(kv, root, changing, hp, now) if hp else ()
    team = []
    for name, record in scan_agents(kv, root):
        member = changing.get(name)
        if record is None or member is None or record.kind != "teammate":
            continue
        status: str = member.find_status(now, idle_seconds)
        if record.state == "archived":
            status = "shutdown"
        elif record.state != "enabled":
            status = record.state
        elif name in drained and status != "working":
            status = NO_HP
        team.append(
            Teammate(
                name,
                record.role or NO_ROLE,
                status,
                member.since,
                member.task,
                member.trouble,
                record.home,
                record.by,
                member.stay,
                member.recall,
                member.stopped,
                member.waiting if status == "working" else "",
            )
        )
    return sorted(team, key=lambda each: each.name)


def list_shown(app: App, now: float) -> list[Teammate]:
    """Return the teammates of an agent's root that people hear of: those that are awake or come
    back by themselves, and those that have shut down lately.
    """
    return [
        each
        for each in list_team(app.kv, app.root, now, app.team_idle, app.hp)
        if each.status != "shutdown" or each.recall or now < each.since + ENDED_SECONDS
    ]


def format_roster(
    app: App,
    now: float,
    texts: Texts,
    *,
    reader: str = "",
    progress: Mapping[str, WorkProgress | None] | None = None,
) -> str:
    """Return the team of an agent's root in lines: `name (role): status`, as a person reads it, or
    a model; with the `progress` of its members it is told how far they have come.
    """
    team = list_shown(app, now)
    if not team:
        return texts.team_none
    lines = [texts.team_head.format(name=app.root)]
    lines += [
        f"  {describe_teammate(each, now, texts, reader=reader, progress=progress)}"
        for each in team
    ]
    return "\n".join(lines)


def describe_teammate(
    teammate: Teammate,
    now: float,
    texts: Texts,
    *,
    reader: str = "",
    progress: Mapping[str, WorkProgress | None] | None = None,
) -> str:
    """Return the line of one teammate: since when, and how far, only for whom `progress` has."""
    status = teammate.status
    if status == NO_HP:
        status = f"{texts.agent_states['disabled']} ({NO_HP_LEFT})"
    elif teammate.stopped and status == "shutdown":
        is_own = bool(reader) and teammate.stopped == hash_person(reader)
        status = texts.team_stopped_by_you if is_own else texts.team_stopped_by_person
    else:
        status = texts.agent_states.get(status, status)
    line = f"{teammate.name} ({teammate.role}): {status}"
    if teammate.task:
        line += f" #{teammate.task}"
    if progress is not None and teammate.name in progress:
        line += f", {format_progress(teammate, progress[teammate.name], now, texts)}"
    if teammate.plan:
        line += f" — {texts.team_waits.format(id=teammate.plan)}"
    if teammate.trouble:
        line += f" — {teammate.trouble}"
    return line


def format_progress(
    teammate: Teammate, progress: WorkProgress | None, now: float, texts: Texts
) -> str:
    """Return since when a teammate is in its state, and how far its work has come."""
    since = texts.team_since.format(span=texts.format_span(max(now - teammate.since, 0.0)))
    return f"{since}, {progress.format(texts)}" if progress else since
