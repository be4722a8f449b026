"""`uncaged people`: the role of a person, what is kept of them as a file, and its end."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from functions.cli.local_agent import BY, Json, open_agent
from sigil.cli.printing import Printer
from sigil.errors import SigilError, UsageError, one_line

if TYPE_CHECKING:
    from functions.personal_data import Erasure, PersonalData, PersonFound

cli = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Change a person's role; export or erase what is kept of them.",
)
Id = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The person's id, such as telegram:123; /whoami in a chat tells it."
    ),
]
EXTRA_SECONDS = 10.0
"""A running turn is waited for this much longer than a turn may take."""


@cli.command()
def export(
    id: Id,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write; without it, standard output."),
    ] = None,
    json: Json = False,
) -> None:
    """Write everything that is kept of a person, as JSON.

    It has their private chats on all platforms that they linked, with memory, archive, things,
    files, usage and traces, and what they said in groups.

    Example: uncaged people export telegram:123 --output ada.json
    """
    printer = Printer(json=json)
    with _open_data(printer) as data:
        person = data.find(id)
        document = data.export(person)
    if not (document["records"] or document["groups"] or document["shared_things"]):
        raise UsageError(
            "ENOENT",
            f"nothing is kept of {id}",
            suggestion="`uncaged channel pair --list` shows ids; /whoami in a chat tells one's own",
        )
    body = orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n"
    if output is None:
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
        return
    _write_private(output, body)
    row = {"person": id, "file": str(output), "bytes": len(body)}
    printer.result(row, f"{len(body):,} bytes written to {output}")


@cli.command()
def erase(
    id: Id,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Erase without asking.")] = False,
    json: Json = False,
) -> None:
    """Erase everything that is kept of a person.

    First shows what there is, and asks; --yes answers. What they said in groups is taken out of
    these. It can be interrupted, and given again until nothing is left.

    Example: uncaged people erase telegram:123
    """
    printer = Printer(json=json)
    if not yes:
        _require_terminal(id)
    with _open_data(printer) as data:
        person = data.find(id)
        if not yes:
            counts = data.count(person)
            _show_person(person, counts, printer)
            if counts and not typer.confirm(f"Erase all of this of {id}?", err=True):
                raise SigilError("EDECLINED", "nothing was erased")
        try:
            erased = data.erase(person)
        except KeyboardInterrupt:
            printer.note("interrupted: give the command again to erase what is left")
            raise
    _report(person, erased, printer)


def _require_terminal(id: str) -> None:
    """Raise `UsageError` EUSAGE where nobody can be asked about this person."""
    if not _has_terminal():
        raise UsageError(
            "EUSAGE",
            "this asks for a confirmation, and stdin is no terminal",
            source=id,
            suggestion="add --yes",
        )


def _has_terminal() -> bool:
    return sys.stdin.isatty()


@cli.command()
def role(
    id: Id,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="owner or member.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Change it without asking.")] = False,
    json: Json = False,
) -> None:
    """Make a member an owner, or an owner a member.

    They are told so, and have it from their next message or request on. The last owner stays one.

    Example: uncaged people role telegram:123 owner
    """
    from functions.agent.management import people
    from functions.cli.commands.pairing import note_change, tell_people

    wanted = people.parse_role(role)
    if not yes:
        _require_terminal(id)
    with open_agent() as (app, settings):
        known = app.people.find_member(id)
        if known and not yes:
            question = f"Make {id}, who is {known.role}, {wanted}?"
            if not typer.confirm(one_line(question, 300), err=True):
                raise SigilError("EDECLINED", "nothing was changed")
        change = people.change_role(app, id, wanted, BY)
        note_change(app, change)
        is_told = bool(change.notices) and tell_people(change, settings)
    row = {"person": id, "role": wanted, "told": is_told}
    Printer(json=json).result(row, f"{id} is {wanted} now")


@contextmanager
def _open_data(printer: Printer) -> Iterator[PersonalData]:
    """Open the personal data of the agent; a terminal's stderr shows how far it is."""
    from functions.personal_data import PersonalData
    from sigil.wiring import open_stores

    def tell(text: str) -> None:
        if sys.stderr.isatty() and not printer.json:
            printer.note(text)

    with open_agent() as (app, settings):
        patience = settings.turn_seconds + EXTRA_SECONDS
        yield PersonalData(app, open_stores(settings).artifacts, tell, patience=patience)


def _show_person(person: PersonFound, counts: dict[str, int], printer: Printer) -> None:
    printer.note(f"ids: {', '.join(person.ids)}")
    printer.note(f"private chats: {', '.join(person.chats) or 'none'}")
    for kind, count in sorted(counts.items()):
        printer.note(f"{kind}: {count:,}")
    if not counts:
        printer.note("nothing is kept")


def _report(person: PersonFound, erased: Erasure, printer: Printer) -> None:
    row = {
        "person": person.ids[0],
        "ids": list(person.ids),
        "chats": list(person.chats),
        "removed": dict(sorted(erased.removed.items())),
        "kept": list(erased.kept),
        "running": erased.running,
    }
    total = sum(erased.removed.values())
    if printer.json:
        printer.document(row)
        return
    for kind, count in sorted(erased.removed.items()):
        printer.note(f"removed {kind}: {count:,}")
    for text in erased.kept:
        printer.note(f"kept: {text}")
    if erased.running:
        printer.note("a turn was still running: give the command again when it has ended")
    printer.line(f"{person.ids[0]} is erased: {total:,} records" if total else "nothing was left")


def _write_private(path: Path, body: bytes) -> None:
    """Write a file that only its owner can read."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(body)
    except OSError as problem:
        raise UsageError(
            "EFILE", f"cannot write {path}: {problem.strerror}", suggestion="choose another file"
        ) from None
