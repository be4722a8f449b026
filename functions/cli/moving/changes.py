"""What an import changes in an agent: it is found out first, and then written.

Nothing that somebody wrote here is replaced unless that is asked for, and what is replaced stays as
an earlier version. What is here already is not written again, so an import that was ended in the
middle is completed by the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Final

from functions.agent.app import App
from functions.agent.management.moved_work import SESSION, WorkChange, WorkMover
from functions.agent.memory.documents import OF_CHATS
from functions.agent.memory.thing import Thing, check_thing
from functions.agent.memory.things import CHARACTERS_MOST, THINGS_MOST, Things
from functions.cli.local_agent import BY, memory_scope
from functions.cli.moving.foreign_agent import ForeignAgent, Note
from sigil.errors import UsageError

WORK_KINDS: Final = ("schedule", "task", "knowledge")
CONFIDENCE: Final = 0.8
"""How sure notes of another program are: what a person says here is surer."""


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to a document, a skill, the notes of a file, a schedule, a task or a document of
    the knowledge base. `state`: `new`, `replaced`, `same` when it is here already, `kept` when
    another one is here and stays, or `refused` when it cannot be, which `detail` explains.
    """

    kind: str
    name: str
    place: str
    state: str
    detail: str = ""

    @property
    def is_made(self) -> bool:
        """Return whether something is written."""
        return self.state in ("new", "replaced")


def _from_work(change: WorkChange) -> Change:
    return Change(change.kind, change.name, change.place, change.state, change.detail)


class Adoption:
    """An agent of another program that becomes a part of one here. `session` is the chat that alone
    gets the user's document, the memory and the notes; None for the agent's own.
    """

    def __init__(self, app: App, foreign: ForeignAgent, session: str | None, *, replace: bool):
        self._app = app
        self._foreign = foreign
        self._scope = memory_scope(app, session)
        self._replace = replace
        self._things = Things(app.kv, self._scope, app.helpers.terms)
        self._why = f"imported from {foreign.program}"
        self._mover = WorkMover(app, foreign.work, BY, session or SESSION, replaces=replace)

    def list_changes(self) -> list[Change]:
        """Return what is to be done, in its order; `UsageError` when there is no room for it."""
        changes = [*self._list_documents(), *self._list_skills(), *self._list_notes()]
        names = {change.name for change in changes if change.kind == "skill" and change.is_made}
        skills = self._foreign.skills
        self._app.skills.require_room({name: skills[name][0] for name in sorted(names)})
        return [*changes, *map(_from_work, self._mover.list_changes())]

    def write(self, changes: list[Change]) -> list[Change]:
        """Write what is to be done, and return what became of it."""
        written = [change for change in changes if change.kind not in WORK_KINDS]
        for change in written:
            if not change.is_made:
                continue
            if change.kind == "document":
                text = self._foreign.documents[change.name][0]
                scope = self._choose_scope(change.name)
                self._app.documents.write(scope, change.name, text, by=BY, why=self._why)
            elif change.kind == "skill":
                package = self._foreign.skills[change.name][0]
                self._app.skills.write(package, by=BY, why=self._why)
        known = self._read_known()
        events = {thing.id: thing for thing in map(self._make_thing, self._foreign.notes)}
        self._things.add_events([event for id, event in events.items() if id not in known])
        return [*written, *map(_from_work, self._mover.write())]

    def _choose_scope(self, document: str) -> str:
        return self._scope if document in OF_CHATS else self._app.documents.agent

    def _list_documents(self) -> Iterator[Change]:
        for name, (text, place) in self._foreign.documents.items():
            before = self._app.documents.read(self._choose_scope(name), name)
            detail = f"{len(text):,} characters"
            state = "new"
            if before.version and before.text == text:
                state = "same"
            elif before.version and before.text:
                state = "replaced" if self._replace else "kept"
                detail += f", in place of version {before.version}"
            yield Change("document", name, place, state, detail)

    def _list_skills(self) -> Iterator[Change]:
        catalog = self._app.skills.read_catalog()
        for name, (package, place) in self._foreign.skills.items():
            known = catalog.find(name)
            state = "new"
            if known is not None:
                is_same = self._app.skills.pack(self._app.skills.read(name)) == package
                state = "same" if is_same else "replaced" if self._replace else "kept"
            yield Change("skill", name, place, state)

    def _list_notes(self) -> Iterator[Change]:
        if not self._foreign.notes:
            return
        known = self._read_known()
        new: dict[str, Thing] = {}
        for place, notes in groupby(
            sorted(self._foreign.notes, key=attrgetter("place")), attrgetter("place")
        ):
            things = [self._make_thing(note) for note in notes]
            fresh = {thing.id: thing for thing in things if thing.id not in known}
            new |= fresh
            state = "new" if fresh else "same"
            yield Change("notes", place, place, state, f"{len(fresh):,} of {len(things):,}")
        characters = sum(known.values()) + sum(thing.size for thing in new.values())
        if len(known) + len(new) > THINGS_MOST or characters > CHARACTERS_MOST:
            raise UsageError(
                "ETOOBIG",
                f"there is no room for {len(new):,} notes in memory",
                suggestion="`uncaged agent memory forget ID` makes some, or shorten the history",
            )

    def _read_known(self) -> dict[str, int]:
        """Return the size of each remembered thing, by its id."""
        return {thing.id: thing.size for thing in self._things.scan()}

    def _make_thing(self, note: Note) -> Thing:
        texts = (note.type, note.text)
        thing = Thing("event", texts, self._foreign.program, CONFIDENCE, note.at, by=BY)
        return check_thing(thing)
