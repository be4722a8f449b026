"""The work of a teammate: it is at work until it has nothing more to do, is idle then, and looks
for what there is.

What it looks at are mail first and then the task board. Each end of a leg comes here, however the
turn ended, so that no task is left behind by whoever had it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import orjson

from functions.agent.app import App
from functions.agent.language import choose_texts_for
from functions.agent.ledger.entry import Entry
from functions.agent.mailbox import Mail, Mailbox
from functions.agent.model import outage
from functions.agent.policy.proposals import find_work
from functions.agent.posts import CHAIN, Post, report_home, stamp_posts
from functions.agent.safety import hp
from functions.agent.safety.stop_mark import BY_OWNER, StopMark, write_mark
from functions.agent.sanitize import clean_text, cut_text
from functions.agent.session.document import IDLE, NEXT_LEG, WAITS, Document, Turn
from functions.agent.team.board import Board, Changed, Claimer
from functions.agent.team.briefing import describe_claim
from functions.agent.team.leg import (
    CLAIM,
    GENERATION,
    LEFT,
    LEG,
    OWN_MAIN,
    PLAN,
    SHUTDOWN,
    TASK,
    describe_limit,
    find_stop,
    is_look,
    make_look,
    make_next_leg,
    make_work,
    read_leg,
)
from functions.agent.team.member import TROUBLE_CHARACTERS, Member, Members
from functions.agent.team.report import SAID_CHARACTERS, find_home, report_task, say_home
from functions.agent.team.request import answer_request, find_request
from functions.agent.team.task import REPORT_CHARACTERS, Task, TaskHead, list_claimable
from functions.agent.team.task_change import describe_change, find_written_end
from functions.agent.team.waking import wake_members
from functions.agent.workspace.scope import find_scopes_of_work, list_written
from functions.events import Event
from functions.texts.en import Texts
from sigil.errors import Refused, UsageError, one_line
from sigil.json_fields import as_mapping, as_number
from sigil.protocol import Json
from sigil.storage.kv import keys
from sigil.storage.kv.update import update

if TYPE_CHECKING:
    from functions.agent.shares import Holder

STEP: Final = "team"
"""The step of a turn that only settles something of the team, without a request to the model."""
QUIET: Final = "quiet"
"""The field of a mail's data by which it waits for the next turn of its chat."""
OUTAGE_SECONDS: Final = 120.0
"""A model that fails again within so many seconds after a wait for it has been away meanwhile."""


@dataclass(frozen=True, slots=True)
class Settled:
    """An event that needs no request to the model: why, what it sets off, and what the ledger has
    of it.
    """

    why: str
    posts: tuple[Event, ...] = ()
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """What the end of a leg sets off, and what the ledger has of it."""

    posts: tuple[Event, ...] = ()
    entries: tuple[Entry, ...] = ()


def settle_order(
    event: Event, app: App, member: Member | None, turn: Turn, document: Document
) -> Settled | None:
    """Return what becomes of an event for a teammate that shuts down, has shut down, is another one
    by now, or waits for an answer to its plan; None for all others. Whoever a person has stopped
    begins nothing at all.
    """
    if not app.is_teammate or not event.is_own_work:
        return None
    is_stopped = member is not None and bool(member.stopped) and not member.stopping
    # what carries the stop out may come again after a crash
    if is_stopped and SHUTDOWN not in event.data:
        return Settled("a person has stopped it")
    if event.kind not in ("task", "mail"):
        return None
    if member is None:
        return Settled("nobody of this name was spawned")
    wanted = event.data.get(GENERATION)
    if isinstance(wanted, int) and wanted != member.generation:
        return Settled("it was for an earlier one of this name")
    request = event.data.get(SHUTDOWN)
    if member.stopping or isinstance(request, str):
        return _shut_down(event, app, member.stopping or str(request), turn, document)
    if member.find_status(event.at, app.team_idle) == "shutdown":
        return Settled("it has shut down")
    if member.waiting or PLAN in event.data:
        from functions.agent.team.plan import settle_waiting

        waits = settle_waiting(event, app, member)
        return Settled(*waits) if waits else None
    return None


