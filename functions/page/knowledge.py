"""The pages of what the agent knows: its own documents, those of the knowledge base, and skills."""

from __future__ import annotations

from functools import partial
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from functions.agent.knowledge.earlier_versions import KEPT_SECONDS, VERSIONS_MOST
from functions.agent.knowledge.record import KnowledgeDocument, describe_document, make_draft
from functions.agent.knowledge.search import read_scope
from functions.agent.management import knowledge, skills
from functions.agent.memory.documents import Doc
from functions.agent.skills.package import SkillPackage
from functions.agent.skills.skill import FILE
from functions.page import memory, versions
from functions.page.access.viewer import OWNERS
from functions.page.frame import Page, PageRequest, PageRoute, plain
from functions.page.versions import ListedVersion, VersionedText
from functions.page.words.owner_words import load_words
from functions.page.words.run_words import words_of
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

EDITED_CHARACTERS: Final = 100_000
SKILL_CHARACTERS: Final = 100_000


def show_knowledge(page: PageRequest) -> Response:
    """Show the agent's documents, those of the knowledge base, its own or its team's, and the
    skills.
    """
    app = page.deps.app
    words = words_of(page)
    own = load_words(page.language)
    scope = page.query.get("scope", "agent")
    asked = {"scope": scope, "after": page.query.get("after", "")}
    twin = plain(knowledge.list_documents(app, asked))
    place = memory.find_place(page)
    documents = place.list_documents()
    twin["documents"] = plain({"items": list(map(memory.describe_document, documents))})["items"]
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
    twin["skills"] = known = plain({"items": skills.list_skills(app)})["items"]
    skill_rows = tuple(
        TableRow(
            (
                Cell(
                    each["name"],
                    path=f"/skills/{each['name']}",
                    chips=(own.pinned,) if each.get("pinned") else (),
                ),
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
        memory.make_documents(page, place, documents),
    )
    choices = tuple(
        (name, f"/knowledge?scope={each}", each == scope) for each, name in own.scope_names.items()
    )
    following = twin.get("next")
    more = None
    if following:
        more = (words.older, f"/knowledge?{urlencode({'scope': scope, 'after': following})}")
    view = View(
        words.knowledge,
        sections,
        twin,
        filters=((words.whose, choices),),
        acts=(Act(words.files, "/files"), Act(own.memory, "/memory")),
        more=more,
    )
    return show_view(page, view)


def _open_document(page: PageRequest) -> tuple[VersionedText, KnowledgeDocument]:
    """Return the document of the knowledge base that a request names, and its record; `UsageError`
    ENOENT for none.
    """
    words = words_of(page)
    own = load_words(page.language)
    app = page.deps.app
    id = page.path["id"]
    asked = _scope_of(page)
    base = app.open_knowledge(read_scope(asked.get("scope", "agent")))
    newest = base.read(id)

    def as_document(record: KnowledgeDocument) -> Doc:
        text = base.read_text_of(id, record)
        return Doc("", record.title, record.version, text, record.at, record.by, record.why)

    def write(text: str, why: str, expect: int) -> None:
        draft = make_draft(
            title=newest.title,
            source=newest.source,
            text=text,
            by=page.by,
            time=app.clock.now(),
            author=newest.stated_author,
            confidence=newest.known_confidence,
            tags=newest.tags,
            is_stated=newest.is_stated,
            why=why,
        )
        base.update(id, draft, str(expect))

    shown = VersionedText(
        name=newest.title or id,
        path=f"/knowledge/{id}",
        crumb=(words.knowledge, "/knowledge"),
        newest=as_document(newest),
        list_versions=lambda: [
            ListedVersion(each.version, each.characters, each.at, each.by, each.why)
            for each in base.list_versions(id)
        ],
        read_version=lambda version: as_document(base.read_version(id, version)),
        write=write,
        roll_back=lambda version: base.roll_back(
            id, version, by=page.by, expect=str(newest.version)
        ),
        most=EDITED_CHARACTERS,
        parameters=asked,
        note=own.versions_kept.format(count=VERSIONS_MOST, days=int(KEPT_SECONDS // 86_400)),
    )
    return shown, newest


def _open_document_text(page: PageRequest) -> VersionedText:
    shown, _ = _open_document(page)
    return shown


def show_document(page: PageRequest) -> Response:
    """Show a document of the knowledge base with its text and its versions."""
    words = words_of(page)
    own = load_words(page.language)
    shown, record = _open_document(page)
    scope = _scope_of(page).get("scope", "agent")
    twin = plain(describe_document(page.path["id"], record, scope))
    facts = (
        (words.source, Cell(twin["source"] or "–")),
        (words.tags, Cell("", chips=tuple(twin["tags"]))),
    )
    acts = (Act(own.delete, shown.find_path("delete"), is_danger=True),)
    return versions.show_versions(page, shown, facts=facts, acts=acts, twin=twin)


def ask_deleting(page: PageRequest) -> Response:
    """Ask whether a document of the knowledge base is to be deleted."""
    return show_form(page, _make_deleting(page))


def delete_document(page: PageRequest) -> Response:
    """Delete a document of the knowledge base."""
    operation = _make_deleting(page)

    def perform(_: dict[str, Json], __: str) -> str:
        knowledge.drop_document(page.deps.app, page.path["id"], _scope_of(page))
        return "/knowledge"

    return take_form(page, operation, perform)


def _make_deleting(page: PageRequest) -> Operation:
    own = load_words(page.language)
    shown = _open_document_text(page)
    return Operation(
        shown.find_path("delete"),
        own.delete_title.format(name=figures.line(shown.name, 120)),
        own.delete,
        is_danger=True,
        changes=((own.text, shown.newest.text, ""),),
        back=shown.find_path(),
    )


def _scope_of(page: PageRequest) -> dict[str, str]:
    return {"scope": page.query["scope"]} if "scope" in page.query else {}


def _open_skill(page: PageRequest) -> VersionedText:
    """Return the skill that a request names; `UsageError` ENOENT for none.

    Its other files stay as they are when its text is edited.
    """
    words = words_of(page)
    store = page.deps.app.skills
    name = page.path["name"]
    newest = next(iter(store.list_versions(name)), None) or store.read(name)

    def write(text: str, why: str, expect: int) -> Doc:
        files = dict(store.pack(newest).files) if newest.text else {}
        package = SkillPackage(text.encode("utf-8", "replace"), files)
        found = package.parse()
        if found.name != name:
            raise UsageError(
                "EINVAL",
                f"the text is that of a skill {figures.line(found.name, 60)}",
                source="skill",
                suggestion=f"its first lines say name: {name}",
            )
        return store.write(package, by=page.by, why=why, expect=expect)

    return VersionedText(
        name=name,
        path=f"/skills/{name}",
        crumb=(words.knowledge, "/knowledge"),
        newest=newest,
        list_versions=partial(store.list_versions, name),
        read_version=partial(store.read_version, name),
        write=write,
        roll_back=lambda version: store.roll_back(name, version, by=page.by),
        most=SKILL_CHARACTERS,
        parameters={},
    )


def show_skill(page: PageRequest) -> Response:
    """Show a skill with its versions."""
    words = words_of(page)
    own = load_words(page.language)
    shown = _open_skill(page)
    path = shown.path
    if not shown.newest.text:  # it was removed, and one of its versions can be brought back
        return versions.show_versions(page, shown, twin={"name": shown.name, "removed": True})
    twin = plain(skills.describe_skill(page.deps.app, shown.name))
    is_pinned = bool(twin["pinned"])
    facts = (
        (words.files, Cell("", chips=tuple(str(each["path"]) for each in twin["files"]))),
        (own.pinned, Cell(own.is_pinned if is_pinned else own.is_found)),
    )
    acts = (
        Act(own.unpin, f"{path}/unpin") if is_pinned else Act(own.pin, f"{path}/pin"),
        Act(own.remove_skill, f"{path}/remove", is_danger=True),
    )
    return versions.show_versions(page, shown, facts=facts, acts=acts, twin=twin)


def ask_skill_change(page: PageRequest) -> Response:
    """Ask whether a skill is to be pinned, unpinned or removed."""
    return show_form(page, _make_skill_change(page, _open_skill(page)))


def change_skill(page: PageRequest) -> Response:
    """Pin or unpin a skill, or remove it."""
    verb = page.path["verb"]
    shown = _open_skill(page)
    operation = _make_skill_change(page, shown)
    store = page.deps.app.skills

    def perform(_: dict[str, Json], tag: str) -> str:
        if verb == "remove":
            store.remove(shown.name, by=page.by, expect=read_version(tag))
            return "/knowledge"
        store.pin(shown.name, pinned=verb == "pin")
        return shown.path

    return take_form(page, operation, perform)


def _make_skill_change(page: PageRequest, shown: VersionedText) -> Operation:
    own = load_words(page.language)
    verb = page.path["verb"]
    names = {
        "remove": (own.remove_skill_title, own.remove_skill),
        "pin": (own.pin_title, own.pin),
        "unpin": (own.unpin_title, own.unpin),
    }
    if verb not in names:
        raise UsageError("EROUTE", "there is no such page", source="page")
    title, button = names[verb]
    changes = ((FILE, shown.newest.text, ""),) if verb == "remove" else ()
    return Operation(
        f"{shown.path}/{verb}",
        title.format(name=shown.name),
        button,
        tag=str(shown.newest.version),
        is_danger=True,
        changes=changes,
        back=shown.path,
    )


ROUTES: tuple[PageRoute, ...] = (
    PageRoute("/knowledge", "GET", show_knowledge, OWNERS),
    PageRoute("/knowledge/{id}", "GET", show_document, OWNERS),
    PageRoute("/knowledge/{id}/delete", "GET", ask_deleting, OWNERS),
    PageRoute("/knowledge/{id}/delete", "POST", delete_document, OWNERS, reads_form=True),
    *versions.build_routes("/knowledge/{id}", _open_document_text),
    PageRoute("/skills/{name}", "GET", show_skill, OWNERS),
    *versions.build_routes("/skills/{name}", _open_skill),
    PageRoute("/skills/{name}/{verb}", "GET", ask_skill_change, OWNERS),
    PageRoute("/skills/{name}/{verb}", "POST", change_skill, OWNERS, reads_form=True),
    *memory.ROUTES,
)
PAGES: tuple[Page, ...] = (
    Page(
        "Knowledge",
        "/knowledge",
        OWNERS,
        {"de": "Wissen", "zh": "知识"},
        ("/memory", "/documents", "/skills", "/files", "/edit"),
    ),
)
