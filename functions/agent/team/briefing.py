"""The briefing of a leg says what the piece of work is and how far it has come.

Each leg has one, so whatever a compaction took away, the next request has what a teammate needs.
The lead of a team is told who is on it, and what they do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from functions.agent.app import App
from functions.agent.context import TEAM, Preamble
from functions.agent.conversation import tokens
from functions.agent.sanitize import clean_text, cut_text, delimit_text, sanitize_text
from functions.agent.team.leg import LEGS_MOST, Leg
from functions.agent.team.task import Task
from functions.agent.workspace.edits import forget_team, has_team
from functions.events import Event
from functions.texts.en import TEXTS as ENGLISH
from sigil.errors import one_line
from sigil.storage.evolve import evolve
from sigil.storage.kv import Item

if TYPE_CHECKING:
    from functions.agent.team.roster import Teammate

ASSIGNMENT: Final = "ASSIGNMENT"
"""The name of the delimiters around what a teammate was spawned for."""
TASK: Final = "TASK"
PROGRESS: Final = "PROGRESS"
GIST: Final = "CHAT"
"""The name of the delimiters around what was said in the chat that the work comes from."""
TEXT_CHARACTERS: Final = 8_000
INDENT: Final = "\n    "
COMMENTS_MOST: Final = 5
NAMED_MOST: Final = 12
SUBJECT_CHARACTERS: Final = 80
OF_TEAM: Final = """\
Your team: {members}.
What they finish is said here by itself. Search for teammate to write to one, spawn or stop one."""
"""What the lead of a team is told of it."""


def describe_claim(task: Task) -> str:
    """Return the words by which a task that a teammate has claimed enters its history; nothing in
    the task can close them.
    """
    text = task.subject
    if task.description:
        text = f"{text}\n{task.description}"
    text = sanitize_text(text).replace("<", "&lt;")
    return f"<auto-claimed>Task #{task.id}: {text}</auto-claimed>"


def describe_assignment(leg: Leg, prompt: str, gist: str, task: Task | None) -> str:
    """Return what stands in a leg's briefing below its behaviour."""
    parts = []
    if prompt:
        parts.append(delimit_text(ASSIGNMENT, prompt))
    if gist:
        parts.append(delimit_text(GIST, gist))
    if task:
        parts.append(delimit_text(TASK, _describe_task(task)))
    if leg.progress:
        done = f"This is leg {leg.number} of at most {LEGS_MOST} for it. Before:\n{leg.progress}"
        parts.append(delimit_text(PROGRESS, done))
    return "\n".join(parts)


def _describe_task(task: Task) -> str:
    """Return a task and its last comments. Further lines are indented, so that none looks like
    what another one said.
    """
    parts = [f"Task #{task.id}: {task.subject}"]
    if task.description:
        parts.append(f"Description: {task.description}")
    parts += [f"{comment.by}: {comment.text}" for comment in task.comments[-COMMENTS_MOST:]]
    lines = (clean_text(part).replace("\n", INDENT) for part in parts)
    return cut_text("\n".join(lines), TEXT_CHARACTERS)


def tell_team(preamble: Preamble, app: App, event: Event, record: Item) -> Preamble:
    """Return what the lead of a team reads in a turn of a chat: who is on the team, and what they
    do. `record` is that of the team's workspace, as it was just read; without a team it is the same
    preamble.
    """
    if event.is_own_work or not app.is_root or not has_team(record):
        return preamble
    from functions.agent.team.roster import list_shown

    team = list_shown(app, app.clock.now())
    if not team:
        forget_team(app.kv, app.root, record)
        return preamble
    members = [_describe_teammate(each, app, event.session) for each in team[:NAMED_MOST]]
    if len(team) > NAMED_MOST:
        members.append(f"and {len(team) - NAMED_MOST} more")
    text = delimit_text(TEAM, OF_TEAM.format(members="; ".join(members)))
    return evolve(preamble, team=text, tokens=preamble.tokens + tokens.of_text(text))


def _describe_teammate(teammate: Teammate, app: App, chat: str) -> str:
    """Return the words for a teammate: also what it waits for, and that a person has stopped it."""
    status = teammate.status
    if teammate.stopped and status == "shutdown":
        status = ENGLISH.team_stopped_by_person
    text = f"{teammate.name} ({sanitize_text(teammate.role)}): {status}"
    if teammate.task:
        text += f" on {_name_task(teammate.task, app, chat)}"
    if teammate.plan:
        text += f", {ENGLISH.team_waits.format(id=teammate.plan)}"
    return text


def _name_task(number: int, app: App, chat: str) -> str:
    """Return a task's number, and what it is about in its own chat alone."""
    from functions.agent.team.board import Board

    task = Board(app.kv, app.root, app.clock.now).find(number)
    if task is None or task.home != chat:
        return f"#{number}"
    return f"#{number} ({one_line(sanitize_text(task.subject), SUBJECT_CHARACTERS)})"
