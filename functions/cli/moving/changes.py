"""What an import changes in an agent: it is found out first, and then written.

Nothing that somebody wrote here is replaced unless that is asked for, and what is replaced stays as
an earlier version. What is here already is not written again, so an import that was ended in the
middle is completed by the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Final

from functions.agent.agents.record import (
    AgentRecord,
    make_record,
    require_new_name,
    scan_agents,
)
from functions.agent.app import App
from functions.agent.management.agent_tree import AgentStep, OpenAgent
from functions.agent.management.import_steps import find_problem, take_steps
from functions.agent.management.moved_work import SESSION, WorkChange, WorkMover
from functions.agent.memory.documents import OF_CHATS
from functions.agent.memory.thing import Thing, check_thing
from functions.agent.memory.things import CHARACTERS_MOST, THINGS_MOST, Things
from functions.cli.local_agent import BY, memory_scope
from functions.cli.moving.foreign_agent import ForeignAgent, Note, show_name
from sigil.errors import BackendError, UsageError

CONFIDENCE: Final = 0.8
"""How sure notes of another program are: what a person says here is surer."""


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to a document, a skill, the notes of a file, a schedule, a task or a document of
    the knowledge base, or to an agent below the root. `state`: `new`, `replaced`, `same` when it is
    here already, `kept` when another one is here and stays, `refused` when it cannot be, or
    `failed` when the store failed before all of it was written; `detail` explains these two.
    `agent` is the short name of the agent below the root that it belongs to.
    """

    kind: str
    name: str
    place: str
    state: str
    detail: str = ""
    agent: str = ""

    @property
    def is_made(self) -> bool:
        """Return whether something is written."""
        return self.state in ("new", "replaced")


PlannedChange = tuple[Change, Callable[[], object]]
"""A change, and what writes it where it is made."""


def write_changes(planned: Sequence[PlannedChange]) -> tuple[list[Change], BackendError | None]:
    """Write the changes that are made, and return what became of all of them, and the failure of
    the store that ended it, None where there was none.
    """
    outcomes = take_steps([write for change, write in planned if change.is_made])
    known = iter(outcomes)
    changes = []
    for change, _ in planned:
        became = change
        if change.is_made:
            outcome = next(known)
            if outcome.state != "written":
                became = replace(change, state=outcome.state, detail=outcome.detail)
        changes.append(became)
    return changes, find_problem(outcomes)


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

    def plan(self) -> list[PlannedChange]:
        """Return what is to be done, in its order; `UsageError` when there is no room for it."""
        skills = [*self._plan_skills()]
        packages = {change.name: self._foreign.skills[change.name][0] for change, _ in skills}
        made = sorted(change.name for change, _ in skills if change.is_made)
        self._app.skills.require_room({name: packages[name] for name in made})
        work = [*map(_from_work, self._mover.list_steps())]
        return [*self._plan_documents(), *skills, *self._plan_notes(), *work]

    def _choose_scope(self, document: str) -> str:
        return self._scope if document in OF_CHATS else self._app.documents.agent

    def _plan_documents(self) -> Iterator[PlannedChange]:
        documents = self._app.documents
        for name, (text, place) in self._foreign.documents.items():
            scope = self._choose_scope(name)
            before = documents.read(scope, name)
            detail = f"{len(text):,} characters"
            state = "new"
            if before.version and before.text == text:
                state = "same"
            elif before.version and before.text:
                state = "replaced" if self._replace else "kept"
                detail += f", in place of version {before.version}"
            write = partial(documents.write, scope, name, text, by=BY, why=self._why)
            yield Change("document", name, place, state, detail), write

    def _plan_skills(self) -> Iterator[PlannedChange]:
        skills = self._app.skills
        catalog = skills.read_catalog()
        for name, (package, place) in self._foreign.skills.items():
            known = catalog.find(name)
            state = "new"
            if known is not None:
                is_same = skills.pack(skills.read(name)) == package
                state = "same" if is_same else "replaced" if self._replace else "kept"
            write = partial(skills.write, package, by=BY, why=self._why)
            yield Change("skill", name, place, state), write

    def _plan_notes(self) -> Iterator[PlannedChange]:
        if not self._foreign.notes:
            return
        known = {thing.id: thing.size for thing in self._things.scan()}
        new: dict[str, Thing] = {}
        planned = []
        for place, notes in groupby(
            sorted(self._foreign.notes, key=attrgetter("place")), attrgetter("place")
        ):
            things = [self._make_thing(note) for note in notes]
            fresh = {thing.id: thing for thing in things if thing.id not in known}
            new |= fresh
            state = "new" if fresh else "same"
            change = Change("notes", place, place, state, f"{len(fresh):,} of {len(things):,}")
            planned.append((change, partial(self._things.add_events, [*fresh.values()])))
        characters = sum(known.values()) + sum(thing.size for thing in new.values())
        if len(known) + len(new) > THINGS_MOST or characters > CHARACTERS_MOST:
            raise UsageError(
                "ETOOBIG",
                f"there is no room for {len(new):,} notes in memory",
                suggestion="`uncaged agent memory forget ID` makes some, or shorten the history",
            )
        yield from planned

    def _make_thing(self, note: Note) -> Thing:
        texts = (note.type, note.text)
        thing = Thing("event", texts, self._foreign.program, CONFIDENCE, note.at, by=BY)
        return check_thing(thing)


def _from_work(step: tuple[WorkChange, Callable[[], None]]) -> PlannedChange:
    change, write = step
    return Change(change.kind, change.name, change.place, change.state, change.detail), write


def plan_team(
    root: App, foreign: ForeignAgent, open_agent: OpenAgent, *, replaces: bool
) -> list[PlannedChange]:
    """Return what is to be done for the agents below the root that come along. One that is not here
    is made.
    """
    planned: list[PlannedChange] = []
    known = dict(scan_agents(root.kv, root.root))
    for name, (below, place) in foreign.below.items():
        record = known.get(name)
        made = make_record({"kind": "agent", "state": "enabled", "since": 0, "by": BY})
        step = AgentStep(root, name, record or made)
        shown = show_name(name)
        row = Change("agent", shown, place, "same" if name in known else "new", agent=shown)
        refusal = _find_refusal(root, name, record, is_known=name in known)
        if refusal:
            planned.append((replace(row, state="refused", detail=refusal), step.make))
            continue
        planned.append((row, step.make))
        adoption = Adoption(open_agent(name, step.record), below, None, replace=replaces)
        for change, write in adoption.plan():
            taken = write if name in known else partial(step.take, write)
            planned.append((replace(change, agent=name), taken))
    return planned


def _find_refusal(root: App, name: str, record: AgentRecord | None, *, is_known: bool) -> str:
    """Return why nothing can be written into an agent of this name; empty where it can."""
    if not is_known:
        try:
            require_new_name(root.root, name)
        except UsageError as problem:
            return problem.message
        return ""
    return "" if record and record.is_live else "an agent of this name is archived or damaged here"
