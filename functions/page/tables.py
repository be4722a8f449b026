"""Plain tables of what there is: chats, people, documents, skills and files."""

from __future__ import annotations

import uuid
from itertools import islice
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson
from starlette.responses import Response

from functions.agent.management import files, knowledge, sessions, skills
from functions.agent.management.files import FileEditor
from functions.agent.workspace.file import FileConflict
from functions.agent.workspace.path import parse_path
from functions.agent.workspace.scope import find_scopes_of_agent, scan_scopes
from functions.page.agents import plain
from functions.page.frame import Page, PageRequest, PageRoute
from functions.page.seen import SeenChats, take_page_parameters, words_of
from functions.page.viewer import OWNERS, VIEWERS
from functions.texts.languages import load_texts
from sigil.errors import UsageError
from sigil.http.page import figures
from sigil.http.page.operations import (
    Act,
    Cell,
    Operation,
    Section,
    TableRow,
    View,
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
            )
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


def show_people(page: PageRequest) -> Response:
    """Show who waits to be let in, and who is."""
    app = page.deps.app
    words = words_of(page)
    waiting = [
        {"id": each.id, "name": each.name, "session": each.session, "at": each.at}
        for each in app.pairing.list_waiting()
    ]
    allowances = app.make_allowances(app.zone)
    texts = load_texts(page.language)
    members = [
        {
            "id": each.id,
            "name": each.name,
            "role": each.role,
            "at": each.at,
            "by": each.by,
            "same": each.same,
            "today": allowances.describe_usage(each.same or each.id, each.role, texts),
        }
        for each in islice(app.people.list_members(), SHOWN)
    ]
    owners = [{"id": who, "role": "owner"} for who in sorted(app.rules.owners)]
    rows = [
        TableRow(
            (Cell("–"), Cell(each["id"], "code"), Cell(each["role"]), Cell(""), Cell(None, "time"))
        )
        for each in owners
    ]
    for each in members:
        id = str(each["id"])
        rows.append(
            TableRow(
                (
                    Cell(each["name"]),
                    Cell(id if not each["same"] else f"{id} = {each['same']}", "code"),
                    Cell(each["role"]),
                    Cell(each["today"]),
                    Cell(each["at"], "time"),
                ),
                (Act(words.remove, f"/people/remove?id={quote(id, safe='')}", is_danger=True),),
            )
        )
    sections = [
        Section(
            words.people,
            (
                (words.name, "text"),
                (words.person, "code"),
                (words.role, "text"),
                (words.today_used, "text"),
                (words.seen, "time"),
            ),
            tuple(rows),
            nothing=words.nobody,
            type=words.nobody_type,
        )
    ]
    if waiting:
        sections.insert(
            0,
            Section(
                words.waits_in,
                ((words.name, "text"), (words.person, "code"), (words.when, "time")),
                tuple(
                    TableRow(
                        (Cell(each["name"]), Cell(each["id"], "code"), Cell(each["at"], "time"))
                    )
                    for each in waiting
                ),
                form=_make_pairing(page),
            ),
        )
    twin = plain({"waiting": waiting, "owners": owners, "items": members})
    view = View(words.people, tuple(sections), twin, acts=(Act(words.let_in, "/people/let-in"),))
    return show_view(page, view)


def _make_pairing(page: PageRequest) -> Operation:
    words = words_of(page)
    return Operation(
        "/people/let-in",
        words.let_in,
        words.let_in,
        schema={
            "type": "object",
            "required": ["code"],
            "properties": {
                "code": {"type": "string", "maxLength": 40, "description": words.code_help}
            },
        },
        back="/people",
        labels={"code": words.code_name},
    )


def ask_code(page: PageRequest) -> Response:
    """Ask for the code of somebody who waits."""
    return show_form(page, _make_pairing(page))


def let_in(page: PageRequest) -> Response:
    """Let in whoever was told the code that was typed."""

    def perform(arguments: dict[str, Json], _: str) -> str:
        cause = f"page:{uuid.uuid4().hex}"
        page.deps.app.pairing.accept_code(str(arguments["code"]), page.by, cause)
        return "/people"

    return take_form(page, _make_pairing(page), perform)


def ask_removal(page: PageRequest) -> Response:
    """Ask whether somebody is to be taken out."""
    return show_form(page, _make_removal(page))


def remove_person(page: PageRequest) -> Response:
    """Take somebody out, who may not write any more."""
    operation = _make_removal(page)

    def perform(_: dict[str, Json], __: str) -> str:
        page.deps.app.people.remove_member(page.query["id"])
        return "/people"

    return take_form(page, operation, perform)


def _make_removal(page: PageRequest) -> Operation:
    words = words_of(page)
    id = page.query.get("id", "")
    known = page.deps.app.people.find_member(id)
    if known is None:
        raise UsageError("ENOENT", "nobody of this id was let in", source="page")
    shown = figures.line(f"{known.name} ({id})", 120)
    return Operation(
        f"/people/remove?id={quote(id, safe='')}",
        words.remove_title.format(name=shown),
        words.remove,
        is_danger=True,
        changes=((words.role, known.role, "guest"),),
        back="/people",
    )


