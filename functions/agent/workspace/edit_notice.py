"""A turn begins with what people have changed in its workspace and on the board since the last
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from functions.agent.access.members import People
from functions.agent.access.private_chats import PrivateChats
from functions.agent.access.roles import Role
from functions.agent.session.document import Document
from functions.agent.workspace.edits import Edit, TaskEdit, list_edits, make_note
from functions.agent.workspace.path import TEAM
from functions.agent.workspace.scope import find_scopes_of_work, is_below
from functions.events import Event
from sigil.errors import Refused
from sigil.json_fields import as_string
from sigil.storage.kv import Item, Key, keys

NOTICE_SECONDS: Final = 7 * 86_400.0
"""A chat that was never told anything is told of so many seconds."""


def list_record_keys(event: Event, agent: str) -> list[Key]:
    """Return the keys of what says which files people changed, for `tell_edits`: of the agent's, of
    its team's, and of the chat's, which is the one that work of the agent's own is for. Where the
    root has other files in that chat, the last one is of these: `team/` is among them.
    """
    chat = as_string(event.data.get("home")) if event.is_own_work else event.session
    root = keys.root_of(agent)
    names = [keys.escape(agent), keys.team_of(root)]
    if chat:
        names.append(keys.session_of(agent, chat))
        if agent != root:
            names.append(keys.session_of(root, chat))
    return [keys.workspace_record(name) for name in names]


@dataclass(frozen=True, slots=True)
class EditsReader:
    """Whose turn it is: that of an agent for an event, whose person has this role, at this time."""

    agent: str
    event: Event
    role: Role
    now: float
    people: People
    chats: PrivateChats

    @property
    def uses_agents_files(self) -> bool:
        """Return whether the turn uses the agent's own files."""
        event = self.event
        if not event.is_own_work:
            return self.role == "owner" and event.private
        home = as_string(event.data.get("home"))
        try:
            found = find_scopes_of_work(self.agent, home, event.behalf, self.people, self.chats)
        except Refused:
            return False
        return found.own == keys.escape(self.agent)


def tell_edits(document: Document, records: Sequence[Item | None], reader: EditsReader) -> Document:
    """Return a session's document with a message about what people changed in the workspace of the
    turn and on the board, where it was not told yet. `records` were read at `list_record_keys`.
    """
    since = document.edits_told or reader.now - NOTICE_SECONDS
    found = [list_edits(item, since) for item in records]
    if not any(found):
        return document
    agent, team, *others = found
    if len(others) > 1:
        of_root = (each for each in others[1] if isinstance(each, Edit))
        others[1] = tuple(each for each in of_root if is_below(each.path, f"{TEAM}/"))
    of_chat: tuple[Edit | TaskEdit, ...] = sum(others, ())
    edits = of_chat
    if reader.uses_agents_files:
        # what the chat asked for is of interest there, whosever files are used
        of_tasks = tuple(edit for edit in of_chat if isinstance(edit, TaskEdit))
        edits = agent + team + of_tasks
    if not edits:
        return document
    document = document.add(make_note(edits, reader.now))
    return replace(document, edits_told=max(edit.at for edit in edits))
