"""`uncaged channel pair`: let people talk to the agent, from the machine of its store."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from functions.channels.base import Channel, Reply
from functions.channels.isolated_channels import IsolatedChannels
from functions.cli.local_agent import BY, Json, open_agent, print_result
from functions.wiring import Closable
from sigil.cli.printing import Printer
from sigil.cli.times import format_time
from sigil.errors import Refused, SigilError, UsageError, one_line

if TYPE_CHECKING:
    from functions.agent.access.link_requests import LinkRequest
    from functions.agent.app import App
    from functions.agent.management.people import PeopleChange
    from functions.agent.session.document import Outgoing
    from functions.settings import Settings

Code = Annotated[
    str,
    typer.Argument(help="The code that the person got.", show_default=False),
]


def pair(
    code: Code = "",
    *,
    listed: Annotated[
        bool, typer.Option("--list", help="Show who waits for access, and who has it.")
    ] = False,
    remove: Annotated[str, typer.Option(help="The id of a person whose access ends.")] = "",
    id: Annotated[
        str, typer.Option(help="The id of a person to let in who can be given no code.")
    ] = "",
    same_as: Annotated[
        str,
        typer.Option(help="With CODE: the id that the same person has already, whose role counts."),
    ] = "",
    yes: Annotated[
        bool, typer.Option("--yes", help="With --same-as: link an owner's id without asking.")
    ] = False,
    json: Json = False,
) -> None:
    """Let a person talk to the agent.

    A person who writes to it without access gets a code. Give that code to this command.

    Example: uncaged channel pair 4F7K-9QXZ
    """
    if (
        sum(map(bool, (code, listed, remove, id))) != 1
        or (same_as and not code)
        or (yes and not same_as)
    ):
        raise UsageError(
            "EUSAGE",
            "exactly one of CODE, --id ID, --list and --remove ID is needed, --same-as with CODE",
            suggestion="uncaged channel pair --list",
        )
    from functions.agent.management import people

    with open_agent() as (app, settings):
        if listed:
            _list_people(app, Printer(json=json))
        elif remove:
            note_change(app, people.remove(app, remove, BY))
            print_result({"removed": remove}, f"{remove} is a guest again", json)
        elif id:
            note_change(app, people.let_in_by_id(app, id, BY))
            print_result({"paired": id}, f"{id} may talk to it now", json)
        elif same_as:
            _link_id(code, same_as, app, settings, json, yes=yes)
        else:
            _accept_code(code, app, settings, json)


def send_reply(channels: Mapping[str, Channel], reply: Outgoing) -> bool:
    """Send a reply to the chat that it names; return whether it was sent."""
    channel = channels.get(reply.session.partition(":")[0])
    if channel is None:
        return False
    try:
        channel.send(Reply(reply.session, reply.text), lambda _: None)
    except SigilError:
        return False
    return True


def note_change(app: App, change: PeopleChange) -> None:
    """Write into the ledger what was done here with a person."""
    from functions.agent.management.ledger import add_entries

    add_entries(app, [change.entry], BY)


def _accept_code(code: str, app: App, settings: Settings, json: bool) -> None:
    """Let in the person with this code, tell them in their chat, and print who it was."""
    from functions.agent.management import people

    _settle(people.let_in(app, code, BY, f"terminal:{uuid.uuid4().hex}"), app, settings, json)


def _link_id(
    code: str, same_as: str, app: App, settings: Settings, json: bool, *, yes: bool
) -> None:
    """Link the id that got this code to a person; one of an owner's only when it is confirmed."""
    from functions.agent.management import people

    if app.people.is_owner(same_as) and not yes and not sys.stdin.isatty():
        raise UsageError(
            "EUSAGE",
            f"{same_as} is an owner, and so would be the id that got this code",
            suggestion="run it in a terminal, which asks; or add --yes",
        )

    def confirm(request: LinkRequest) -> None:
        name = f" ({request.name})" if request.name else ""
        question = f"Make {request.id}{name} an owner, as the same person as {request.first}?"
        if not yes and not typer.confirm(one_line(question, 300), default=False, err=True):
            raise Refused(
                "EPERM", f"{request.id} was not linked", suggestion="they stay a stranger"
            )

    event = f"terminal:{uuid.uuid4().hex}"
    change = people.link_by_code(app, code, same_as, BY, event, confirm=confirm)
    _settle(change, app, settings, json)


def tell_people(change: PeopleChange, settings: Settings) -> bool:
    """Tell those whom an act is about in their chats; return whether all of it was sent."""
    described = settings.load_separate_channels(by_worker=True).channels
    reload = partial(settings.reload_channel, by_worker=True)
    channels = IsolatedChannels(described, reload, by_worker=True, tell=lambda *_: None)
    sent = [send_reply(channels, notice) for notice in change.notices]
    for channel in channels.values():
        if isinstance(channel, Closable):
            channel.close()
    return all(sent)


def _settle(change: PeopleChange, app: App, settings: Settings, json: bool) -> None:
    """Note what was done, tell whoever may talk now, and print who that is."""
    note_change(app, change)
    is_told = tell_people(change, settings)
    shown = f" ({change.name})" if change.name else ""
    notice = "was notified" if is_told else "could not be notified from here"
    print_result(
        {"paired": change.id, "name": change.name, "told": is_told},
        f"{change.id}{shown} may talk to it now, and {notice}",
        json,
    )


def _list_people(app: App, printer: Printer) -> None:
    """Print the owners of the settings, the people who were let in, and those who wait."""
    from functions.agent.management.people import describe_people, open_link_requests

    if printer.json:
        printer.document(describe_people(app))
        return
    now = app.clock.now()
    waiting = app.pairing.list_waiting()
    asking = open_link_requests(app).list_open()
    people = app.people.list_members()
    owners = sorted(app.rules.owners)
    cells = [(owner, "owner", "", "", "UNCAGED_OWNERS") for owner in owners]
    for person in people:
        role = f"{person.role}, as {person.same}" if person.same else person.role
        cells.append((person.id, role, person.name, format_time(person.at), person.by))
    for one in waiting:
        minutes = f"for {one.seconds_left(now) / 60:.0f} more minutes"
        cells.append((one.id, "waits", one.name, format_time(one.at), minutes))
    for request in asking:
        command = f'uncaged chat "/pair accept {request.id} as {request.first}"'
        cells.append((request.id, "waits", request.name, format_time(request.at), command))
    if cells:
        printer.table(("id", "role", "name", "since", "by"), cells)
    else:
        printer.note("nobody waits, and nobody was let in")
