"""The pages of what an agent and its chats keep in words: documents such as the soul, with their
versions, and the things that are remembered.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from functions.agent.app import App
from functions.agent.memory.documents import BEHAVIOUR_CHARACTERS, CAPS, OF_CHATS, Doc
from functions.agent.memory.memory_lines import remove_lines
from functions.agent.memory.thing import Thing, is_id
from functions.agent.memory.things import Things
from functions.page import versions
from functions.page.access.reach import require_chat
from functions.page.access.viewer import OWNERS
from functions.page.agents import find_agent
from functions.page.frame import PageRequest, PageRoute, plain
from functions.page.versions import VersionedText
from functions.page.words.owner_words import OwnerWords, load_words
from functions.page.words.run_words import words_of
from sigil.errors import Refused, UsageError
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
from sigil.storage.kv import keys

SHOWN: Final = 200
CHAT_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True)
class MemoryPlace:
    """Whose memory a page shows: that of a chat, or what all chats of an agent have together.

    `scope` is that of the store, `chat` is empty for an agent's own. `asked` are the parameters
    that name it.
    """

    app: App
    scope: str
    chat: str
    asked: dict[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of its documents."""
        return OF_CHATS if self.chat else tuple(CAPS)

    @property
    def things(self) -> Things:
        """Return what is remembered here."""
        return Things(self.app.kv, self.scope, self.app.helpers.terms)

    def list_documents(self) -> list[Doc]:
        """Return its documents, those that nobody wrote as well."""
        documents = self.app.documents
        found = [documents.read(self.scope, name) for name in self.names]
        return found if self.chat else [*found, *documents.list_behaviours()]

    def find_path(self, path: str, **more: object) -> str:
        """Return a path with the parameters that name the place."""
        asked = urlencode({**self.asked, **more})
        return f"{path}?{asked}" if asked else path


def find_place(page: PageRequest) -> MemoryPlace:
    """Return the place that a request names by `chat` or `agent`; the root's own without either.

    `Refused` EPERM for a private chat of somebody else, `UsageError` for what is no place.
    """
    root = page.deps.app
    chat = page.query.get("chat", "")
    short = page.query.get("agent", "")
    if chat:
        if ":" not in chat or len(chat) > CHAT_CHARACTERS:
            raise UsageError("EINVAL", "chat is PLATFORM:CHAT", source="page")
        if require_chat(page, chat) != "texts":
            words = words_of(page)
            raise Refused("EPERM", words.private, source="page", suggestion=words.private_next)
        app = page.deps.agents.find_current(chat, root).app
        scope = app.sessions.open(keys.session_of(app.name, chat)).memory
        return MemoryPlace(app, scope, chat, {"chat": chat})
    if short and short != root.name:
        found = find_agent(page, short)
        return MemoryPlace(found, found.documents.agent, "", {"agent": short})
    return MemoryPlace(root, root.documents.agent, "", {})


def make_documents(page: PageRequest, place: MemoryPlace, found: list[Doc]) -> Section:
    """Return the table of the documents of a place."""
    words = words_of(page)
    own = load_words(page.language)
    rows = tuple(
        TableRow(
            (
                Cell(doc.name, path=place.find_path("/documents", name=doc.name)),
                Cell(doc.version or None, "figure"),
                Cell(len(doc.text), "figure"),
                Cell(doc.by),
                Cell(doc.why),
                Cell(doc.at or None, "time"),
            )
        )
        for doc in found
    )
    return Section(
        own.of_chat if place.chat else own.of_agent,
        (
            (own.document, "text"),
            (words.version, "figure"),
            (own.characters, "figure"),
            (words.by, "text"),
            (own.why, "text"),
            (words.when, "time"),
        ),
        rows,
    )


def describe_document(doc: Doc) -> dict[str, object]:
    """Return a document without its text, as programs get it."""
    return {"name": doc.name, **versions.describe_version(doc)}


def show_memory(page: PageRequest) -> Response:
    """Show the documents and the things of a place."""
    own = load_words(page.language)
    place = find_place(page)
    documents = place.list_documents()
    things = sorted(place.things.scan(), key=lambda each: -each.at)
    twin = {
        "chat": place.chat,
        "agent": place.app.name,
        "documents": [describe_document(each) for each in documents],
        "things": [{"id": each.id, **each.row()} for each in things],
    }
    title = own.of_chat_of.format(chat=place.chat) if place.chat else own.memory
    sections = (make_documents(page, place, documents), _make_things(page, place, things))
    return show_view(
        page,
        View(
            title,
            sections,
            plain(twin),
            crumb=(words_of(page).knowledge, "/knowledge"),
            done={"forgotten": own.forgotten, "mentioned": own.still_there}.get(
                page.query.get("done", ""), ""
            ),
        ),
    )


