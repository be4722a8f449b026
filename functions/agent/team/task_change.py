"""A change of a task sets things off: teammates wake, a chat hears of it, the ledger has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from functions.agent.app import App
from functions.agent.language import choose_texts_of
from functions.agent.ledger.entry import Entry
from functions.agent.posts import Post
from functions.agent.team.board import Changed
from functions.agent.team.member import Members, is_known
from functions.agent.team.report import LEAD, report_task
from functions.agent.team.task import (
    Claim,
    Task,
    TaskHead,
    is_private,
    list_blockers,
    list_open_ids,
)
from functions.agent.team.waking import NOBODY_AWAKE, wake_loser, wake_members
from functions.texts.en import Texts
from sigil.protocol import Json
from sigil.storage.kv import keys

NOBODY_NAMED: Final = "there is no teammate {name}: spawn one, or name another one"
"""What whoever gives work to somebody is told who is not there."""
NO_TEXTS: Final[Mapping[str, Texts]] = {}
ENDINGS: Final = frozenset(("completed", "dropped", "stuck"))


@dataclass(frozen=True, slots=True)
class TaskNews:
    """What a change sets off. `report` is said in the chat that asked for the task, `wakes` let
    teammates look at the board, and `entries` are for the ledger. `note` says that nobody does the
    work that is there.
    """

    report: tuple[Post, ...] = ()
    wakes: tuple[Post, ...] = ()
    entries: tuple[Entry, ...] = ()
    note: str = ""


def follow_change(
    app: App,
    changed: Changed,
    *,
    by: str,
    here: str = "",
    member: str = "",
    heads: Sequence[TaskHead] | None = None,
    texts: Mapping[str, Texts] = NO_TEXTS,
) -> TaskNews:
    """Return what a change of a task sets off; nothing where there was nothing to change.

    `by` is the person or the member of the team who made it. `here` is the chat in which it was
    made, which hears of it anyway, and `member` the teammate that made it, which looks for itself.
    `heads` are those of the board as they were read after the change, and `texts` those of chats
    whose language is known.
    """
    if not changed.is_new:
        return TaskNews()
    task = changed.task
    news = TaskNews(entries=describe_change(changed))
    is_over = task.status in ENDINGS and changed.before.status != task.status
    if is_over and task.home and task.home != here:
        known = texts.get(task.home)
        if known is None:
            known = choose_texts_of(app.sessions.open(app.name_chat(task.home)).document, task.home)
        news = replace(news, report=report_task(task, app.root, known, by))
    if task.status == "pending" or task.is_ended:
        now = app.clock.now()
        waking = wake_members(app.kv, app.root, now, app.team_idle, but=member, heads=heads)
        is_left = task.status == "pending" and not (task.owner or is_private(task))
        is_left = is_left and not waking.is_anybody_awake
        note = NOBODY_AWAKE if is_left else ""
        is_new = not changed.before.revision or changed.before.owner != task.owner
        if is_new and task.status == "pending" and task.owner not in ("", LEAD):
            is_there = is_known(app.kv, app.root, task.owner)
            note = "" if is_there else NOBODY_NAMED.format(name=task.owner)
        news = replace(news, wakes=waking.posts, note=note)
    if changed.before.claim and not task.claim and changed.before.owner != member:
        name = changed.before.owner
        loser = Members(app.kv, app.root).find(name)
        wakes = wake_loser(app.kv, app.root, name, loser, app.clock.now())
        news = replace(news, wakes=(*news.wakes, *wakes))
    return news


def make_added(task: Task) -> Changed:
    """Return the change that made a task."""
    return Changed(replace(task, revision=0), task)


def list_unblocked(changed: Changed, heads: Sequence[TaskHead]) -> tuple[int, ...]:
    """Return the tasks that nothing blocks any more now that one has ended."""
    if not changed.is_new or not changed.task.is_ended:
        return ()
    open_ids = list_open_ids(heads)
    waited = [head for head in heads if changed.task.id in head.blocked_by]
    return tuple(head.id for head in waited if not list_blockers(head, open_ids))


def describe_change(changed: Changed) -> tuple[Entry, ...]:
    """Return the ledger's entries of a task that was claimed, put back or ended."""
    before, task = changed.before, changed.task
    facts: dict[str, Json] = {"task": task.id}
    if task.claim and task.claim != before.claim:
        facts.update(did="claimed", owner=task.owner, source=task.claim.source)
    elif task.status in ENDINGS and task.status != before.status:
        facts.update(did=task.status, owner=task.owner)
    elif before.claim and not task.claim:
        facts.update(did="released", owner=before.owner, attempts=task.attempts)
    else:
        return ()
    return (Entry("task", facts),)


def find_written_end(task: Task, key: str) -> Changed | None:
    """Return how the event of this key ended the work on a task, before a crash; None where the
    last end was another one's.
    """
    run = task.runs[-1] if task.runs else None
    if run is None or run.key != key or task.claim:
        return None
    claim = Claim(number=run.number, at=run.began, source="auto")
    return Changed(replace(task, status="in_progress", owner=run.owner, claim=claim), task)


def find_scope(app: App, task: Task) -> str:
    """Return where a person's change of a task is noted: with the chat that asked for it, or with
    the agent.
    """
    return app.name_chat(task.home) if task.home else keys.escape(app.root)
