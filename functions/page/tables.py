"""The tables of chats and of files, and the page of a file."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote, urlencode

from starlette.responses import Response

from functions.agent.management import files, sessions
from functions.agent.management.files import FileEditor
from functions.agent.workspace.file import FileConflict
from functions.agent.workspace.path import parse_path
from functions.agent.workspace.scope import find_scopes_of_agent, scan_scopes
from functions.page.agents import plain
from functions.page.frame import Page, PageRequest, PageRoute
from functions.page.owner_words import load_words
from functions.page.seen import SeenChats, take_page_parameters, words_of
from functions.page.viewer import OWNERS, VIEWERS
from sigil.errors import UsageError
from sigil.http.page import figures
from sigil.http.page.operations import (
    Act,
    Cell,
    Operation,
    Section,
    TableRow,
    View,
    read_version,
    show_form,
    show_view,
    take_form,
)
from sigil.protocol import Json

SHOWN: Final = 500
FILE_CHARACTERS: Final = 60_000
EDITED_BYTES: Final = 40_000
"""A form has at most 64 KiB, and a text that is edited may grow."""


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


def show_files(page: PageRequest) -> Response:
    """Show the files of the agent's own workspace."""
    app = page.deps.app
    words = words_of(page)
    heads = scan_scopes(find_scopes_of_agent(app.name), app.open_workspace)
    twin = plain(files.list_files(heads, page.query.get("prefix", "")))
    rows = tuple(
        TableRow(
            (
                Cell(each["path"], path=f"/files/{quote(each['path'])}"),
                Cell(figures.size(each["bytes"])),
                Cell(each["version"], "figure"),
                Cell(each["by"]),
                Cell(each.get("at"), "time"),
            )
        )
        for each in twin["items"][:SHOWN]
    )
    section = Section(
        columns=(
            (words.path, "text"),
            (words.size, "text"),
            (words.version, "figure"),
            (words.by, "text"),
            (words.when, "time"),
        ),
        rows=rows,
        nothing=words.no_files,
        type=words.no_files_type,
    )
    crumb = (words.knowledge, "/knowledge")
    return show_view(page, View(words.files, (section,), twin, crumb=crumb))


def show_file(page: PageRequest) -> Response:
    """Show what is known of a file, its versions, and what changed between two of them."""
    app = page.deps.app
    words = words_of(page)
    path = parse_path(page.path["path"])
    there = app.open_workspace(find_scopes_of_agent(app.name).choose(path))
    versions = [files.describe_version(each) for each in there.list_versions(path)]
    if not versions:
        there.require(path)
    twin: dict[str, Any] = {"path": path, "items": versions}
    sections = []
    if "diff" in page.query:
        first, last = files.read_range(page.query["diff"])
        found = files.compare_versions(there, path, first, last)
        twin["difference"] = found
        text = figures.clean(found["diff"], FILE_CHARACTERS)
        sections.append(
            Section(f"{found['from']} → {found['to']}", text=text, is_difference=True, nothing="–")
        )
    content = there.read(path, 0)
    if content.text is not None and "diff" not in page.query:
        sections.append(Section(text=figures.clean(content.text, FILE_CHARACTERS)))
    twin = plain(twin)
    sections.append(
        Section(
            words.versions,
            (
                (words.version, "figure"),
                (words.size, "text"),
                (words.by, "text"),
                (words.text, "text"),
                (words.when, "time"),
            ),
            tuple(
                TableRow(
                    (
                        Cell(
                            each["version"],
                            "figure",
                            f"/files/{quote(path)}?diff={each['before'] or ''}..{each['version']}",
                        ),
                        Cell(figures.size(each["bytes"])),
                        Cell(each["by"]),
                        Cell(each["why"]),
                        Cell(each.get("at"), "time"),
                    )
                )
                for each in twin["items"][:SHOWN]
            ),
        )
    )
    acts: tuple[Act, ...] = ()
    if _is_editable(content.text):
        acts = (Act(words.change_task, f"/edit?path={quote(path, safe='')}"),)
    view = View(path, tuple(sections), twin, crumb=(words.files, "/files"), acts=acts)
    return show_view(page, view)


def ask_edit(page: PageRequest) -> Response:
    """Ask what a file says from now on."""
    return show_form(page, _make_edit(page))


def edit_file(page: PageRequest) -> Response:
    """Write a file from the version that the form was made from; the agent is told of it."""
    app = page.deps.app
    operation = _make_edit(page)
    path = parse_path(page.query["path"])

    def perform(arguments: dict[str, Json], tag: str) -> str:
        base = read_version(tag)
        there = app.open_workspace(find_scopes_of_agent(app.name).choose(path))
        body = str(arguments.get("text", "")).encode("utf-8", "replace")
        try:
            FileEditor(app.kv, there, page.by).write(path, body, base=base)
        except FileConflict as conflict:
            raise files.fail_condition(conflict) from None
        return f"/files/{quote(path)}"

    return take_form(page, operation, perform)


def _is_editable(text: str | None) -> bool:
    """Return whether a file is a text that has room in a form."""
    return text is not None and len(quote(text.encode())) <= EDITED_BYTES


def _make_edit(page: PageRequest) -> Operation:
    app = page.deps.app
    words = words_of(page)
    path = parse_path(page.query.get("path", ""))
    there = app.open_workspace(find_scopes_of_agent(app.name).choose(path))
    content = there.read(path, 0)
    if not _is_editable(content.text):
        raise UsageError(
            "EINVAL",
            "this file is no text, or too long to be edited here",
            source="page",
            suggestion="`uncaged files put` writes any",
        )
    return Operation(
        f"/edit?path={quote(path, safe='')}",
        path,
        words.save,
        schema={"type": "object", "properties": {"text": {"type": "string"}}},
        values={"text": content.text},
        tag=str(content.version.version),
        back=f"/files/{quote(path)}",
        labels={"text": words.text_of_file},
    )


ROUTES: tuple[PageRoute, ...] = (
    PageRoute("/chats", "GET", show_chats, VIEWERS),
    PageRoute("/files", "GET", show_files, OWNERS),
    PageRoute("/edit", "GET", ask_edit, OWNERS),
    PageRoute("/edit", "POST", edit_file, OWNERS, reads_form=True),
    PageRoute("/files/{path:path}", "GET", show_file, OWNERS),
)
PAGES: tuple[Page, ...] = ()
"""Other pages lead to these."""