def show_knowledge(page: PageRequest) -> Response:
    """Show the documents of the knowledge base, of the agent or of its team, and the skills."""
    app = page.deps.app
    words = words_of(page)
    scope = page.query.get("scope", "agent")
    asked = {"scope": scope, "after": page.query.get("after", "")}
    twin = plain(knowledge.list_documents(app, asked))
    rows = tuple(
        TableRow(
            (
                Cell(
                    each["title"] or each["id"],
                    path=f"/knowledge/{each['id']}?scope={each['scope']}",
                    chips=tuple(each["tags"]),
                ),
                Cell(each["source"]),
                Cell(each["by"]),
                Cell(each["characters"], "figure"),
                Cell(each["at"], "time"),
            )
        )
        for each in twin["items"]
    )
    known: list[dict[str, Any]] = orjson.loads(orjson.dumps(skills.list_skills(app)))
    twin["skills"] = known
    skill_rows = tuple(
        TableRow(
            (
                Cell(each["name"], path=f"/skills/{each['name']}"),
                Cell(each.get("description"), "long"),
                Cell(each.get("version"), "figure"),
            )
        )
        for each in known
    )
    sections = (
        Section(
            words.documents,
            (
                (words.title, "text"),
                (words.source, "text"),
                (words.by, "text"),
                (words.size, "figure"),
                (words.when, "time"),
            ),
            rows,
            nothing=words.no_knowledge,
            type=words.no_knowledge_type,
        ),
        Section(
            words.skills,
            ((words.name, "text"), (words.description, "text"), (words.version, "figure")),
            skill_rows,
            nothing=words.no_skills,
            type=words.no_skills_type,
        ),
    )
    choices = tuple((each, f"/knowledge?scope={each}", each == scope) for each in ("agent", "team"))
    following = twin.get("next")
    more = None
    if following:
        more = (words.older, f"/knowledge?{urlencode({'scope': scope, 'after': following})}")
    view = View(
        words.knowledge,
        sections,
        twin,
        filters=((words.whose, choices),),
        acts=(Act(words.files, "/files"),),
        more=more,
    )
    return show_view(page, view)


def show_document(page: PageRequest) -> Response:
    """Show a document with its text."""
    words = words_of(page)
    query = {"scope": page.query["scope"]} if "scope" in page.query else {}
    twin = plain(knowledge.show_document(page.deps.app, page.path["id"], query))
    facts = (
        (words.source, Cell(twin["source"] or "–")),
        (words.by, Cell(twin["by"] or "–")),
        (words.when, Cell(twin["at"], "time")),
        (words.size, Cell(twin["characters"], "figure")),
        (words.tags, Cell("", chips=tuple(twin["tags"]))),
    )
    text = figures.clean(twin["text"], FILE_CHARACTERS)
    view = View(
        twin["title"] or twin["id"],
        (Section(text=text),),
        twin,
        crumb=(words.knowledge, "/knowledge"),
        facts=facts,
    )
    return show_view(page, view)


def show_skill(page: PageRequest) -> Response:
    """Show a skill with its text."""
    words = words_of(page)
    twin = plain(skills.describe_skill(page.deps.app, page.path["name"]))
    facts = (
        (words.version, Cell(twin["version"], "figure")),
        (words.by, Cell(twin["by"])),
        (words.when, Cell(twin["at"], "time")),
        (words.files, Cell("", chips=tuple(str(each["path"]) for each in twin["files"]))),
    )
    view = View(
        twin["name"],
        (Section(text=figures.clean(twin["text"], FILE_CHARACTERS)),),
        twin,
        crumb=(words.knowledge, "/knowledge"),
        facts=facts,
    )
    return show_view(page, view)


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
        base = int(tag) if tag.isdecimal() and len(tag) < 10 else None
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
    PageRoute("/people", "GET", show_people, OWNERS),
    PageRoute("/people/let-in", "GET", ask_code, OWNERS),
    PageRoute("/people/let-in", "POST", let_in, OWNERS, reads_form=True),
    PageRoute("/people/remove", "GET", ask_removal, OWNERS),
    PageRoute("/people/remove", "POST", remove_person, OWNERS, reads_form=True),
    PageRoute("/knowledge", "GET", show_knowledge, OWNERS),
    PageRoute("/knowledge/{id}", "GET", show_document, OWNERS),
    PageRoute("/skills/{name}", "GET", show_skill, OWNERS),
    PageRoute("/files", "GET", show_files, OWNERS),
    PageRoute("/edit", "GET", ask_edit, OWNERS),
    PageRoute("/edit", "POST", edit_file, OWNERS, reads_form=True),
    PageRoute("/files/{path:path}", "GET", show_file, OWNERS),
)
PAGES: tuple[Page, ...] = (
    Page("Knowledge", "/knowledge", OWNERS, {"de": "Wissen", "zh": "知识"}),
    Page("People", "/people", OWNERS, {"de": "Personen", "zh": "用户"}),
)
