"""How an agent does, seen from one of its sessions: state, failures, budget."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from functions.agent.app import App
from functions.agent.messages import Usage
from functions.agent.safety import guides
from functions.agent.safety.breakers import make_breakers
from functions.agent.safety.status import State
from functions.agent.session.document import Document

SHOWN = 3
"""Of so many failures, the last ones, `/status` tells."""


@dataclass(frozen=True, slots=True)
class Report:
    """How one session stands. `spent` of `most` tokens count in the budget's period `period`;
    `most` 0: no limit.

    `total`: all that were used in it, also those that an unlock took off; `own`: of this session.

    `failures`: the last ones, oldest first, as {line, code, fingerprint, message}. `usage`: the
    tokens of all its requests, `last` those of its last turn; `cached` of a prompt's came from the
    provider's cache.
    """

    state: State
    reason: str
    consecutive: int
    failed: int
    operations: int
    period: str
    spent: int
    most: int
    total: int
    own: int
    failures: tuple[dict[str, Any], ...]
    usage: Usage = Usage()
    last: Usage = Usage()


def report(session: str, document: Document, app: App) -> Report:
    """How a session (S of the keys) stands at this moment."""
    breakers = make_breakers(session, app.kv, app.name, app.limits, app.clock)
    period = breakers.current_period()
    standing = breakers.load_current(breakers.reopen(document.safety, person=False))
    reason = standing.reason or (
        "halted" if breakers.is_halted() else breakers.find_spent_budget(standing)
    )
    halted = replace(standing, reason=reason)
    counters = standing.counters
    tally = breakers.budget.sum_period(period)
    return Report(
        state=State.EXECUTING if document.turn and not reason else halted.state,
        reason=reason,
        consecutive=counters.consecutive,
        failed=counters.failed,
        operations=len(counters.window),
        period=period,
        spent=tally.counted,
        most=app.limits.tokens,
        total=tally.total,
        own=standing.spent,
        failures=tuple(
            {
                "line": fact.line,
                "code": fact.code,
                "fingerprint": fact.fingerprint,
                "message": fact.message,
            }
            for fact in counters.failures
        ),
        usage=document.usage,
        last=document.last,
    )


def lines(session: str, document: Document, app: App, *, all_told: bool = True) -> list[str]:
    """The same for people. `all_told`: with what everybody used, which is nothing for guests."""
    found = report(session, document, app)
    failures = document.safety.counters.failures[-SHOWN:]
    return [
        f"State: {found.state}" + (f" ({found.reason})" if found.reason else ""),
        (
            f"Failures: {found.consecutive} in a row, {found.failed} of the last {found.operations}"
            " operations"
        ),
        (
            f"Tokens in {found.period}: {_total(found)}, {found.own:,} of them here{_since(found)}"
            if all_told
            else _own(found)
        ),
        *([f"Last turn: {_told(found.last)}"] if found.last.total else []),
        *(["Last failures:"] if failures else []),
        *(guides.brief_fact(app.guide, fact) for fact in failures),
    ]


def spending(session: str, document: Document, app: App, *, all_told: bool = True) -> list[str]:
    """What was spent, for people: here in all, and in the budget's period, with `all_told` by
    everybody.
    """
    found = report(session, document, app)
    period = (
        f"In {found.period}: {found.own:,} tokens in this chat, {_total(found)} in all of"
        f" them{_since(found)}"
    )
    return [f"In this chat: {_told(found.usage)}", period if all_told else _own(found)]


def _total(found: Report) -> str:
    """What everybody used; and of how much, as long as all of it counts."""
    return f"{found.total:,}" + (_of_most(found) if found.total == found.spent else "")


def _since(found: Report) -> str:
    """What of it counts, where an unlock took off the rest."""
    return (
        ""
        if found.total == found.spent or not found.most
        else f"; since an unlock {found.spent:,}{_of_most(found)} count"
    )


def _of_most(found: Report) -> str:
    return f" of {found.most:,}" if found.most else ""


def _own(found: Report) -> str:
    return f"Tokens in {found.period}: {found.own:,} in this chat"


def _told(usage: Usage) -> str:
    share = (
        f" ({usage.cached / usage.prompt:.0%} of them from the cache)"
        if usage.prompt and not usage.estimated
        else ""
    )
    return f"{usage.prompt:,} tokens of prompts{share}, {usage.completion:,} of answers"
