"""Asks the agent, on the path of `uncaged chat`: an event of the machine's own user, one new chat a
question, the facts from the store.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from functions.agent.session import trace
from functions.agent.turn import run_turn, stop_turn
from functions.events import Event, Sender, order_of
from functions.settings import Settings
from functions.wiring import AgentRuntime
from scripts.bootstrapping.facts import Half, Worklog, half
from scripts.bootstrapping.requests import Ask, Request
from scripts.bootstrapping.verdicts import Row
from sigil.catalog.audit import Audit
from sigil.errors import SigilError, UsageError, one_line
from sigil.wiring import unheard

OWN = Sender("terminal:local", "you")


def demand_model(settings: Settings) -> None:
    """`UsageError` when there is no language model to ask."""
    if not settings.endpoint:
        raise UsageError(
            "ESETTING",
            "no language model is set: the offline one cannot write a capability",
            suggestion=(
                "set UNCAGED_LLM_URL and UNCAGED_LLM_MODEL, and UNCAGED_LLM_KEY if the endpoint"
                " wants one"
            ),
        )


def emptied(settings: Settings, folder: Path, cache: Path) -> Settings:
    """The person's settings over an empty registry in `folder`: their model, nothing that they have
    stored, and no budget of tokens.

    Twenty requests cost more than an agent's day; whoever starts the script decides how many it
    plays.
    """
    return replace(
        settings,
        data=str(folder),
        cache=settings.cache or str(cache),
        store="",
        artifacts="",
        library="none",
        registry_url="",
        queue="",
        deploy="members",
        access="members",
        tokens_per_day=0,
        session_tokens=0,
    )


def play(runtime: AgentRuntime, request: Request, tell: Callable[[str], None] = unheard) -> Row:
    """Ask both questions of a request, each in a chat of its own; the second only when there may be
    something to find.
    """
    first = ask(runtime, f"terminal:{request.name}", request.first)
    tell(f"first: {spoken(first)}")
    if first.error or not (first.deployed or first.found):
        return Row(request.name, first)
    again = ask(runtime, f"terminal:{request.name}-again", request.again)
    tell(f"again: {spoken(again)}")
    return Row(request.name, first, again)


def ask(runtime: AgentRuntime, session: str, question: Ask) -> Half:
    """One turn in a new chat, and what it did. Ctrl-C stops the turn before it goes on."""
    app, event = runtime.app, _event(runtime, session, question.text)
    try:
        opened = run_turn(event, app)
    except KeyboardInterrupt:
        stop_turn(session, app)
        raise
    except SigilError as problem:
        return Half(error=one_line(f"{problem.message} ({problem.code})"))
    replies = opened.document.outbox
    app.sessions.clear_outbox(opened)
    text, worklog = "\n\n".join(reply.text for reply in replies), _worklog(runtime, event)
    done = half(
        opened.document.messages,
        text,
        _deployed(runtime, session),
        worklog,
        (question.answer.said, question.answer.held),
    )
    return (
        replace(done, error=_failure(runtime, event) or one_line(text))
        if any(reply.failed for reply in replies)
        else done
    )


def spoken(done: Half) -> str:
    """A turn in a line."""
    if done.error:
        return done.error
    deployed = (
        f"deployed {_names(done.deployed)}, tests passed: {done.tests}"
        if done.deployed
        else "deployed nothing"
    )
    parts = [
        f"searched {done.searched}x, found {_names(done.found)}",
        *([f"wrote {done.written}x, {deployed}"] if done.written else []),
        f"called {_names(done.called)}",
        "right" if done.right else "wrong",
        (
            f"{done.worklog.rounds} rounds, {done.worklog.tokens:,} tokens,"
            f" {done.worklog.seconds:.1f} s"
        ),
    ]
    return one_line(" · ".join(parts), 200)


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"


def _event(runtime: AgentRuntime, session: str, text: str) -> Event:
    now = time.time()
    return Event(
        f"terminal:{uuid.uuid4().hex}",
        "message",
        runtime.app.name,
        session,
        OWN,
        text,
        now,
        order_of(now, 0),
        private=True,
    )


def _worklog(runtime: AgentRuntime, event: Event) -> Worklog:
    record = trace.load_trace(runtime.app.kv, event.id) or {}
    usage = record.get("usage", {})
    tokens = int(usage.get("prompt", 0)) + int(usage.get("completion", 0))
    return Worklog(int(record.get("rounds", 0)), tokens, float(record.get("seconds", 0.0)))


def _failure(runtime: AgentRuntime, event: Event) -> str:
    """Why the model gave no answer, in its endpoint's words: whoever runs this has set that
    endpoint.
    """
    steps = (trace.load_trace(runtime.app.kv, event.id) or {}).get("steps", [])
    detail = next((step["detail"] for step in reversed(steps) if step.get("detail")), "")
    return one_line(f"I could not get an answer: {detail}.") if detail else ""


def _deployed(runtime: AgentRuntime, session: str) -> list[str]:
    """The names that this chat's model brought into the agent's namespace, as the audit tells."""
    rows = [entry.row for entry in Audit(runtime.app.kv).read_latest(runtime.app.name)]
    mine = [
        row
        for row in rows
        if row["action"] == "deploy"
        and row.get("session") == session
        and row.get("author") == "model"
    ]
    return [str(row.get("name")) for row in mine]
