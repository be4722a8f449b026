"""The board as people change it: the agent learns of each change with its next request."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from functions.agent.agents.record import is_name, join_name
from functions.agent.app import App
from functions.agent.ledger.entry import Entry
from functions.agent.mailbox import Mail, Mailbox
from functions.agent.sanitize import clean_text
from functions.agent.team.board import Changed, Edit, NewTask
from functions.agent.team.board_view import BoardView
from functions.agent.team.task import COMMENT_CHARACTERS, Task
from functions.agent.team.task_change import (
    TaskNews,
    find_scope,
    follow_change,
    list_unblocked,
    make_added,
)
from functions.agent.team.waking import make_events
from functions.agent.workspace.edits import TaskEdit, describe_task_edit, note_task_edit
from functions.events import Event
from sigil.errors import Refused, one_line
from sigil.storage.kv import keys

if TYPE_CHECKING:
    from functions.agent.shares import Holder

MAIL: Final = "board"
"""The type of the mail that tells a teammate of a change of its task."""


@dataclass(frozen=True, slots=True)
class Edited:
    """A task after a person's change, with the events and the ledger's entries that follow.

    `is_new` is false where there was nothing to change. `unblocked` can be done now that it has
    ended, and `note` says that nobody does it.
    """

    task: Task
    is_new: bool
    events: tuple[Event, ...] = ()
    entries: tuple[Entry, ...] = ()
    note: str = ""
    unblocked: tuple[int, ...] = ()


class BoardEditor:
    """The board as the person of a `view` changes it.

    `cause` is the message or the request that does, the same when it comes again.
    """

    def __init__(self, app: App, view: BoardView, cause: str) -> None:
        self.view = view
        self._app = app
        self._board = view.board
        self._cause = cause

    def add(
        self, wanted: NewTask, *, by: str, home: str = "", holder: Holder | None = None
    ) -> Edited:
        """Put a new task on the board, for a person and a chat; the same cause makes it once."""
        self.view.require_visible(wanted.blocked_by)
        made = replace(wanted, by=by, home=home, key=self._cause)
        return self._follow(make_added(self._board.add(made, holder)), "added")

    def edit(self, number: int, edit: Edit, *, revision: int | None = None) -> Edited:
        """Change what a task says."""
        self.view.find_to_change(number)
        self.view.require_visible((*(edit.blocked_by or ()), *edit.more_blockers))
        return self._follow(self._board.edit(number, edit, revision=revision), "changed")

    def complete(self, number: int, report: str = "", *, revision: int | None = None) -> Edited:
        """Mark a task as done."""
        self.view.find_to_change(number)
        changed = self._board.complete(number, report, revision=revision)
        return self._follow(changed, "completed")

    def drop(self, number: int, why: str = "", *, revision: int | None = None) -> Edited:
        """Take a task off the board though it is not done."""
        self.view.find_to_change(number)
        return self._follow(self._board.drop(number, why, revision=revision), "dropped")

    def assign(self, number: int, member: str, *, revision: int | None = None) -> Edited:
        """Let only this member do a task; anybody, where that is empty."""
        self.view.find_to_change(number)
        changed = self._board.assign(number, member, revision=revision)
        return self._follow(changed, f"assigned to {changed.task.owner or 'anybody'}")

    def reopen(self, number: int, *, revision: int | None = None) -> Edited:
        """Let a task be done again that is done, dropped or stuck."""
        self.view.find_to_change(number)
        return self._follow(self._board.reopen(number, revision=revision), "reopened")

    def release(self, number: int, *, revision: int | None = None) -> Edited:
        """Put a task back that somebody works on."""
        self.view.find_to_change(number)
        changed = self._board.release(number, "put back by a person", revision=revision)
        return self._follow(changed, "put back")

    def comment(self, number: int, text: str, *, revision: int | None = None) -> Edited:
        """Add what the person says about a task."""
        self.view.find_to_change(number)
        changed = self._board.comment(number, self.view.by, text, self._cause, revision=revision)
        said = one_line(clean_text(text), COMMENT_CHARACTERS)
        return self._follow(changed, f"commented: {said}")

    def _follow(self, changed: Changed, change: str) -> Edited:
        task = changed.task
        if not changed.is_new:
            return Edited(task, is_new=False)
        now = self._app.clock.now()
        edit = TaskEdit(task.id, task.subject, change, self.view.by, now)
        note_task_edit(self._app.kv, find_scope(self._app, task), edit)
        if changed.before.claim:
            self._tell_owner(changed.before.owner, edit, task.revision)
        news = follow_change(self._app, changed, by=self.view.by, here=self.view.chat)
        return Edited(
            task,
            is_new=True,
            events=self._make_events(news, task.revision),
            entries=news.entries,
            note=news.note,
            unblocked=list_unblocked(changed, self._board.list_heads()) if task.is_ended else (),
        )

    def _make_events(self, news: TaskNews, revision: int) -> tuple[Event, ...]:
        posts = (*news.report, *news.wakes)
        now = self._app.clock.now()
        return tuple(make_events(posts, self.view.by, now, f"{self._cause}:{revision}"))

    def _tell_owner(self, owner: str, edit: TaskEdit, revision: int) -> None:
        """Tell the teammate that works on a task what became of it."""
        if not is_name(owner):
            return
        mailbox = Mailbox(self._app.kv, keys.escape(join_name(self._app.root, owner)))
        text = describe_task_edit(edit)
        mail = Mail(f"{MAIL}:{self._cause}:{revision}", edit.by, text, edit.at, MAIL, edit.by)
        with suppress(Refused):  # whoever has a thousand unread mails has other troubles
            mailbox.deliver(mail)
