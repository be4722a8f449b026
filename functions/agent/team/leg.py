"""A piece of work that is longer than a turn is done in legs: each is a turn of its own, and begins
with a briefing of what the work is and how far it has come.

The event of a leg carries what the next one needs. A piece of work that takes too many legs is
stuck.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from functions.agent.behaviours.chain import read_count
from functions.agent.conversation.messages import RUNTIME_ORIGIN, Message
from functions.agent.posts import LOOK, Post
from functions.agent.sanitize import clean_text, is_visible
from functions.agent.session.document import SAFE_STOP, Turn
from functions.events import OWN, Event, Sender, order_of
from functions.texts.en import Texts
from sigil.errors import one_line
from sigil.json_fields import as_number
from sigil.protocol import Json, capability_of, tool_of

if TYPE_CHECKING:
    from functions.agent.app import App

OWN_MAIN: Final = f"{OWN}:main"
"""The session in which a teammate works."""
LEG: Final = "leg"
"""The field with the number of the leg, from 1."""
TASK: Final = "board_task"
"""The field with the number of the task of the board."""
CLAIM: Final = "claim"
"""The field with the number of the claim of the task."""
GENERATION: Final = "generation"
"""The field with which one of a name an event is for."""
UNREPORTED: Final = "unreported"
"""The field with how many rounds went by since the board heard of the task."""
PROGRESS: Final = "progress"
"""The field with what was done so far, a line for each leg."""
SPENT: Final = "spent"
"""The field with the tokens of the legs before."""
SHUTDOWN: Final = "shutdown"
"""The field with the request to shut down that an event carries out."""
PLAN: Final = "plan"
"""The field with the plan whose answer lets the work go on."""
LEFT: Final = "left:"
"""The ids of the events begin so with which a teammate goes on with what was interrupted."""
CLAIMED: Final = "Claimed task #{number}. Working on it."
"""What a teammate says when it begins to work on a task."""
LEGS_MOST: Final = 9
PROGRESS_CHARACTERS: Final = 2_000
SAID_CHARACTERS: Final = 300
PATH_CHARACTERS: Final = 200
REPORTING: Final = frozenset(
    tool_of(name) for name in ("create-task", "update-task", "claim-task", "idle")
)
"""The tools by which the board hears how the work is."""
UNREPORTED_MOST: Final = 10
"""After so many rounds that the board heard nothing of, the next request has a reminder."""
REMINDER: Final = "The board has not heard of task "
REMINDER_REST: Final = (
    f"#{{task}} for {UNREPORTED_MOST} rounds. Go on with it. Where its state or its plan has"
    f" changed, say so with {tool_of('update-task')}."
)


@dataclass(frozen=True, slots=True)
class Leg:
    """One leg of a piece of work: its `number`, the `task` of the board that it works on (0 for
    none), and what was done in the legs before.
    """

    number: int = 0
    task: int = 0
    progress: str = ""

    @property
    def is_last(self) -> bool:
        """Return whether no other leg may follow."""
        return self.number >= LEGS_MOST


def read_leg(event: Event) -> Leg:
    """Return which leg an event begins; its number is 0 for an event that begins none."""
    progress = event.data.get(PROGRESS)
    return Leg(
        read_count(event, LEG),
        read_count(event, TASK),
        progress if isinstance(progress, str) else "",
    )


def is_look(event: Event) -> bool:
    """Return whether an event only lets a teammate look for work."""
    return event.kind == "task" and event.data.get(LOOK) is True


def make_look(agent: str, *, generation: int = 0) -> Post:
    """Return the post by which a teammate looks for work."""
    data: dict[str, Json] = {LOOK: True}
    if generation:
        data[GENERATION] = generation
    return Post("task", agent, OWN_MAIN, task=LOOK, data=data)


def make_work(
    app: App,
    cause: Event,
    *,
    id: str,
    text: str,
    by: str,
    task: str,
    data: Mapping[str, Json],
) -> Event:
    """Return the event with which a teammate begins a piece of its own work: `by` is the person on
    whose behalf it is, `task` names it, and `cause` is what set it off.
    """
    now = app.clock.now()
    return Event(
        id=id,
        kind="task",
        agent=app.name,
        session=OWN_MAIN,
        sender=Sender(f"agent:{app.name}"),
        text=text,
        at=now,
        order=order_of(now, 0),
        private=True,
        language=cause.language,
        cause=cause.id,
        root=cause.root or cause.id,
        hops=cause.hops,
        by=by,
        task=task,
        data=data,
    )


def make_next_leg(turn: Turn, messages: tuple[Message, ...]) -> Post:
    """Return the post of the leg that follows a turn's, whose history are these `messages`."""
    event = turn.event
    leg = read_leg(event)
    line = f"leg {leg.number}: {describe_progress(turn, messages)}"
    progress = f"{leg.progress}\n{line}".strip()[-PROGRESS_CHARACTERS:]
    data: Mapping[str, Json] = {
        **event.data,
        LEG: leg.number + 1,
        PROGRESS: progress,
        SPENT: read_count(event, SPENT) + turn.usage.total,
        UNREPORTED: count_unreported(turn, messages),
    }
    return Post("task", event.agent, event.session, event.text, turn.task, data)