def _make_things(page: PageRequest, place: MemoryPlace, things: list[Thing]) -> Section:
    words = words_of(page)
    own = load_words(page.language)
    rows = tuple(
        TableRow(
            (
                Cell(each.in_words, "long"),
                Cell(own.things_kinds.get(each.kind, each.kind)),
                Cell(each.source),
                Cell(f"{each.confidence:g}"),
                Cell(each.by),
                Cell(each.at, "time"),
                Cell(each.ended or None, "time"),
            ),
            (Act(own.forget, place.find_path("/memory/forget", id=each.id), is_danger=True),),
        )
        for each in things[:SHOWN]
    )
    return Section(
        own.things if place.chat else f"{own.things}: {own.shared_by_all}",
        (
            (own.what, "text"),
            (own.kind, "text"),
            (own.source, "text"),
            (own.sure, "text"),
            (words.by, "text"),
            (words.when, "time"),
            (own.ended, "time"),
        ),
        rows,
        nothing=own.no_things,
        type=own.no_things_type,
        note=_describe_things(own, len(things)),
    )


def _describe_things(own: OwnerWords, count: int) -> str:
    """Return what is said below the things: which are shown, and why they have no versions."""
    if not count:
        return ""
    shown = own.newest_only.format(count=SHOWN) if count > SHOWN else ""
    return f"{shown} {own.things_versions}".strip()


def ask_forgetting(page: PageRequest) -> Response:
    """Ask whether a thing is to be forgotten."""
    return show_form(page, _make_forgetting(page, find_place(page)))


def forget_thing(page: PageRequest) -> Response:
    """Delete a thing, and the lines of the memory document that say it."""
    place = find_place(page)
    operation = _make_forgetting(page, place)

    def perform(_: dict[str, Json], __: str) -> str:
        with place.app.helpers.lock:
            gone = place.things.drop(page.query["id"])
            line = ""
            if gone:
                line = remove_lines(place.app.documents, place.scope, (gone,), page.by)
        return place.find_path("/memory", done="mentioned" if line else "forgotten")

    return take_form(page, operation, perform)


def _make_forgetting(page: PageRequest, place: MemoryPlace) -> Operation:
    own = load_words(page.language)
    id = page.query.get("id", "")
    thing = place.things.get(id) if is_id(id) else None
    if thing is None:
        raise UsageError(
            "ENOENT",
            "nothing of this id is remembered here",
            source="page",
            suggestion="look at the list once more",
        )
    return Operation(
        place.find_path("/memory/forget", id=id),
        own.forget_title,
        own.forget,
        is_danger=True,
        changes=((own.what, thing.in_words, ""),),
        back=place.find_path("/memory"),
    )


def _open_document(page: PageRequest) -> VersionedText:
    """Return the document that a request names; `UsageError` ENOENT for none."""
    own = load_words(page.language)
    place = find_place(page)
    documents = place.app.documents
    name = page.query.get("name", "")
    newest = documents.read(place.scope, name)
    crumb = (own.memory, place.find_path("/memory"))

    def write(text: str, why: str, expect: int) -> Doc:
        return documents.write(place.scope, name, text, by=page.by, why=why, expect=expect)

    def roll_back(version: int) -> Doc:
        return documents.roll_back(place.scope, name, version, page.by)

    return VersionedText(
        name=name,
        path="/documents",
        crumb=crumb,
        newest=newest,
        list_versions=partial(documents.list_versions, place.scope, name),
        read_version=partial(documents.read_version, place.scope, name),
        write=write,
        roll_back=roll_back,
        most=CAPS.get(name, BEHAVIOUR_CHARACTERS),
        parameters={**place.asked, "name": name},
        nothing=own.never_written,
        type=own.never_written_type.format(name=name)
        + (f" --session {place.chat}" if place.chat else ""),
    )


def show_document(page: PageRequest) -> Response:
    """Show a document with its versions."""
    shown = _open_document(page)
    return versions.show_versions(page, shown, twin={"name": shown.name})


ROUTES: tuple[PageRoute, ...] = (
    PageRoute("/memory", "GET", show_memory, OWNERS),
    PageRoute("/memory/forget", "GET", ask_forgetting, OWNERS),
    PageRoute("/memory/forget", "POST", forget_thing, OWNERS, reads_form=True),
    PageRoute("/documents", "GET", show_document, OWNERS),
    *versions.build_routes("/documents", _open_document),
)
