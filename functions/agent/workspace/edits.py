"""What people changed in a workspace, so that the agent learns of it with its next turn there."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Literal

from functions.agent.messages import RUNTIME_MARK, RUNTIME_ORIGIN, Message
from functions.agent.workspace.file import FileVersion, Time
from sigil.errors import Conflict
from sigil.storage.kv import ABSENT, KV, Item, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, dumps

EDITS_MOST: Final = 20
"""Of so many files it is told who changed them last."""
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
class WorkspaceRecord(Stored):
    """The mark that a workspace was begun. `edits` are the last changes of people, each of another
    file, the newest last.
    """

    edits: tuple[Edit, ...] = ()


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


def list_edits(item: Item | None, since: float) -> tuple[Edit, ...]:
    """Return what people changed after a time, from what was just read of a workspace's record."""
    if item is None:
        return ()
    return tuple(edit for edit in _read(item.value).edits if edit.at > since)


def make_note(edits: tuple[Edit, ...], at: float) -> Message:
    """Return the message of a history that says what people changed."""
    lines = [
        f"- {each.path}: {each.change}, now version {each.version}, by {each.by}" for each in edits
    ]
    head = f"{RUNTIME_MARK} People have changed files of your workspace since you were last here:"
    return Message("user", "\n".join([head, *lines]), at=at, origin=RUNTIME_ORIGIN)


def _read(value: bytes | None) -> WorkspaceRecord:
    """Return a stored record; what cannot be read tells of no change."""
    try:
        return _RECORD.read(value) if value else WorkspaceRecord()
    except ValueError:
        return WorkspaceRecord()
