"""`uncaged channel pair`: let people talk to the agent, from the machine of the store."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from functions.channels.base import Channel
from functions.cli.open_agent import BY, Json, open_agent
from functions.wiring import Closable, open_channels
from sigil.cli.printing import Printer
from sigil.cli.times import format_time
from sigil.errors import SigilError, UsageError

if TYPE_CHECKING:
    from functions.agent.access.members import Person
    from functions.agent.app import App
    from functions.agent.session.document import Outgoing
    from functions.settings import Settings

Code = Annotated[
    str, typer.Argument(help="The code that somebody was told, and gave you.", show_default=False)
]


def pair(
    code: Code = "",
    *,
    listed: Annotated[
        bool, typer.Option("--list", help="Show who waits and who was let in.")
    ] = False,
    remove: Annotated[str, typer.Option(help="Take somebody out again, by their id.")] = "",
    json: Json = False,
) -> None:
    """Let somebody talk to the agent: whoever writes to it without being let in is told a code.

    Example: uncaged channel pair 4F7K-9QXZ
    """
    if sum(map(bool, (code, listed, remove))) != 1:
        raise UsageError(
            "EUSAGE",
            "one of CODE, --list and --remove ID is needed",
            suggestion="uncaged channel pair --list",
        )
    with open_agent() as (app, settings):
        if listed:
            _list_people(app, Printer(json=json))
        elif remove:
            _print_result(
                {"removed": app.people.remove_member(remove).id}, f"{remove} is a guest again", json
            )
        else:
            _accept_code(code, app, settings, json)


def send_reply(channels: Mapping[str, Channel], reply: Outgoing) -> bool:
    """Send a reply to the chat that it names; return whether it was sent."""
    channel = channels.get(reply.session.partition(":")[0])
    if channel is None:
        return False
    try:
        channel.send(reply.session, reply.text, sent=lambda _: None)
    except SigilError:
        return False
    return True


def _accept_code(code: str, app: App, settings: Settings, json: bool) -> None:
    from functions.agent.commands.pairing import write_welcome

    event = f"terminal:{uuid.uuid4().hex}"
    found = app.pairing.accept_code(code, BY, event)
    channels = open_channels(settings)
    sent = send_reply(channels, write_welcome(found, event, app.clock.now()))
    for channel in channels.values():
        if isinstance(channel, Closable):
            channel.close()
    name = f" ({found.name})" if found.name else ""
    heard = "and was told so" if sent else "and could not be told so from here"
    _print_result(
        {"paired": found.id, "name": found.name, "told": sent},
        f"{found.id}{name} may talk to it now, {heard}",
        json,
    )


def _list_people(app: App, printer: Printer) -> None:
    waiting, people, owners, now = (
        app.pairing.list_waiting(),
        app.people.list_members(),
        sorted(app.rules.owners),
        app.clock.now(),
    )
    if printer.json:
        waits = [
            {
                "id": one.id,
                "name": one.name,
                "session": one.session,
                "at": one.at,
                "left": round(one.seconds_left(now)),
            }
            for one in waiting
        ]
        printer.document(
            {
                "waiting": waits,
                "people": [_person_row(person) for person in people],
                "owners": owners,
            }
        )
        return
    rows = [(owner, "owner", "", "", "UNCAGED_OWNERS") for owner in owners]
    rows += [
        (person.id, person.role, person.name, format_time(person.at), person.by)
        for person in people
    ]
    rows += [
        (
            one.id,
            "waits",
            one.name,
            format_time(one.at),
            f"for {one.seconds_left(now) / 60:.0f} more minutes",
        )
        for one in waiting
    ]
    if rows:
        printer.table(("id", "role", "name", "since", "by"), rows)
    else:
        printer.note("nobody waits, and nobody was let in")


def _print_result(facts: dict[str, Any], text: str, json: bool) -> None:
    if json:
        Printer(json=True).document(facts)
    else:
        Printer().line(text)


def _person_row(person: Person) -> dict[str, object]:
    return {
        "id": person.id,
        "role": person.role,
        "name": person.name,
        "at": person.at,
        "by": person.by,
    }