def settle_look(event: Event, app: App, member: Member | None, turn: Turn) -> Settled | None:
    """Return what becomes of an event by which a teammate looks for work; None for all others.

    What a halt or a limit has ended comes first, then mail, then the board. What it finds is
    another event, so that its turn is one for whoever wanted the work.
    """
    if member is None or not app.is_teammate or not is_look(event):
        return None
    now = app.clock.now()
    board = Board(app.kv, app.root, app.clock.now)
    name = app.short_name
    scanned = board.scan()
    own = [head for head, _ in scanned if _is_own(head, name)]
    if not own:
        if member.status == "working":
            return Settled("it is at work")
        if member.left:
            from functions.agent.team.interruption import make_left

            return Settled("it goes on", (make_left(member, app, event),))
        mails, _ = Mailbox(app.kv, keys.escape(app.name)).read()
        if mails:
            post = Post("mail", app.name, OWN_MAIN)
            return Settled("it has mail", stamp_posts([post], event, "look", now, turn.posted))
    claimer = Claimer(
        member=name,
        role=member.role,
        generation=member.generation,
        source="auto",
        key=event.id,
    )
    task = board.find(own[0].id) if own else board.claim_next(claimer, scanned)
    if task is None or task.claim is None:
        if member.held:
            from functions.agent.team.interruption import let_go

            let_go(app, member)
        return Settled("there is no work for it")
    _set_working(app, member, task.id)
    open_before = replace(task, claim=None, status="pending", owner="")
    # after a crash it finds its own claim, which the ledger does not have yet
    is_new = task.claim.key == event.id
    entries = describe_change(Changed(open_before, task)) if is_new else ()
    leg = make_first_leg(task, member, app, event)
    return Settled(f"it has claimed task #{task.id}", (leg,), entries)


def _is_own(head: TaskHead, name: str) -> bool:
    """Return whether a teammate of this name works on a task."""
    return head.status == "in_progress" and head.owner == name


def make_first_leg(task: Task, member: Member, app: App, cause: Event) -> Event:
    """Return the event with which a teammate begins to work on a task that it has claimed.

    Its id is that of the claim, so whoever puts it again puts the same one. It is on behalf of
    whoever wanted the task.
    """
    assert task.claim is not None, "it works on what it has claimed"
    data: dict[str, Json] = {
        LEG: 1,
        TASK: task.id,
        CLAIM: task.claim.number,
        GENERATION: member.generation,
        "home": task.home or (app.record.home if app.record else ""),
        "from": app.short_name,
    }
    return make_work(
        app,
        cause,
        id=f"task:{app.name}:{task.id}:{task.claim.number}",
        text=describe_claim(task),
        by=task.by or cause.behalf,
        task=f"task:{task.id}:{task.claim.number}",
        data=data,
    )


def resume_unlocked(app: App, event: Event, texts: Texts) -> tuple[str, tuple[Event, ...]]:
    """Let those go on whom the message of an owner has unlocked."""
    # rare
    from functions.agent.team import resuming

    return resuming.resume_unlocked(app, event, texts)


def begin_work(event: Event, app: App, member: Member | None) -> None:
    """Write down that a teammate is at work on what an event brings."""
    if member is not None and app.is_teammate and event.is_own_work:
        task = read_leg(event).task
        if member.waiting and event.data.get(PLAN) != member.waiting:
            return  # it only reads its mail
        is_left = event.id.startswith(LEFT)
        if member.status != "working" or member.task != task or is_left or member.waiting:
            _set_working(app, member, task, is_left=is_left)


def stop_if_told(event: Event, app: App) -> bool:
    """Stop the turn of an event that has just been opened where its teammate is to shut down, and
    return whether it is.

    Whoever asks for that writes it down first and looks for a turn to stop then. A turn that was
    opened in between sees it here.
    """
    if not app.is_teammate or not event.is_own_work:
        return False
    member = Members(app.kv, app.root).read(app.short_name)
    if member is None or not member.stopping:
        return False
    session = keys.session_of(app.name, event.session)
    write_mark(app.kv, session, StopMark(event.id, BY_OWNER))
    return True


def end_leg(turn: Turn, app: App, document: Document, text: str, now: float) -> Ended:
    """Return what the end of a turn of the agent's own work sets off: the next leg, the report, and
    the look for other work. `text` is what it has to say, `now` when the turn ends: what else is
    said of its end comes behind it.

    Done again after a crash, it finds what it has written and sets off the same.
    """
    event = turn.event
    if turn.count_steps(STEP):
        return Ended()
    if is_look(event):
        return _end_look(turn, app, document, now)
    if turn.ended == NEXT_LEG and not read_leg(event).is_last:
        post = make_next_leg(turn, document.messages)
        return Ended(stamp_posts([post], event, LEG, now, turn.posted))
    if not app.is_teammate:
        if app.record is None or app.record.kind != "subagent":
            text = _name_limit(turn, text, choose_texts_for(event, document))
        return Ended(report_home(event, text, now) if text else ())
    if turn.ended == WAITS and not (document.safety.reason or turn.count_steps("stop")):
        from functions.agent.team.plan import wait_for_answer

        posts = wait_for_answer(turn, document.messages, app, now)
        if posts is not None:
            return Ended(posts)
    return _end_work(turn, app, document, text, now)


