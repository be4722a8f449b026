"""A chain of behaviours is one run: each begins where the one before it ended, in the same session.

Each is a turn of its own, set off by an event that the turn before has posted. The event's data
carries what the run is about from one to the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from functions.agent.posts import Post
from functions.events import Event
from sigil.protocol import Json, tool_of

NAME: Final = "behaviour"
"""The field of an event's data with the behaviour that its turn runs."""
MODEL: Final = "model"
"""The field with the model that somebody chose for the run."""
HOP: Final = "hop"
"""The field that counts the behaviours before it."""
RUN: Final = "run"
"""The field with the event that the run began with."""
SPENT: Final = "spent"
"""The field with the tokens of the turns before."""
Steps = Sequence[Mapping[str, Json]]
"""The rows of a turn's trace."""
TELL_TOOL: Final = tool_of("tell")
SAID: Final = "said"
"""The field that is true when a turn before has said something."""


def count_hops(event: Event) -> int:
    """Return how many behaviours came before an event's own in its run."""
    return read_count(event, HOP)


def read_count(event: Event, field: str) -> int:
    """Return a number of an event's data, 0 when it has none."""
    found = event.data.get(field)
    return found if isinstance(found, int) and found > 0 else 0


def name_run(event: Event) -> str:
    """Return the id of the event that an event's run began with."""
    return str(event.data.get(RUN) or event.id)


def make_next(event: Event, task: str, name: str) -> Post:
    """Return the event with which the behaviour of this name goes on where an event's turn ends.

    `task` is the piece of work that the turn belongs to.
    """
    data: dict[str, Json] = {
        **event.data,
        NAME: name,
        HOP: count_hops(event) + 1,
        RUN: name_run(event),
    }
    return Post("wakeup", event.agent, event.session, event.text, task, data)


def carry_on(event: Event, steps: Steps, tokens: int, post: Post, *, said: bool = False) -> Post:
    """Return the event that goes on after a turn, with what the run has spent and said so far.

    `steps` are the turn's, `tokens` what it used; `said` says that its answer is said.
    """
    data: dict[str, Json] = {**post.data, SPENT: read_count(event, SPENT) + tokens}
    if said or has_said(event, steps):
        data[SAID] = True
    return replace(post, data=data)


def has_said(event: Event, steps: Steps) -> bool:
    """Return whether a turn with these steps, or one before it in its run, has told somebody
    something.
    """
    if event.data.get(SAID) is True:
        return True
    return any(step.get("name") == TELL_TOOL and not step.get("error") for step in steps)
