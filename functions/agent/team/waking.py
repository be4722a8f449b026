"""Work wakes whoever may do it: nobody looks again and again whether there is any.

Whoever adds, ends or releases a task writes that first, and looks for idle teammates then. A
teammate that becomes idle writes that first, and looks for work then. So one of the two always sees
the other. The minute's tick does the same once more, for what a crash has lost.

Whoever a person has stopped is woken by none of that, nor by mail, a schedule or another agent: a
person's word wakes them alone. Whoever a halt or a limit keeps from work waits until that is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from functions.agent.agents.record import find_absence, join_name
from functions.agent.posts import Post, make_post_id
from functions.agent.safety.hp import NO_HP, list_drained
from functions.agent.safety.locks import parse_lock
from functions.agent.team.board import Board
from functions.agent.team.leg import OWN_MAIN, make_look
from functions.agent.team.member import Member, Members
from functions.agent.team.task import TaskHead, list_claimable
from functions.events import Event, Sender, order_of
from sigil.errors import UsageError
from sigil.storage.kv import KV, keys
from sigil.storage.kv.base import get_many

if TYPE_CHECKING:
    from functions.agent.app import App

NOBODY_AWAKE: Final = "nobody is awake: spawn one"
"""What whoever adds work is told when nobody does it until a teammate is spawned."""


@dataclass(frozen=True, slots=True)
class Waking:
    """What wakes the teammates that may do the work there is: their `posts`, and whether anybody of
    the team is at work or idle at all.
    """

    posts: tuple[Post, ...] = ()
    is_anybody_awake: bool = False

    @property
    def names(self) -> list[str]:
        """The short names of those who are woken."""
        return [post.agent.rpartition(".")[2] for post in self.posts]


def wake_members(
    kv: KV,
    root: str,
    now: float,
    idle_seconds: float,
    *,
    but: str = "",
    heads: Sequence[TaskHead] | None = None,
) -> Waking:
    """Return the posts for as many idle teammates as there are tasks that they may take, and bring
    back those that wait to be recalled, where nobody else can take one.

    `but` is the short name of a teammate that looks for itself. `heads` are those of the board as
    they were just read, after the change. Where no task is pending, nobody is looked for.
    """
    if heads is None:
        heads = Board(kv, root, lambda: now).list_heads()
    if not any(head.status == "pending" for head in heads):
        return Waking()
    members = Members(kv, root)
    found = list(members.scan())
    awake = {name: each.find_status(now, idle_seconds) for name, each in found}
    for name, each in found:
        if each.stopped or each.is_held(now):
            del awake[name]
    candidates = [
        (name, each)
        for name, each in found
        if name in awake
        and name != but
        and (awake[name] == "idle" or (awake[name] == "shutdown" and each.recall))
    ]
    # who is idle goes first, and of those who has waited longest
    candidates.sort(key=lambda pair: (awake[pair[0]] != "idle", pair[1].since, pair[0]))
    posts: list[Post] = []
    taken: set[int] = set()
    for name, member in candidates:
        open_to = [
            head for head in list_claimable(heads, name, member.role) if head.id not in taken
        ]
        if not open_to:
            continue
        if find_absence(kv.get(keys.agent_record(root, name))):
            del awake[name]
            continue
        taken.add(open_to[0].id)
        if awake[name] == "shutdown" and not _recall(members, name, now):
            continue
        awake[name] = "idle"
        posts.append(make_look(join_name(root, name), generation=member.generation))
    is_anybody_awake = any(status != "shutdown" for status in awake.values())
    return Waking(tuple(posts), is_anybody_awake)


def wake_loser(kv: KV, root: str, name: str, member: Member | None, now: float) -> tuple[Post, ...]:
    """Let a teammate be idle that waits for an answer to a plan whose task somebody has ended or
    taken from it, and return what makes it look for other work. Any other one finds out by itself.
    """
    if member is None or not member.waiting:
        return ()
    Members(kv, root).put_idle(name, member, now)
    if find_absence(kv.get(keys.agent_record(root, name))):
        return ()
    return (make_look(join_name(root, name), generation=member.generation),)


def make_events(posts: tuple[Post, ...], by: str, now: float, cause: str) -> list[Event]:
    """Return the events of posts that no turn makes; `cause` names what makes them, such as a
    command, and the same one makes the same events. `by` is the person on whose behalf it is.
    """
    return [
        Event(
            id=make_post_id(post.kind, cause, f"look:{number}"),
            kind=post.kind,
            agent=post.agent,
            session=post.session,
            sender=Sender("runtime:team"),
            text=post.text,
            at=now,
            order=order_of(now, number),
            private=True,
            by=by,
            task=post.task,
            data=post.data,
        )
        for number, post in enumerate(posts)
    ]


def _recall(members: Members, name: str, now: float) -> bool:
    """Bring a teammate back that has shut down, and return whether it did."""

    def decide(member: Member | None) -> tuple[Member | None, bool]:
        if member is None or not member.recall or member.stopped:
            return None, False
        return replace(member, status="idle", since=now, task=0), True

    return members.change(name, decide)


def require_workable(app: App, name: str, member: Member | None, *, by_person: bool) -> None:
    """Raise `UsageError` EBUSY for a teammate that would begin nothing: one that is disabled, has
    no HP left, or was stopped by a person, whose word alone lets it work again.
    """
    record = app.kv.get(keys.agent_record(app.root, name))
    enable = f"an owner enables it with `/agents enable {name}`"
    if find_absence(record) == "disabled":
        problem = f"Error: '{name}' is disabled"
        raise UsageError("EBUSY", problem, suggestion=enable, reason="disabled")
    if list_drained(app.kv, app.root, [name], app.hp, app.clock.now()):
        problem = f"Error: '{name}' is {NO_HP}: it has used up what it may do by itself"
        raise UsageError("EBUSY", problem, suggestion=enable, reason="no-hp")
    if member and member.stopped and not by_person:
        raise UsageError(
            "EBUSY",
            f"Error: '{name}' was stopped by a person",
            suggestion=f"a person wakes it with `/team wake {name}`, or tells you to spawn it",
            reason="stopped",
        )


def is_halted(app: App, name: str) -> bool:
    """Return whether a halt keeps a teammate from work: that of its root, or its own."""
    full = join_name(app.root, name)
    whom = (keys.escape(app.root), keys.escape(full), keys.session_of(full, OWN_MAIN))
    return any(parse_lock(each).closed for each in get_many(app.kv, [*map(keys.owner_lock, whom)]))
