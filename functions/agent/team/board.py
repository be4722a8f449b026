"""The board of a root and the agents below it: who adds a task, takes one, and ends it.

Each change of a task is one write, by compare-and-set. A task that has ended moves away from the
open ones afterwards: until then both places have it, and the one on the board counts, whatever the
other one says. So a crash in between leaves nothing half done, and whoever next takes or adds a
task completes the move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from functions.agent.sanitize import clean_text, cut_text
from functions.agent.team.member import parse_owner
from functions.agent.team.report import LEAD
from functions.agent.team.task import (
    ATTEMPTS_MOST,
    COMMENT_CHARACTERS,
    COMMENTS_MOST,
    DESCRIPTION_CHARACTERS,
    FILES_MOST,
    NAME_CHARACTERS,
    PRIORITY_MOST,
    REASON_CHARACTERS,
    REPORT_CHARACTERS,
    RUNS_MOST,
    SUBJECT_CHARACTERS,
    Claim,
    Comment,
    Source,
    Task,
    TaskConflict,
    TaskHead,
    TaskRun,
    Time,
    find_cycle,
    has_role,
    is_claimable,
    is_private,
    list_claimable,
    list_distinct_blockers,
    list_open_ids,
    order_of_claims,
    read_task,
    read_task_head,
)
from functions.events import ID_CHARACTERS
from sigil.errors import Conflict, Refused, UsageError, one_line
from sigil.storage.kv import ABSENT, KV, Item, Key, keys
from sigil.storage.kv.base import get_many
from sigil.storage.kv.update import Updated, retry_conflicts, scan_all, update, update_item
from sigil.storage.stored import Shape, Stored, damaged, dumps

if TYPE_CHECKING:
    from functions.agent.shares import Holder

OPEN_MOST: Final = 500
"""A board has so many open tasks, and no more but for those that are added at one moment."""
FREED: Final = (
    "whoever asked for a task ends it with `/tasks done N` or `/tasks drop N`; owners end all"
)
"""Who makes room for a task, and how."""
KEPT_SECONDS: Final = 180 * 86_400.0
"""A task that has ended is kept for so long."""
KEYS_MOST: Final = 128
"""The board knows so many of the calls that made a task last, so that one that runs again finds
the number of its own.
"""
LINK_SECONDS: Final = 60.0
"""What a task is about to wait for is known for so long before the task says so itself."""
NUMBER_MOST: Final = 10**8 - 1
LOOKS_MOST: Final = 8
REOPEN_FIRST: Final = "reopen it first"


@dataclass(frozen=True, slots=True)
class Link(Stored):
    """What a task is about to wait for, and since when, in seconds since 1970."""

    task: int
    blockers: tuple[int, ...]
    at: Time


@dataclass(frozen=True, slots=True)
class BoardCounter(Stored):
    """The number of the next task, the numbers of the `calls` that made the last ones, and the
    links that tasks may not have yet.

    Two links that would make a circle are made one after the other here, so the second one sees
    the first though the task does not have it yet.
    """

    next: int = 1
    calls: Mapping[str, int] = field(default_factory=dict, hash=False)
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """A task as somebody wants it, in the words of `Task`."""

    subject: str
    description: str = ""
    blocked_by: tuple[int, ...] = ()
    role: str = ""
    priority: int = 0
    owner: str = ""
    by: str = ""
    home: str = ""
    due: float = 0.0
    key: str = ""
    personal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What is to become of a task; None leaves it as it is."""

    subject: str | None = None
    description: str | None = None
    role: str | None = None
    priority: int | None = None
    due: float | None = None
    blocked_by: tuple[int, ...] | None = None
    more_blockers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimer:
    """Who wants to take a task: a member by its short name, its role and generation.

    `key` is the call or the event that takes it, the same when it is run again after a crash.
    """

    member: str
    role: str = ""
    generation: int = 0
    source: Source = "call"
    key: str = ""


@dataclass(frozen=True, slots=True)
class Changed:
    """A task before and after a change; the two are equal where there was nothing to change."""

    before: Task
    task: Task

    @property
    def is_new(self) -> bool:
        """Return whether there was anything to change."""
        return self.before != self.task


ScannedTask = tuple[TaskHead, Item]
_COUNTER: Final = Shape[BoardCounter](BoardCounter)


