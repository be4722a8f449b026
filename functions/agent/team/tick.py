"""The tick of each minute looks after a team: it does what a crash has kept others from doing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from functions.agent.agents.record import find_absence, join_name
from functions.agent.ledger.entry import Entry
from functions.agent.posts import Post
from functions.agent.safety.locks import parse_lock
from functions.agent.team.board import Board
from functions.agent.team.chat_notices import forget_message, scan_team_chats
from functions.agent.team.leg import make_look
from functions.agent.team.member import Member, Members
from functions.agent.team.request import find_request
from functions.agent.team.resuming import resume_members
from functions.agent.team.task import Task, TaskHead, read_task
from functions.agent.team.task_change import describe_change, find_written_end
from functions.agent.team.waking import make_events, wake_loser, wake_members
from functions.events import Event
from sigil.storage.kv import KV, keys
from sigil.storage.kv.base import get_many

SETTLED_SECONDS: Final = 30.0
"""A task is released so many seconds after its owner was last seen to work on something else."""
NOTED_SECONDS: Final = 180.0
"""For so long a tick makes sure that the ledger has what one before it released."""
SHOWN_SECONDS: Final = 60.0
"""What shows how work goes is changed far more often while somebody works."""
SHOWN_MOST: Final = 3_600.0
"""A message that could not be changed for so long stays as it is."""
Note = Callable[[str, Sequence[Entry], str], None]
"""Adds entries to the ledger of an agent (its full name), once for the event that it names."""


def tick_team(
    kv: KV, put: Callable[[Event], None], root: str, now: float, *, idle: float, note: Note
) -> int:
    """Release the tasks whose owner works on nothing, and wake whoever may do what there is, or has
    not heard that it is to shut down; return how many were woken. A teammate that was `idle` for so
    many seconds has shut down.

    A crash may leave a task with an owner who was disabled while its turn ran, and whose events
    nobody works on. Such a one is idle from now on, so that a later tick releases the task.
    """
    members = Members(kv, root)
    found = dict(members.scan())
    if not found:
        return 0
    for event in _end_shown(kv, root, found, now):
        put(event)
    for name, each in found.items():
        if each.waiting:
            for post in _look_after_plan(kv, root, name, each, now):
                cause = f"tick:{root}:{each.waiting}:{int(now // 60)}"
                put(*make_events((post,), "", now, cause))
    board = Board(kv, root, lambda: now)
    scanned = [(head, item) for head, item in board.scan() if not head.is_ended]
    posts = _go_on(kv, root, found, now)
    own = {(head.owner, head.id) for head, _ in scanned if head.status == "in_progress"}
    for name, each in found.items():
        if each.waiting and each.task and (name, each.task) not in own:
            posts += wake_loser(kv, root, name, each, now)
    if not scanned and not posts:
        return 0
    heads: list[TaskHead] | None = [head for head, _ in scanned]
    for task in [read_task(item.value) for _, item in scanned]:
        member = found.get(task.owner)
        if task.claim is None or task.status != "in_progress" or member is None:
            _note_release(root, task, now, note)
            continue
        if member.status == "working" and member.task == task.id:
            if find_absence(kv.get(keys.agent_record(root, task.owner))):
                members.put_idle(task.owner, member, now)
            continue
        if now - max(member.since, task.claim.at) > SETTLED_SECONDS:
            claim = task.claim.number
            key = _name_release(root, task.id, claim)
            released = board.release(task.id, "its owner works on nothing", claim=claim, key=key)
            _note_release(root, released.task, now, note)
            heads = None  # the board is another one by now
    told = {post.agent for post in posts}
    waking = wake_members(kv, root, now, idle, heads=heads)
    posts += [post for post in waking.posts if post.agent not in told]
    for event in make_events(tuple(posts), "", now, f"tick:{root}:{int(now // 60)}"):
        put(event)
    return len(posts)


def _go_on(kv: KV, root: str, found: Mapping[str, Member], now: float) -> list[Post]:
    """Return the posts for those who have not heard that they are to shut down, and for those whom
    a limit does not keep from work any more, or a halt that was unlocked meanwhile.
    """
    posts = [
        make_look(join_name(root, name), generation=each.generation)
        for name, each in found.items()
        if each.stopping and not find_absence(kv.get(keys.agent_record(root, name)))
    ]
    held = {name: each for name, each in found.items() if each.held and not each.stopping}
    if held:
        whose = [keys.escape(root), *(keys.escape(join_name(root, name)) for name in held)]
        items = get_many(kv, [keys.owner_lock(who) for who in whose])
        halt, *own = [parse_lock(item) for item in items]
        free = [
            (name, each)
            for (name, each), lock in zip(held.items(), own, strict=True)
            if not (halt.closed or lock.closed)
            and (not each.is_held(now) or max(halt.unlocked, lock.unlocked) > each.since)
        ]
        posts += resume_members(kv, root, free, now)
    return posts


def _end_shown(kv: KV, root: str, members: Mapping[str, Member], now: float) -> list[Event]:
    """Return the events that let the messages be looked after which show how work goes and that
    nobody has changed for a while: a teammate looks for work, and its worker sees that there is
    none. Without a teammate that can, they stay as they are.
    """
    stale = [
        (chat, shown) for chat, shown in scan_team_chats(kv, root) if now - shown.at > SHOWN_SECONDS
    ]
    if not stale:
        return []
    for name in sorted(members):
        if not find_absence(kv.get(keys.agent_record(root, name))):
            break
    else:
        name = ""
    for chat, shown in stale:
        if not name or now - shown.at > SHOWN_MOST:
            forget_message(kv, root, chat, shown)
    if not name:
        return []
    look = make_look(join_name(root, name), generation=members[name].generation)
    return make_events((look,), "", now, f"tick:{root}:shown:{int(now // 60)}")


def _look_after_plan(kv: KV, root: str, name: str, member: Member, now: float) -> tuple[Post, ...]:
    """Return what wakes a teammate whose plan was answered a while ago; one whose plan nobody
    answered for as long as it is kept works on nothing any more.
    """
    from functions.agent.team.plan import make_waker

    id = member.waiting
    request = find_request(kv, root, id)
    if request is None:
        Members(kv, root).put_idle(name, member, now)
    elif request.state != "pending" and now - request.answered_at > SETTLED_SECONDS:
        return (make_waker(root, id, request),)
    return ()


def _note_release(root: str, task: Task, now: float, note: Note) -> None:
    """Add to the ledger of whoever had a task that a tick has put it back, this one or one that
    ended before it came to that.
    """
    run = task.runs[-1] if task.runs else None
    if run is None or now - run.ended > NOTED_SECONDS:
        return
    event = _name_release(root, task.id, run.number)
    changed = find_written_end(task, event)
    if changed:
        note(join_name(root, run.owner), describe_change(changed), event)


def _name_release(root: str, task: int, claim: int) -> str:
    return f"tick:{root}:{task}:{claim}"
