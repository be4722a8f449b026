"""What owners do with people: let them in, change their role, link their ids and take them out.

Each act has an entry of the ledger, and messages to those whom it is about, wherever it was done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

from functions.agent.access.link_requests import LinkRequest, LinkRequests
from functions.agent.access.members import LinkedRole, Person, format_person, quote
from functions.agent.access.pairing import Waiting
from functions.agent.app import App
from functions.agent.language import choose_texts_of, load_texts_for
from functions.agent.ledger.entry import Entry
from functions.agent.management.ledger import add_entries
from functions.agent.session.document import Outgoing
from functions.events import WEB, Event, Sender, order_of
from functions.texts.en import TEXTS as ENGLISH
from functions.texts.en import Texts
from sigil.errors import BackendError, Refused, UsageError
from sigil.protocol import Json
from sigil.storage.kv import keys

SENDER: Final = "runtime:people"
VERBS: Final[Mapping[str, tuple[str, ...]]] = {
    "let-in": ("code",),
    "let-in-id": ("id",),
    "role": ("id", "role"),
    "link": ("id", "code"),
    "accept-link": ("id", "same"),
    "refuse-link": ("id", "same"),
    "remove": ("id",),
}
"""What a program may do with people, and the fields of each act."""


@dataclass(frozen=True, slots=True)
class PeopleChange:
    """What an owner did with the person `id`, who is called `name`: its entry of the ledger, and
    the messages to those whom it is about.
    """

    id: str
    name: str
    entry: Entry
    notices: tuple[Outgoing, ...] = ()


def describe_people(app: App) -> dict[str, object]:
    """Return who waits to be let in, who asks to be linked, who is in, and the owners of the
    settings, as programs get them. No code is among it.
    """
    return {
        "waiting": list_waiting(app),
        "asking": list_asking(app),
        "people": list(map(describe_person, app.people.list_members())),
        "owners": sorted(app.rules.owners),
    }


def list_waiting(app: App) -> list[dict[str, Any]]:
    """Return who waits to be let in; `left` are the seconds for which their code is valid."""
    now = app.clock.now()
    return [
        {
            "id": one.id,
            "name": one.name,
            "session": one.session,
            "at": one.at,
            "left": round(one.seconds_left(now)),
        }
        for one in app.pairing.list_waiting()
    ]


def list_asking(app: App) -> list[dict[str, Any]]:
    """Return who asks that an id is linked to theirs, which is the `same` person."""
    return [
        {"id": one.id, "name": one.name, "same": one.first}
        for one in open_link_requests(app).list_open()
    ]


def describe_person(person: Person) -> dict[str, Any]:
    """Return somebody who is in, as programs get them."""
    return {
        "id": person.id,
        "role": person.role,
        "name": person.name,
        "at": person.at,
        "by": person.by,
        "same": person.same,
    }


def perform(app: App, verb: str, fields: Mapping[str, Json], by: str, event: str) -> PeopleChange:
    """Do what a program asks for, one of `VERBS` with its fields. `UsageError` EINVAL for anything
    else, and errors as the act itself.
    """
    if verb not in VERBS:
        raise UsageError(
            "EINVAL",
            "that is no act with people",
            source="http",
            suggestion=f"one of {', '.join(VERBS)}",
        )
    texts = {name: text for name, text in fields.items() if isinstance(text, str)}
    if not set(VERBS[verb]) == texts.keys() == fields.keys():
        needed = " and ".join(VERBS[verb])
        raise UsageError("EINVAL", f"{verb} takes {needed}, each a text", source="http")
    match verb:
        case "let-in":
            return let_in(app, texts["code"], by, event)
        case "let-in-id":
            return let_in_by_id(app, texts["id"], by)
        case "role":
            return change_role(app, texts["id"], parse_role(texts["role"]), by)
        case "link":
            return link_by_code(app, texts["code"], texts["id"], by, event)
        case "accept-link":
            return accept_link(app, texts["id"], texts["same"], by, event)
        case "refuse-link":
            return refuse_link(app, texts["id"], texts["same"], by, event)
        case _:
            return remove(app, texts["id"], by)


def parse_role(text: str) -> LinkedRole:
    """Return the role that somebody who was let in may have; `UsageError` EINVAL for none."""
    if text == "owner":
        return "owner"
    if text == "member":
        return "member"
    raise UsageError("EINVAL", "a role is owner or member")


def open_link_requests(app: App) -> LinkRequests:
    """Return the link requests of the root, which are those of all its agents."""
    return LinkRequests(app.kv, app.root, app.people, app.pairing, app.clock.now)


def let_in(app: App, code: str, by: str, event: str) -> PeopleChange:
    """Let in whoever got a code, as a member. Errors as `Pairing.accept_code`."""
    _require_owner(app, by)
    accepted = app.pairing.accept_code(code, by, event)
    welcome = write_welcome(accepted, event, app.clock.now())
    return PeopleChange(accepted.id, accepted.name, _describe("let-in", accepted.id), (welcome,))


def let_in_by_id(app: App, who: str, by: str) -> PeopleChange:
    """Let in somebody by their id, as a member. Errors as `People.let_in_by_id`."""
    _require_owner(app, by)
    app.people.let_in_by_id(who, by)
    return PeopleChange(who, "", _describe("let-in", who))


def remove(app: App, who: str, by: str) -> PeopleChange:
    """Take somebody out with their further ids, or one further id of theirs alone. Errors as
    `People.remove_member`.
    """
    _require_owner(app, by)
    person = app.people.remove_member(who)
    act = "unlink" if person.same else "remove"
    return PeopleChange(who, person.name, _describe(act, who, same=person.same))


def change_role(app: App, who: str, role: LinkedRole, by: str) -> PeopleChange:
    """Make a member an owner, or an owner a member. Errors as `People.change_role`."""
    _require_owner(app, by)
    before = app.people.change_role(who, role)
    person = app.people.find_member(who)
    name = person.name if person else ""
    notices: tuple[Outgoing, ...] = ()
    chat = app.private_chats.find_all({who}).get(who, "")
    if chat and before != role:
        texts = _find_texts(app, chat)
        text = texts.now_owner if role == "owner" else texts.now_member
        notices = (Outgoing(f"role:{uuid4().hex}", chat, text, at=app.clock.now()),)
    return PeopleChange(who, name, _describe("role", who, before=before, after=role), notices)


def link_by_code(
    app: App,
    code: str,
    who: str,
    by: str,
    event: str,
    *,
    confirm: Callable[[LinkRequest], None] = lambda _: None,
) -> PeopleChange:
    """Link the id that got a code to the person who has the id `who`. An owner's is shown to
    `confirm` first, which raises where it is not to be. Errors as `LinkRequests.ask`.
    """
    _require_owner(app, by)
    requests = open_link_requests(app)
    asked = requests.ask(code, who, event)
    if asked.code:
        confirm(asked.request)
        request = requests.confirm(asked.code, who, by, event)
    else:
        request = requests.accept(asked.request.id, asked.request.first, by, event)
    return _make_link(app, request, event)


def confirm_link(app: App, code: str, by: str, event: str) -> PeopleChange:
    """Link an owner's own id by the second code that they were told. Errors as
    `LinkRequests.confirm`.
    """
    _require_owner(app, by)
    return _make_link(app, open_link_requests(app).confirm(code, by, by, event), event)


def accept_link(app: App, who: str, first: str, by: str, event: str) -> PeopleChange:
    """Link an id as a member asked, who is told. Errors as `LinkRequests.accept`."""
    _require_owner(app, by)
    request = open_link_requests(app).accept(who, first, by, event)
    texts = load_texts_for(request.asked_language, request.asked_in)
    told = _tell_asker(request, texts.linked_now, event, app.clock.now())
    change = _make_link(app, request, event)
    return replace(change, notices=(*change.notices, *told))


def refuse_link(app: App, who: str, first: str, by: str, event: str) -> PeopleChange:
    """Refuse what a member asked, who is told. Errors as `LinkRequests.accept`."""
    _require_owner(app, by)
    request = open_link_requests(app).refuse(who, first, event)
    texts = load_texts_for(request.asked_language, request.asked_in)
    told = _tell_asker(request, texts.link_refused, event, app.clock.now())
    entry = _describe("refuse-link", request.id, same=request.first)
    return PeopleChange(request.id, request.name, entry, told)


def settle(app: App, change: PeopleChange, by: str, put: Callable[[Event], None]) -> None:
    """Write an act into the ledger that was done in no turn, and `put` into the queue what is said
    to whom it is about. `Conflict` as `add_entries`.
    """
    add_entries(app, [change.entry], by)
    for notice in change.notices:
        put(
            Event(
                id=f"people:{notice.event}",
                kind="say",
                agent=app.root,
                session=notice.session,
                sender=Sender(SENDER),
                text=notice.text,
                at=notice.at,
                order=order_of(notice.at, 0),
                private=True,
                by=by.removeprefix(f"{WEB}:"),
                data={"from": "pairing"},
            )
        )


def write_welcome(waiting: Waiting, event: str, now: float) -> Outgoing:
    """Return the message to somebody who was let in, for their own chat.

    It has an id of its own, beside the answer to the event.
    """
    text = load_texts_for(waiting.language, waiting.session).let_in
    return Outgoing(f"pair:{event}", waiting.session, text, at=now)


def write_link_welcome(request: LinkRequest, event: str, now: float) -> Outgoing:
    """Return the message to an id that was linked, for the chat where it got its code."""
    texts = load_texts_for(request.language, request.session)
    text = texts.linked_in.format(who=quote(request.first))
    return Outgoing(f"pair:{event}", request.session, text, at=now)


def _make_link(app: App, request: LinkRequest, event: str) -> PeopleChange:
    """Return what was done when an id was linked, which is told so."""
    entry = _describe("link", request.id, same=request.first)
    welcome = write_link_welcome(request, event, app.clock.now())
    return PeopleChange(request.id, request.name, entry, (welcome,))


def _tell_asker(request: LinkRequest, pattern: str, event: str, now: float) -> tuple[Outgoing, ...]:
    """Return what is told in the chat where somebody asked for a link; nothing at the machine."""
    if not request.asked_in:
        return ()
    person = format_person(request.id, request.name)
    text = pattern.format(person=person, first=quote(request.first))
    return (Outgoing(f"pair:{event}:asked", request.asked_in, text, at=now),)


def _describe(act: str, who: str, **facts: str) -> Entry:
    """Return the entry of an act; the ids of people in it become hashes."""
    told = {name: text for name, text in facts.items() if text}
    names = tuple(filter(None, (who, facts.get("same", ""))))
    return Entry("person", {"act": act, "person": who, **told}, names=names)


def _require_owner(app: App, by: str) -> None:
    """Raise `Refused` EPERM for whoever is no owner at this moment: nobody raises themselves."""
    if not app.people.is_owner(by.removeprefix(f"{WEB}:")):
        raise Refused("EPERM", "only an owner decides on people", suggestion="ask an owner")


def _find_texts(app: App, chat: str) -> Texts:
    """Return the texts in the language of a chat."""
    try:
        document = app.sessions.open(keys.session_of(app.root, chat)).document
    except BackendError:
        return ENGLISH
    return choose_texts_of(document, chat)
