"""The page of the policy with its versions, and the breakers of each chat."""

from __future__ import annotations

from functools import partial
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from functions.agent.agent_directory import AbsentAgent
from functions.agent.app import App
from functions.agent.commands import status
from functions.agent.ledger.entry import Entry
from functions.agent.management import sessions
from functions.agent.management.ledger import add_entries
from functions.agent.memory.documents import Doc
from functions.agent.policy.document import (
    NAME,
    describe_policy,
    read_policy_text,
    roll_back_policy,
    write_policy,
)
from functions.agent.policy.rules import FIRST_TEXT, TEXT_CHARACTERS
from functions.page import versions
from functions.page.access.viewer import OWNERS
from functions.page.agents import find_agent
from functions.page.frame import PageRequest, PageRoute, plain
from functions.page.versions import VersionedText
from functions.page.words.owner_words import load_words
from functions.page.words.run_words import words_of
from sigil.http.page.operations import Act, Cell, Section, TableRow, View, show_view
from sigil.json_fields import as_sequence, as_string
from sigil.storage.kv import keys

CHATS_LOOKED: Final = 30


def _open_policy(page: PageRequest) -> tuple[App, VersionedText]:
    """Return the agent that a request names, the root by default, and its policy."""
    own = load_words(page.language)
    words = words_of(page)
    app = page.deps.app
    short = page.query.get("agent", "")
    asked: dict[str, str] = {}
    if short and short != app.name:
        app, asked = find_agent(page, short), {"agent": short}
    store = app.policy_versions
    newest = read_policy_text(store)

    def note(doc: Doc) -> None:
        if doc.version != newest.version:
            add_entries(app, [Entry("policy", {"version": doc.version})], page.by)

    def read_version(version: int) -> Doc:
        if version == 0:
            return Doc(store.agent, NAME, text=FIRST_TEXT.strip())
        return store.read_version(store.agent, NAME, version)

    shown = VersionedText(
        name=own.policy_title,
        path="/policy",
        crumb=(words.safety, "/safety"),
        newest=newest,
        list_versions=partial(store.list_versions, store.agent, NAME),
        read_version=read_version,
        write=lambda text, why, expect: note(
            write_policy(store, text, by=page.by, why=why, expect=expect)
        ),
        roll_back=lambda version: note(roll_back_policy(store, version, page.by)),
        most=TEXT_CHARACTERS,
        parameters=asked,
        nothing=own.policy_first,
        type=own.policy_first_type,
    )
    return app, shown


def show_policy(page: PageRequest) -> Response:
    """Show the policy with its versions."""
    own = load_words(page.language)
    app, shown = _open_policy(page)
    twin = plain(describe_policy(app.policy_versions))
    facts = [
        (own.policy_preset, Cell(as_string(twin.get("preset")) or "–")),
        (own.policy_rules, Cell(len(as_sequence(twin.get("rules"))), "figure")),
    ]
    closed = as_string(twin.get("closed"))
    sections: tuple[Section, ...] = ()
    if closed:
        sections = (Section(problem=own.policy_closed.format(why=closed)),)
    return versions.show_versions(page, shown, facts=tuple(facts), sections=sections, twin=twin)


def _open_policy_text(page: PageRequest) -> VersionedText:
    _, shown = _open_policy(page)
    return shown


def show_chats(page: PageRequest) -> Response:
    """Show for each chat that was at work lately what failed there, and whether it is held."""
    root = page.deps.app
    words = words_of(page)
    own = load_words(page.language)
    found = []
    for each in sessions.scan_sessions(root)[:CHATS_LOOKED]:
        app = root
        if each.agent != root.name:
            below = page.deps.agents.find(each.agent, root)
            if isinstance(below, AbsentAgent):
                continue
            app = below
        key = keys.session_of(app.name, each.session)
        report = status.make_report(key, app.sessions.open(key).document, app)
        if not (report.failed or report.reason):
            continue
        last = report.failures[-1] if report.failures else {}
        found.append(
            {
                "session": each.session,
                "agent": each.agent,
                "failed": report.failed,
                "operations": report.operations,
                "consecutive": report.consecutive,
                "reason": report.reason,
                "code": last.get("code", ""),
                "at": each.at,
            }
        )
    rows = tuple(
        TableRow(
            (
                Cell(row["session"], "code", f"/runs?{urlencode({'session': row['session']})}"),
                Cell(row["agent"]),
                Cell(own.failed_of.format(failed=row["failed"], operations=row["operations"])),
                Cell(row["consecutive"], "figure"),
                Cell(row["code"], "code"),
                Cell(own.reasons.get(str(row["reason"]), str(row["reason"])) or "–"),
                Cell(row["at"], "time"),
            ),
            (Act(words.unlock, f"/safety/unlock?{urlencode({'session': row['session']})}"),)
            if row["reason"]
            else (),
        )
        for row in found
    )
    section = Section(
        columns=(
            (words.chat, "code"),
            (words.agent, "text"),
            (words.failed, "text"),
            (own.in_a_row, "figure"),
            (own.last_failure, "code"),
            (own.held, "text"),
            (words.last, "time"),
        ),
        rows=rows,
        nothing=own.no_breakers,
        type=own.no_breakers_type,
    )
    view = View(
        own.by_chat,
        (section,),
        plain({"items": found}),
        crumb=(words.safety, "/safety"),
        lead=own.by_chat_lead.format(count=CHATS_LOOKED),
    )
    return show_view(page, view)


ROUTES: tuple[PageRoute, ...] = (
    PageRoute("/policy", "GET", show_policy, OWNERS),
    *versions.build_routes("/policy", _open_policy_text),
    PageRoute("/safety/chats", "GET", show_chats, OWNERS),
)
