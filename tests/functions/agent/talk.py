"""A person who talks to a runtime: one message in, the replies out."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from typing import Any

from functions.agent.consolidation import consolidate_owed
from functions.agent.session.store import SessionHandle
from functions.agent.turn.turn import run_turn
from functions.events import Event, Sender, order_of
from functions.wiring import AgentRuntime

_UPDATES = itertools.count(1)


def event(
    text: str, session: str = "telegram:7", sender: str = "terminal:local", private: bool = True
) -> Event:
    """A message, private unless said otherwise."""
    update, now = next(_UPDATES), time.time()
    return Event(
        f"telegram:1:{update}",
        "message",
        "main",
        session,
        Sender(sender, "Ada"),
        text,
        now,
        order_of(now, update),
        private=private,
    )


def tell(runtime: AgentRuntime, text: str, **fields: Any) -> list[str]:
    """Return what the agent replies to `text`."""
    return [reply.text for reply in run_event(runtime, event(text, **fields)).document.outbox]


def run_event(runtime: AgentRuntime, happened: Event) -> SessionHandle:
    """Run the turn of an event; return the closed session, its outbox delivered in the store.

    Afterwards memory hears of what left the history, as it does after every reply.
    """
    opened = run_turn(happened, runtime.app)
    runtime.app.sessions.clear_outbox(opened)
    if opened.document.owes_memory:
        consolidate_owed(opened.key, runtime.app)
    return opened


def stop_clock(agent: AgentRuntime) -> AgentRuntime:
    """Return the agent with a clock that stands still, so that a turn takes no time.

    A turn looks again after a quarter of a second whether it is halted; a busy machine takes as
    long for it.
    """
    now = time.monotonic()
    clock = replace(agent.app.clock, monotonic=lambda: now)
    return replace(agent, app=replace(agent.app, clock=clock))