def _name_limit(turn: Turn, text: str, texts: Texts) -> str:
    """Return what a chat is told at the end of work of the agent's own: which limit has cut it
    short, if one did, and what it said.
    """
    stopped = find_stop(turn.trace)
    if stopped is None or stopped["limit"] == CHAIN:  # the text says so of a chain
        return text
    head = texts.own_limit.format(why=describe_limit(stopped, texts))
    return _add_words(head, text, texts)


def _add_words(head: str, text: str, texts: Texts) -> str:
    return f"{head}\n{texts.said_last.format(text=text)}" if text else head


def _end_look(turn: Turn, app: App, document: Document, now: float) -> Ended:
    if not app.is_teammate:
        return Ended()
    # a chat without a team needs nothing of it, here and below
    from functions.agent.team.interruption import hold

    return Ended(hold(turn, app, document, now))


def _end_work(turn: Turn, app: App, document: Document, text: str, now: float) -> Ended:
    from functions.agent.team import interruption

    event = turn.event
    name = app.short_name
    texts = choose_texts_for(event, document)
    outcome = _find_outcome(turn, document, text, texts)
    stopped = find_stop(turn.trace)
    is_chain = stopped is not None and stopped["limit"] == CHAIN
    number = read_leg(event).task
    home = find_home(event, app.record)
    posts: list[Post] = []
    entries: tuple[Entry, ...] = ()
    held = interruption.find_held(turn, app, document, now) if outcome == "closed" else 0.0
    if held and document.safety.reason:
        text = interruption.describe_closed(document, texts, app, text)
    left = interruption.keep_left(turn, document.messages) if held and not number else {}
    changed = _end_task(turn, app, document, outcome, text) if number else None
    why = describe_limit(stopped, texts) if stopped else text
    trouble = "" if outcome in ("done", "idle") else one_line(why, TROUBLE_CHARACTERS)

    def become_idle(member: Member | None) -> tuple[Member | None, Member | None]:
        wanted = event.data.get(GENERATION)
        if member is None or member.status == "shutdown":
            return None, None
        if isinstance(wanted, int) and wanted != member.generation:
            return None, None
        if member.waiting and _keeps_waiting(app, event, member):
            return None, None
        idle = replace(member, status="idle", since=now, task=0, trouble=trouble, waiting="")
        if held and not member.stopped:
            idle = replace(idle, held=held)
        if event.id.startswith(LEFT) or (left and not member.left):
            idle = replace(idle, left=left)
        return idle, idle

    idle = Members(app.kv, app.root).change(name, become_idle)
    is_stopping = idle is not None and bool(idle.stopping)
    if held and not is_stopping:
        posts += interruption.tell_closed(event, app, document, text, home=home, held=held)
    if changed:
        posts += report_task(changed.task, app.root, texts)
        entries = describe_change(changed)
    elif is_stopping or number or held:
        pass  # what it does is said by its shutdown, or is known
    elif is_chain and not interruption.tells_first(app, home, f"chain:{event.root}", event):
        pass
    elif stopped:
        head = texts.team_stuck.format(name=name, why=why)
        posts += say_home(app.root, home, _add_words(head, text, texts), name)
    elif text and _is_heard(turn, app, document, home, outcome):
        text = cut_text(text, SAID_CHARACTERS, texts.text_cut)
        posts += say_home(app.root, home, texts.team_said.format(name=name, text=text), name)
    # it is written by now that it is idle: what is added from here on wakes it
    board = Board(app.kv, app.root, app.clock.now)
    scanned = board.scan()
    board.complete_moves(scanned)  # a crash may have left the task there that this one has ended
    heads = [head for head, _ in scanned if not head.is_ended]
    # what the chain set off would end at once as well; the next tick begins another chain
    if number and not is_chain:
        wakes = wake_members(app.kv, app.root, now, app.team_idle, but=name, heads=heads)
        posts += wakes.posts
    looks = not is_chain and outcome in ("done", "idle", "stuck", "failed")
    if idle and looks and (idle.left or _finds_work(app, idle.role, heads, document)):
        posts.append(make_look(app.name, generation=idle.generation))
    return Ended(stamp_posts(posts, event, "end", now, turn.posted), entries)


