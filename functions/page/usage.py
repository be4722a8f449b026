"""The page of use: what was spent today and in the last thirty days, and by whom and what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Any, Final

from starlette.responses import Response

from functions.agent.commands import status
from functions.agent.conversation.messages import Usage
from functions.agent.management import ledger
from functions.agent.management.usage import TOOL, AllTools, DaySum, list_sums, sum_usage
from functions.agent.runs.spending import Spent
from functions.all_tools import compare_all_tools
from functions.page.access.reach import list_ids
from functions.page.access.viewer import VIEWERS
from functions.page.frame import Page, PageRequest, PageRoute, plain
from functions.page.words.run_words import RunWords, words_of
from functions.prices import format_money
from functions.time.time_zone import to_local
from sigil.errors import UsageError
from sigil.http.page import figures
from sigil.http.page.operations import Act, Bars, Cell, Section, TableRow, View, show_view
from sigil.storage.kv import keys

DAYS: Final = 30
GROUPS_SHOWN: Final = 30
Days = dict[date, list[Spent]]


def _read_sums(page: PageRequest) -> list[DaySum]:
    """Return what was spent in the last days by all agents: a member sees their own."""
    app = page.deps.app
    found = list_sums(app, days=DAYS)
    if page.viewer.role == "member":
        own = list_ids(app, page.viewer.person)
        return [each for each in found if each.spent.by in own]
    return found


def _group_by_day(page: PageRequest, found: Sequence[DaySum]) -> Days:
    app = page.deps.app
    last = to_local(app.clock.now(), app.zone).date()
    first = last - timedelta(days=DAYS - 1)
    days: Days = {first + timedelta(days=number): [] for number in range(DAYS)}
    for each in found:
        if each.day in days:  # midnight may have passed meanwhile
            days[each.day].append(each.spent)
    return days


def show_usage(page: PageRequest) -> Response:
    """Show today's tokens against the limit, and thirty days as bars and as a table."""
    app = page.deps.app
    words = words_of(page)
    found = _read_sums(page)
    days = _group_by_day(page, found)
    every = [row for rows in days.values() for row in rows]
    today = _sum(days[max(days)])
    twin: dict[str, Any] = {
        "days": [{"day": day.isoformat(), **_describe(rows)} for day, rows in days.items()],
        "today": _describe(days[max(days)]),
        "total": _describe(every),
        "by_model": _group(every, lambda row: row.model),
    }
    facts = [(words.tokens_today, Cell(today.total, "figure"))]
    if page.viewer.role != "member":
        key = keys.session_of(app.name, "http:admin:main")
        report = status.make_report(key, app.sessions.open(key).document, app)
        twin["limit"] = {"spent": report.spent, "most": report.most, "period": report.period}
        most = words.of_limit.format(most=figures.count(report.most)) if report.most else ""
        said = f"{figures.count(report.spent)} {most}".strip() if most else words.no_limit
        facts.append((words.limit.format(period=report.period), Cell(said)))
    total = _sum(every)
    facts.append((words.days_shown.format(days=DAYS), Cell(total.total, "figure")))
    if total.saved:
        facts.append((words.saved, Cell(total.saved, "figure")))
    if total.cost:
        facts.append((words.money, Cell(format_money(total.cost, app.currency))))
    sections = [_make_days(days, words)]
    compared = compare_all_tools(app, found)
    twin["all_tools"] = compared.describe() if compared else None
    sections.append(_make_all_tools(compared, words))
    sections.append(_make_groups(words.by_model, words.model, twin["by_model"], words))
    by_capability = sum_usage(found, TOOL)
    twin["by_capability"] = [
        {"name": each.name, "calls": each.calls, "failed": each.failed}
        for each in by_capability[:GROUPS_SHOWN]
    ]
    sections.append(_make_capabilities(twin["by_capability"], words))
    if page.viewer.role != "reader":
        twin["by_chat"] = _group(every, lambda row: row.session)
        sections.append(_make_groups(words.by_chat, words.chat, twin["by_chat"], words))
    if page.viewer.role == "owner":
        twin["by_person"] = _group(every, lambda row: row.by)
        sections.append(_make_groups(words.by_person, words.person, twin["by_person"], words))
        sections.append(_make_ledger(page, words, twin))
    view = View(words.usage, tuple(sections), plain(twin), facts=tuple(facts))
    return show_view(page, view)


