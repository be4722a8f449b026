"""`sigil versions`, `diff`, `rollback`, `yank` and `publish`: the versions of a capability."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.commands.deploy_report import report_deploy
from sigil.cli.completions import capability_names
from sigil.cli.names import Namespace, resolve_name
from sigil.cli.shell import OpenRegistry, Shell, shell_of, unsure_message
from sigil.cli.times import format_time

if TYPE_CHECKING:
    from sigil.protocol import Caller, Json

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The capability.", autocompletion=capability_names)
]
Number = Annotated[int | None, typer.Argument(metavar="VERSION", min=1, help="A version's number.")]


def versions(context: typer.Context, name: Name, namespace: Namespace = "") -> None:
    """List the versions of a capability, newest first.

    The active one is what its plain name runs. On stderr: which version began to run when, and by
    what.
    """
    shell = shell_of(context)
    with shell.registry() as opened:
        plain, caller = resolve_name(opened.caller, name, namespace)
        rows = opened.registry.versions(plain, caller)
        steps = opened.registry.history(plain, caller)
    if shell.printer.json:
        shell.printer.document({"items": rows, "history": steps})
        return
    table = [
        (row["version"], _describe_state(row), row["author"], format_time(row["at"]), row["digest"])
        for row in rows
    ]
    shell.printer.table(("version", "state", "author", "at", "digest"), table)
    for line in _describe_steps(steps):
        shell.printer.note(line)


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

    The fields of the manifest, the schema and the source.
    """
    from sigil.cli.details import describe_changes

    shell = shell_of(context)
    with shell.registry() as opened:
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
    """Let an older version run again.

    The one given, or the one before the last deploy.
    """
    shell = shell_of(context)
    with shell.registry(unsure_message(f"sigil versions {name}")) as opened:
        plain, caller = resolve_name(opened.caller, name, namespace)
        row = opened.registry.rollback(plain, caller, version)
    _report_change(shell, row, "runs now" if row["changed"] else "ran already")


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
    undo: Annotated[bool, typer.Option("--undo", help="Take it back.")] = False,
    namespace: Namespace = "",
) -> None:
    """Withdraw a version.

    Queries and the plain name do not lead to it any more; its digest still runs. With --undo it
    stands again, and runs again by its plain name if nothing but the yank had put another one in
    its place.
    """
    shell = shell_of(context)
    with shell.registry(unsure_message(f"sigil versions {version.partition('@')[0]}")) as opened:
        ref, caller = resolve_name(opened.caller, version, namespace)
        row = opened.registry.yank(ref, caller, undo=undo)
        now = "" if shell.printer.json else _describe_active(opened, row, caller)
    words = ("stands again", "stood already") if undo else ("is withdrawn", "was withdrawn already")
    _report_change(
        shell,
        row,
        f"{row['capability']}@{row['version']} {words[0] if row['changed'] else words[1]}; {now}",
    )


def _describe_active(opened: OpenRegistry, row: Mapping[str, Json], caller: Caller) -> str:
    """Say what the plain name runs after a yank, or after one was taken back."""
    name = row["capability"]
    active = next(
        (other["version"] for other in opened.registry.versions(name, caller) if other["active"]),
        None,
    )
    if active is None:
        return f"no version runs by the plain name {name} now"
    if active != row["version"]:
        return f"{name}@{active} runs"
    steps = opened.registry.history(name, caller)
    if not row["changed"] or len(steps) < 2 or steps[-1]["action"] != "unyank":
        return f"{name}@{active} runs"
    return f"it runs now, in the place of {name}@{steps[-2]['version']}"


def publish(
    context: typer.Context,
    name: Name,
    session: Annotated[
        str,
        typer.Option(
            "--session", metavar="CHAT", help="Whose it is (default: the only chat that has it)."
        ),
    ] = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Over what somebody else made.")
    ] = False,
) -> None:
    """Make a chat's capability the agent's own.

    All its chats see it then; digest and author stay.
    """
    shell = shell_of(context)
    with shell.registry(unsure_message(f"sigil versions {name}")) as opened:
        deployed = opened.registry.publish(name, opened.caller, session=session, replace=replace)
        report_deploy(shell, opened, deployed, tested=False)


def _report_change(shell: Shell, row: Mapping[str, Json], said: str) -> None:
    if shell.printer.json:
        shell.printer.document(row)
        return
    shell.printer.line(f"{row['capability']}@{row['version']} {row['digest']}")
    shell.printer.note(said)


def _describe_state(row: Mapping[str, Json]) -> str:
    words = (
        "active" if row["active"] else "",
        "yanked" if row["yanked"] else "",
        row["health"] if row["health"] != "closed" else "",
    )
    return ", ".join(word for word in words if word)


def _describe_steps(steps: Sequence[Mapping[str, Json]]) -> Iterator[str]:
    """Yield a line for each step that made a version run; a yank and an expiry name the version
    that was active before.
    """
    for number, step in enumerate(steps):
        before = (
            f" of version {steps[number - 1]['version']}"
            if number and step["action"] in ("yank", "expire")
            else ""
        )
        yield (
            f"{format_time(step['at'])}  version {step['version']} began to run:"
            f" {step['action']}{before} by {step['by']}"
        )