class Board:
    """The board of a root; `now` returns seconds since 1970.

    A change begins with the task as it was read last, and reads it again where somebody else has
    written it since.
    """

    def __init__(self, kv: KV, root: str, now: Callable[[], float]) -> None:
        self.root = root
        self._kv = kv
        self._now = now
        self._known: dict[int, Item] = {}

    # reading

    def find(self, number: int) -> Task | None:
        """Return a task, open or ended; None when there is none."""
        if not 0 < number <= NUMBER_MOST:
            return None
        places = (self._key(number), keys.ended_task(self.root, number))
        # it may be moved between the first two reads, and reopened between the last two
        for place in (*places, places[0]):
            item = self._kv.get(place)
            if item and place == places[0]:
                self._known[number] = item
            if item:
                return read_task(item.value)
        return None

    def read(self, number: int) -> Task:
        """Return a task; `UsageError` ENOENT when there is none."""
        task = self.find(number)
        if task is None:
            raise unknown_task(number)
        return task

    def list_open(self) -> list[Task]:
        """Return the open tasks by number."""
        rows = scan_all(self._kv, self._key(0).partition)
        heads = ((read_task_head(item.value), item) for _, item in rows)
        return [read_task(item.value) for head, item in heads if head and not head.is_ended]

    def list_ended(self, most: int = 50) -> list[Task]:
        """Return the newest tasks that were done or dropped, those of the highest numbers first."""
        ended: dict[int, Task] = {}
        on_board = set()
        for _, item in scan_all(self._kv, self._key(0).partition):
            head = read_task_head(item.value)
            if head:
                on_board.add(head.id)
                if head.is_ended:
                    ended[head.id] = read_task(item.value)
        for _, item in scan_all(self._kv, keys.ended_task(self.root, 0).partition, page=most):
            head = read_task_head(item.value)
            if head and head.id not in on_board:
                ended[head.id] = read_task(item.value)
            if len(ended) >= most + len(on_board):
                break
        return sorted(ended.values(), key=lambda task: -task.id)[:most]

    def list_heads(self) -> list[TaskHead]:
        """Return the heads of the open tasks by number: the cheap way to look who may do what."""
        return [head for head, _ in self.scan() if not head.is_ended]

    def scan(self) -> list[ScannedTask]:
        """Return the heads of the tasks that are on the board, also of those that have ended and
        were not moved yet, each with its item.
        """
        rows = scan_all(self._kv, self._key(0).partition)
        heads = ((read_task_head(item.value), item) for _, item in rows)
        return [(head, item) for head, item in heads if head]

    def list_claimable(self, member: str = "", role: str | None = None) -> list[TaskHead]:
        """Return what a member of this role may take now, what it takes first at the front.

        Without a role, what anybody may; without a member, nothing that is assigned to one.
        """
        return list_claimable(self.list_heads(), member, role)

    def has_open(self) -> bool:
        """Return whether anything is on the board, with one read."""
        return bool(self._kv.scan(self._key(0).partition, limit=1))

    # making

    def add(self, wanted: NewTask, holder: Holder | None = None) -> Task:
        """Store a new task and return it, or the one that the same call has made already.

        The `holder` wants it, without one an owner on the machine. `UsageError` EINVAL for one that
        cannot be, ENOENT for one that waits for a task that never was; `PlacesTaken` when there is
        no place for it.
        """
        owner = parse_owner(self._kv, self.root, wanted.owner)
        made = _make_task(replace(wanted, owner=owner), self._now())
        number, is_known = self._reserve_number(made, holder)
        if is_known:
            known = self.find(number)
            if known:
                return known
        task = replace(made, id=number)
        try:
            self._kv.put(self._key(number), dumps(task), expect=ABSENT)
        except Conflict:
            return self.read(number)
        return task

    def require_sensible(self, wanted: NewTask) -> None:
        """Raise `UsageError` EINVAL for what cannot be a task."""
        _make_task(wanted, self._now())

    def _reserve_number(self, made: Task, holder: Holder | None) -> tuple[int, bool]:
        """Return the number of a new task, and whether its call had one already."""
        from functions.agent.shares import Places, require_place

        places = Places("open tasks", OPEN_MOST, FREED)

        def decide(value: bytes | None) -> tuple[bytes | None, tuple[int, bool]]:
            counter = _read_counter(value)
            if made.key in counter.calls:
                return None, (counter.calls[made.key], True)
            _require_existing(made.blocked_by, counter)
            scanned = self.scan()
            self._move_ended(scanned)
            heads = [head for head, _ in scanned if not head.is_ended]
            for head in heads:
                if made.key and head.key == made.key:
                    return None, (head.id, True)
            require_place(places, Counter(head.by for head in heads), holder)
            # a counter that was lost, such as by a restored backup, gives no number twice
            number = max([counter.next, *(head.id + 1 for head, _ in scanned)])
            if number > NUMBER_MOST:
                raise Refused("EQUOTA", "the board has no numbers left")
            calls = dict(counter.calls)
            if made.key:
                calls[made.key] = number
            calls = dict(list(calls.items())[-KEYS_MOST:])
            changed = replace(counter, next=number + 1, calls=calls)
            return dumps(changed), (number, False)

        return update(self._kv, keys.board_counter(self.root), decide)

    # taking

    def claim(self, number: int, claimer: Claimer) -> Task:
        """Let a member take a task, and return it; one that it has already stays as it is.

        `UsageError` ENOENT for a task that does not exist, EINVAL for one that has ended or is
        stuck; `Refused` EBUSY for one that another one has or that waits for another task, EPERM
        for one that needs another role, or that is a person's own.
        """

        def attempt() -> Task:
            item = self._kv.get(self._key(number))
            if item is None:
                raise _not_claimable(self.read(number))
            task = read_task(item.value)
            if _has_claimed(task, claimer):
                return task
            if task.status != "pending":
                raise _not_claimable(task)
            if task.owner not in ("", claimer.member):
                raise Refused("EBUSY", f"task {number} is assigned to {task.owner}", reason="taken")
            if is_private(task) and claimer.member != LEAD:
                raise Refused(
                    "EPERM",
                    f"task {number} is a person's own",
                    suggestion="leave it to them; they may assign it to somebody",
                    reason="personal",
                )
            if not task.owner and not has_role(task.role, claimer.role):
                raise Refused(
                    "EPERM",
                    f"task {number} needs the role {task.role}",
                    suggestion="leave it to somebody who has it",
                    reason="role",
                )
            blockers = self._find_blockers(task)
            if blockers:
                named = ", ".join(f"#{each}" for each in blockers)
                raise Refused(
                    "EBUSY",
                    f"task {number} is blocked by {named}",
                    suggestion="take another one; it can be taken when these are done",
                    reason="blocked",
                )
            return self._write_claim(item, task, claimer)

        return retry_conflicts(attempt)

    def claim_next(
        self, claimer: Claimer, known: Sequence[ScannedTask] | None = None
    ) -> Task | None:
        """Let a member take the first task that it may, and return it; None when there is none.

        Where another one is faster it goes on with the task after that. `known` is the board as it
        was just scanned.
        """
        for look in range(LOOKS_MOST):
            scanned = self.scan() if look or known is None else known
            self._move_ended(scanned)
            open_ids = list_open_ids(head for head, _ in scanned)
            found = [
                (head, item)
                for head, item in scanned
                if is_claimable(head, open_ids, claimer.member, claimer.role)
            ]
            if not found:
                return None
            for _, item in sorted(found, key=lambda pair: order_of_claims(pair[0])):
                with suppress(Conflict):
                    return self._write_claim(item, read_task(item.value), claimer)
        return None

    def _write_claim(self, item: Item, task: Task, claimer: Claimer) -> Task:
        """Write the claim over what was read; `Conflict` when somebody else was faster."""
        now = self._now()
        claim = Claim(
            number=task.claims + 1,
            at=now,
            source="assigned" if task.owner else claimer.source,
            generation=claimer.generation,
            key=claimer.key,
        )
        claimed = replace(
            task,
            status="in_progress",
            owner=claimer.member,
            claim=claim,
            claims=claim.number,
            assigned=task.owner,
            changed=now,
            revision=task.revision + 1,
        )
        self._kv.put(self._key(task.id), dumps(claimed), expect=item.version)
        return claimed

    def _find_blockers(self, task: Task) -> list[int]:
        """Return what still blocks a task."""
        numbers = sorted(set(task.blocked_by))
        if not numbers:
            return []
        items = get_many(self._kv, [self._key(number) for number in numbers])
        heads = [read_task_head(item.value) for item in items if item]
        return sorted(list_open_ids(head for head in heads if head))

    # changing

    def release(
        self,
        number: int,
        why: str = "",
        *,
        claim: int = 0,
        failed: bool = False,
        key: str = "",
        revision: int | None = None,
    ) -> Changed:
        """Put a task that somebody works on back, so that anybody may take it, or whoever it is
        assigned to.

        With the number of a `claim` only what that one holds is put back. Where it `failed` that
        is one more attempt, and after the third one the task is stuck. `key` is the event that
        ends the work.
        """

        def change(task: Task) -> Task:
            if task.claim is None or claim not in (0, task.claim.number):
                return task
            attempts = task.attempts + failed
            if attempts >= ATTEMPTS_MOST:
                stuck = replace(task, attempts=attempts, status="stuck", why=_cut_reason(why))
                return self._end_run(stuck, "stuck", why, before=task, key=key)
            back = replace(task, attempts=attempts, status="pending", owner=task.assignee)
            outcome = "failed" if failed else "released"
            return self._end_run(back, outcome, why, before=task, key=key)

        return self._change(number, change, revision)

    def complete(
        self,
        number: int,
        report: str = "",
        *,
        files: Sequence[str] = (),
        owner: str = "",
        key: str = "",
        revision: int | None = None,
    ) -> Changed:
        """Write down that a task is done; again changes nothing.

        With an `owner` only that one's task is completed: `Refused` EPERM for another one's.
        `UsageError` EINVAL for one that was dropped. `key` is as for `release`.
        """

        def change(task: Task) -> Task:
            if task.status == "completed":
                return task
            if task.status == "dropped":
                raise _ended(task)
            _require_owner(task, owner)
            done = replace(
                _keep_assignee(task),
                status="completed",
                report=cut_text(clean_text(report), REPORT_CHARACTERS),
                files=tuple(files)[:FILES_MOST],
                why="",
                ended=self._now(),
            )
            return self._end_run(done, "completed", key=key)

        return self._change(number, change, revision)

    def drop(self, number: int, why: str = "", *, revision: int | None = None) -> Changed:
        """Take a task off the board though it is not done; again changes nothing.

        What waited for it does not wait any longer.
        """

        def change(task: Task) -> Task:
            if task.status == "dropped":
                return task
            if task.status == "completed":
                raise _ended(task)
            gone = replace(
                _keep_assignee(task), status="dropped", why=_cut_reason(why), ended=self._now()
            )
            return self._end_run(gone, "dropped", why)

        return self._change(number, change, revision)

    def mark_stuck(
        self,
        number: int,
        why: str,
        *,
        report: str = "",
        files: Sequence[str] = (),
        claim: int = 0,
        owner: str = "",
        key: str = "",
    ) -> Changed:
        """Write down that nobody gets on with a task until a person or the lead reopens it.

        `files`, `claim`, `owner` and `key` are as for `release` and `complete`.
        """

        def change(task: Task) -> Task:
            if task.status == "stuck":
                return task
            if task.is_ended:
                raise _ended(task)
            if claim and (task.claim is None or task.claim.number != claim):
                return task
            _require_owner(task, owner)
            told = cut_text(clean_text(report), REPORT_CHARACTERS) or task.report
            stuck = replace(
                _keep_assignee(task),
                status="stuck",
                why=_cut_reason(why),
                report=told,
                files=tuple(files)[:FILES_MOST] or task.files,
            )
            return self._end_run(stuck, "stuck", why, key=key)

        return self._change(number, change)

    def reopen(self, number: int, *, revision: int | None = None) -> Changed:
        """Let a task that is stuck, done or dropped be taken again; one that is open stays.

        `UsageError` ECYCLE where it would wait for itself by now, `TaskConflict` when it is not at
        this revision any more.
        """

        def attempt() -> Changed:
            item = self._kv.get(self._key(number))
            ended = None if item else self._kv.get(keys.ended_task(self.root, number))
            source = item or ended
            if source is None:
                known = self.read(number)  # it was moved between the two reads, or never was
                raise Conflict(f"task {known.id} is being reopened or ended by somebody else")
            known = read_task(source.value)
            _require_revision(known, revision)
            if known.status in ("pending", "in_progress"):
                return Changed(known, known)
            self._require_no_cycle(number, known.blocked_by)
            opened = self._count_change(
                replace(
                    known,
                    status="pending",
                    owner=known.assignee,
                    attempts=0,
                    why="",
                    ended=0.0,
                )
            )
            self._kv.put(self._key(number), dumps(opened), expect=item.version if item else ABSENT)
            if ended:
                with suppress(Conflict):
                    self._kv.delete(keys.ended_task(self.root, number), expect=ended.version)
            return Changed(known, opened)

        return retry_conflicts(attempt)

    def assign(self, number: int, member: str, *, revision: int | None = None) -> Changed:
        """Let only this member take a task, or anybody where that is empty.

        Whoever works on it meanwhile has it no longer. `UsageError` EINVAL for a name that nobody
        can have.
        """
        owner = parse_owner(self._kv, self.root, member)

        def change(task: Task) -> Task:
            if task.is_ended:
                raise _ended(task)
            if task.status == "in_progress" and task.owner == owner:
                return replace(task, assigned=owner)
            assigned = replace(
                task, owner=owner, status="pending", why="", assigned=owner, personal=False
            )
            if task.status == "stuck":
                assigned = replace(assigned, attempts=0)
            return self._end_run(assigned, "released", f"assigned to {owner or 'anybody'}", task)

        return self._change(number, change, revision)

    def edit(self, number: int, edit: Edit, *, revision: int | None = None) -> Changed:
        """Change what an open task says; `TaskConflict` when it is not at this revision any more.

        `UsageError` EINVAL for what cannot be, ECYCLE for a task that would wait for itself.
        """
        blockers = (*(edit.blocked_by or ()), *edit.more_blockers)

        def change(task: Task) -> Task:
            waits = task.blocked_by if edit.blocked_by is None else edit.blocked_by
            wanted = NewTask(
                subject=task.subject if edit.subject is None else edit.subject,
                description=task.description if edit.description is None else edit.description,
                role=task.role if edit.role is None else edit.role,
                priority=task.priority if edit.priority is None else edit.priority,
                due=task.due if edit.due is None else edit.due,
                blocked_by=(*waits, *edit.more_blockers),
            )
            made = _make_task(wanted, task.created)
            changed = replace(
                task,
                subject=made.subject,
                description=made.description,
                role=made.role,
                priority=made.priority,
                due=made.due,
                blocked_by=made.blocked_by,
            )
            if changed != task and task.is_ended:
                raise _ended(task)
            return changed

        if blockers:
            # what is refused must not be known as a link, which would refuse others
            known = self.read(number)
            _require_revision(known, revision)
            change(known)
            self._require_no_cycle(number, blockers)
        return self._change(number, change, revision)

    def comment(
        self, number: int, by: str, text: str, key: str = "", *, revision: int | None = None
    ) -> Changed:
        """Add what somebody says about an open task; the same call again changes nothing."""

        def change(task: Task) -> Task:
            said = cut_text(clean_text(text).strip(), COMMENT_CHARACTERS)
            is_there = key and any(each.key == key for each in task.comments)
            if is_there or not said:
                return task
            if task.is_ended:
                raise _ended(task)
            added = Comment(by=one_line(by, ID_CHARACTERS), text=said, at=self._now(), key=key)
            return replace(task, comments=(*task.comments, added)[-COMMENTS_MOST:])

        return self._change(number, change, revision)

    def list_comments(self, by: Collection[str]) -> list[tuple[int, Comment]]:
        """Return what these people said about tasks, each with the number of the task."""
        return [
            (task.id, comment)
            for _, task in self._scan_commented(by)
            for comment in task.comments
            if comment.by in by
        ]

    def remove_comments(self, by: Collection[str]) -> int:
        """Take what these people said about tasks away, and count it."""
        ended = keys.ended_task(self.root, 0).partition
        count = 0
        for key, _ in self._scan_commented(by):
            ttl = KEPT_SECONDS if key.partition == ended else None
            count += update(self._kv, key, _make_removal(by), ttl)
        return count

    def _scan_commented(self, by: Collection[str]) -> list[tuple[Key, Task]]:
        """Return the tasks, open or ended, that one of these people has commented."""
        found = []
        for partition in (self._key(0).partition, keys.ended_task(self.root, 0).partition):
            for sort, item in scan_all(self._kv, partition):
                if read_task_head(item.value):
                    task = read_task(item.value)
                    if any(comment.by in by for comment in task.comments):
                        found.append((Key(partition, sort), task))
        return found

    def complete_moves(self, known: Sequence[ScannedTask] | None = None) -> int:
        """Move away what has ended and is still on the board after a crash, and count it. `known`
        is the board as it was just scanned.
        """
        return self._move_ended(self.scan() if known is None else known)

    def _end_run(
        self,
        task: Task,
        outcome: str,
        why: str = "",
        before: Task | None = None,
        key: str = "",
    ) -> Task:
        """Return a task on which nobody works any more, with how the last one's work ended.

        `before` has whoever worked on it, where the task names another owner already.
        """
        if task.claim is None:
            return task
        run = TaskRun(
            number=task.claim.number,
            owner=(before or task).owner,
            began=task.claim.at,
            ended=self._now(),
            outcome=outcome,
            why=_cut_reason(why),
            key=key,
        )
        return replace(task, claim=None, runs=(*task.runs, run)[-RUNS_MOST:])

    def _change(
        self, number: int, change: Callable[[Task], Task], revision: int | None = None
    ) -> Changed:
        """Change a task that is on the board, and move it away where it has ended."""

        def decide(item: Item | None) -> tuple[bytes | None, Changed]:
            known = read_task(item.value) if item else self.read(number)
            if item is None and not known.is_ended:
                raise Conflict(f"task {number} was reopened at this moment")
            _require_revision(known, revision)
            changed = change(known)
            if changed == known:
                return None, Changed(known, known)
            changed = self._count_change(changed)
            return dumps(changed), Changed(known, changed)

        def attempt() -> Updated[Changed]:
            known = self._known.pop(number, None)
            if known:
                # only a write shows that it still is so: all else is decided by what is there now
                with suppress(UsageError, Refused):
                    updated = update_item(self._kv, self._key(number), decide, known=known)
                    if updated.item is not known:
                        return updated
            return update_item(self._kv, self._key(number), decide)

        updated = retry_conflicts(attempt, tries=2)
        if updated.item and not updated.answer.task.is_ended:
            self._known[number] = updated.item
        if updated.answer.task.is_ended and updated.item:
            self._move(updated.answer.task, updated.item)
        return updated.answer

    def _count_change(self, task: Task) -> Task:
        return replace(task, revision=task.revision + 1, changed=self._now())

    def _require_no_cycle(self, number: int, blockers: Iterable[int]) -> None:
        """Raise `UsageError` ECYCLE where a task would wait for itself with these blockers, ENOENT
        for one that never was; otherwise note that it is about to wait for them.
        """
        wanted = tuple(sorted(set(blockers)))

        def decide(value: bytes | None) -> tuple[bytes | None, None]:
            counter = _read_counter(value)
            _require_existing(wanted, counter)
            now = self._now()
            links = [link for link in counter.links if abs(now - link.at) < LINK_SECONDS]
            waits = {head.id: set(head.blocked_by) for head in self.list_heads()}
            for link in links:
                waits.setdefault(link.task, set()).update(link.blockers)
            cycle = find_cycle(number, wanted, waits)
            if cycle:
                way = ", which waits for ".join(f"#{each}" for each in cycle[1:])
                raise UsageError(
                    "ECYCLE",
                    f"#{number} would wait for {way}",
                    suggestion="leave out one of these",
                    reason="circle",
                )
            links.append(Link(number, wanted, now))
            return dumps(replace(counter, links=tuple(links))), None

        if wanted:
            update(self._kv, keys.board_counter(self.root), decide)

    # moving away

    def _move_ended(self, scanned: Iterable[ScannedTask]) -> int:
        ended = [item for head, item in scanned if head.is_ended]
        for item in ended:
            self._move(read_task(item.value), item)
        return len(ended)

    def _move(self, task: Task, item: Item) -> None:
        """Move a task that has ended to the others; `item` is what is on the board."""

        def decide(moved: Item | None) -> tuple[bytes | None, None]:
            if moved:
                known = read_task_head(moved.value)
                if known and known.revision >= task.revision:
                    return None, None  # a slower one of two that move it
            return item.value, None

        # mostly it has never ended before, and the write itself says so
        place = keys.ended_task(self.root, task.id)
        update_item(self._kv, place, decide, KEPT_SECONDS, known=ABSENT)
        with suppress(Conflict):  # it was reopened meanwhile
            self._kv.delete(self._key(task.id), expect=item.version)

    def _key(self, number: int) -> Key:
        return keys.task(self.root, number)


