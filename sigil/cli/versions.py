"""`versions`, `diff`, `rollback`, `yank`, `publish`, `export` and `import`: what becomes of a capability over time."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.keeping import report
from sigil.cli.shell import Shell, shell_of
from sigil.errors import UsageError

if TYPE_CHECKING:
    from sigil.protocol import Json

Name = Annotated[str, typer.Argument(metavar="NAME", help="The capability.")]
Number = Annotated[int | None, typer.Argument(metavar="VERSION", min=1, help="A version's number.")]


def versions(context: typer.Context, name: Name) -> None:
    """List the versions of a capability, newest first.

    The active one is what its plain name runs.
    """
    shell = shell_of(context)
    with shell.registry() as opened:
        rows = opened.registry.versions(name, opened.caller)
        steps = opened.registry.history(name, opened.caller)
    if shell.printer.json:
        shell.printer.document({"items": rows, "history": steps})
        return
    table = [(row["version"], _state(row), row["author"], _day(row["at"]), row["digest"]) for row in rows]
    shell.printer.table(("version", "state", "author", "at", "digest"), table)
    for step in steps:
        shell.printer.note(f"{_day(step['at'])}  {step['action']} by {step['by']}: version {step['version']}")


def diff(
    context: typer.Context,
    name: Name,
    older: Annotated[int | None, typer.Argument(metavar="A", min=1, help="The older version (default: the one before).")] = None,
    newer: Annotated[int | None, typer.Argument(metavar="B", min=1, help="The newer version (default: the active one).")] = None,
) -> None:
    """Show what differs between two versions.

    The fields of the manifest, the schema and the source.
    """
    import orjson

    shell = shell_of(context)
    with shell.registry() as opened:
        found = opened.registry.diff(name, opened.caller, older, newer)
    if shell.printer.json:
        shell.printer.document(found)
        return
    for row in found["manifest"]:
        shell.printer.line(f"{row['field']}: {orjson.dumps(row['old']).decode()} → {orjson.dumps(row['new']).decode()}")
    for text in (found["schema"], found["source"]):
        if text:
            shell.printer.text(text.rstrip("\n"))
    if found["same"]:
        shell.printer.note("they are the same")


def rollback(context: typer.Context, name: Name, version: Number = None) -> None:
    """Let an older version run again.

    The one given, or the one before the last deploy.
    """
    shell = shell_of(context)
    with shell.registry() as opened:
        row = opened.registry.rollback(name, opened.caller, version)
    _told(shell, row, "runs now", "ran already")


def yank(
    context: typer.Context,
    version: Annotated[str, typer.Argument(metavar="NAME@VERSION", help="A version, or NAME@sha256:DIGEST.")],
    undo: Annotated[bool, typer.Option("--undo", help="Take it back.")] = False,
) -> None:
    """Withdraw a version.

    Queries and the plain name do not lead to it any more; its digest still runs.
    """
    shell = shell_of(context)
    with shell.registry() as opened:
        row = opened.registry.yank(version, opened.caller, undo=undo)
    _told(shell, row, *(("stands again", "stood already") if undo else ("is withdrawn", "was withdrawn already")))


def publish(
    context: typer.Context,
    name: Name,
    session: Annotated[str, typer.Option("--session", metavar="CHAT", help="Whose it is (default: the only chat that has it).")] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Over what somebody else made.")] = False,
) -> None:
    """Make a chat's capability the agent's own.

    All its chats see it then; digest and author stay.
    """
    shell = shell_of(context)
    with shell.registry() as opened:
        report(shell, opened.registry.publish(name, opened.caller, session=session, replace=replace))


def export(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="NAME…", help="NAME, NAME@VERSION or NAME@sha256:DIGEST.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write it.")],
) -> None:
    """Write capabilities into one file.

    The same capabilities give the same bytes.
    """
    shell = shell_of(context)
    with shell.registry() as opened:
        body = opened.registry.export(names, opened.caller)
    try:
        output.write_bytes(body)
    except OSError as problem:
        raise UsageError("EWRITE", f"cannot write {output}: {problem.strerror}") from None
    if shell.printer.json:
        shell.printer.document({"file": str(output), "bytes": len(body)})
    else:
        shell.printer.note(f"{output}: {len(names)} capabilities, {len(body):,} bytes")


def bring(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `sigil export` wrote.")],
) -> None:
    """Deploy what such a file holds.

    Digests are checked, and nothing of it runs, not even its tests.
    """
    shell = shell_of(context)
    body = _bounded(file)
    with shell.registry() as opened:
        done = opened.registry.import_bundle(body, opened.caller)
    if shell.printer.json:
        items = [
            {"capability": one.offer.name, "version": one.offer.version, "digest": one.offer.digest, "created": one.created} for one in done
        ]
        shell.printer.document({"items": items})
        return
    for one in done:
        report(shell, one)


def _bounded(file: Path) -> bytes:
    from sigil.bundle import BUNDLE_BYTES

    try:
        with file.open("rb") as stream:
            body = stream.read(BUNDLE_BYTES + 1)
    except OSError as problem:
        raise UsageError("ENOENT", f"cannot read {file}: {problem.strerror}") from None
    if len(body) > BUNDLE_BYTES:
        raise UsageError("ETOOBIG", f"{file} is over {BUNDLE_BYTES >> 20} MiB")
    return body


def _told(shell: Shell, row: dict[str, Json], changed: str, already: str) -> None:
    if shell.printer.json:
        shell.printer.document(row)
        return
    shell.printer.line(f"{row['capability']}@{row['version']} {row['digest']}")
    shell.printer.note(changed if row["changed"] else already)


def _state(row: dict[str, Json]) -> str:
    words = ("active" if row["active"] else "", "yanked" if row["yanked"] else "", row["health"] if row["health"] != "closed" else "")
    return ", ".join(word for word in words if word)


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
