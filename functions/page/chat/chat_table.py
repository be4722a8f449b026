"""The table of the chats that asked the model lately, with what they used."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.responses import Response

from functions.agent.management import sessions
from functions.page.access.reach import SeenChats
from functions.page.access.viewer import VIEWERS
from functions.page.frame import PageRequest, PageRoute, plain, take_page_parameters
from functions.page.words.owner_words import load_words
from functions.page.words.run_words import words_of
from sigil.http.page.operations import Act, Cell, Section, TableRow, View, show_view


def show_chats(page: PageRequest) -> Response:
    """Show the chats that asked the model in the last days; a member sees their own."""
    words = words_of(page)
    own = load_words(page.language)
    seen = SeenChats(page)
    query = dict(take_page_parameters(page))
    twin = plain(sessions.list_sessions(page.deps.app, query.pop("agent", ""), query))
    shown = []
    for each in twin["items"]:
        if not seen.has(each["session"]):
            continue
        if seen.find(each["session"]) != "texts":
            each["title"] = ""  # it is the first thing that somebody wrote there
        shown.append(each)
    twin["items"] = shown
    rows = tuple(
        TableRow(
            (
                Cell(each["title"] or each["session"], path=_runs_of(each["session"])),
                Cell(each["session"], "code"),
                Cell(each["person"]),
                Cell(each["tokens"], "figure"),
                Cell(each["turns"], "figure"),
                Cell(each["at"], "time"),
            ),
            (Act(own.memory, f"/memory?{urlencode({'chat': each['session']})}"),)
            if page.viewer.role == "owner" and seen.find(each["session"]) == "texts"
            else (),
        )
        for each in shown
    )
    section = Section(
        columns=(
            (words.title, "text"),
            (words.chat, "code"),
            (words.person, "text"),
            (words.total, "figure"),
            (words.turns, "figure"),
            (words.last, "time"),
        ),
        rows=rows,
        nothing=words.no_chats,
        type=words.no_chats_type,
    )
    following = twin.get("next")
    more = (words.older, f"/chats?{urlencode({'after': following})}") if following else None
    return show_view(page, View(words.chats, (section,), twin, more=more))


def _runs_of(session: str) -> str:
    return f"/runs?{urlencode({'session': session})}"


ROUTES: tuple[PageRoute, ...] = (PageRoute("/chats", "GET", show_chats, VIEWERS),)