def _make_removal(
    by: Collection[str],
) -> Callable[[bytes | None], tuple[bytes | None, int]]:
    """Return the change of a task that takes the comments of these people away, and counts them."""

    def remove(value: bytes | None) -> tuple[bytes | None, int]:
        if value is None:
            return None, 0
        task = read_task(value)
        kept = tuple(each for each in task.comments if each.by not in by)
        changed = replace(task, comments=kept, revision=task.revision + 1)
        return dumps(changed), len(task.comments) - len(kept)

    return remove


def unknown_task(number: int) -> UsageError:
    """Return the error for a number that no task has."""
    return UsageError(
        "ENOENT", f"Task {number} not found", suggestion="list the tasks first", reason="no-task"
    )


def _not_claimable(task: Task) -> UsageError | Refused:
    """Return why nobody can take a task."""
    if task.status == "in_progress":
        return Refused(
            "EBUSY",
            f"task {task.id} is claimed by {task.owner}",
            suggestion="take another one",
            reason="taken",
        )
    if task.status == "stuck":
        return UsageError(
            "EINVAL",
            f"task {task.id} is stuck",
            suggestion="it can be taken when it is reopened",
            reason="stuck",
        )
    return _ended(task)


def _ended(task: Task) -> UsageError:
    """Return why something cannot be done with a task that has ended."""
    return UsageError(
        "EINVAL",
        f"task {task.id} is {task.status} already",
        suggestion=REOPEN_FIRST,
        reason="ended",
    )


