"""The status of an agent, seen from one of its sessions: state, failures, budget."""

from __future__ import annotations

from dataclasses import dataclass, replace

from functions.agent.app import App
from functions.agent.calls import background_calls
from functions.agent.commands.command import CommandCall
from functions.agent.context import count_overhead
from functions.agent.conversation import compaction
from functions.agent.conversation.messages import Usage
from functions.agent.runs.call_progress import read_row
from functions.agent.runs.progress import find_progress
from functions.agent.safety import guides
from functions.agent.safety.breakers import Breakers, make_breakers
from functions.agent.safety.budget import SafetyLimits, TokenBudget
from functions.agent.safety.hp import HpReport, describe
from functions.agent.safety.status import (
    NoticeReader,
    SafetyStatus,
    SessionState,
    write_notice,
)
from functions.agent.schedules.chat_schedules import ChatSchedule, ChatSchedules
from functions.agent.schedules.description import describe_late
from functions.agent.session.document import Document
from functions.agent.session.store import SessionHandle
from functions.prices import format_money
from functions.texts.en import TEXTS as ENGLISH
from functions.texts.en import Texts
from functions.time.time_zone import format_clock
from sigil.errors import one_line
from sigil.json_fields import as_number
from sigil.running_call import format_progress
from sigil.storage.kv import keys

TITLE_CHARACTERS = 60
SHOWN_FAILURES = 3
"""`/status all` tells so many of the last failures."""
ALL = "all"
"""The word behind `/status` that asks for its details."""


