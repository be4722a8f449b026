"""A task of a board: what is to be done, who does it, what it waits for and what came of it.

What a task waits for is kept as it was said. What still blocks it, and what it blocks, are computed
from the tasks that are open, so ending a task is one write.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Protocol

from msgspec import DecodeError, Meta, Struct
from msgspec.json import Decoder

from sigil.errors import Conflict, UsageError
from sigil.protocol import Json
from sigil.storage.stored import FORMAT, Shape, Stored, damaged, later

Status = Literal["pending", "in_progress", "completed", "stuck", "dropped"]
ENDED: Final = frozenset(("completed", "dropped"))
"""A task of such a status leaves the board, and blocks nothing any more."""
MARKS: Final[Mapping[Status, str]] = {
    "pending": "[ ]",
    "in_progress": "[>]",
    "completed": "[x]",
    "stuck": "[!]",
    "dropped": "[-]",
}
Source = Literal["auto", "call", "assigned"]
Number = Annotated[int, Meta(ge=0, lt=10**8)]
Count = Annotated[int, Meta(ge=0, lt=10**9)]
Time = Annotated[float, Meta(ge=0, lt=1e12)]
SUBJECT_CHARACTERS: Final = 200
DESCRIPTION_CHARACTERS: Final = 4_000
REPORT_CHARACTERS: Final = 4_000
COMMENT_CHARACTERS: Final = 500
REASON_CHARACTERS: Final = 300
NAME_CHARACTERS: Final = 80
COMMENTS_MOST: Final = 20
"""A task keeps so many of its newest comments."""
RUNS_MOST: Final = 10
"""A task keeps so many of the last times that somebody worked on it."""
FILES_MOST: Final = 20
BLOCKERS_MOST: Final = 50
PRIORITY_MOST: Final = 3
ATTEMPTS_MOST: Final = 3
"""After so many failed attempts a task is stuck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Stored):
    """The claim of whoever works on a task now.

    `number` counts the claims of the task. `generation` is that of the agent that made it, `key`
    the call or event that did, and `at` is in seconds since 1970.
    """

    number: Count
    at: Time
    source: Source
    generation: Count = 0
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRun(Stored):
    """A time that somebody worked on a task, and how it ended, in seconds since 1970.

    `outcome` is `completed`, `released`, `failed`, `stuck` or `dropped`, and `why` the reason.
    `key` is the event or the call with which the work ended, empty where a person ended it.
    """

    number: Count
    owner: str
    began: Time
    ended: Time
    outcome: str
    why: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment(Stored):
    """What somebody said about a task; `key` is the call that did, the same when it runs again."""

    by: str
    text: str
    at: Time
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Stored):
    """A task.

    `owner` is who works on it, or who alone may take it. `blocked_by` are the tasks that it was
    said to wait for, and `role` is the one that whoever takes it must have. One of a higher
    `priority` is taken first. `by` is the person on whose behalf it was made, `home` the chat that
    asked for it, and `due` when it should be done.

    `claim` is there while somebody works on it, and `claims` counts all of them. `attempts` counts
    those that failed, and `runs` are the last that ended. `report` is what came of it, with the
    `files` that it is about, and `why` the reason why it is stuck or was dropped.

    `key` is the call that made it. `revision` counts its changes. The times are in seconds since
    1970. `assigned` is who alone might take it when the claim of its owner began, or when it ended
    or got stuck. A `personal` one is somebody's own to-do: no teammate takes it unless it is
    assigned to one, or needs a role.
    """

    id: Number
    subject: str
    description: str = ""
    status: Status = "pending"
    owner: str = ""
    blocked_by: tuple[Number, ...] = ()
    role: str = ""
    priority: Annotated[int, Meta(ge=0, le=PRIORITY_MOST)] = 0
    by: str = ""
    home: str = ""
    due: Time = 0.0
    claim: Claim | None = None
    claims: Count = 0
    attempts: Count = 0
    runs: tuple[TaskRun, ...] = ()
    report: str = ""
    files: tuple[str, ...] = ()
    why: str = ""
    comments: tuple[Comment, ...] = ()
    key: str = ""
    created: Time = 0.0
    changed: Time = 0.0
    ended: Time = 0.0
    revision: Count = 1
    assigned: str = later("")
    personal: bool = later(False)

    @property
    def is_ended(self) -> bool:
        """Return whether it is done or dropped."""
        return self.status in ENDED

    @property
    def assignee(self) -> str:
        """Return who alone may take it when nobody works on it any more, empty for anybody."""
        if self.assigned:
            return self.assigned
        is_assigned = self.claim is not None and self.claim.source == "assigned"
        return self.owner if is_assigned else ""


class ClaimHead(Struct, frozen=True):
    """The part of a claim that says whether whoever made it is still there."""

    number: int
    at: float
    generation: int = 0


class TaskHead(Struct, frozen=True):
    """What decides who may take a task: a part of its record, which is read much faster."""

    id: int
    status: Status = "pending"
    owner: str = ""
    blocked_by: tuple[int, ...] = ()
    role: str = ""
    priority: int = 0
    claim: ClaimHead | None = None
    key: str = ""
    by: str = ""
    revision: int = 1
    personal: bool = False
    format: int = FORMAT

    @property
    def is_ended(self) -> bool:
        """Return whether the task is done or dropped."""
        return self.status in ENDED