def _has_claimed(task: Task, claimer: Claimer) -> bool:
    """Return whether a member has a task already."""
    if task.claim is None or task.owner != claimer.member:
        return False
    return task.claim.generation == claimer.generation


def _require_owner(task: Task, owner: str) -> None:
    """Raise `Refused` EPERM where a task is not that of an owner, if one is given."""
    if owner and task.owner != owner:
        whose = f"is {task.owner}'s" if task.owner else f"is not {owner}'s by now"
        raise Refused(
            "EPERM", f"task {task.id} {whose}", suggestion="claim it first", reason="not-yours"
        )


def _require_revision(task: Task, revision: int | None) -> None:
    if revision is not None and task.revision != revision:
        raise TaskConflict(task, revision)


def _require_existing(numbers: Collection[int], counter: BoardCounter) -> None:
    """Raise `UsageError` ENOENT for the first number that no task ever had."""
    for number in numbers:
        if not 0 < number < counter.next:
            raise unknown_task(number)


def _make_task(wanted: NewTask, now: float) -> Task:
    """Return the task that is wanted, without its number; `UsageError` EINVAL for what cannot be a
    task.
    """
    subject = clean_text(wanted.subject).strip()
    description = clean_text(wanted.description).strip()
    blockers = list_distinct_blockers(wanted.blocked_by)
    problem = ""
    if not subject or "\n" in subject:
        problem = "a task needs a subject of one line"
    elif len(subject) > SUBJECT_CHARACTERS:
        problem = f"a subject has at most {SUBJECT_CHARACTERS} characters, not {len(subject):,}"
    elif len(description) > DESCRIPTION_CHARACTERS:
        problem = (
            f"a description has at most {DESCRIPTION_CHARACTERS:,} characters,"
            f" not {len(description):,}"
        )
    elif not 0 <= wanted.priority <= PRIORITY_MOST:
        problem = f"a priority is a whole number from 0 to {PRIORITY_MOST}"
    if problem:
        raise UsageError("EINVAL", problem, source="task")
    return Task(
        id=0,
        subject=one_line(subject, SUBJECT_CHARACTERS),
        description=description,
        owner=wanted.owner,
        blocked_by=blockers,
        role=one_line(clean_text(wanted.role), NAME_CHARACTERS),
        priority=wanted.priority,
        by=wanted.by,
        home=wanted.home,
        due=wanted.due,
        key=wanted.key,
        personal=wanted.personal,
        assigned=wanted.owner,
        created=now,
        changed=now,
    )


def _keep_assignee(task: Task) -> Task:
    """Return a task that nobody works on, before it ends, with who alone might have taken it."""
    return replace(task, assigned=task.owner) if task.status == "pending" else task


def _cut_reason(why: str) -> str:
    return one_line(clean_text(why), REASON_CHARACTERS)


def _read_counter(value: bytes | None) -> BoardCounter:
    try:
        return _COUNTER.read(value) if value else BoardCounter()
    except ValueError:
        raise damaged("the counter of the board cannot be read") from None
