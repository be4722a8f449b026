"""The briefing of a leg says what the piece of work is and how far it has come.

Each leg has one, so whatever a compaction took away, the next request has what a teammate needs.
"""

from __future__ import annotations

from typing import Final

from functions.agent.sanitize import clean_text, cut_text, delimit_text, sanitize_text
from functions.agent.team.leg import LEGS_MOST, Leg
from functions.agent.team.task import Task

ASSIGNMENT: Final = "ASSIGNMENT"
"""The name of the delimiters around what a teammate was spawned for."""
TASK: Final = "TASK"
PROGRESS: Final = "PROGRESS"
GIST: Final = "CHAT"
"""The name of the delimiters around what was said in the chat that the work comes from."""
CLAIMED: Final = "Claimed task #{number}. Working on it."
TEXT_CHARACTERS: Final = 8_000
INDENT: Final = "\n    "
COMMENTS_MOST: Final = 5


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
