"""`sigil versions`, `diff`, `rollback`, `yank` and `publish`: the versions of a capability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.commands.deploy import report_deploy
from sigil.cli.completions import capability_names
from sigil.cli.names import Namespace, resolve_name
from sigil.cli.shell import OpenRegistry, Shell, get_shell, unsure_message
from sigil.cli.times import format_time

if TYPE_CHECKING:
    from sigil.protocol import Caller
    from sigil.rows import ChangedVersionRow

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The capability.", autocompletion=capability_names)
]
Number = Annotated[int | None, typer.Argument(metavar="VERSION", min=1, help="A version's number.")]


def versions(context: typer.Context, name: Name, namespace: Namespace = "") -> None:
    """List the versions of a capability, newest first.

    The plain name runs the active version. On stderr: when each version became active, and by what.
    """
    shell = get_shell(context)
    with shell.open_registry() as opened:
        plain, caller = resolve_name(opened.caller, name, namespace)
        rows = opened.registry.versions(plain, caller)
        steps = opened.registry.history(plain, caller)
    if shell.printer.json:
        shell.printer.document({"items": rows, "history": steps})
        return
    cells = []
    for row in rows:
        states = []
        if row["active"]:
            states.append("active")
        if row["yanked"]:
            states.append("yanked")
        if row["health"] not in ("", "closed"):
            states.append(row["health"])
        cells.append(
            (
                row["version"],
                ", ".join(states),
                row["author"],
                format_time(row["at"]),
                row["digest"],
            )
        )
    shell.printer.table(("version", "state", "author", "at", "digest"), cells)
    for number, step in enumerate(steps):
        action = step["action"]
        if number and action in ("yank", "expire"):
            action += f" of version {steps[number - 1]['version']}"  # the one active before
        shell.printer.note(
            f"{format_time(step['at'])}  version {step['version']} became active: {action} by"
            f" {step['by']}"
        )


def diff(
    context: typer.Context,
    name: Name,
    older: Annotated[
        int | None,
        typer.Argument(metavar="A", min=1, help="The older version (default: the one before)."),
    ] = None,
    newer: Annotated[
        int | None,
        typer.Argument(metavar="B", min=1, help="The newer version (default: the active one)."),
    ] = None,
    namespace: Namespace = "",
) -> None:
    """Show what differs between two versions.

    Compares the fields of the manifest, the schema and the source.
    """
    from sigil.cli.details import describe_changes

    shell = get_shell(context)
    with shell.open_registry() as opened:
        plain, caller = resolve_name(opened.caller, name, namespace)
        found = opened.registry.diff(plain, caller, older, newer)
    if shell.printer.json:
        shell.printer.document(found)
        return
    for line in describe_changes(found["manifest"]):
        shell.printer.line(line)
    for text in (found["schema"], found["source"]):
        if text:
            shell.printer.text(text.rstrip("\n"))
    if found["same"]:
        shell.printer.note("they are the same")


def rollback(
    context: typer.Context, name: Name, version: Number = None, namespace: Namespace = ""
) -> None:
    """Make an older version active again.

    Activates VERSION, or the version before the last deploy.
    """
    shell = get_shell(context)
    with shell.open_registry(unsure_message(f"sigil versions {name}")) as opened:
        plain, caller = resolve_name(opened.caller, name, namespace)
        row = opened.registry.rollback(plain, caller, version)
    _report_change(shell, row, "is active now" if row["changed"] else "was active already")


def _report_change(shell: Shell, row: ChangedVersionRow, note: str) -> None:
    if shell.printer.json:
        shell.printer.document(row)
        return
    shell.printer.line(f"{row['capability']}@{row['version']} {row['digest']}")
    shell.printer.note(note)


def yank(
    context: typer.Context,
    version: Annotated[
        str,
        typer.Argument(
            metavar="NAME@VERSION",
            help="A version, or NAME@sha256:DIGEST.",
            autocompletion=capability_names,
        ),
    ],
    undo: Annotated[bool, typer.Option("--undo", help="Undo a yank.")] = False,
    namespace: Namespace = "",
) -> None:
    """Withdraw a version.

    Queries and the plain name no longer find it; its digest still runs. --undo makes it
    available again, and active again if nothing but the yank made another one active, or
    if none is active.
    """
    shell = get_shell(context)
    name = version.partition("@")[0]
    with shell.open_registry(unsure_message(f"sigil versions {name}")) as opened:
        ref, caller = resolve_name(opened.caller, version, namespace)
        row = opened.registry.yank(ref, caller, undo=undo)
        active = "" if shell.printer.json else _describe_active(opened, row, caller)
    if undo:
        change = "is available again" if row["changed"] else "was available already"
    else:
        change = "is withdrawn" if row["changed"] else "was withdrawn already"
    _report_change(shell, row, f"{row['capability']}@{row['version']} {change}; {active}")


def _describe_active(opened: OpenRegistry, row: ChangedVersionRow, caller: Caller) -> str:
    """Return a clause on which version is active after a yank, or after one was undone."""
    name = row["capability"]
    versions = opened.registry.versions(name, caller)
    active = next((other["version"] for other in versions if other["active"]), None)
    if active is None:
        return f"no version of {name} is active now"
    if active == row["version"] and row["changed"]:
        steps = opened.registry.history(name, caller)
        if len(steps) > 1 and steps[-1]["action"] == "unyank":
            before = steps[-2]["version"]
            ran = any(other["version"] == before and not other["yanked"] for other in versions)
            return "it is active now" + (f", in place of {name}@{before}" if ran else "")
    return f"{name}@{active} is active"


def publish(
    context: typer.Context,
    name: Name,
    session: Annotated[
        str,
        typer.Option(
            "--session", metavar="CHAT", help="The chat that has it (default: the only one)."
        ),
    ] = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a version that somebody else made.")
    ] = False,
) -> None:
    """Make a chat's capability the agent's own.

    All chats of the agent see it then; digest and author stay the same.
    """
    shell = get_shell(context)
    with shell.open_registry(unsure_message(f"sigil versions {name}")) as opened:
        deployed = opened.registry.publish(name, opened.caller, session=session, replace=replace)
        report_deploy(shell, opened, deployed, tested=False)
