"""/spent shows the tokens of the last days, and what they cost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final

from functions.agent.app import App
from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands
from functions.agent.conversation.messages import RUNTIME_ORIGIN, Message, read_own_words
from functions.agent.runs.event_chain import EventChain, find_largest
from functions.agent.runs.run import Run, load_run
from functions.agent.runs.spending import Spending, Spent, total, total_by_work
from functions.agent.runs.tree import list_agents
from functions.agent.sanitize import clean_text
from functions.prices import format_money
from functions.time.time_zone import find_midnight, to_local
from sigil.errors import BackendError, one_line
from sigil.storage.kv import keys

CHAINS: Final = 3
DAYS: Final = 7
DAYS_MOST: Final = 90
EVENT_CHARACTERS: Final = 120
WORDS_CHARACTERS: Final = 60
LOOKED_MOST: Final = 3
"""In so many turns of a chain, the first ones, it is looked for what began it."""
_TAGS: Final = re.compile(r"</?auto-claimed>")
_DAYS: Final = re.compile(r"[1-9][0-9]?", re.ASCII)


def run_spent(call: CommandCall) -> CommandResult:
    """Show what was used by day and by kind of work: in all chats to an owner who is alone with the
    agent, to others what was used here.
    """
    texts = call.texts
    app = call.app
    if call.text and not (_DAYS.fullmatch(call.text) and int(call.text) <= DAYS_MOST):
        return call.reply(texts.spent_how)
    days = int(call.text or DAYS)
    last = to_local(app.clock.now(), app.zone).date()
    first = last - timedelta(days=days - 1)
    is_all = call.role == "owner" and call.event.private
    agents = list_agents(app.kv, app.root) if is_all else [app.name]
    by_day: dict[str, list[Spent]] = {}
    by_agent: dict[str, list[Spent]] = {}
    for agent in agents:
        for day, rows in Spending(app.kv, agent, app.zone).read(first, last).items():
            kept = rows if is_all else [row for row in rows if row.session == call.event.session]
            by_day.setdefault(day.isoformat(), []).extend(kept)
            by_agent.setdefault(agent.rpartition(".")[2], []).extend(kept)
    everything = [row for rows in by_day.values() for row in rows]
    if not total(everything).total:
        return call.reply(texts.spent_nothing.format(day=first.isoformat()))
    head = texts.spent_all if is_all else texts.spent_here
    lines = [head.format(day=first.isoformat(), used=_describe(everything, call))]
    for name, rows in sorted(by_day.items(), reverse=True):
        if total(rows).total:
            lines.append(texts.spent_line.format(what=name, used=_describe(rows, call)))
    works = total_by_work(everything)
    if len(works) > 1:
        lines.append(texts.spent_works)
        for work in works:
            rows = [row for row in everything if row.work == work]
            what = texts.spent_kinds[work]
            lines.append(texts.spent_line.format(what=what, used=_describe(rows, call)))
    spenders = {name: rows for name, rows in by_agent.items() if total(rows).total}
    if len(spenders) > 1:
        lines.append(texts.spent_agents)
        for name, rows in sorted(spenders.items(), key=lambda each: -total(each[1]).total):
            lines.append(texts.spent_line.format(what=name, used=_describe(rows, call)))
    if is_all:
        lines += _list_chains(call, find_midnight(first, app.zone))
    return call.reply("\n".join(lines))


def _list_chains(call: CommandCall, since: float) -> list[str]:
    """Return the lines about the causes that set off the most, each with all that came of it."""
    app = call.app
    texts = call.texts
    lines = []
    for event, chain in find_largest(app.kv, app.root, since, CHAINS):
        used = texts.spent_chain.format(tokens=chain.tokens, events=chain.events)
        what = f"`{one_line(event, EVENT_CHARACTERS)}`"
        words = _find_first_words(call, chain)
        if words:
            what = texts.spent_cause.format(words=words, event=what)
        lines.append(texts.spent_line.format(what=what, used=used))
    return [texts.spent_chains, *lines] if lines else []


def _find_first_words(call: CommandCall, chain: EventChain) -> str:
    """Return the first words of what began a chain that is the asking person's, as the history of
    the first of its turns has them; empty where it is somebody else's, or has left that.
    """
    people = call.app.people.list_firsts()
    me = call.event.behalf
    if people.get(chain.by, chain.by) != people.get(me, me):
        return ""
    for run in chain.runs[: -LOOKED_MOST - 1 : -1]:
        found = load_run(call.app.kv, run.agent, run.run)
        words = _read_words(call.app, found) if found else ""
        if words:
            return words
    return ""


def _read_words(app: App, run: Run) -> str:
    """Return the first words of what a run answered; empty where its session has them no more."""
    messages: Sequence[Message] = ()
    with suppress(BackendError):  # a damaged session has no words
        session = keys.session_of(run.agent, run.session)
        messages = app.sessions.open(session).document.messages
    asked = ""
    for message in messages:
        if message.at > run.began + run.seconds + 1:
            break
        if message.role == "assistant" and message.at >= run.began:
            return asked
        if message.role == "user" and message.origin != RUNTIME_ORIGIN:
            asked = ""
            if message.at <= run.began:
                words = _TAGS.sub("", read_own_words(message.content)).replace("`", "'")
                asked = one_line(clean_text(words), WORDS_CHARACTERS)
    return ""


def _describe(rows: Sequence[Spent], call: CommandCall) -> str:
    """Return the tokens of these rows as they count for the limits in words, then those that do
    not count, the share of the prompts that came from the provider's cache, and what they cost
    where that is known.
    """
    texts = call.texts
    usage = total(rows)
    used = texts.spent_tokens.format(tokens=usage.counted)
    if usage.total > usage.counted:
        used += texts.spent_uncounted.format(tokens=usage.total - usage.counted)
    if usage.cached:
        used += texts.spent_cached.format(share=f"{usage.cached / usage.prompt:.0%}")
    if not usage.cost:
        return used
    return f"{used}{texts.usage_cost.format(cost=format_money(usage.cost, call.app.currency))}"


COMMANDS: Final[Commands] = {"spent": Command(run_spent, arguments="[N]")}
