"""A report says in the chat that asked for a piece of work what came of it, without a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from functions.agent.posts import Post
from functions.agent.team.task import Task
from functions.events import Event
from functions.texts.en import Texts
from sigil.errors import ToolError
from sigil.protocol import Json
from sigil.storage.kv import keys

if TYPE_CHECKING:
    from functions.agent.agents.record import AgentRecord

SAID_CHARACTERS: Final = 16_000
"""Of what a teammate says at once, a chat hears so many characters at most."""
LEAD: Final = "lead"
"""The name by which a team calls its root."""


def report_task(task: Task, root: str, texts: Texts, by: str = "") -> tuple[Post, ...]:
    """Return the line in which a task's chat hears that it is done, stuck or dropped, with its
    files; nothing for a task of no chat, and for one that is still open.

    `by` is who says so where that is not its owner.
    """
    by = by or task.owner
    patterns = {
        "completed": texts.task_done if by else texts.task_done_by_nobody,
        "stuck": texts.task_stuck,
        "dropped": texts.task_dropped,
    }
    pattern = patterns.get(task.status, "")
    if not pattern:
        return ()
    said = task.report if task.status == "completed" else task.why or task.report
    text = pattern.format(
        id=task.id,
        subject=task.subject,
        owner=by,
        text=said or task.subject,
    )
    if task.status == "stuck" and task.report and task.report != said:
        text = f"{text}\n{texts.said_last.format(text=task.report)}"
    if task.files:
        text = f"{text}\n{texts.task_files.format(files=', '.join(task.files))}"
    return say_home(root, task.home, text, by or f"task #{task.id}")


def find_home(event: Event, record: AgentRecord | None) -> str:
    """Return the chat that a piece of work of an agent with this record is for, empty for none."""
    return str(event.data.get("home") or (record.home if record else ""))


def say_home(
    root: str, home: str, text: str, origin: str, more: Mapping[str, Json] | None = None
) -> tuple[Post, ...]:
    """Return the post that says a text in a chat of the root; nothing where there is no chat.

    `origin` is who or what it came from, and `more` is for the `data` of the post.
    """
    if not home or not text:
        return ()
    data: dict[str, Json] = {"from": origin, **(more or {})}
    try:
        return (Post("say", keys.root_of(root), home, text, data=data),)
    except ToolError:  # no service names such a chat, and a turn has to end all the same
        return ()
