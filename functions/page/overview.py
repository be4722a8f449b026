"""What waits, who is there, what failed, and what to type next: the first page of an owner whom
something waits for, on a phone.
"""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from functions.agent.commands import status
from functions.agent.management import sessions
from functions.page.access.viewer import WATCHERS
from functions.page.frame import Page, PageRequest, PageRoute, plain
from functions.page.safety import list_failures, list_halted, make_failures, read_waiting
from functions.page.words.owner_words import load_words
from functions.page.words.run_words import words_of
from sigil.http.page import figures
from sigil.http.page.operations import Act, Cell, Section, TableRow, View, show_view
from sigil.storage.kv import keys

FAILURES: Final = 5


def show_overview(page: PageRequest) -> Response:
    """Show what an owner should know before anything else, to a reader how much it is."""
    app = page.deps.app
    own = load_words(page.language)
    is_owner = page.viewer.role == "owner"
    words = words_of(page)
    waiting = read_waiting(page)
    halted = list_halted(app)
    failures = list_failures(app)[:FAILURES]
    asking = app.pairing.list_waiting()
    members = app.people.list_members()
    working = page.deps.turns.list_all()
    key = keys.session_of(app.name, "http:admin:main")
    report = status.make_report(key, app.sessions.open(key).document, app)
    chats = sessions.scan_sessions(app)
    counts = (
        (words.proposals, len(waiting.proposals), "/safety"),
        (words.grants, len(waiting.grants), "/safety"),
        (words.dead_letters, len(waiting.letters), "/safety"),
        (words.waits_in, len(asking), "/people"),
    )
    rows = tuple(
        TableRow((Cell(name, path=path if is_owner else ""), Cell(count, "figure")))
        for name, count, path in counts
        if count
    )
    spent = figures.count(report.spent)
    if report.most:
        spent = f"{spent} {words.of_limit.format(most=figures.count(report.most))}"
    facts = (
        (words.halted, Cell(len(halted), "figure", "/safety" if halted and is_owner else "")),
        (words.running_now, Cell(len(working), "figure", "/runs" if working else "")),
        (words.limit.format(period=report.period), Cell(spent, path="/usage")),
        (
            words.people,
            Cell(len(members) + len(app.rules.owners), "figure", "/people" if is_owner else ""),
        ),
        (words.chats, Cell(len(chats), "figure", "/chats")),
    )
    sections = [
        Section(
            words.waiting_for_you if is_owner else own.waits_for_owners,
            (("", "text"), ("", "figure")),
            rows,
            nothing=words.nothing_waits if is_owner else own.nothing_waits,
        ),
        make_failures(failures, words),
    ]
    if not chats:
        sections.append(
            Section(words.next_to_type, nothing=words.write_first, type=words.no_chats_type)
        )
    twin = plain(
        {
            "waiting": {
                "proposals": len(waiting.proposals),
                "grants": len(waiting.grants),
                "dead_letters": len(waiting.letters),
                "people": len(asking),
            },
            "halted": halted if is_owner else len(halted),
            "at_work": len(working),
            "failures": [run.id for run in failures],
            "tokens": {"spent": report.spent, "most": report.most, "period": report.period},
            "people": len(members) + len(app.rules.owners),
            "chats": len(chats),
        }
    )
    acts = (Act(words.runs, "/runs"), Act(words.chats, "/chats"))
    return show_view(page, View(words.overview, tuple(sections), twin, facts=facts, acts=acts))


def is_needed(page: PageRequest) -> bool:
    """Return whether an owner looks from a phone while something waits for them."""
    headers = page.request.headers
    is_phone = headers.get("sec-ch-ua-mobile") == "?1" or "Mobi" in headers.get("user-agent", "")
    if page.viewer.role != "owner" or not is_phone:
        return False
    app = page.deps.app
    return bool(read_waiting(page).count or app.pairing.list_waiting() or list_halted(app))


ROUTES: tuple[PageRoute, ...] = (PageRoute("/overview", "GET", show_overview, WATCHERS),)
PAGES: tuple[Page, ...] = (
    Page("Overview", "/overview", WATCHERS, {"de": "Übersicht", "zh": "概览"}),
)
