"""The roster of a team says who is on it, and who works, idles or has shut down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from functions.agent.agents.record import scan_agents
from functions.agent.app import App
from functions.agent.team.member import Members, Status
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
    """A teammate as people see it: `status` is `working`, `idle` or `shutdown`, since `since`
    (seconds since 1970), and `task` the number of the task that it works on, 0 for none.
    """

    name: str
    role: str
    status: Status
    since: float
    task: int = 0
    trouble: str = ""
    home: str = ""
    by: str = ""
    stay: bool = False
    recall: bool = False

    def describe(self) -> dict[str, Json]:
        """Return it as a row of the API."""
        return {
            "name": self.name,
            "role": self.role,
            "status": self.status,
            "since": self.since,
            "task": self.task or None,
            "trouble": self.trouble or None,
            "stay": self.stay,
            "recall": self.recall,
        }


def list_team(kv: KV, root: str, now: float, idle_seconds: float) -> list[Teammate]:
    """Return the teammates of a root by name."""
    changing = dict(Members(kv, root).scan())
    if not changing:
        return []
    team = []
    for name, record in scan_agents(kv, root):
        member = changing.get(name)
        if record is None or member is None or record.kind != "teammate":
            continue
        status = member.find_status(now, idle_seconds)
        if record.state != "enabled":
            status = "shutdown"
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
            )
        )
    return sorted(team, key=lambda each: each.name)


def list_shown(app: App, now: float) -> list[Teammate]:
    """Return the teammates of an agent's root that people hear of: those that are awake or come
    back by themselves, and those that have shut down lately.
    """
    return [
        each
        for each in list_team(app.kv, app.root, now, app.team_idle)
        if each.status != "shutdown" or each.recall or now < each.since + ENDED_SECONDS
    ]


def format_roster(
    app: App, now: float, texts: Texts, progress: Mapping[str, WorkProgress] | None = None
) -> str:
    """Return the team of an agent's root in lines: `name (role): status`, and with the `progress`
    of its members how far they have come.
    """
    team = list_shown(app, now)
    if not team:
        return texts.team_none
    lines = [texts.team_head.format(name=app.root)]
    for each in team:
        line = f"  {each.name} ({each.role}): {each.status}"
        if each.task:
            line += f" #{each.task}"
        if progress is not None and each.status == "working":
            line += f", {format_progress(each, progress.get(each.name), now, texts)}"
        if each.trouble:
            line += f" — {each.trouble}"
        lines.append(line)
    return "\n".join(lines)


def format_progress(
    teammate: Teammate, progress: WorkProgress | None, now: float, texts: Texts
) -> str:
    """Return since when a teammate is in its state, and how far its work has come."""
    since = texts.team_since.format(span=texts.format_span(max(now - teammate.since, 0.0)))
    return f"{since}, {progress.format(texts)}" if progress else since
