"""The status of an agent, seen from one of its sessions: state, failures, budget."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from functions.agent.app import App
from functions.agent.messages import Usage
from functions.agent.safety import guides
from functions.agent.safety.breakers import Breakers, make_breakers
from functions.agent.safety.status import SafetyStatus, SessionState
from functions.agent.session.document import Document

SHOWN_FAILURES = 3
"""`/status` tells so many of the last failures."""


@dataclass(frozen=True, slots=True)
class StatusReport:
    """The status of one session.

    `spent` of `most` tokens count in the budget's period `period`; `most` 0 is no limit. `total`
    are all that were used in it, also those that an unlock took off; `own` those of this session.

    `failures` are the last ones, oldest first, as {line, code, fingerprint, message}. `usage` has
    the tokens of all its requests, `last` those of its last turn; `cached` of a prompt's came from
    the provider's cache.
    """

    state: SessionState
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


def find_reason(breakers: Breakers, safety: SafetyStatus) -> str:
    """Return why a session does not go on, a key of `REASONS`; empty when it does."""
    if safety.reason:
        return safety.reason
    return "halted" if breakers.is_halted() else breakers.find_spent_budget(safety)


def make_report(session: str, document: Document, app: App) -> StatusReport:
    """Return the status of a session (S of the keys) at this moment."""
    breakers = make_breakers(session, app.kv, app.name, app.limits, app.clock)
    period = breakers.current_period()
    safety = breakers.load_current(breakers.reopen(document.safety, person=False))
    reason = find_reason(breakers, safety)
    working = document.turn and not reason
    tokens = breakers.count_period()
    failures = [
        {
            "line": fact.line,
            "code": fact.code,
            "fingerprint": fact.fingerprint,
            "message": fact.message,
        }
        for fact in safety.counters.failures
    ]
    return StatusReport(
        state=SessionState.EXECUTING if working else replace(safety, reason=reason).state,
        reason=reason,
        consecutive=safety.counters.consecutive,
        failed=safety.counters.failed,
        operations=len(safety.counters.window),
        period=period,
        spent=tokens.counted,
        most=app.limits.tokens,
        total=tokens.total,
        own=safety.spent,
        failures=tuple(failures),
        usage=document.usage,
        last=document.last,
    )


def format_status(session: str, document: Document, app: App, *, in_full: bool = True) -> list[str]:
    """Return the status as lines for people; `in_full` tells what everybody used, too."""
    report = make_report(session, document, app)
    failures = document.safety.counters.failures[-SHOWN_FAILURES:]
    reason = f" ({report.reason})" if report.reason else ""
    lines = [
        f"State: {report.state}{reason}",
        f"Failures: {report.consecutive} in a row, {report.failed} of the last"
        f" {report.operations} operations",
    ]
    if in_full:
        lines.append(
            f"Tokens in {report.period}: {_format_total(report)}, {report.own:,} of them"
            f" here{_format_unlocked(report)}"
        )
    else:
        lines.append(_format_own(report))
    if report.last.total:
        lines.append(f"Last turn: {_format_tokens(report.last)}")
    if failures:
        lines.append("Last failures:")
        lines.extend(guides.brief_fact(app.guide, fact) for fact in failures)
    return lines


def format_usage(session: str, document: Document, app: App, *, in_full: bool = True) -> list[str]:
    """Return the tokens spent, as lines for people: in this chat, and in the budget's period.

    `in_full` tells what everybody used in the period, too.
    """
    report = make_report(session, document, app)
    here = f"In this chat: {_format_tokens(report.usage)}"
    if not in_full:
        return [here, _format_own(report)]
    return [
        here,
        f"In {report.period}: {report.own:,} tokens in this chat, {_format_total(report)} in all of"
        f" them{_format_unlocked(report)}",
    ]


def _format_total(report: StatusReport) -> str:
    """Return what everybody used; and of how much, as long as all of it counts."""
    limit = _format_limit(report) if report.total == report.spent else ""
    return f"{report.total:,}{limit}"


def _format_unlocked(report: StatusReport) -> str:
    """Return how much still counts, where an unlock took off the rest."""
    if report.total == report.spent or not report.most:
        return ""
    return f"; since an unlock {report.spent:,}{_format_limit(report)} count"


def _format_limit(report: StatusReport) -> str:
    return f" of {report.most:,}" if report.most else ""


def _format_own(report: StatusReport) -> str:
    return f"Tokens in {report.period}: {report.own:,} in this chat"


def _format_tokens(usage: Usage) -> str:
    share = ""
    if usage.prompt and not usage.estimated:
        share = f" ({usage.cached / usage.prompt:.0%} of them from the cache)"
    return f"{usage.prompt:,} tokens of prompts{share}, {usage.completion:,} of answers"
