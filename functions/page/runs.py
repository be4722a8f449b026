"""The pages of runs: what was done lately, what is at work, and what one run did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode

from starlette.responses import Response

from functions.agent.management import runs as run_rows
from functions.agent.runs.run import REASONS, RUNNING, WAITING, Run
from functions.agent.runs.tree import list_agents
from functions.page import run_tree
from functions.page.access.reach import SeenChats, Work, require_chat, require_work
from functions.page.access.viewer import PEOPLE, VIEWERS
from functions.page.agents import require_agent_name
from functions.page.frame import (
    Page,
    PageRequest,
    PageRoute,
    answer_json,
    plain,
    redirect,
    render,
    take_page_parameters,
)
from functions.page.words.run_words import RunWords, words_of
from functions.prices import format_money
from functions.turns_in_progress import stop_turn
from sigil.errors import UsageError
from sigil.http.page import figures
from sigil.json_fields import as_mapping, as_number, as_sequence, as_string

OUTCOMES: Final = ("said", "silent", "failed", "stopped", "skipped", "given-up")
KINDS: Final = ("message", *REASONS, "wakeup", "mail", "task")
SCANNED_PAGES: Final = 40
"""So many pages of runs are looked through for those that somebody may see."""
WORDS: Final = ("arguments", "result", "detail", "progress")
"""The fields of a step that have words of people, models, capabilities and endpoints."""
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter of a list: its name, and each value with its link and whether it is chosen."""

    name: str
    choices: tuple[tuple[str, str, bool], ...]


def show_runs(page: PageRequest) -> Response:
    """Show the runs of an agent, the newest first, and those at work above them."""
    words = words_of(page)
    query = dict(take_page_parameters(page))
    twin = list_runs(page, query)
    if page.wants_json:
        return answer_json(page, twin)
    items: Sequence[Row] = twin["items"]
    after = twin.get("next", "")
    return render(
        page,
        "runs.html",
        title=words.runs,
        say=words,
        show=figures,
        at_work=[_make_row(page, row, words) for row in items if _is_open(row)],
        rows=[_make_row(page, row, words) for row in items if not _is_open(row)],
        filters=_list_filters(page, query, words),
        is_filtered=bool(query.keys() - {"after"}),
        older=_link(page, {**query, "after": after}) if after else "",
        newest=_link(page, {**query, "after": ""}) if query.get("after") else "",
        twin=_link(page, {**query, "as": "json"}),
    )