def count_unreported(turn: Turn, messages: Sequence[Message]) -> int:
    """Return how many rounds of a piece of work, over its legs, went by without a call that says
    on the board how it is, or since the last reminder of that.
    """
    count = read_count(turn.event, UNREPORTED)
    for message in messages:
        if message.seq < turn.first:
            continue
        if message.calls:
            reports = any(call.name in REPORTING for call in message.calls)
            count = 0 if reports else count + 1
        elif message.origin == RUNTIME_ORIGIN and message.content.startswith(REMINDER):
            count = 0
    return count


def make_reminder(turn: Turn, messages: Sequence[Message], at: float) -> Message | None:
    """Return what reminds whoever works on a task to say on the board how it is; None while that is
    not due.
    """
    task = read_leg(turn.event).task
    if not task or count_unreported(turn, messages) < UNREPORTED_MOST:
        return None
    return Message("user", REMINDER + REMINDER_REST.format(task=task), at=at, origin=RUNTIME_ORIGIN)


def find_stop(trace: Sequence[Mapping[str, Json]]) -> Mapping[str, Json] | None:
    """Return the step of the limit that ended a turn's work before it was done, None for none."""
    ends = (step for step in reversed(trace) if step["kind"] == "limit")
    return next((step for step in ends if step["end"] == SAFE_STOP), None)


def describe_limit(step: Mapping[str, Json], texts: Texts) -> str:
    """Return the sentence for people about the limit that ended a piece of work."""
    most = round(as_number(step.get("most")))
    spent = round(as_number(step.get("spent")))
    pattern = texts.limits_reached[str(step["limit"])]
    return pattern.format(most=most, spent=spent, span=texts.format_span(most))


def find_last_words(turn: Turn, messages: tuple[Message, ...]) -> str:
    """Return what an agent said last in a piece of work, empty when it has said nothing."""
    leg = read_leg(turn.event)
    claimed = CLAIMED.format(number=leg.task)
    for message in reversed(messages):
        is_earlier = leg.number <= 1 and message.seq < turn.first
        if is_earlier or (leg.task and message.role == "user" and message.origin == "task"):
            break
        is_own = message.role == "assistant" and message.content != claimed
        if is_own and is_visible(message.content):
            return message.content
    return ""


def describe_progress(turn: Turn, messages: tuple[Message, ...]) -> str:
    """Return in one line what a turn has done: which tools it called how often, and what it said
    last.
    """
    names = Counter(capability_of(name) or name for name in turn.tools)
    called = ", ".join(
        name if count == 1 else f"{name} {count} times" for name, count in names.items()
    )
    own = (each for each in reversed(messages) if each.seq >= turn.first)
    said = next((each.content for each in own if each.role == "assistant" and each.content), "")
    parts = [f"called {called}" if called else "called nothing"]
    if said:
        parts.append(f"said: {one_line(clean_text(said), SAID_CHARACTERS)}")
    return "; ".join(parts)