@dataclass(frozen=True, slots=True)
class StatusReport:
    """The status of one session.

    `spent` of `most` tokens count in the budget's period `period`; `most` 0 is no limit. `total`
    are all that were used in it, also those that an unlock took off; `own` those of this session.
    `left` are what this session may still use of them, None without a limit. `cost` is what `total`
    cost in money, as far as that is known.

    `agent_spent` are the tokens of a root's agent in this period, of `agent_most` that it may use;
    None for the root itself. `hp` bound what the agent does by itself, None where nothing does.

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
    left: int | None
    cost: float
    failures: tuple[dict[str, str], ...]
    usage: Usage = Usage()
    last: Usage = Usage()
    agent_spent: int | None = None
    agent_most: int = 0
    hp: HpReport | None = None


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
    agent_spent = None
    if not app.is_root:
        own = TokenBudget(app.kv, app.name, app.limits, app.clock.now)
        agent_spent = own.count_spent(period)
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
        left=_count_left(tokens.counted, agent_spent, safety, app.limits),
        cost=tokens.cost,
        failures=tuple(failures),
        usage=document.usage,
        last=document.last,
        agent_spent=agent_spent,
        agent_most=app.limits.agent_tokens,
        hp=app.load_hp().report(app.clock.now()) if app.hp.most > 0 else None,
    )


def _count_left(
    counted: int, agent_spent: int | None, safety: SafetyStatus, limits: SafetyLimits
) -> int | None:
    """Return how many tokens a session may still use in this period; None without a limit."""
    left = []
    if limits.agent_tokens > 0 and agent_spent is not None:
        left.append(limits.agent_tokens - agent_spent)
    if limits.tokens > 0:
        left.append(limits.tokens - counted)
    if limits.session_tokens > 0:
        left.append(limits.session_tokens - (safety.spent - safety.free))
    return max(min(left), 0) if left else None


def format_status(opened: SessionHandle, app: App, chat: str) -> list[str]:
    """Return the status as lines for the people who look after the agent, with its exact state.

    `chat` is the name of the chat as the channels know it.
    """
    document = opened.document
    report = make_report(opened.key, document, app)
    reason = f" ({report.reason})" if report.reason else ""
    lines = [
        f"State: {report.state}{reason}",
        _describe_work(opened, app, ENGLISH),
        *_describe_tasks(opened.key, app, ENGLISH),
        f"Failures: {report.consecutive} in a row, {report.failed} of the last"
        f" {report.operations} operations",
        _describe_next_wakeup(app.open_chat_schedules(chat), app, ENGLISH),
        _format_total(report, ENGLISH) + _format_cost(report.cost, app, ENGLISH),
        _format_agent(report, app, ENGLISH),
        _format_left(report, document, app, ENGLISH),
        _describe_hp(report, document, app, ENGLISH),
    ]
    if report.last.total:
        tokens = _format_tokens(report.last, ENGLISH)
        tokens += _format_cost(report.last.cost, app, ENGLISH)
        lines.append(ENGLISH.status_last_turn.format(tokens=tokens))
    return [*filter(None, lines), *_list_failures(document, app, ENGLISH)]


def describe_status(call: CommandCall) -> list[str]:
    """Return the status as lines for the people of a chat: one sentence, and what else is at work
    for it. With the word `ALL` come the details, of which guests hear only their own chat's.
    """
    app = call.app
    texts = call.texts
    document = call.document
    in_full = call.role != "guest"
    report = make_report(call.session, document, app)
    lines = [_describe_state(report, call), *_describe_tasks(call.session, app, texts)]
    if call.text.lower() != ALL:
        return lines
    if in_full:
        share = count_window(call) / app.model.window
        model = texts.status_model.format(
            model=document.model or app.model.name, window=app.model.window, share=f"{share:.0%}"
        )
        lines += [model, _describe_version(app, texts)]
    lines.append(_describe_next_wakeup(call.schedules, app, texts))
    if in_full:
        lines.append(_describe_hp(report, document, app, texts))
    lines.append(_format_total(report, texts) if in_full else _format_own(report, texts))
    lines.append(_format_agent(report, app, texts) if in_full else "")
    if report.last.total:
        tokens = _format_tokens(report.last, texts)
        if in_full:
            tokens += _format_cost(report.last.cost, app, texts)
        lines.append(texts.status_last_turn.format(tokens=tokens))
    told = _list_failures(document, app, texts) if in_full and call.event.private else []
    return [*filter(None, lines), *told]


def count_window(call: CommandCall) -> float:
    """Return the tokens of the window that the next request of a chat takes, as estimated."""
    preamble = call.app.build_preamble(call.memory, chat=call.event.session)
    estimate = compaction.estimate_size(call.document.messages) + count_overhead(preamble)
    return estimate * call.document.ratio


def _describe_state(report: StatusReport, call: CommandCall) -> str:
    texts = call.texts
    if report.reason:
        reader = NoticeReader(
            owner=call.role == "owner",
            guest=call.role == "guest",
            alone=call.event.private,
            texts=texts,
            resets=call.app.describe_reset(call.document),
        )
        return write_notice(replace(call.document.safety, reason=report.reason), reader)
    turn = call.document.turn
    if turn is None:
        if report.failed:
            return texts.status_troubled.format(failed=report.failed, steps=report.operations)
        is_weak = report.hp is not None and report.hp.state != "ok"
        return texts.status_weak if is_weak else texts.status_ready
    state = texts.status_waiting if turn.waiting else texts.status_working
    return f"{state} {_describe_work(call.opened, call.app, texts)}".strip()


def _describe_work(opened: SessionHandle, app: App, texts: Texts) -> str:
    """Return what is at work in the turn in progress, and for how long; empty for nothing."""
    progress = find_progress(opened, app.clock.now(), app.kv)
    if progress is None or progress.is_waiting:
        return ""
    first = progress.now[0]
    seconds = f"{as_number(first['ms']) / 1000:.0f}"
    if first["kind"] == "request":
        return texts.status_request.format(number=first["n"], seconds=seconds)
    names = ", ".join(str(step["name"]) for step in progress.now)
    lines = [texts.status_calls.format(names=one_line(names, TITLE_CHARACTERS), seconds=seconds)]
    for step in progress.now:
        told = read_row(step.get("progress"))
        if told:
            lines.append(f"{step['name']}: {format_progress(told)}")
    return "\n".join(lines)


def _describe_tasks(session: str, app: App, texts: Texts) -> list[str]:
    """Return the calls of a session (S of the keys) that outlive its turns, each with how far it
    has come.
    """
    now = app.clock.now()
    lines = []
    for id, task in background_calls.list_running(app.kv, session, now).items():
        own = keys.session_of(app.name, background_calls.name_session(id))
        work = _describe_work(app.sessions.open(own), app, texts)
        seconds = f"{max(now - task.at, 0.0):.0f}"
        line = texts.status_task.format(id=id, name=task.tool, seconds=seconds)
        # the first line of the work names the call again
        lines.append("\n".join((line, *work.split("\n")[1:])))
    return lines


def find_next_wakeup(schedules: ChatSchedules) -> ChatSchedule | None:
    """Return the schedule of a chat that is due next; None when there is none."""
    waiting = [each for each in schedules.list() if not each.schedule.paused]
    return min(waiting, key=lambda each: each.schedule.due, default=None)


def _describe_next_wakeup(schedules: ChatSchedules, app: App, texts: Texts) -> str:
    """Return what the agent does next in a chat by itself; empty for nothing."""
    found = find_next_wakeup(schedules)
    if found is None:
        return ""
    now = app.clock.now()
    first = found.schedule
    zone = first.when.zone
    time = describe_late(first.due, zone, texts, now) or format_clock(first.due, zone, now)
    title = one_line(first.title, TITLE_CHARACTERS)
    if found.agent:
        title = texts.wakeup_of_agent.format(title=title, agent=found.agent)
    return texts.status_next.format(title=title, time=time)


def _describe_hp(report: StatusReport, document: Document, app: App, texts: Texts) -> str:
    """Return the HP of an agent; empty while nothing that it did by itself has cost any."""
    if report.hp is None or report.hp.hp >= report.hp.most:
        return ""
    return describe(report.hp, app.find_zone(document), app.clock.now(), texts)


def _describe_version(app: App, texts: Texts) -> str:
    version = app.version()
    if not version:
        return ""
    seconds = app.clock.monotonic() - app.started
    if not app.started or seconds < 0:
        return texts.status_version_only.format(version=version)
    uptime = texts.format_span(seconds).strip()
    return texts.status_version.format(version=version, uptime=uptime)


def _list_failures(document: Document, app: App, texts: Texts) -> list[str]:
    failures = document.safety.counters.failures[-SHOWN_FAILURES:]
    if not failures:
        return []
    return [
        texts.status_last_failures,
        *(guides.brief_fact(app.guide, fact) for fact in failures),
    ]


def describe_usage(call: CommandCall) -> list[str]:
    """Return the tokens spent, as lines for people: in this chat, in the budget's period, and what
    is left of it; where prices are known also what it cost.

    Guests hear only of their own chat.
    """
    texts = call.texts
    report = make_report(call.session, call.document, call.app)
    tokens = _format_tokens(report.usage, texts)
    if call.role == "guest":
        return [texts.usage_here.format(tokens=tokens), _format_own(report, texts)]
    app = call.app
    tokens += _format_cost(report.usage.cost, app, texts)
    everywhere = ""
    if not _is_uncounted(report):
        everywhere = texts.usage_all.format(
            period=report.period,
            own=report.own,
            total=report.total,
            limit=_format_limit(report, texts),
            unlocked=_format_unlocked(report, texts),
        )
        everywhere += _format_cost(report.cost, app, texts)
    left = _format_left(report, call.document, app, texts)
    return [*filter(None, (texts.usage_here.format(tokens=tokens), everywhere, left))]


def _format_left(report: StatusReport, document: Document, app: App, texts: Texts) -> str:
    """Return what is left of the budget and when it starts again; empty without a limit."""
    if report.left is None:
        return ""
    resets = texts.budget_resets.format(time=app.describe_reset(document))
    return f"{texts.usage_left.format(left=report.left)} {resets}"


def _format_cost(cost: float, app: App, texts: Texts) -> str:
    """Return what tokens cost, to be added to a line; empty where nobody knows."""
    return texts.usage_cost.format(cost=format_money(cost, app.currency)) if cost else ""


def _format_total(report: StatusReport, texts: Texts) -> str:
    """Return what everybody used, and how much of it here."""
    if _is_uncounted(report):
        return ""
    return texts.usage_total.format(
        period=report.period,
        total=report.total,
        limit=_format_limit(report, texts),
        own=report.own,
        unlocked=_format_unlocked(report, texts),
    )


def _format_agent(report: StatusReport, app: App, texts: Texts) -> str:
    """Return which agent answers, and what it used of all; empty for the root."""
    if report.agent_spent is None:
        return ""
    limit = texts.usage_limit.format(most=report.agent_most) if report.agent_most else ""
    return texts.status_agent.format(name=app.short_name, spent=report.agent_spent, limit=limit)


def _is_uncounted(report: StatusReport) -> bool:
    """Return whether no token counted in this period, and none will: those of the offline model."""
    return not report.total and not report.most


def _format_limit(report: StatusReport, texts: Texts) -> str:
    """Return of how much it is, as long as all of it counts."""
    if not report.most or report.total != report.spent:
        return ""
    return texts.usage_limit.format(most=report.most)


def _format_unlocked(report: StatusReport, texts: Texts) -> str:
    """Return how much still counts, where an unlock took off the rest."""
    if report.total == report.spent or not report.most:
        return ""
    return texts.usage_unlocked.format(spent=report.spent, most=report.most)


def _format_own(report: StatusReport, texts: Texts) -> str:
    return texts.usage_own.format(period=report.period, own=report.own)


def _format_tokens(usage: Usage, texts: Texts) -> str:
    cached = ""
    if usage.prompt and not usage.estimated:
        cached = texts.usage_cached.format(share=f"{usage.cached / usage.prompt:.0%}")
    return texts.usage_tokens.format(
        prompt=usage.prompt, cached=cached, completion=usage.completion
    )
