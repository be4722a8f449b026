"""Asks the agent as `uncaged chat` does: an event of the machine's own user, a new chat for each
question, the facts from the store.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from functions.agent.runs.run import load_run
from functions.agent.turn.turn import run_turn, stop_turn
from functions.events import Event, Sender, order_of
from functions.settings import Settings
from functions.wiring import AgentRuntime
from scripts.bootstrapping.facts import TurnFacts, Worklog, collect_facts
from scripts.bootstrapping.requests import Ask, Request
from scripts.bootstrapping.verdicts import RequestResult
from sigil.catalog.audit import Audit
from sigil.errors import SigilError, UsageError, one_line
from sigil.wiring import ignore_progress

OWN = Sender("terminal:local", "you")


def require_model(settings: Settings) -> None:
    """Raise `UsageError` when there is no language model to ask."""
    if not settings.endpoint:
        raise UsageError(
            "ESETTING",
            "no language model is set: the offline one cannot write a capability",
            suggestion=(
                "set UNCAGED_LLM_URL and UNCAGED_LLM_MODEL, and UNCAGED_LLM_KEY if the endpoint"
                " needs one"
            ),
        )


def empty_registry_settings(settings: Settings, folder: Path, cache: Path) -> Settings:
    """Return the person's settings over an empty registry in `folder`: with their model, without
    anything that they have stored, and without a budget of tokens, since the person decides how
    many requests are asked.
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


def play(
    runtime: AgentRuntime, request: Request, report: Callable[[str], None] = ignore_progress
) -> RequestResult:
    """Ask both questions of a request, each in a chat of its own; the second only when there may be
    something to find. `report` gets a line about each turn.
    """
    first = ask(runtime, f"terminal:{request.name}", request.first)
    report(f"first: {describe_turn(first)}")
    if first.error or not (first.deployed or first.found):
        return RequestResult(request.name, first)
    again = ask(runtime, f"terminal:{request.name}-again", request.again)
    report(f"again: {describe_turn(again)}")
    return RequestResult(request.name, first, again)


def ask(runtime: AgentRuntime, session: str, question: Ask) -> TurnFacts:
    """Ask a question in a new chat; return the facts of the turn. Ctrl-C stops the turn, then goes
    on as `KeyboardInterrupt`.
    """
    app = runtime.app
    now = time.time()
    event = Event(
        f"terminal:{uuid.uuid4().hex}",
        "message",
        app.name,
        session,
        OWN,
        question.text,
        now,
        order_of(now, 0),
        private=True,
    )
    try:
        opened = run_turn(event, app)
    except KeyboardInterrupt:
        stop_turn(session, app)
        raise
    except SigilError as problem:
        return TurnFacts(error=one_line(f"{problem.message} ({problem.code})"))
    replies = opened.document.outbox
    app.sessions.clear_outbox(opened)
    text = "\n\n".join(reply.text for reply in replies)
    run = load_run(app.kv, app.name, opened.document.runs[-1])
    worklog = Worklog(0, 0, 0.0)
    details = []
    if run:
        worklog = Worklog(run.requests, run.usage.total, run.seconds)
        details = [step["detail"] for step in run.steps if step.get("detail")]
    facts = collect_facts(
        opened.document.messages,
        text,
        _list_deployed(runtime, session),
        worklog,
        question.answer,
    )
    if not any(reply.failed for reply in replies):
        return facts
    # The endpoint's own words may be shown: the person who runs this has set the endpoint.
    error = f"I could not get an answer: {details[-1]}." if details else text
    return replace(facts, error=one_line(error))


def describe_turn(turn: TurnFacts) -> str:
    """Return one line about a turn."""
    if turn.error:
        return turn.error
    parts = [f"searched {turn.searched}x, found {_join_names(turn.found)}"]
    if turn.written:
        deployed = "deployed nothing"
        if turn.deployed:
            deployed = f"deployed {_join_names(turn.deployed)}, tests passed: {turn.tests}"
        parts.append(f"wrote {turn.written}x, {deployed}")
    worklog = turn.worklog
    parts += [
        f"called {_join_names(turn.called)}",
        "right" if turn.right else "wrong",
        f"{worklog.rounds} rounds, {worklog.tokens:,} tokens, {worklog.seconds:.1f} s",
    ]
    return one_line(" · ".join(parts), 200)


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"


def _list_deployed(runtime: AgentRuntime, session: str) -> list[str]:
    """Return the names that this chat's model deployed into the agent's namespace, by the audit."""
    names = []
    for entry in Audit(runtime.app.kv).read_latest(runtime.app.name):
        row = entry.row
        by_model = row.get("session") == session and row.get("author") == "model"
        if row["action"] == "deploy" and by_model:
            names.append(str(row.get("name")))
    return names
