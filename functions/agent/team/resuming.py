"""Work goes on after an unlock, when an agent is enabled, and when a person wakes a teammate.

Whoever has work is written down as idle until it has looked for that, and is told to look then.
After a crash between the two the tick tells it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from functions.agent.agents.record import find_absence, join_name
from functions.agent.mailbox import Mailbox
from functions.agent.posts import Post
from functions.agent.safety import locks
from functions.agent.safety.hp import HpLimits, read_account
from functions.agent.team.board import Board
from functions.agent.team.leg import OWN_MAIN, make_look
from functions.agent.team.member import Member, Members
from functions.agent.team.report import LEAD
from functions.agent.team.request import answer_request
from functions.agent.team.task import TaskHead, is_claimable, list_open_ids
from functions.agent.team.waking import make_events
from functions.events import Event
from functions.texts.en import Texts
from sigil.errors import UsageError
from sigil.storage.kv import KV, keys
from sigil.storage.kv.base import get_many

if TYPE_CHECKING:
    from functions.agent.app import App

UNLOCKED_SECONDS: Final = 600.0
"""An unlock that is handled again after a crash still knows the halt that it has ended."""
NAMED_MOST: Final = 10


@dataclass(frozen=True, slots=True)
class Resumed:
    """Who goes on: their short `names`, and the `events` by which they do. Nobody of them takes the
    tasks that are `waiting`. While the root `is_halted` nobody goes on at all.
    """

    names: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    waiting: tuple[TaskHead, ...] = ()
    is_halted: bool = False

    def describe(self, texts: Texts) -> str:
        """Return it in words, empty where there is nothing to tell."""
        parts = [texts.reasons["halted"]] if self.is_halted else []
        if self.names:
            parts.append(texts.team_goes_on.format(names=", ".join(self.names)))
        if self.waiting:
            whom: dict[str, list[str]] = {}
            for head in self.waiting[:NAMED_MOST]:
                name = head.owner or (texts.task_role.format(role=head.role) if head.role else "")
                whom.setdefault(name or texts.team_anybody, []).append(f"#{head.id}")
            tasks = "; ".join(f"{name}: {', '.join(ids)}" for name, ids in whom.items())
            more = " …" if len(self.waiting) > NAMED_MOST else ""
            parts.append(texts.team_waiting.format(count=len(self.waiting), tasks=tasks + more))
        return " ".join(parts)


def resume_team(app: App, *, by: str, cause: str) -> Resumed:
    """Let all teammates of the app's root go on that were awake when it was halted, or that a halt
    or a limit keeps from work. `by` has unlocked them, `cause` names what did.
    """
    if not app.kv.scan(keys.team_member(app.root, "").partition, limit=1):
        return Resumed()
    now = app.clock.now()
    lock = locks.read_lock(app.kv, keys.escape(app.root))
    if lock.closed:
        return Resumed()
    is_new = lock.halted > 0 and now - lock.unlocked < UNLOCKED_SECONDS
    then = min(lock.halted, now) if is_new else now

    def goes_on(member: Member) -> bool:
        status = member.find_status(max(then, member.since), app.team_idle)
        return not member.stopped and (status == "idle" or member.recall or bool(member.waiting))

    members = [(name, each) for name, each in Members(app.kv, app.root).scan() if goes_on(each)]
    posts = resume_members(app.kv, app.root, members, now, hp=app.hp)
    return _make_resumed(app, members, posts, by, cause)


def resume_unlocked(app: App, event: Event, texts: Texts) -> tuple[str, tuple[Event, ...]]:
    """Let those go on whom the message of an owner has unlocked, and return what is told of them,
    and their events.
    """
    resumed = resume_team(app, by=event.sender.id, cause=event.id)
    return resumed.describe(texts), resumed.events


def wake_by_hand(app: App, names: Iterable[str], *, by: str, cause: str) -> Resumed:
    """Let teammates go on, by their short names, whoever has stopped them: a person says so."""
    now = app.clock.now()
    woken: list[tuple[str, Member]] = []

    def wake(found: Member | None) -> tuple[Member | None, Member | None]:
        if found is None:
            return None, None
        member = replace(found, stopped="", stopping="")
        if member.status != "working":
            member = replace(member, status="idle", since=now, held=0.0)
        return member, member

    members = Members(app.kv, app.root)
    for name in names:
        known = members.read(name)
        if known and known.stopping:
            _take_back(app, known.stopping)
        member = members.change(name, wake)
        if member and member.status != "working":
            woken.append((name, member))
    if locks.read_lock(app.kv, keys.escape(app.root)).closed:
        return Resumed(is_halted=True)
    posts = resume_members(app.kv, app.root, woken, now, hp=app.hp)
    return _make_resumed(app, woken, posts, by, cause)


def _take_back(app: App, id: str) -> None:
    """Let a request to shut down that was not carried out yet come to nothing."""
    with suppress(UsageError):  # after so long nobody has it any more
        answer_request(app.kv, app.root, id, lambda _: None, approve=False)


def resume_members(
    kv: KV,
    root: str,
    members: Iterable[tuple[str, Member]],
    now: float,
    *,
    hp: HpLimits | None = None,
) -> tuple[Post, ...]:
    """Return the posts by which those of these teammates look for work who have any and may do it.
    Nothing keeps the others from work any more.

    Without the limits of their HP these are looked at when they begin.
    """
    change = Members(kv, root).change
    able = [(name, each) for name, each in members if _may_work(kv, root, name, now, hp)]
    for name, member in able:
        if member.held:  # whoever adds a task behind this wakes it
            change(name, _make_waiting(now))
    heads = Board(kv, root, lambda: now).list_heads()
    open_ids = list_open_ids(heads)
    posts = []
    for name, member in able:
        mails, _ = Mailbox(kv, keys.escape(join_name(root, name))).read()
        if member.waiting:  # it reads what it was told, and waits on
            if any(mail.sender == LEAD for _, mail in mails):
                posts.append(Post("mail", join_name(root, name), OWN_MAIN))
            continue
        can_take = any(_can_take(head, open_ids, name, member) for head in heads)
        if can_take or member.left or mails or _has_claimed(heads, name):
            if not member.held:
                change(name, _make_waiting(now))
            posts.append(make_look(join_name(root, name), generation=member.generation))
        elif member.held:
            change(name, _make_free(now))
    return tuple(posts)


def _make_waiting(
    now: float,
) -> Callable[[Member | None], tuple[Member | None, None]]:
    """Return the change by which a teammate is idle until it has looked for work."""

    def decide(found: Member | None) -> tuple[Member | None, None]:
        if found is None or found.stopped or found.status == "working":
            return None, None
        return replace(found, status="idle", since=now, task=0, held=now), None

    return decide


def _make_free(now: float) -> Callable[[Member | None], tuple[Member | None, None]]:
    """Return the change by which a teammate with no work idles as others do; `now` is when it was
    written down that nothing keeps it from work.
    """

    def decide(found: Member | None) -> tuple[Member | None, None]:
        if found is None or found.status != "idle" or found.held != now:
            return None, None
        return replace(found, held=0.0), None

    return decide


def _may_work(kv: KV, root: str, name: str, now: float, hp: HpLimits | None) -> bool:
    """Return whether an agent is enabled, not halted by itself, and has HP enough."""
    full = join_name(root, name)
    places = [keys.agent_record(root, name), keys.owner_lock(keys.escape(full)), keys.hp(full)]
    record, lock, account = get_many(kv, places)
    if find_absence(record) or locks.parse_lock(lock).closed:
        return False
    if hp is None or hp.most <= 0:
        return True
    return not read_account(account, hp, now).find_stop(now)


def _can_take(head: TaskHead, open_ids: frozenset[int], name: str, member: Member) -> bool:
    return is_claimable(head, open_ids, name, member.role)


def _has_claimed(heads: Iterable[TaskHead], name: str) -> bool:
    return any(head.status == "in_progress" and head.owner == name for head in heads)


def _make_resumed(
    app: App, members: list[tuple[str, Member]], posts: tuple[Post, ...], by: str, cause: str
) -> Resumed:
    """Return who goes on, and the tasks that none of them takes."""
    names = tuple(post.agent.rpartition(".")[2] for post in posts)
    heads = Board(app.kv, app.root, app.clock.now).list_heads()
    open_ids = list_open_ids(heads)
    awake = [(name, each) for name, each in members if name in names]
    waiting = tuple(
        head
        for head in heads
        if is_claimable(head, open_ids, head.owner)
        and not any(_can_take(head, open_ids, name, each) for name, each in awake)
    )
    return Resumed(names, tuple(make_events(posts, by, app.clock.now(), cause)), waiting)