def _finds_work(app: App, role: str, heads: Sequence[TaskHead], document: Document) -> bool:
    """Return whether a teammate that looks for work now finds any: a task, or mail that it has not
    read.
    """
    name = app.short_name
    if any(_is_own(head, name) for head in heads) or list_claimable(heads, name, role):
        return True
    mails, _ = Mailbox(app.kv, keys.escape(app.name)).read(document.taken)
    return bool(mails)


def _is_heard(turn: Turn, app: App, document: Document, home: str, outcome: str) -> bool:
    """Return whether a chat hears what a teammate has to say at the end of a turn: not what it
    answers other teammates, unless the chat wants to hear everything.
    """
    if outcome == "failed" or turn.event.kind != "mail":
        return True
    # most turns read no mail, and need nothing of it
    from functions.agent.team.chat_notices import ALL, answers_teammates, read_team_chat

    if not answers_teammates(turn, document.messages):
        return True
    return read_team_chat(app.kv, app.root, home).mode == ALL


def _end_task(turn: Turn, app: App, document: Document, outcome: str, text: str) -> Changed | None:
    """Bring a task to the end that its leg had, and return how it changed; None for one that was
    ended by a call, or taken away.
    """
    event = turn.event
    texts = choose_texts_for(event, document)
    board = Board(app.kv, app.root, app.clock.now)
    name = app.short_name
    number = read_leg(event).task
    is_closed = outcome == "closed"
    stopped = find_stop(turn.trace)
    claim = event.data.get(CLAIM)
    claim = claim if isinstance(claim, int) else 0
    task = board.find(number)
    if task is None:
        return None
    if task.claim is None or task.claim.number != claim or task.owner != name:
        return find_written_end(task, event.id)
    key = event.id
    text = cut_text(clean_text(text), REPORT_CHARACTERS, texts.text_cut)
    try:
        files: tuple[str, ...] = ()
        if stopped or outcome == "done":
            files = _list_files(app, event, task.claim.at)
        if outcome == "done":
            return board.complete(number, text, files=files, owner=name, key=key)
        if stopped:
            why = describe_limit(stopped, texts)
            return board.mark_stuck(
                number, why, report=text, files=files, claim=claim, owner=name, key=key
            )
        why = one_line(text, TROUBLE_CHARACTERS) or f"{name} went on without it"
        # a stop, a halt and a model that stays away are no fault of the task
        failed = not (turn.count_steps("stop") or is_closed or outage.is_over(turn.trace))
        return board.release(number, why, claim=claim, failed=failed, key=key)
    except (UsageError, Refused):  # somebody else was faster
        return None


def report_outage(
    turn: Turn, app: App, document: Document, now: float, seconds: float, *, is_told: bool
) -> tuple[Event, ...]:
    """Return what tells the chat that a piece of work is for that its model is away: once for all
    that waits there meanwhile, and only where it `is_told` at all.

    The work waits for so many seconds now. A crash may tell it under the same id again.
    """
    event = turn.event
    home = find_home(event, app.record)
    if not home:
        return ()
    until = now + seconds + OUTAGE_SECONDS

    def decide(value: bytes | None) -> tuple[bytes | None, bool]:
        known = as_mapping(orjson.loads(value)) if value else {}
        is_on = as_number(known.get("until")) >= now
        teller = known.get("event") if is_on else event.id
        if not (is_on or is_told):
            return None, False
        last = max(until, as_number(known.get("until")))
        return orjson.dumps({**known, "event": teller, "until": last}), teller == event.id

    key = keys.outage_told(keys.session_of(app.root, home))
    is_teller = update(app.kv, key, decide, ttl=keys.SEEN_TTL)
    if not (is_told and is_teller):
        return ()
    texts = choose_texts_for(event, document)
    kind = str(turn.trace[-1].get("failure"))
    why = texts.model_failures.get(kind, texts.model_failures["down"])
    text = f"{texts.could_not_answer.format(why=why)} {texts.work_waits}"
    return stamp_posts(say_home(app.root, home, text, app.short_name), event, "outage", now)


def _list_files(app: App, event: Event, since: float) -> tuple[str, ...]:
    """Return the files that a teammate has written for its task."""
    home = find_home(event, app.record)
    try:
        scopes = find_scopes_of_work(app.name, home, event.behalf, app.people, app.private_chats)
    except Refused:  # the work has no files
        return ()
    return list_written(scopes, app.open_workspace, find_work(event), since, app.short_name)


