"""What a halt, a budget or used-up HP interrupts of a teammate's work: until when that is kept, how
it goes on, and what its chat hears of it.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Final

from functions.agent.app import App
from functions.agent.conversation.messages import Message
from functions.agent.language import choose_texts_for
from functions.agent.posts import Post, stamp_posts
from functions.agent.safety import hp
from functions.agent.safety.budget import find_period_end
from functions.agent.safety.status import REASONS, SessionState
from functions.agent.session.document import Document, Turn
from functions.agent.team.leg import (
    GENERATION,
    LEFT,
    LEG,
    SHUTDOWN,
    make_next_leg,
    make_work,
    read_leg,
)
from functions.agent.team.member import FOREVER, Member, Members
from functions.agent.team.report import find_home, say_home
from functions.events import Event
from functions.texts.en import Texts
from sigil.errors import Conflict
from sigil.json_fields import as_mapping, as_string
from sigil.protocol import Json
from sigil.storage.kv import ABSENT, keys

SETTINGS: Final = {
    "budget": "UNCAGED_TOKENS_PER_DAY",
    "session-budget": "UNCAGED_SESSION_TOKENS",
}
"""The settings of the budgets, by the reasons why a session does not go on."""
HP_SECONDS: Final = 600.0
"""A teammate whose HP are not enough for what it is about to do tries again after so long."""
GO_ON: Final = "Go on with what you were doing: it was interrupted, and may go on now."


def find_held(turn: Turn, app: App, document: Document, now: float) -> float:
    """Return until when what has ended a turn keeps its teammate from work; 0 where that is over
    with the turn.
    """
    reason = document.safety.reason
    if _is_budget(reason):
        return find_period_end(now, app.limits)
    if reason:
        return FOREVER
    skipped = {step.get("reason") for step in turn.trace if step.get("kind") == "skip"}
    if not (turn.has_reached(hp.LIMIT) or skipped & {hp.LIMIT, hp.DISABLED, hp.DAMAGED}):
        return 0.0
    report = app.load_hp().report(now)
    if report.state == "disabled":
        return FOREVER
    # what it was about to do may need more than it takes to begin anything
    return report.works_at or now + HP_SECONDS


def _is_budget(reason: str) -> bool:
    """Return whether a session does not go on for want of a budget."""
    return bool(reason) and REASONS[reason].state is SessionState.STOPPED


def describe_closed(document: Document, texts: Texts, app: App, notice: str = "") -> str:
    """Return why a session does not go on: a budget with its setting, else the notice of it."""
    reason = document.safety.reason
    if not _is_budget(reason):
        return notice or texts.reasons[reason]
    told = [texts.reasons[reason]]
    told.append(texts.budget_resets.format(time=app.describe_reset(document)))
    if reason in SETTINGS:
        told.append(texts.limit_setting.format(setting=SETTINGS[reason]))
    return " ".join(told)


def tell_closed(
    event: Event, app: App, document: Document, text: str, *, home: str, held: float
) -> tuple[Post, ...]:
    """Return what tells a chat that its team does not go on: a budget once for all of the team, an
    emergency for each. A halt is known to whoever did it, and of HP the turn tells itself.
    """
    reason = document.safety.reason
    if reason in ("", "halted"):
        return ()
    name = app.short_name
    what = f"budget:{held}" if _is_budget(reason) else f"{reason}:{name}:{document.safety.since}"
    if not home or not tells_first(app, home, what, event):
        return ()
    texts = choose_texts_for(event, document)
    return say_home(app.root, home, texts.team_said.format(name=name, text=text), name)


def tells_first(app: App, home: str, what: str, event: Event) -> bool:
    """Return whether it is this event that tells a chat of a limit, once for all of the team.

    Done again after a crash, it tells the same.
    """
    key = keys.seen_event(keys.session_of(app.root, home), f"limit:{what}")
    own = event.id.encode(errors="replace")
    try:
        app.kv.put(key, own, expect=ABSENT, ttl=keys.SEEN_TTL)
    except Conflict:
        found = app.kv.get(key)
        return found is not None and found.value == own
    return True


def keep_left(turn: Turn, messages: tuple[Message, ...]) -> dict[str, Json]:
    """Return what the work of no task needs to go on that a halt or a limit ends with a turn; its
    text is the prompt of the teammate. Mail that it has not read waits by itself.
    """
    event = turn.event
    has_begun = turn.count_steps("request") > 0
    if event.kind not in ("task", "mail") or not (has_begun or read_leg(event).number):
        return {}
    data = event.data
    if has_begun and not read_leg(event).is_last:
        data = make_next_leg(turn, messages).data
    data = {name: value for name, value in data.items() if name != SHUTDOWN}
    kept: dict[str, Json] = {"id": event.id, "by": event.behalf, "task": turn.task, "data": data}
    has_prompt = read_leg(event).number and event.text != GO_ON
    return kept | ({} if has_prompt else {"text": GO_ON})


def make_left(member: Member, app: App, cause: Event) -> Event:
    """Return the event with which a teammate goes on with what a halt or a limit has ended."""
    left = member.left
    ended = sha256(str(left.get("id")).encode(errors="replace")).hexdigest()[:16]
    prompt = app.record.prompt if app.record else ""
    return make_work(
        app,
        cause,
        id=f"{LEFT}{app.name}:{ended}",
        text=as_string(left.get("text")) or prompt,
        by=as_string(left.get("by")),
        task=as_string(left.get("task")),
        data={LEG: 1, **as_mapping(left.get("data")), GENERATION: member.generation},
    )


def hold(turn: Turn, app: App, document: Document, now: float) -> tuple[Event, ...]:
    """Write down until when a teammate cannot look for work, and return what its chat is told."""
    event = turn.event
    held = find_held(turn, app, document, now)
    if not held:
        return ()

    def decide(found: Member | None) -> tuple[Member | None, None]:
        if found is None or found.stopped or found.status != "idle":
            return None, None
        return replace(found, held=held, since=now), None

    Members(app.kv, app.root).change(app.short_name, decide)
    text = ""
    if document.safety.reason:
        text = describe_closed(document, choose_texts_for(event, document), app)
    home = find_home(event, app.record)
    posts = tell_closed(event, app, document, text, home=home, held=held)
    return stamp_posts(posts, event, "end", now, turn.posted)


def let_go(app: App, member: Member) -> None:
    """Write down that a teammate that was kept from work has looked for it and found none."""
    now = app.clock.now()

    def decide(found: Member | None) -> tuple[Member | None, None]:
        if found is None or found.generation != member.generation or not found.held:
            return None, None
        return replace(found, held=0.0, since=now), None

    Members(app.kv, app.root).change(app.short_name, decide)
