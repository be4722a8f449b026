"""The pages of people: who waits, who is in and with which ids, what they may use, and what is kept
of them, which is exported and erased here.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final
from urllib.parse import urlencode

import orjson
from starlette.responses import Response

from functions.agent.access.members import Person
from functions.agent.access.roles import PERSON
from functions.agent.app import App
from functions.agent.commands.pairing import open_link_requests
from functions.agent.management import sessions
from functions.page.agents import plain
from functions.page.frame import Page, PageRequest, PageRoute
from functions.page.owner_words import load_words
from functions.page.reach import ALL, note_reading
from functions.page.seen import list_ids, words_of
from functions.page.viewer import OWNERS, PEOPLE
from functions.personal_data import PersonalData
from functions.texts.languages import load_texts
from sigil.errors import Refused, UsageError, one_line
from sigil.http.page import figures
from sigil.http.page.operations import (
    SURE,
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
CHATS_SHOWN: Final = 50
ERASE_SECONDS: Final = 20.0
"""How long an erasure waits for a turn of the person that is still running."""
Row = Mapping[str, Any]


def show_people(page: PageRequest) -> Response:
    """Show who waits to be let in, and who is."""
    app = page.deps.app
    words = words_of(page)
    own = load_words(page.language)
    waiting = [
        {"id": each.id, "name": each.name, "session": each.session, "at": each.at}
        for each in app.pairing.list_waiting()
    ]
    asking = [
        {"id": each.id, "name": each.name, "same": each.first}
        for each in open_link_requests(app).list_open()
    ]
    members = [_make_row(page, each) for each in islice(app.people.list_members(), SHOWN)]
    owners = [{"id": who, "role": "owner"} for who in sorted(app.rules.owners)]
    rows = [
        TableRow(
            (
                Cell("–"),
                Cell(each["id"], "code", _find_card(each["id"])),
                Cell(own.name_role(each["role"])),
                Cell(""),
                Cell(""),
                Cell(None, "time"),
            )
        )
        for each in owners
    ]
    rows += [
        TableRow(
            (
                Cell(each["name"] or "–"),
                Cell(each["id"], "code", _find_card(each["id"])),
                Cell(own.name_role(each["role"])),
                Cell(each["same"]),
                Cell(each["today"]),
                Cell(each["at"], "time"),
            ),
            (Act(words.remove, f"/people/remove?{urlencode({'id': each['id']})}", is_danger=True),),
        )
        for each in members
    ]
    sections = [
        Section(
            words.people,
            (
                (words.name, "text"),
                (own.person_id, "code"),
                (words.role, "text"),
                (own.same_as, "text"),
                (words.today_used, "text"),
                (words.seen, "time"),
            ),
            tuple(rows),
            nothing=words.nobody,
            type=words.nobody_type,
        )
    ]
    if asking:
        sections.insert(0, _make_asking(page, asking))
    if waiting:
        sections.insert(0, _make_waiting(page, waiting))
    twin = plain({"waiting": waiting, "asking": asking, "owners": owners, "items": members})
    view = View(words.people, tuple(sections), twin, acts=(Act(words.let_in, "/people/let-in"),))
    return show_view(page, view)


def _make_row(page: PageRequest, person: Person) -> dict[str, Any]:
    """Return a person as programs get them."""
    return {
        "id": person.id,
        "name": person.name,
        "role": person.role,
        "at": person.at,
        "by": person.by,
        "same": person.same,
        "today": _describe_use(page, person.same or person.id, person.role),
    }


def _describe_use(page: PageRequest, who: str, role: Any) -> str:
    """Return what somebody has used and may use today; empty without a limit."""
    app = page.deps.app
    texts = load_texts(page.language)
    return app.make_allowances(app.zone).describe_usage(who, role, texts)


def _make_waiting(page: PageRequest, waiting: list[dict[str, Any]]) -> Section:
    words = words_of(page)
    return Section(
        words.waits_in,
        ((words.name, "text"), (words.person, "code"), (words.when, "time")),
        tuple(
            TableRow((Cell(each["name"]), Cell(each["id"], "code"), Cell(each["at"], "time")))
            for each in waiting
        ),
        form=_make_pairing(page),
    )


def _make_asking(page: PageRequest, asking: list[dict[str, Any]]) -> Section:
    words = words_of(page)
    own = load_words(page.language)
    return Section(
        own.link_requests,
        ((words.name, "text"), (words.person, "code"), (own.same_as, "code")),
        tuple(
            TableRow((Cell(each["name"]), Cell(each["id"], "code"), Cell(each["same"], "code")))
            for each in asking
        ),
    )


def _find_card(who: str) -> str:
    return f"/people/person?{urlencode({'id': who})}"


def show_person(page: PageRequest) -> Response:
    """Show one person: their role, their ids, their limits and use, and their chats."""
    app = page.deps.app
    words = words_of(page)
    own = load_words(page.language)
    who = _require_id(page)
    person = app.people.find_member(who)
    role = "owner" if app.people.is_owner(who) else person.role if person else "guest"
    ids = sorted(list_ids(app, who))
    first = person.same if person and person.same else who
    chats = [each for each in sessions.scan_sessions(app) if each.person in ids][:CHATS_SHOWN]
    today = _describe_use(page, first, role)
    twin = {
        "id": who,
        "ids": ids,
        "name": person.name if person else "",
        "role": role,
        "at": person.at if person else None,
        "by": person.by if person else "",
        "today": today,
        "chats": [
            {"session": each.session, "at": each.at, "tokens": each.tokens, "turns": each.turns}
            for each in chats
        ],
    }
    facts = [
        (words.role, Cell(own.name_role(role))),
        (own.limits, Cell(today or own.no_limits)),
    ]
    others = tuple(each for each in ids if each != who)
    if others:
        facts.append((own.links, Cell("", chips=others)))
    if person:
        facts.append((own.in_since, Cell(person.at, "time")))
        facts.append((own.let_in_by, Cell(person.by)))
    rows = tuple(
        TableRow(
            (
                Cell(each.session, "code", f"/runs?{urlencode({'session': each.session})}"),
                Cell(each.tokens, "figure"),
                Cell(each.turns, "figure"),
                Cell(each.at, "time"),
            )
        )
        for each in chats
    )
    section = Section(
        own.its_chats,
        (
            (words.chat, "code"),
            (words.total, "figure"),
            (words.turns, "figure"),
            (words.last, "time"),
        ),
        rows,
        nothing=own.no_chats_of,
        type=own.no_chats_of_type,
    )
    view = View(
        (person.name if person else "") or who,
        (section,),
        plain(twin),
        crumb=(words.people, "/people"),
        facts=tuple(facts),
        acts=tuple(_list_acts(page, who, person, role)),
    )
    return show_view(page, view)


def _list_acts(page: PageRequest, who: str, person: Person | None, role: str) -> list[Act]:
    words = words_of(page)
    own = load_words(page.language)
    asked = urlencode({"id": who})
    acts = []
    if person and not person.same and role == "member":
        acts.append(Act(own.make_owner, f"/people/owner?{asked}"))
    acts.append(Act(own.export, f"/people/export?{asked}"))
    if person:
        acts.append(Act(words.remove, f"/people/remove?{asked}", is_danger=True))
    acts.append(Act(own.erase, f"/people/erase?{asked}", is_danger=True))
    return acts


def _require_id(page: PageRequest) -> str:
    """Return the person that a request names; `UsageError` EINVAL for nobody's id."""
    who = page.query.get("id", "")
    if not PERSON.fullmatch(who):
        raise UsageError(
            "EINVAL",
            f"{one_line(who, 60)!r} is nobody's id",
            source="page",
            suggestion="PLATFORM:ID, such as telegram:123; /whoami in a chat tells it",
        )
    return who


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


