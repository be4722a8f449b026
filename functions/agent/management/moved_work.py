"""Schedules, tasks and knowledge that come from another place: each is compared with what is here,
and then written.

What would act by itself does not: a schedule is paused until somebody resumes it, and a task is
somebody's own to-do, which no teammate takes. What cannot be kept is refused with the reason, and
the rest goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import Final, Literal

from functions.agent.app import App
from functions.agent.knowledge.record import Draft
from functions.agent.schedules.description import describe_when
from functions.agent.schedules.schedule import BY_HAND, SCHEDULES_MOST, Schedule
from functions.agent.schedules.when import When, expand_cron
from functions.agent.team.board import OPEN_MOST, Board, NewTask
from functions.texts.en import TEXTS
from sigil.errors import UsageError, one_line

State = Literal["new", "replaced", "same", "kept", "refused"]
SESSION: Final = "terminal:main"
"""The chat that moved schedules and tasks belong to, where no other one is named."""
SHOWN_CHARACTERS: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedSchedule:
    """A schedule of another place, in the words of `Schedule`; a zone that is empty stands for the
    agent's own.
    """

    when: When
    text: str = ""
    say: str = ""
    name: str = ""
    behaviour: str = ""
    place: str = ""

    @property
    def title(self) -> str:
        """Return what it is called, or what it says."""
        return one_line(self.name or self.say or self.text, SHOWN_CHARACTERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedTask:
    """An open task of another place, in the words of `Task`; `waits` are the places in the list of
    the tasks that it waits for.
    """

    subject: str
    description: str = ""
    role: str = ""
    priority: int = 0
    due: float = 0.0
    place: str = ""
    waits: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        """Return the key by which the same task is made once."""
        words = f"{self.subject}\n{self.description}".encode(errors="replace")
        return f"import:{sha256(words).hexdigest()[:24]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedDocument:
    """A document for the knowledge base of the agent; whoever writes it adds it."""

    draft: Draft
    place: str = ""


@dataclass(frozen=True, slots=True)
class MovedWork:
    """All of it that comes from one place."""

    schedules: tuple[MovedSchedule, ...] = ()
    tasks: tuple[MovedTask, ...] = ()
    documents: tuple[MovedDocument, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.schedules or self.tasks or self.documents)


@dataclass(frozen=True, slots=True)
class WorkChange:
    """What becomes of a schedule, a task or a document; `detail` says how, or why not."""

    kind: Literal["schedule", "task", "knowledge"]
    name: str
    place: str
    state: State
    detail: str = ""

    @property
    def is_made(self) -> bool:
        """Return whether something is written."""
        return self.state in ("new", "replaced")


@dataclass(slots=True)
class WorkMover:
    """Compares moved work with what an agent has, and writes it in the name `by`.

    It belongs to the chat `home`. `replaces` says whether a document of the same title and source
    is replaced.
    """

    app: App
    work: MovedWork
    by: str
    home: str = SESSION
    replaces: bool = False
    _board: Board = field(init=False)

    def __post_init__(self) -> None:
        self._board = Board(self.app.kv, self.app.root, self.app.clock.now)

    def list_changes(self) -> list[WorkChange]:
        """Return what is to be done, in its order; nothing is written."""
        return [*self._list_schedules(), *self._list_tasks(), *self._list_documents()]

    def list_steps(self) -> list[tuple[WorkChange, Callable[[], None]]]:
        """Return what is to be done, each with what writes it. A task is written after those that
        it waits for.
        """
        items: tuple[MovedSchedule | MovedTask | MovedDocument, ...] = (
            *self.work.schedules,
            *self.work.tasks,
            *self.work.documents,
        )
        numbers: dict[int, int] = {}
        steps: list[tuple[WorkChange, Callable[[], None]]] = []
        for change, item in zip(self.list_changes(), items, strict=True):
            steps.append((change, partial(self._write_item, item, numbers)))
        return steps

    def _write_item(
        self, item: MovedSchedule | MovedTask | MovedDocument, numbers: dict[int, int]
    ) -> None:
        """Write one of them; `numbers` are those of the tasks that were written, by their
        places.
        """
        if isinstance(item, MovedSchedule):
            self.app.schedules.add(self._make_schedule(item))
        elif isinstance(item, MovedDocument):
            base = self.app.open_knowledge("agent")
            base.add(replace(item.draft, by=self.by), may_replace=self.replaces)
        else:
            wanted = self._make_task(item, numbers)
            numbers[self.work.tasks.index(item)] = self._board.add(wanted).id

    def _make_task(self, moved: MovedTask, numbers: Mapping[int, int]) -> NewTask:
        """Return the task as it is wanted here; it waits for those that have a number by now."""
        return NewTask(
            subject=moved.subject,
            description=moved.description,
            blocked_by=tuple(numbers[each] for each in moved.waits if each in numbers),
            role=moved.role,
            priority=moved.priority,
            by=self.by,
            home=self.home,
            due=moved.due,
            key=moved.key,
            personal=True,
        )

    def _make_schedule(self, moved: MovedSchedule) -> Schedule:
        """Return the schedule as it would be stored; `UsageError` EINVAL for one that cannot be."""
        when = moved.when if moved.when.zone else replace(moved.when, zone=self.app.zone)
        if when.kind == "cron":
            cron, *also = map(expand_cron, when.crons)
            if not all((cron, *also)):
                shown = one_line(when.cron, SHOWN_CHARACTERS)
                why = f"{shown!r} are no five fields of cron, or name no day that comes"
                raise UsageError("EINVAL", why)
            when = replace(when, cron=cron, also=tuple(also))
        wanted = Schedule(
            id="",
            when=when,
            session=self.home,
            by=self.by,
            since=self.app.clock.now(),
            text=moved.text,
            say=moved.say,
            name=moved.name,
            behaviour=moved.behaviour,
            paused=BY_HAND,
        )
        try:
            return self.app.schedules.plan(wanted)
        except (ValueError, OverflowError):
            raise UsageError("EINVAL", "its times cannot be read") from None

    def _list_schedules(self) -> Iterator[WorkChange]:
        if not self.work.schedules:
            return
        known = [each for each in self.app.schedules.scan() if not each.is_over]
        room = SCHEDULES_MOST - sum(not each.is_extra for each in known)
        seen = [(each.when, each.text, each.say) for each in known]
        for moved in self.work.schedules:
            state: State = "new"
            try:
                made = self._make_schedule(moved)
            except UsageError as problem:
                yield WorkChange("schedule", moved.title, moved.place, "refused", problem.message)
                continue
            detail = f"{_describe_when(made.when, self.app.clock.now())}; paused"
            if not moved.when.zone:
                detail += "; no time zone was named"
            if (made.when, made.text, made.say) in seen:
                state = "same"
            elif room <= 0:
                state = "refused"
                detail = f"an agent has at most {SCHEDULES_MOST} schedules"
            else:
                room -= 1
                seen.append((made.when, made.text, made.say))
            yield WorkChange("schedule", moved.title, moved.place, state, detail)

    def _list_tasks(self) -> Iterator[WorkChange]:
        if not self.work.tasks:
            return
        open_tasks = self._board.list_open()
        room = OPEN_MOST - len(open_tasks)
        known = {(task.subject, task.description) for task in open_tasks}
        ended = {task.key for task in self._board.list_ended(OPEN_MOST)}
        for moved in self.work.tasks:
            state: State = "new"
            detail = ""
            words = (moved.subject, moved.description)
            try:
                self._board.require_sensible(self._make_task(moved, {}))
            except UsageError as problem:
                yield WorkChange("task", moved.subject, moved.place, "refused", problem.message)
                continue
            if words in known or moved.key in ended:
                state = "same"
            elif room <= 0:
                state = "refused"
                detail = f"a board has at most {OPEN_MOST} open tasks"
            else:
                room -= 1
                known.add(words)
            subject = one_line(moved.subject, SHOWN_CHARACTERS)
            yield WorkChange("task", subject, moved.place, state, detail)

    def _list_documents(self) -> Iterator[WorkChange]:
        if not self.work.documents:
            return
        base = self.app.open_knowledge("agent")
        known = {stored.id: stored.record for stored in base.scan()}
        for moved in self.work.documents:
            draft = moved.draft
            state: State = "new"
            detail = f"{len(draft.text):,} characters"
            before = known.get(draft.id)
            if before is not None and before.digest == draft.digest:
                state = "same"
            elif before is not None:
                state = "replaced" if self.replaces else "kept"
            yield WorkChange("knowledge", draft.title, moved.place, state, detail)


def _describe_when(when: When, now: float) -> str:
    """Return when a schedule comes in words, or its zone alone where there are none for it."""
    try:
        return describe_when(when, TEXTS, now)
    except (ValueError, OverflowError):
        return when.zone
