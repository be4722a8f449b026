"""The pages of people: who waits, who is in and with which ids, what they may use, and what is kept
of them, which is exported and erased here.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final
from urllib.parse import urlencode

import orjson
from starlette.responses import Response

from functions.agent.access.members import LinkedRole, Person
from functions.agent.access.roles import PERSON
from functions.agent.app import App
from functions.agent.management import people, sessions
from functions.agent.management.people import PeopleChange, open_link_requests
from functions.page.access.reach import ALL, list_ids, note_reading
from functions.page.access.viewer import OWNERS, PEOPLE
from functions.page.frame import Page, PageRequest, PageRoute, plain
from functions.page.words.owner_words import load_words
from functions.page.words.run_words import words_of
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
    waiting = people.list_waiting(app)
    asking = people.list_asking(app)
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
            (_make_removal_act(page, each["id"], each["same"]),),
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
    """Return a person as programs get them, with what they have used today."""
    today = _describe_use(page, person.same or person.id, person.role)
    return {**people.describe_person(person), "today": today}


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
            TableRow(
                (Cell(each["name"]), Cell(each["id"], "code"), Cell(each["same"], "code")),
                tuple(
                    Act(label, f"/people/links/{verb}?{_name_link(each)}", is_danger=is_danger)
                    for verb, label, is_danger in (
                        ("accept", own.link, False),
                        ("refuse", own.refuse_link, True),
                    )
                ),
            )
            for each in asking
        ),
    )


def _name_link(asked: Row) -> str:
    return urlencode({"id": asked["id"], "same": asked["same"]})


def _make_removal_act(page: PageRequest, who: str, same: str) -> Act:
    """Return the button that takes somebody out, or one further id of theirs."""
    label = load_words(page.language).unlink if same else words_of(page).remove
    return Act(label, f"/people/remove?{urlencode({'id': who})}", is_danger=True)


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
    if first != who:
        facts.append((own.same_as, Cell(first, "code", _find_card(first))))
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
        (*_list_further_ids(page, who, ids), section),
        plain(twin),
        crumb=(words.people, "/people"),
        facts=tuple(facts),
        acts=tuple(_list_acts(page, who, person, role)),
    )
    return show_view(page, view)


def _list_further_ids(page: PageRequest, who: str, ids: Sequence[str]) -> tuple[Section, ...]:
    """Return the section of the ids that are linked to this one; none where there are none."""
    own = load_words(page.language)
    found = [page.deps.app.people.find_member(each) for each in ids if each != who]
    rows = tuple(
        TableRow(
            (
                Cell(each.id, "code", _find_card(each.id)),
                Cell(own.name_role(each.role)),
                Cell(each.by),
                Cell(each.at, "time"),
            ),
            (_make_removal_act(page, each.id, each.same),),
        )
        for each in found
        if each and each.same == who
    )
    section = Section(
        own.links,
        (
            (own.person_id, "code"),
            (words_of(page).role, "text"),
            (own.let_in_by, "text"),
            (own.in_since, "time"),
        ),
        rows,
    )
    return (section,) if rows else ()


def _list_acts(page: PageRequest, who: str, person: Person | None, role: str) -> list[Act]:
    own = load_words(page.language)
    asked = urlencode({"id": who})
    acts = []
    if person and not person.same:
        other = "member" if role == "owner" else "owner"
        label = own.make_owner if other == "owner" else own.make_member
        acts.append(Act(label, f"/people/role?{asked}&role={other}"))
    if role != "guest" and not (person and person.same):
        acts.append(Act(own.link, f"/people/link?{asked}"))
    acts.append(Act(own.export, f"/people/export?{asked}"))
    if person:
        acts.append(_make_removal_act(page, who, person.same))
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
    """Let in whoever was told the code that was typed, who is told so."""

    def perform(arguments: dict[str, Json], _: str) -> str:
        code = str(arguments["code"])
        _settle(page, people.let_in(page.deps.app, code, page.by, _name_cause()))
        return "/people"

    return take_form(page, _make_pairing(page), perform)


def _name_cause() -> str:
    """Return a name of its own for what is done by one form."""
    return f"page:{uuid.uuid4().hex}"


def _settle(page: PageRequest, change: PeopleChange) -> None:
    people.settle(page.deps.app, change, page.by, page.deps.put)


def ask_role(page: PageRequest) -> Response:
    """Ask whether a member is to be an owner, or an owner a member."""
    return show_form(page, _make_role(page, people.parse_role(page.query.get("role", ""))))


def change_role(page: PageRequest) -> Response:
    """Make a member an owner, or an owner a member, who is told so."""
    role = people.parse_role(page.query.get("role", ""))

    def perform(_: dict[str, Json], __: str) -> str:
        app = page.deps.app
        who = _require_id(page)
        _settle(page, people.change_role(app, who, role, page.by))
        return _find_card(who) if app.people.is_owner(page.viewer.person) else "/"

    return take_form(page, _make_role(page, role), perform)


def _make_role(page: PageRequest, role: LinkedRole) -> Operation:
    words = words_of(page)
    own = load_words(page.language)
    known = _require_member(page.deps.app, _require_id(page))
    if known.same or known.role == role:
        raise UsageError(
            "EINVAL",
            f"{known.id} cannot be made {role}",
            source="page",
            suggestion="look once more: an id that is linked has the first one's role",
        )
    is_raised = role == "owner"
    title = own.make_owner_title if is_raised else own.make_member_title
    return Operation(
        f"/people/role?{urlencode({'id': known.id, 'role': role})}",
        title.format(name=_name(known)),
        own.make_owner if is_raised else own.make_member,
        is_danger=True,
        changes=((words.role, own.name_role(known.role), own.name_role(role)),),
        back=_find_card(known.id),
    )


def ask_link(page: PageRequest) -> Response:
    """Ask for the code that another id of a person was told."""
    return show_form(page, _make_link(page))


def link_id(page: PageRequest) -> Response:
    """Link the id that was told the code that was typed, once it was shown whose that is."""

    def perform(arguments: dict[str, Json], _: str) -> str:
        who = _require_id(page)
        code = str(arguments["code"])
        _settle(page, people.link_by_code(page.deps.app, code, who, page.by, _name_cause()))
        return _find_card(page.deps.app.people.find_first(who))

    return take_form(page, _make_link(page), perform)


def _make_link(page: PageRequest) -> Operation:
    words = words_of(page)
    own = load_words(page.language)
    app = page.deps.app
    who = _require_id(page)
    first = app.people.find_first(who)
    role = "owner" if app.people.is_owner(who) else "member"
    waiting = app.pairing.find_waiting(page.form.get("a-code", ""))
    changes: tuple[tuple[str, str, str], ...] = ()
    if waiting:
        named = figures.line(f"{waiting.name} ({waiting.id})" if waiting.name else waiting.id, 120)
        after = f"{own.name_role(role)}, {own.same_as.lower()} {first}"
        changes = ((named, own.name_role("guest"), after),)
    return Operation(
        f"/people/link?{urlencode({'id': who})}",
        own.link_title.format(name=figures.line(who, 80)),
        own.link,
        schema={
            "type": "object",
            "required": ["code"],
            "properties": {
                "code": {"type": "string", "maxLength": 40, "description": own.link_help}
            },
        },
        is_danger=bool(changes),  # a code that is none is refused before anybody is asked
        changes=changes,
        back=_find_card(who),
        labels={"code": words.code_name},
    )


def ask_decision(page: PageRequest) -> Response:
    """Ask whether an id that somebody calls theirs is to be linked to them, or is not."""
    return show_form(page, _make_decision(page))


def decide_link(page: PageRequest) -> Response:
    """Link an id that somebody calls theirs, or refuse that; they are told."""
    operation = _make_decision(page)
    decide = people.accept_link if page.path["verb"] == "accept" else people.refuse_link

    def perform(_: dict[str, Json], __: str) -> str:
        who, first = page.query["id"], page.query["same"]
        _settle(page, decide(page.deps.app, who, first, page.by, _name_cause()))
        return "/people"

    return take_form(page, operation, perform)


def _make_decision(page: PageRequest) -> Operation:
    words = words_of(page)
    own = load_words(page.language)
    verb = page.path["verb"]
    if verb not in ("accept", "refuse"):
        raise UsageError("EROUTE", "there is no such page", source="page")
    who = _require_id(page)
    asked = open_link_requests(page.deps.app).list_open()
    found = next((each for each in asked if (each.id, each.first) == _read_link(page)), None)
    if found is None:
        raise UsageError("ENOENT", "nobody asks that, or it is over", source="page")
    is_linked = verb == "accept"
    title = own.accept_title if is_linked else own.refuse_title
    after = f"{own.name_role(found.role)}, {own.same_as.lower()} {found.first}"
    guest = own.name_role("guest")
    return Operation(
        f"/people/links/{verb}?{urlencode({'id': who, 'same': found.first})}",
        title.format(id=figures.line(found.id, 80), first=figures.line(found.first, 80)),
        own.link if is_linked else own.refuse_link,
        is_danger=True,
        changes=((words.role, guest, after if is_linked else guest),),
        back="/people",
    )


def _read_link(page: PageRequest) -> tuple[str, str]:
    return page.query.get("id", ""), page.query.get("same", "")


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
    """Take somebody out, who may not write any more, or one further id of theirs."""
    operation = _make_removal(page)

    def perform(_: dict[str, Json], __: str) -> str:
        _settle(page, people.remove(page.deps.app, page.query["id"], page.by))
        return operation.back

    return take_form(page, operation, perform)


def _make_removal(page: PageRequest) -> Operation:
    words = words_of(page)
    own = load_words(page.language)
    known = _require_member(page.deps.app, page.query.get("id", ""))
    title = own.unlink_title if known.same else words.remove_title
    return Operation(
        f"/people/remove?{urlencode({'id': known.id})}",
        title.format(name=_name(known)),
        own.unlink if known.same else words.remove,
        is_danger=True,
        changes=((words.role, own.name_role(known.role), own.name_role("guest")),),
        back=_find_card(known.same) if known.same else "/people",
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
    app = page.deps.app
    known = app.people.find_member(_require_id(page))
    # all ids of a person are erased together
    first = app.people.find_member(known.same) if known and known.same else known
    if first:
        app.people.require_other_owner(first.id)
    if page.form.get(SURE) != "yes":
        return take_form(page, operation, lambda _, __: "/people")
    own = load_words(page.language)
    words = words_of(page)
    data = _open_data(page, ERASE_SECONDS)
    who = _require_id(page)
    found = data.find(who)
    if first and first.role == "owner" and first.id not in app.rules.owners:
        app.people.remove_member(first.id)  # of two owners who erase each other one stays
    erased = data.erase(found)
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
    PageRoute("/people/role", "GET", ask_role, OWNERS),
    PageRoute("/people/role", "POST", change_role, OWNERS, reads_form=True),
    PageRoute("/people/link", "GET", ask_link, OWNERS),
    PageRoute("/people/link", "POST", link_id, OWNERS, reads_form=True),
    PageRoute("/people/links/{verb}", "GET", ask_decision, OWNERS),
    PageRoute("/people/links/{verb}", "POST", decide_link, OWNERS, reads_form=True),
    PageRoute("/people/remove", "GET", ask_removal, OWNERS),
    PageRoute("/people/remove", "POST", remove_person, OWNERS, reads_form=True),
    PageRoute("/people/export", "GET", export_person, PEOPLE),
    PageRoute("/people/erase", "GET", ask_erasure, OWNERS),
    PageRoute("/people/erase", "POST", erase_person, OWNERS, reads_form=True),
)
PAGES: tuple[Page, ...] = (Page("People", "/people", OWNERS, {"de": "Personen", "zh": "用户"}),)