def ask_role(page: PageRequest) -> Response:
    """Ask whether a member is to be an owner."""
    return show_form(page, _make_role(page))


def change_role(page: PageRequest) -> Response:
    """Make a member an owner."""
    operation = _make_role(page)

    def perform(_: dict[str, Json], __: str) -> str:
        app = page.deps.app
        known = _require_member(app, _require_id(page))
        app.people.let_in(known.id, "owner", known.name, page.by)
        return _find_card(known.id)

    return take_form(page, operation, perform)


def _make_role(page: PageRequest) -> Operation:
    words = words_of(page)
    own = load_words(page.language)
    known = _require_member(page.deps.app, _require_id(page))
    if known.same or known.role != "member":
        raise UsageError(
            "EINVAL",
            f"{known.id} is no member by themselves",
            source="page",
            suggestion="an id that is linked has the role of the first one",
        )
    return Operation(
        f"/people/owner?{urlencode({'id': known.id})}",
        own.make_owner_title.format(name=_name(known)),
        own.make_owner,
        is_danger=True,
        changes=((words.role, own.name_role("member"), own.name_role("owner")),),
        back=_find_card(known.id),
    )


def _require_member(app: App, who: str) -> Person:
    known = app.people.find_member(who)
    if known is None:
        raise UsageError("ENOENT", "nobody of this id was let in", source="page")
    return known


def _name(person: Person) -> str:
    return figures.line(f"{person.name} ({person.id})" if person.name else person.id, 120)


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
    own = load_words(page.language)
    known = _require_member(page.deps.app, page.query.get("id", ""))
    return Operation(
        f"/people/remove?{urlencode({'id': known.id})}",
        words.remove_title.format(name=_name(known)),
        words.remove,
        is_danger=True,
        changes=((words.role, own.name_role(known.role), own.name_role("guest")),),
        back="/people",
    )


