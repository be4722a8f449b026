"""`versions`, `diff`, `rollback`, `yank`, `publish`, `export` and `import`: what becomes of a
capability over time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.commands.deploy_report import came, report
from sigil.cli.names import names
from sigil.cli.namespaces import Namespace, meant
from sigil.cli.shell import Opened, Shell, perhaps, shell_of
from sigil.cli.times import counted, moment
from sigil.errors import UsageError
from sigil.storage.files import write_whole

if TYPE_CHECKING:
    from sigil.protocol import Caller, Deployed, Json

Name = Annotated[str, typer.Argument(metavar="NAME", help="The capability.", autocompletion=names)]
Number = Annotated[int | None, typer.Argument(metavar="VERSION", min=1, help="A version's number.")]


def versions(context: typer.Context, name: Name, namespace: Namespace = "") -> None:
    """List the versions of a capability, newest first.

    The active one is what its plain name runs. On stderr: which version began to run when, and by
    what.
    """
    shell = shell_of(context)
    with shell.registry() as opened:
        plain, caller = meant(opened.caller, name, namespace)
        rows = opened.registry.versions(plain, caller)
        steps = opened.registry.history(plain, caller)
    if shell.printer.json:
        shell.printer.document({"items": rows, "history": steps})
        return
    table = [
        (row["version"], _state(row), row["author"], moment(row["at"]), row["digest"])
        for row in rows
    ]
    shell.printer.table(("version", "state", "author", "at", "digest"), table)
    for line in _steps(steps):
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
    from sigil.cli.manifest_diff import changes

    shell = shell_of(context)
    with shell.registry() as opened:
        plain, caller = meant(opened.caller, name, namespace)
        found = opened.registry.diff(plain, caller, older, newer)
    if shell.printer.json:
        shell.printer.document(found)
        return
    for line in changes(found["manifest"]):
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
    with shell.registry(perhaps(f"sigil versions {name}")) as opened:
        plain, caller = meant(opened.caller, name, namespace)
        row = opened.registry.rollback(plain, caller, version)
    _told(shell, row, "runs now" if row["changed"] else "ran already")


def yank(
    context: typer.Context,
    version: Annotated[
        str,
        typer.Argument(
            metavar="NAME@VERSION", help="A version, or NAME@sha256:DIGEST.", autocompletion=names
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
    with shell.registry(perhaps(f"sigil versions {version.partition('@')[0]}")) as opened:
        ref, caller = meant(opened.caller, version, namespace)
        row = opened.registry.yank(ref, caller, undo=undo)
        now = "" if shell.printer.json else _running(opened, row, caller)
    words = ("stands again", "stood already") if undo else ("is withdrawn", "was withdrawn already")
    _told(
        shell,
        row,
        f"{row['capability']}@{row['version']} {words[0] if row['changed'] else words[1]}; {now}",
    )


def _running(opened: Opened, row: Mapping[str, Json], caller: Caller) -> str:
    """What the plain name runs after a yank, or after one was taken back."""
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
    with shell.registry(perhaps(f"sigil versions {name}")) as opened:
        deployed = opened.registry.publish(name, opened.caller, session=session, replace=replace)
        report(shell, opened, deployed, tested=False)


def export(
    context: typer.Context,
    refs: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME…", help="NAME, NAME@VERSION or NAME@sha256:DIGEST.", autocompletion=names
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write it.")
    ],
) -> None:
    """Write capabilities into one file.

    The same capabilities give the same bytes.
    """
    shell = shell_of(context)
    with (
        shell.registry() as opened,
        shell.printer.working(f"exporting {counted(len(refs), 'capability')}"),
    ):
        body = opened.registry.export(refs, opened.caller)
    write_whole(output, body)
    if shell.printer.json:
        shell.printer.document({"file": str(output), "bytes": len(body)})
    else:
        shell.printer.note(
            f"{output}: {counted(len(refs), 'capability')}, {counted(len(body), 'byte')}"
        )


def bring(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `sigil export` wrote.")],
    public: Annotated[
        bool, typer.Option("--public", help="What was public stays so; else it is your own alone.")
    ] = False,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Also where a name of yours has kept data, which it takes over."
        ),
    ] = False,
) -> None:
    """Deploy what such a file holds.

    Digests are checked, and nothing of it runs, not even its tests.
    """
    shell = shell_of(context)
    body = _bounded(file)
    with shell.registry(perhaps("sigil list")) as opened:
        with shell.printer.working(f"importing {file.name}"):
            done = opened.registry.import_bundle(
                body, opened.caller, public=public, replace=replace
            )
        if shell.printer.json:
            shell.printer.document({"items": [_brought(one) for one in done]})
            return
        for one in done:
            report(shell, opened, one, tested=False)
            if one.created:
                shell.printer.note(came(opened, one))


def _brought(one: Deployed) -> dict[str, Json]:
    return {
        "capability": one.offer.name,
        "version": one.offer.version,
        "digest": one.offer.digest,
        "created": one.created,
    }


def _bounded(file: Path) -> bytes:
    from sigil.catalog.bundle import BUNDLE_BYTES

    try:
        with file.open("rb") as stream:
            body = stream.read(BUNDLE_BYTES + 1)
    except OSError as problem:
        suggestion = (
            "check the name: it is looked for from here; `sigil export NAME -o FILE` writes one"
        )
        raise UsageError(
            "ENOENT", f"cannot read {file}: {problem.strerror}", suggestion=suggestion
        ) from None
    if len(body) > BUNDLE_BYTES:
        raise UsageError("ETOOBIG", f"{file} is over {BUNDLE_BYTES >> 20} MiB")
    return body


def _told(shell: Shell, row: Mapping[str, Json], said: str) -> None:
    if shell.printer.json:
        shell.printer.document(row)
        return
    shell.printer.line(f"{row['capability']}@{row['version']} {row['digest']}")
    shell.printer.note(said)


def _state(row: Mapping[str, Json]) -> str:
    words = (
        "active" if row["active"] else "",
        "yanked" if row["yanked"] else "",
        row["health"] if row["health"] != "closed" else "",
    )
    return ", ".join(word for word in words if word)


def _steps(steps: Sequence[Mapping[str, Json]]) -> Iterator[str]:
    """What made which version run; a yank and an expiry are told with the version that was in its
    place.
    """
    for number, step in enumerate(steps):
        before = (
            f" of version {steps[number - 1]['version']}"
            if number and step["action"] in ("yank", "expire")
            else ""
        )
        yield (
            f"{moment(step['at'])}  version {step['version']} began to run:"
            f" {step['action']}{before} by {step['by']}"
        )