def list_runs(page: PageRequest, query: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of the runs that a viewer sees, as programs get them."""
    deps = page.deps
    asked = dict(query)
    short = asked.pop("agent", "")
    agent = deps.app.name if short in ("", deps.app.name) else require_agent_name(page, short)
    running = [] if asked.get("after") else [each.run for each in deps.turns.list_all()]
    seen = SeenChats(page)
    if page.viewer.role == "member":
        if "session" in asked:
            require_chat(page, asked["session"])
        return _list_own(page, seen, agent, asked, running)
    found: dict[str, Any] = run_rows.list_runs(deps.app, agent, asked, running)
    return {**found, "items": [_without_notes(row, seen) for row in found["items"]]}


def _without_notes(row: Row, seen: SeenChats) -> Row:
    """Return a row without what the agent noted in a chat that the viewer does not read."""
    if not row["notes"] or seen.find_run(row) == "texts":
        return row
    return {**row, "notes": ()}


def _list_own(
    page: PageRequest,
    seen: SeenChats,
    agent: str,
    asked: dict[str, str],
    running: Sequence[Run],
) -> dict[str, Any]:
    """Return a page of the runs of a member's own chats."""
    items: list[Row] = []
    most = run_rows.PAGE
    for _ in range(SCANNED_PAGES):
        found: dict[str, Any] = run_rows.list_runs(page.deps.app, agent, asked, running)
        rows = found["items"]
        running = ()
        items += [row for row in rows if seen.find_run(row) != "nothing"]
        asked = {**asked, "after": found.get("next", "")}
        if not asked["after"] or len(items) >= most:
            break
    return {"items": items, **({"next": asked["after"]} if asked["after"] else {})}


def show_run(page: PageRequest) -> Response:
    """Show what a run did: its requests, its calls, and the runs that it set off."""
    words = words_of(page)
    id = page.path["id"]
    run, reads = load_run(page, id)
    if page.wants_json:
        return answer_json(page, run)
    if "step" in page.query:
        return _show_step(page, run, words)
    nodes = run_tree.read_nodes(run, words)
    first = _read_place(page.query.get("from", "0"), len(nodes))
    shown = nodes[first : first + run_tree.PAGE]
    span = run_tree.find_span(nodes)
    last = first + len(shown)
    return render(
        page,
        "run.html",
        title=_title(run, words),
        say=words,
        show=figures,
        run=run,
        facts=_list_facts(page, run, words),
        nodes=[(node, run_tree.make_bar(node, span)) for node in shown],
        scale=run_tree.SCALE,
        count=len(nodes),
        first=first,
        last=last,
        more=len(nodes) - last,
        is_open=_is_open(run),
        may_stop=_is_open(run) and page.viewer.role in PEOPLE,
        is_hidden=not reads and page.viewer.role != "reader",
        is_number=page.viewer.role == "reader",
        stopping=page.query.get("stopping") == "1",
        path=run_path,
        twin=f"{page.url(run_path(as_string(run['id'])))}?as=json",
    )


def load_run(page: PageRequest, id: str) -> tuple[dict[str, Any], bool]:
    """Return a run as programs get it, and whether the viewer reads its words; `UsageError` ENOENT
    where there is none that they may see.
    """
    deps = page.deps
    found = deps.turns.find(id)
    running = found.run if found else None
    row = plain(run_rows.show_run(deps.app, id, with_texts=False, running=running))
    seen = SeenChats(page)
    if require_work(page, Work.of_run(row)) == "texts":
        row = plain(run_rows.show_run(deps.app, id, with_texts=True, running=running))
        return _with_words_below(row, seen), True
    return _without_words(row, seen), False


def stop_run(page: PageRequest) -> Response:
    """Tell a run that is at work to stop."""
    id, _, verb = page.path["id"].rpartition("/")
    if verb != "stop":
        raise UsageError("ENOENT", "a run is stopped at /ui/runs/ID/stop", source="page")
    load_run(page, id)
    found, _ = stop_turn(page.deps.turns, id, page.by)
    if page.wants_json:
        return answer_json(page, {"stopping": found.run.id, "event": found.run.event})
    return redirect(page, f"{run_path(found.run.id)}?stopping=1")


def run_path(id: str) -> str:
    """Return the path of the page of a run."""
    return f"/runs/{quote(id, safe='/:~@!$&()*+,;=')}"


def _show_step(page: PageRequest, run: Row, words: RunWords) -> Response:
    """Show one step of a run with the whole of its texts, as far as they are kept."""
    number = page.query["step"]
    step = run_tree.find_step(run, int(number)) if number.isdecimal() and len(number) < 6 else {}
    if not step:
        raise UsageError("ENOENT", "the run has no such step", source="page")
    texts = [
        (name, figures.clean(figures.pretty(step[key]), 200_000))
        for name, key in (
            (words.arguments, "arguments"),
            (words.result, "result"),
            (words.failure, "detail"),
        )
        if step.get(key)
    ]
    return render(
        page,
        "run_step.html",
        title=f"{step.get('name') or words.name_step(as_string(step.get('kind')))}",
        say=words,
        run=run,
        texts=texts,
        heading=_title(run, words),
        path=run_path,
    )


def _make_row(page: PageRequest, row: Row, words: RunWords) -> dict[str, object]:
    """Return what the list shows of a run."""
    usage = as_mapping(row.get("usage"))
    return {
        "path": run_path(row["id"]),
        "began": row["began"],
        "reason": words.name_reason(row["reason"]),
        "outcome": words.name_outcome(row["outcome"]),
        "why": row["why"],
        "is_bad": row["outcome"] in run_tree.BAD_OUTCOMES,
        "chat": row["session"],
        "chat_link": _link(page, {"session": row["session"]}),
        "agent": row["agent"],
        "behaviour": row["behaviour"],
        "requests": row["requests"],
        "prompt": usage.get("prompt", 0),
        "completion": usage.get("completion", 0),
        "calls": row["calls"],
        "failed": row["failed"],
        "ms": as_number(row["seconds"]) * 1_000,
        "model": row["model"],
    }


def _list_facts(
    page: PageRequest, run: Row, words: RunWords
) -> list[tuple[str, str] | tuple[str, str, str]]:
    """Return the facts of a run, always in this order."""
    usage = as_mapping(run.get("usage"))
    cost = as_number(usage.get("cost"))
    failed = as_number(run.get("failed"))
    outcome = as_string(run.get("outcome"))
    facts: list[tuple[str, str] | tuple[str, str, str]] = [
        (words.took, figures.span(as_number(run.get("seconds")) * 1_000)),
        (words.tokens_in, figures.count(usage.get("prompt"))),
        (words.tokens_out, figures.count(usage.get("completion"))),
        (words.cached, figures.count(usage.get("cached"))),
        (words.requests, figures.count(run.get("requests"))),
        (words.calls, figures.count(run.get("calls"))),
        (words.failed, figures.count(failed), *(("bad",) if failed else ())),
        (
            words.outcome,
            words.name_outcome(outcome),
            *(("bad",) if outcome in run_tree.BAD_OUTCOMES else ()),
        ),
        (words.model, as_string(run.get("model")) or "–"),
        (words.money, format_money(cost, page.deps.app.currency) if cost else "–"),
    ]
    return facts


def _list_filters(page: PageRequest, query: Mapping[str, str], words: RunWords) -> list[Filter]:
    plain = {name: text for name, text in query.items() if name != "after"}

    def choose(field: str, names: Sequence[tuple[str, str]]) -> tuple[tuple[str, str, bool], ...]:
        chosen = plain.get(field, "")
        return tuple(
            (label, _link(page, {**plain, field: value}), value == chosen)
            for value, label in (("", words.every), *names)
        )

    filters = [
        Filter(words.outcome, choose("outcome", [(n, words.name_outcome(n)) for n in OUTCOMES])),
        Filter(words.reason, choose("reason", [(n, words.name_reason(n)) for n in KINDS])),
    ]
    app = page.deps.app
    agents = [name.rpartition(".")[2] for name in list_agents(app.kv, app.root)[1:40]]
    if agents and page.viewer.role != "member":
        filters.append(Filter(words.agent, choose("agent", [(name, name) for name in agents])))
    if plain.get("session"):
        chat = plain["session"]
        filters.append(Filter(words.chat, choose("session", [(chat, figures.line(chat, 60))])))
    return filters


def _link(page: PageRequest, query: Mapping[str, str]) -> str:
    asked = urlencode({name: text for name, text in query.items() if text})
    return page.url("/runs") + (f"?{asked}" if asked else "")


def _is_open(run: Row) -> bool:
    return run.get("outcome") in (RUNNING, WAITING)


def _title(run: Row, words: RunWords) -> str:
    reason = words.name_reason(as_string(run.get("reason")))
    chat = as_string(run.get("session"))
    return words.run_in.format(reason=reason, chat=figures.line(chat, 120))


def _read_place(text: str, count: int) -> int:
    """Return where a page of rows begins; the first place for what is none."""
    if not text.isdecimal() or len(text) > 7 or int(text) >= count:
        return 0
    return int(text)


def _without_words(run: dict[str, Any], seen: SeenChats) -> dict[str, Any]:
    """Return a run without anybody's words, and those below it as `_with_words_below`."""
    steps = []
    for step in as_sequence(run.get("steps")):
        fields = as_mapping(step)
        steps.append({name: value for name, value in fields.items() if name not in WORDS})
    return _with_words_below({**run, "steps": steps, "notes": []}, seen)


def _with_words_below(run: dict[str, Any], seen: SeenChats) -> dict[str, Any]:
    """Return a run; those that it set off in chats that the viewer does not read have no words."""
    children = []
    for child in run["children"]:
        is_read = seen.find_run(child) == "texts"
        children.append((_with_words_below if is_read else _without_words)(child, seen))
    return {**run, "children": children}


ROUTES: tuple[PageRoute, ...] = (
    PageRoute("/runs", "GET", show_runs, VIEWERS),
    PageRoute("/runs/{id:path}", "GET", show_run, VIEWERS),
    PageRoute("/runs/{id:path}", "POST", stop_run, PEOPLE, reads_form=True),
)
PAGES: tuple[Page, ...] = (Page("Runs", "/runs", VIEWERS, {"de": "Läufe", "zh": "运行"}),)