def export_person(page: PageRequest) -> Response:
    """Answer with everything that is kept of a person, as a file of JSON: of oneself, and for an
    owner of others where `UNCAGED_WEB_TEXTS=all`, which the ledger tells.
    """
    own = load_words(page.language)
    viewer = page.viewer
    who = _require_id(page) if "id" in page.query else viewer.person
    if who not in list_ids(page.deps.app, viewer.person):
        if viewer.role != "owner" or page.deps.settings.web_texts != ALL:
            raise Refused(
                "EPERM",
                own.export_refused,
                source="page",
                suggestion=own.export_next.format(id=one_line(who, 80)),
            )
        note_reading(page, who)
    wait = page.deps.exports.take(viewer.person)
    if wait:
        raise Refused(
            "ERATE",
            own.export_often,
            source="page",
            suggestion=own.export_wait,
            retry_after=wait,
        )
    data = _open_data(page)
    document = data.export(data.find(who))
    body = orjson.dumps(document, option=orjson.OPT_INDENT_2)
    name = "".join(sign if sign.isalnum() and sign.isascii() else "-" for sign in who)[:80]
    headers = {"Content-Disposition": f'attachment; filename="{name}.json"'}
    return Response(body + b"\n", headers=headers, media_type="application/json")


def _open_data(page: PageRequest, patience: float = 0.0) -> PersonalData:
    return PersonalData(page.deps.app, page.deps.artifacts, patience=patience)


def ask_erasure(page: PageRequest) -> Response:
    """Show what is kept of a person, and ask whether it is to be erased."""
    return show_form(page, _make_erasure(page))


def erase_person(page: PageRequest) -> Response:
    """Erase what is kept of a person once that is confirmed, and show what went and what stays."""
    operation = _make_erasure(page)
    if page.form.get(SURE) != "yes":
        return take_form(page, operation, lambda _, __: "/people")
    own = load_words(page.language)
    words = words_of(page)
    data = _open_data(page, ERASE_SECONDS)
    who = _require_id(page)
    erased = data.erase(data.find(who))
    total = sum(erased.removed.values())
    rows = tuple(
        TableRow((Cell(own.record_kinds.get(kind, kind)), Cell(count, "figure")))
        for kind, count in sorted(erased.removed.items())
    )
    kept = tuple(TableRow((Cell(text, "long"),)) for text in erased.kept)
    sections = [Section(own.erased, ((own.what, "text"), (own.records, "figure")), rows)]
    if kept:
        sections.append(Section(own.kept_all_the_same, ((own.what, "text"),), kept))
    twin = {
        "person": who,
        "removed": dict(sorted(erased.removed.items())),
        "kept": list(erased.kept),
        "running": erased.running,
    }
    view = View(
        own.erased,
        tuple(sections),
        plain(twin),
        crumb=(words.people, "/people"),
        lead=own.erased_running if erased.running else "",
        done=own.erased_said.format(count=figures.count(total)),
    )
    return show_view(page, view)


def _make_erasure(page: PageRequest) -> Operation:
    own = load_words(page.language)
    who = _require_id(page)
    data = _open_data(page)
    counts = data.count(data.find(who))
    if not counts:
        raise UsageError(
            "ENOENT", own.nothing_kept, source="page", suggestion=own.nothing_kept_type
        )
    return Operation(
        f"/people/erase?{urlencode({'id': who})}",
        own.erase_title.format(name=figures.line(who, 80)),
        own.erase,
        is_danger=True,
        changes=tuple(
            (own.record_kinds.get(kind, kind), figures.count(count), "0")
            for kind, count in sorted(counts.items())
        ),
        back=_find_card(who),
        lead=own.erase_lead,
    )


ROUTES: tuple[PageRoute, ...] = (
    PageRoute("/people", "GET", show_people, OWNERS),
    PageRoute("/people/person", "GET", show_person, OWNERS),
    PageRoute("/people/let-in", "GET", ask_code, OWNERS),
    PageRoute("/people/let-in", "POST", let_in, OWNERS, reads_form=True),
    PageRoute("/people/owner", "GET", ask_role, OWNERS),
    PageRoute("/people/owner", "POST", change_role, OWNERS, reads_form=True),
    PageRoute("/people/remove", "GET", ask_removal, OWNERS),
    PageRoute("/people/remove", "POST", remove_person, OWNERS, reads_form=True),
    PageRoute("/people/export", "GET", export_person, PEOPLE),
    PageRoute("/people/erase", "GET", ask_erasure, OWNERS),
    PageRoute("/people/erase", "POST", erase_person, OWNERS, reads_form=True),
)
PAGES: tuple[Page, ...] = (Page("People", "/people", OWNERS, {"de": "Personen", "zh": "用户"}),)