class TaskLike(Protocol):
    """A task, or the head of one."""

    @property
    def id(self) -> int: ...
    @property
    def status(self) -> Status: ...
    @property
    def owner(self) -> str: ...
    @property
    def blocked_by(self) -> tuple[int, ...]: ...
    @property
    def role(self) -> str: ...
    @property
    def priority(self) -> int: ...
    @property
    def personal(self) -> bool: ...
    @property
    def is_ended(self) -> bool: ...


class TaskConflict(Conflict):
    """A task is not as it was when a change of it was made; `newer` is what it is now."""

    def __init__(self, newer: Task, revision: int) -> None:
        super().__init__(f"task {newer.id} is at revision {newer.revision}, and not at {revision}")
        self.suggestion = "read it again, and change what it is now"
        self.newer = newer


_TASK: Final = Shape[Task](Task)
_HEAD: Final = Decoder(TaskHead)


def read_task(value: bytes) -> Task:
    """Return a stored task; `BackendError` EDAMAGED for one that cannot be read."""
    try:
        return _TASK.read(value)
    except ValueError:
        raise damaged("a task of the board cannot be read") from None


def read_task_head(value: bytes) -> TaskHead | None:
    """Return the head of a stored task, None for what this version cannot read."""
    try:
        head = _HEAD.decode(value)
    except DecodeError:  # also what has another shape
        return None
    return head if head.format == FORMAT else None


def list_open_ids(tasks: Iterable[TaskLike]) -> frozenset[int]:
    """Return the numbers of the tasks that block others as long as they are there."""
    return frozenset(task.id for task in tasks if not task.is_ended)


def list_blockers(task: TaskLike, open_ids: Collection[int]) -> tuple[int, ...]:
    """Return what still blocks a task, where these tasks are open."""
    return tuple(sorted(number for number in set(task.blocked_by) if number in open_ids))


def list_blocked(task: TaskLike, tasks: Iterable[TaskLike]) -> tuple[int, ...]:
    """Return the open tasks that a task blocks."""
    if task.is_ended:
        return ()
    waiting = (each.id for each in tasks if task.id in each.blocked_by and not each.is_ended)
    return tuple(sorted(waiting))


def has_role(needed: str, role: str) -> bool:
    """Return whether somebody of a role may take a task that needs one."""
    return not needed or needed.strip().casefold() == role.strip().casefold()


def is_claimable(
    task: TaskLike, open_ids: Collection[int], member: str = "", role: str | None = None
) -> bool:
    """Return whether a member of this role may take a task now; without a role, whether anybody of
    any role may.
    """
    if task.status != "pending" or task.owner not in ("", member):
        return False
    if any(number in open_ids for number in task.blocked_by) or is_private(task):
        return False
    return role is None or bool(task.owner) or has_role(task.role, role)


def is_private(task: TaskLike) -> bool:
    """Return whether a task is somebody's own, which no teammate takes as it is."""
    return task.personal and not (task.owner or task.role)


def order_of_claims(task: TaskLike) -> tuple[int, int]:
    """Return what tasks are sorted by for whoever takes the first: priority, then number."""
    return -task.priority, task.id


def list_claimable(
    heads: Sequence[TaskHead], member: str = "", role: str | None = None
) -> list[TaskHead]:
    """Return what a member of this role may take of these tasks, what it takes first at the front.

    Without a role, what anybody may; without a member, nothing that is assigned to one.
    """
    open_ids = list_open_ids(heads)
    found = [head for head in heads if is_claimable(head, open_ids, member, role)]
    return sorted(found, key=order_of_claims)


def list_distinct_blockers(numbers: Iterable[int]) -> tuple[int, ...]:
    """Return what a task is to wait for, each number once; `UsageError` EINVAL for too many."""
    blockers = tuple(sorted(set(numbers)))
    if len(blockers) > BLOCKERS_MOST:
        raise UsageError(
            "EINVAL",
            f"a task waits for at most {BLOCKERS_MOST} others, not {len(blockers):,}",
            source="task",
        )
    return blockers


def find_cycle(
    number: int, blockers: Iterable[int], waits: Mapping[int, Collection[int]]
) -> list[int]:
    """Return the way from a task over what it is to wait for back to itself, empty for none.

    `waits` says for each open task what it waits for.
    """
    came_from: dict[int, int] = {}
    next_ones = [(blocker, number) for blocker in blockers]
    while next_ones:
        at, before = next_ones.pop()
        if at in came_from:
            continue
        came_from[at] = before
        if at == number:
            way = [number, before]
            while way[-1] != number:
                way.append(came_from[way[-1]])
            return way[::-1]
        next_ones.extend((further, at) for further in waits.get(at, ()))
    return []


def describe_task(task: Task, tasks: Sequence[TaskLike]) -> dict[str, Json]:
    """Return a task as a model and a program read it, among the tasks that are open."""
    row: dict[str, Json] = {
        "id": task.id,
        "subject": task.subject,
        "description": task.description,
        "status": task.status,
        "owner": task.owner,
        "blockedBy": [] if task.is_ended else list(list_blockers(task, list_open_ids(tasks))),
        "blocks": list(list_blocked(task, tasks)),
    }
    optional: dict[str, Json] = {
        "role": task.role,
        "priority": task.priority,
        "attempts": task.attempts,
        "report": task.report,
        "files": list(task.files),
        "why": task.why,
        "personal": task.personal,
    }
    row.update({name: value for name, value in optional.items() if value})
    if task.claim:
        row["claimed_at"] = task.claim.at
        row["claim_source"] = task.claim.source
    return row


def format_line(task: Task) -> str:
    """Return the line of a task in the list of a board."""
    owner = f" @{task.owner}" if task.owner else ""
    return f"{MARKS[task.status]} #{task.id}: {task.subject}{owner}"
