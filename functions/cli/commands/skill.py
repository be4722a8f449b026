"""`uncaged skill`: the working rules that an owner keeps for certain tasks, as `SKILL.md`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from functions.cli.local_agent import (
    BY,
    Json,
    Whose,
    note_disabled,
    open_agent,
    print_result,
)
from sigil.cli.printing import Printer
from sigil.errors import UsageError

if TYPE_CHECKING:
    from functions.agent.memory.documents import Doc

cli = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Manage the agent's skills: rules for certain tasks, which it finds when it needs them.",
)
Name = Annotated[str, typer.Argument(help="Its name, such as `quarterly-report`.", metavar="NAME")]


@cli.command("list")
def list_skills(agent: Whose = None, json: Json = False) -> None:
    """Show the skills: what they are for, their size and their tools.

    Example: uncaged skill list
    """
    from functions.agent.management import skills

    with open_agent(switch=True, name=agent) as (app, _):
        rows = skills.list_skills(app)
    printer = Printer(json=json)
    if json:
        printer.document(rows)
    elif not rows:
        printer.note("there are no skills yet; `uncaged skill add FOLDER` adds one")
    else:
        cells = [
            (
                row["name"],
                row["version"],
                f"{row['size']:,}",
                row["files"],
                "pinned" if row["pinned"] else "",
                row["description"],
            )
            for row in rows
        ]
        header = ("skill", "version", "characters", "files", "", "description")
        printer.table(header, cells)


@cli.command()
def show(
    name: Name,
    version: Annotated[int | None, typer.Option("--version", help="An earlier version.")] = None,
    file: Annotated[
        str | None, typer.Option("--file", help="One of its files, such as references/forms.md.")
    ] = None,
    agent: Whose = None,
    json: Json = False,
) -> None:
    """Print a skill, or one of its files.

    Example: uncaged skill show quarterly-report
    """
    import sys

    from functions.agent.management import skills

    with open_agent(switch=True, name=agent) as (app, _):
        if file is not None:
            store = app.skills
            doc = store.read(name) if version is None else store.read_version(name, version)
            body = store.read_file(doc, file)
        else:
            found = skills.describe_skill(app, name, version)
    if file is not None:
        if json:
            raise UsageError("EUSAGE", "a file is printed as it is", suggestion="leave out --json")
        sys.stdout.buffer.write(body)
    elif json:
        Printer(json=True).document(found)
    else:
        Printer().text(str(found["text"]))


@cli.command()
def add(
    path: Annotated[
        Path, typer.Argument(help="A SKILL.md, the folder of a skill, or a folder of such folders.")
    ],
    agent: Whose = None,
    json: Json = False,
) -> None:
    """Add skills, or their next versions.

    All of them are added, or none when one is not allowed. Their scripts are kept as texts; nothing
    of a skill ever runs.

    Example: uncaged skill add ./quarterly-report
    """
    from functions.agent.management import skills
    from functions.agent.skills.folder import read_skills

    found = read_skills(path)
    parsed = []
    for each in found:
        try:
            parsed.append(each.package.parse())
        except UsageError as problem:
            problem.message = f"{each.place or path}: {problem.message}"
            raise
    names = [skill.name for skill in parsed]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UsageError("EINVAL", f"two of them are called {twice}", suggestion="rename one")
    printer = Printer(json=json)
    rows: list[dict[str, object]] = []
    with open_agent(switch=True, name=agent) as (app, _):
        app.skills.require_room(dict(zip(names, (each.package for each in found), strict=True)))
        for each, skill in zip(found, parsed, strict=True):
            doc = app.skills.write(each.package, by=BY, why=f"from {path}")
            warnings = skills.list_warnings(app, skill, each.package.files)
            if each.place and each.place != skill.name:
                warnings.append(f"it stood in {each.place}: it is known by its name, {skill.name}")
            rows.append({**skills.describe_version(doc), "warnings": warnings})
            if not json:
                for warning in warnings:
                    printer.note(f"{skill.name}: {warning}")
                _report(doc, json=False)
    if json:
        printer.document(rows)


@cli.command()
def remove(name: Name, agent: Whose = None, json: Json = False) -> None:
    """Remove a skill. Its versions stay: `rollback` brings one of them back.

    Example: uncaged skill remove quarterly-report
    """
    with open_agent(switch=True, name=agent) as (app, _):
        doc = app.skills.remove(name, by=BY)
    row: dict[str, object] = {"removed": name, "version": doc.version}
    back = f"`uncaged skill rollback {name} {doc.version - 1}` brings it back"
    print_result(row, f"{name} is removed; {back}", json)


@cli.command()
def history(name: Name, agent: Whose = None, json: Json = False) -> None:
    """Show the versions of a skill, the newest first.

    Example: uncaged skill history quarterly-report
    """
    from functions.agent.management.skills import describe_version
    from sigil.cli.times import format_time

    with open_agent(switch=True, name=agent) as (app, _):
        rows = [describe_version(doc) for doc in app.skills.list_versions(name)]
    printer = Printer(json=json)
    if json:
        printer.document(rows)
    elif not rows:
        printer.note(f"there was never a skill {name}")
    else:
        cells = [
            (
                row["version"],
                f"{row['characters']:,}",
                row["files"],
                format_time(float(str(row["at"]))),
                row["by"],
                row["why"],
            )
            for row in rows
        ]
        printer.table(("version", "characters", "files", "written", "by", "why"), cells)


@cli.command()
def rollback(
    name: Name,
    version: Annotated[int, typer.Argument(help="The version to go back to.")],
    agent: Whose = None,
    json: Json = False,
) -> None:
    """Make an earlier version of a skill the newest again, with its files.

    Example: uncaged skill rollback quarterly-report 2
    """
    with open_agent(switch=True, name=agent) as (app, _):
        doc = app.skills.roll_back(name, version, by=BY)
    _report(doc, json)


@cli.command()
def export(
    folder: Annotated[Path, typer.Argument(help="The folder to write them into.")],
    names: Annotated[
        list[str] | None, typer.Argument(help="Only these skills.", metavar="[NAME]...")
    ] = None,
    agent: Whose = None,
    json: Json = False,
) -> None:
    """Write the skills into a folder, each with the bytes that were added.

    A file that some program would obey there, such as .envrc, gets the suffix .disabled.

    Example: uncaged skill export my-skills
    """
    from functions.agent.skills.folder import write_skills

    with open_agent(switch=True, name=agent) as (app, _):
        store = app.skills
        chosen = names or [each.name for each in store.read_catalog().skills]
        packages = {name: store.pack(store.read(name)) for name in chosen}
    disabled = write_skills(folder, packages)
    row: dict[str, object] = {"folder": str(folder), "skills": list(packages)}
    row["disabled"] = disabled
    note_disabled(disabled, json)
    print_result(row, f"{', '.join(packages) or 'nothing'} in {folder}", json)


@cli.command()
def pin(name: Name, agent: Whose = None, json: Json = False) -> None:
    """Put a skill into the system message of every chat, so that it always holds.

    Each request then carries it. A skill that is not pinned costs nothing until it is found.

    Example: uncaged skill pin house-style
    """
    _change_pin(name, agent, pinned=True, json=json)


@cli.command()
def unpin(name: Name, agent: Whose = None, json: Json = False) -> None:
    """Take a skill out of the system message; a search still finds it.

    Example: uncaged skill unpin house-style
    """
    _change_pin(name, agent, pinned=False, json=json)


def _change_pin(name: str, agent: str | None, *, pinned: bool, json: bool) -> None:
    with open_agent(switch=True, name=agent) as (app, _):
        entry = app.skills.pin(name, pinned=pinned)
    row: dict[str, object] = {"name": name, "pinned": entry.pinned}
    text = f"{name} stands in every system message" if pinned else f"{name} is found by a search"
    print_result(row, text, json)


def _report(doc: Doc, json: bool) -> None:
    from functions.agent.management.skills import describe_version

    row = describe_version(doc)
    name, files = row["name"], row["files"]
    beside = ""
    if files:
        beside = ", 1 file" if files == 1 else f", {files} files"
    note = f"{name} is at version {doc.version} ({len(doc.text):,} characters{beside})"
    Printer(json=json).result(row, note)
