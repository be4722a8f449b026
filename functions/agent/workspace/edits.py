"""What people changed in a workspace and on the board, so that the agent learns of it with its
next turn there.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Literal

from functions.agent.conversation.messages import RUNTIME_MARK, RUNTIME_ORIGIN, Message
from functions.agent.sanitize import sanitize_text
from functions.agent.workspace.file import FileVersion, Time
from sigil.errors import Conflict, one_line
from sigil.storage.kv import ABSENT, KV, Item, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, dumps, later

EDITS_MOST: Final = 20
"""Of so many files, and of so many tasks, it is told who changed them last."""
TASK_CHARACTERS: Final = 200
Change = Literal["written", "removed"]


@dataclass(frozen=True, slots=True)
class Edit(Stored):
    """A change of a file by a person: to which version, by whom, and when (seconds since 1970)."""

    path: str
    version: int
    by: str
    at: Time
    change: Change = "written"


@dataclass(frozen=True, slots=True)
class TaskEdit(Stored):
    """A change of a task of the board by a person: what became of it, by whom, and when (seconds
    since 1970).
    """

    task: int
    subject: str
    change: str
    by: str
    at: Time


@dataclass(frozen=True, slots=True)
class WorkspaceRecord(Stored):
    """The mark that a workspace was begun. `edits` are the last changes of people, each of another
    file, and `tasks` those of the board, each of another task, the newest last. `spawned` is when
    somebody last joined the team whose workspace it is (seconds since 1970), 0 without a team.
    """

    edits: tuple[Edit, ...] = ()
    tasks: tuple[TaskEdit, ...] = later(())
    spawned: Time = later(0.0)


_RECORD: Final = Shape[WorkspaceRecord](WorkspaceRecord)


def note_scope(kv: KV, scope: str) -> None:
    """Note that there are files of an agent or a chat, so that the sweep finds them."""
    with suppress(Conflict):
        kv.put(keys.workspace_record(scope), dumps(WorkspaceRecord()), expect=ABSENT)


def note_edit(kv: KV, scope: str, version: FileVersion) -> None:
    """Note that a person has made a version of a file."""
    change: Change = "removed" if version.removed else "written"
    edit = Edit(version.path, version.version, version.by, version.at, change)

    def decide(value: bytes | None) -> tuple[bytes | None, None]:
        record = _read(value)
        others = [each for each in record.edits if each.path != edit.path]
        return dumps(replace(record, edits=(*others, edit)[-EDITS_MOST:])), None

    update(kv, keys.workspace_record(scope), decide)


def note_task_edit(kv: KV, scope: str, edit: TaskEdit) -> None:
    """Note that a person has changed a task, for an agent (an `escape`d name) or a chat (an S)."""

    def decide(value: bytes | None) -> tuple[bytes | None, None]:
        record = _read(value)
        others = [each for each in record.tasks if each.task != edit.task]
        return dumps(replace(record, tasks=(*others, edit)[-EDITS_MOST:])), None

    update(kv, keys.workspace_record(scope), decide)


def note_team(kv: KV, root: str, at: float) -> None:
    """Note that somebody has joined the team of a root, so that its lead's turns look at it."""

    def decide(value: bytes | None) -> tuple[bytes | None, None]:
        return dumps(replace(_read(value), spawned=at)), None

    update(kv, keys.workspace_record(keys.team_of(root)), decide)


def has_team(item: Item) -> bool:
    """Return whether there may be a team, from what was just read of its workspace's record."""
    return _read(item.value).spawned > 0


def forget_team(kv: KV, root: str, item: Item) -> None:
    """Note that there is no team any more, unless somebody has joined it since `item` was read."""
    record = replace(_read(item.value), spawned=0.0)
    with suppress(Conflict):
        kv.put(keys.workspace_record(keys.team_of(root)), dumps(record), expect=item.version)


def list_edits(item: Item | None, since: float) -> tuple[Edit | TaskEdit, ...]:
    """Return what people changed after a time, from what was just read of a workspace's record."""
    if item is None:
        return ()
    record = _read(item.value)
    changes: list[Edit | TaskEdit] = [*record.edits, *record.tasks]
    return tuple(edit for edit in changes if edit.at > since)


def describe_task_edit(edit: TaskEdit) -> str:
    """Return the line that tells an agent what a person made of a task."""
    subject = one_line(sanitize_text(edit.subject), TASK_CHARACTERS)
    return f"task #{edit.task} ({subject}): {edit.change}, by {edit.by}"


def make_note(edits: Sequence[Edit | TaskEdit], at: float) -> Message:
    """Return the message of a history that says what people changed."""
    lines = []
    kinds = []
    for each in edits:
        if isinstance(each, TaskEdit):
            lines.append(f"- {describe_task_edit(each)}")
            kinds.append("tasks of the board")
        else:
            path = sanitize_text(each.path)
            lines.append(f"- {path}: {each.change}, now version {each.version}, by {each.by}")
            kinds.append("files of your workspace")
    changed = " and ".join(dict.fromkeys(kinds))
    head = f"{RUNTIME_MARK} People have changed {changed} since you were last here:"
    return Message("user", "\n".join([head, *lines]), at=at, origin=RUNTIME_ORIGIN)


def _read(value: bytes | None) -> WorkspaceRecord:
    """Return a stored record; what cannot be read tells of no change."""
    try:
        return _RECORD.read(value) if value else WorkspaceRecord()
    except ValueError:
        return WorkspaceRecord()