def _make_days(days: Days, words: RunWords) -> Section:
    sums = {day: _sum(rows) for day, rows in days.items()}
    bars = Bars(
        tuple((day.isoformat(), float(usage.total)) for day, usage in sums.items()),
        words.days_shown.format(days=DAYS),
    )
    rows = tuple(
        TableRow(
            (
                Cell(day.isoformat()),
                Cell(sums[day].total, "figure"),
                Cell(sum(row.turns for row in found), "figure"),
                Cell(sum(row.calls for row in found), "figure"),
                Cell(sum(row.failed for row in found), "figure"),
            )
        )
        for day, found in reversed(days.items())
        if found
    )
    columns = (
        (words.day, "text"),
        (words.total, "figure"),
        (words.turns, "figure"),
        (words.calls, "figure"),
        (words.failed, "figure"),
    )
    return Section(
        words.days_shown.format(days=DAYS),
        columns,  # type: ignore[arg-type]
        rows,
        bars=bars if rows else None,
        nothing=words.no_use,
        type=words.no_use_type,
    )


def _make_groups(
    title: str, label: str, groups: Sequence[dict[str, Any]], words: RunWords
) -> Section:
    rows = tuple(
        TableRow(
            (
                Cell(group["name"] or "–"),
                Cell(group["tokens"], "figure"),
                Cell(group["turns"], "figure"),
                Cell(group["calls"], "figure"),
            )
        )
        for group in groups
    )
    columns = (
        (label, "text"),
        (words.total, "figure"),
        (words.turns, "figure"),
        (words.calls, "figure"),
    )
    return Section(title, columns, rows, nothing=words.no_use, type=words.no_use_type)  # type: ignore[arg-type]


def _make_capabilities(rows: Sequence[dict[str, Any]], words: RunWords) -> Section:
    """Return the part about what was called: a request has many tools, so that none has tokens."""
    return Section(
        words.by_capability,
        ((words.capability, "text"), (words.calls, "figure"), (words.failed, "figure")),
        tuple(
            TableRow(
                (
                    Cell(row["name"] or words.other_calls),
                    Cell(row["calls"], "figure"),
                    Cell(row["failed"], "figure"),
                )
            )
            for row in rows
        ),
        nothing=words.no_calls,
        type=words.no_calls_type,
    )


def _make_all_tools(compared: AllTools | None, words: RunWords) -> Section:
    """Return the part about what the requests would have cost with all tools in them."""
    if compared is None or not compared.measured:
        return Section(words.all_tools, note=words.all_tools_unknown, nothing="")
    facts = (
        (words.all_tools_saved, Cell(compared.saved, "figure")),
        (words.all_tools_each, Cell(compared.tokens, "figure")),
        (words.all_tools_requests, Cell(compared.measured, "figure")),
        (words.all_tools_resident, Cell(compared.resident, "figure")),
    )
    said = words.all_tools_whole if compared.is_whole else words.all_tools_part
    note = said.format(count=figures.count(compared.capabilities))
    unknown = compared.requests - compared.measured
    if unknown:
        note = f"{note} {words.all_tools_left_out.format(count=figures.count(unknown))}"
    return Section(words.all_tools, facts=facts, note=note)


def _make_ledger(page: PageRequest, words: RunWords, twin: dict[str, Any]) -> Section:
    """Return the part about the ledger; its chain is checked only when that is asked for."""
    if page.query.get("verify") != "1":
        return Section(words.ledger, acts=(Act(words.verify, "/usage?verify=1"),), nothing=" ")
    try:
        found = ledger.verify(page.deps.app, page.deps.app.name)
    except UsageError as problem:
        return Section(words.ledger, problem=problem.message)
    twin["ledger"] = {"entries": found.entries, "ok": not found.problem, "problem": found.problem}
    if found.problem:
        return Section(words.ledger, problem=words.ledger_bad.format(problem=found.problem))
    said = words.ledger_good.format(entries=figures.count(found.entries))
    return Section(words.ledger, note=said, nothing="")


def _group(rows: Sequence[Spent], name: Callable[[Spent], str]) -> list[dict[str, Any]]:
    """Return the sums of rows by a name, those that used most first."""
    groups: dict[str, list[Spent]] = {}
    for row in rows:
        groups.setdefault(name(row), []).append(row)
    made = [{"name": each, **_describe(found)} for each, found in groups.items()]
    return sorted(made, key=lambda each: (-each["tokens"], each["name"]))[:GROUPS_SHOWN]


def _describe(rows: Sequence[Spent]) -> dict[str, Any]:
    usage = _sum(rows)
    return {
        "tokens": usage.total,
        "prompt": usage.prompt,
        "completion": usage.completion,
        "cached": usage.cached,
        "saved": usage.saved,
        "cost": usage.cost,
        "turns": sum(row.turns for row in rows),
        "requests": sum(row.requests for row in rows),
        "calls": sum(row.calls for row in rows),
        "failed": sum(row.failed for row in rows),
    }


def _sum(rows: Sequence[Spent]) -> Usage:
    usage = Usage()
    for row in rows:
        usage += row.usage
    return usage


ROUTES: tuple[PageRoute, ...] = (PageRoute("/usage", "GET", show_usage, VIEWERS),)
PAGES: tuple[Page, ...] = (Page("Usage", "/usage", VIEWERS, {"de": "Verbrauch", "zh": "用量"}),)