def _find_outcome(turn: Turn, document: Document, text: str, texts: Texts) -> str:
    """Return how a turn ended: `done`, `idle`, `stuck` by a limit, `failed` by the model, `closed`
    because the session may not go on, or `ended` by a person or what its sender may use.
    """
    if not turn.count_steps("request") or turn.has_reached(hp.LIMIT):
        return "closed"
    if find_stop(turn.trace):
        return "stuck"
    if turn.ended == IDLE:
        return "idle"
    if document.safety.reason == "frustration":
        return "failed"
    if document.safety.reason:
        return "closed"
    if turn.count_steps("stop"):
        return "ended"
    if turn.failed:
        return "failed"
    finishes = [step.get("finish") for step in turn.trace if step.get("kind") == "request"]
    is_withheld = finishes[-1] in ("filtered", "refused")
    if is_withheld or turn.count_steps("given-up") or text.startswith(texts.no_answer):
        return "failed"
    return "done" if turn.answered else "ended"


def _keeps_waiting(app: App, event: Event, member: Member) -> bool:
    from functions.agent.team.plan import keeps_waiting

    return keeps_waiting(app, event, member)


def _set_working(app: App, member: Member, task: int, *, is_left: bool = False) -> None:
    now = app.clock.now()

    def decide(found: Member | None) -> tuple[Member | None, None]:
        if found is None or found.generation != member.generation:
            return None, None
        working = replace(
            found, status="working", since=now, task=task, trouble="", held=0.0, waiting=""
        )
        return replace(working, left={}) if is_left else working, None

    Members(app.kv, app.root).change(app.short_name, decide)


def _shut_down(event: Event, app: App, id: str, turn: Turn, document: Document) -> Settled:
    """Shut a teammate down, as a request says, unless it has rejected that: its tasks are released,
    and its team hears of it.
    """
    name = app.short_name
    request = find_request(app.kv, app.root, id)
    now = app.clock.now()
    if request and request.state == "rejected":
        # where a person has woken it since, the stop has ended what it was at
        look = make_look(app.name)
        return Settled("it goes on", stamp_posts([look], event, SHUTDOWN, now, turn.posted))
    if request and request.answered not in ("", event.id):
        return Settled("it has shut down")
    entries = _release_all(event, app)

    def decide(member: Member | None) -> tuple[Member | None, bool]:
        if member is None or member.status == "shutdown":
            return None, False
        down = replace(member, status="shutdown", since=now, task=0, stopping="", waiting="")
        down = replace(down, held=0.0, left={})
        return down.stop(request.person) if request and request.person else down, True

    Members(app.kv, app.root).change(name, decide)
    posts: list[Post] = []
    if request:
        answer_request(app.kv, app.root, id, lambda _: None, approve=True, key=event.id)
        texts = choose_texts_for(event, document)
        text = f"request_id={id} approve=true"
        mail = Mail(f"{id}:response", name, text, now, "shutdown_response")
        with suppress(Refused):  # its mailbox is full, and it hears below that this one has ended
            posts += mail_lead(app, request.home, mail)
        posts += say_home(app.root, request.home, texts.team_has_shut_down.format(name=name), name)
    posts += wake_members(app.kv, app.root, now, app.team_idle, but=name).posts
    stamped = stamp_posts(posts, event, SHUTDOWN, now, turn.posted)
    return Settled("it shuts down", stamped, entries)


def _release_all(event: Event, app: App) -> tuple[Entry, ...]:
    """Put all tasks of a teammate back that shuts down, and return what the ledger has of it.

    Done again after a crash, it returns the same.
    """
    name = app.short_name
    board = Board(app.kv, app.root, app.clock.now)
    entries: list[Entry] = []
    for task in board.list_open():
        changed = find_written_end(task, event.id)
        if task.owner == name and task.claim:
            why = f"{name} was shut down"
            changed = board.release(task.id, why, claim=task.claim.number, key=event.id)
        if changed:
            entries += describe_change(changed)
    return tuple(entries)


def mail_lead(app: App, home: str, mail: Mail, holder: Holder | None = None) -> tuple[Post, ...]:
    """Put a mail into the mailbox of the chat that leads a team, and return what tells the chat
    that there is one: it is shown when the chat's next request is made.
    """
    if not home:
        return ()
    Mailbox(app.kv, keys.session_of(app.root, home)).deliver(
        replace(mail, text=clean_text(mail.text)), holder
    )
    return (Post("mail", app.root, home, data={QUIET: True}),)


def is_quiet_mail(event: Event) -> bool:
    """Return whether an event only says that there is mail for the next turn of a chat."""
    return event.kind == "mail" and not event.is_own_work and event.data.get(QUIET) is True
