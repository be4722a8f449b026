"""`uncaged agent files`: the files of an agent's workspace, or of one chat, with their versions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from functions.cli.local_agent import BY, Json, Whose, open_agent, print_result, session_key
from sigil.cli.printing import Printer
from sigil.errors import UsageError

if TYPE_CHECKING:
    from functions.agent.app import App
    from functions.agent.management.files import FileEditor
    from functions.agent.workspace.scope import FileScopes

cli = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Show and change the files of the workspace.",
)
FilePath = Annotated[str, typer.Argument(help="Its path, such as notes/plan.md.", metavar="PATH")]
Session = Annotated[
    str | None,
    typer.Option("--session", help="Those of this chat, such as `telegram:42`; else the agent's."),
]
Version = Annotated[int, typer.Option("--version", help="An earlier version.", min=0)]
Base = Annotated[
    int | None,
    typer.Option(
        "--base", help="Only if it is at this version; 0: only if it is not there.", min=0
    ),
]


@cli.command("list")
def list_files(
    prefix: Annotated[str, typer.Argument(help="How their paths begin, such as notes/.")] = "",
    session: Session = None,
    whose: Whose = None,
    json: Json = False,
) -> None:
    """List the files, with their versions and who wrote them.

    Example: uncaged agent files list notes/
    """
    from functions.agent.management import files
    from functions.agent.workspace.scope import scan_scopes
    from sigil.cli.times import format_time

    with open_agent(switch=True, name=whose, session=session) as (app, _):
        heads = scan_scopes(_find_scopes(app, session), app.open_workspace)
    if json:
        Printer(json=True).document(files.list_files(heads, prefix))
        return
    heads = [head for head in heads if head.path.startswith(prefix)]
    if not heads:
        Printer().note("there is no such file" if prefix else "there is no file yet")
        return
    cells = [
        (head.path, head.version, f"{head.size:,}", format_time(head.at), head.by, head.task)
        for head in heads
    ]
    Printer().table(("path", "version", "bytes", "written", "by", "task"), cells)


@cli.command()
def show(
    path: FilePath,
    version: Version = 0,
    session: Session = None,
    whose: Whose = None,
    json: Json = False,
) -> None:
    """Print a file.

    Example: uncaged agent files show notes/plan.md
    """
    from functions.agent.management.files import describe_version
    from functions.agent.workspace.path import parse_path

    with _open_files(session, whose, path) as opened:
        content = opened.files.read(parse_path(path), version)
    if json:
        row = {**describe_version(content.version), "text": content.text}
        Printer(json=True).document(row)
    else:
        Printer().text(content.require_text().removesuffix("\n"))


@cli.command()
def diff(
    path: FilePath,
    old: Annotated[int, typer.Argument(help="A version; else the one before.", min=0)] = 0,
    new: Annotated[int, typer.Argument(help="A later version; else the newest.", min=0)] = 0,
    *,
    session: Session = None,
    whose: Whose = None,
    json: Json = False,
) -> None:
    """Show what changed between two versions of a file.

    Example: uncaged agent files diff notes/plan.md 1
    """
    from functions.agent.management.files import compare_versions
    from functions.agent.workspace.path import parse_path

    with _open_files(session, whose, path) as opened:
        row = compare_versions(opened.files, parse_path(path), old, new)
    if json:
        Printer(json=True).document(row)
    elif row["diff"]:
        Printer().text(str(row["diff"]))
    else:
        Printer().note(f"version {row['from']} and version {row['to']} are the same")


@cli.command()
def put(
    path: FilePath,
    file: Annotated[str, typer.Argument(help="The file to take it from, or - for standard input.")],
    *,
    base: Base = None,
    session: Session = None,
    whose: Whose = None,
    json: Json = False,
) -> None:
    """Write a file of the workspace from a file of this machine.

    The agent is told of it in its next turn there.

    Example: uncaged agent files put notes/plan.md plan.md
    """
    from functions.agent.management.files import describe_version

    body = _read_bytes(file)
    with _open_files(session, whose, path) as opened:
        made = opened.write(path, body, base=base)
    text = f"{made.path} is at version {made.version} ({made.size:,} bytes)"
    print_result(describe_version(made), text, json)


@cli.command()
def get(
    path: FilePath,
    file: Annotated[Path, typer.Argument(help="The file to write; it must not be there yet.")],
    *,
    version: Version = 0,
    replace: Annotated[
        bool, typer.Option("--replace", help="Write it over a file that is there.")
    ] = False,
    session: Session = None,
    whose: Whose = None,
    json: Json = False,
) -> None:
    """Write a file of the workspace into a file of this machine.

    Example: uncaged agent files get notes/plan.md plan.md
    """
    from functions.agent.management.files import describe_version
    from functions.agent.workspace.path import parse_path
    from sigil.storage.files import write_whole

    with _open_files(session, whose, path) as opened:
        content = opened.files.read(parse_path(path), version)
    if file.is_symlink() or file.is_dir() or (file.exists() and not replace):
        raise UsageError(
            "EEXIST", f"{file} is there already", suggestion="choose another file, or --replace"
        )
    write_whole(file, content.body)
    text = f"{file} has version {content.version.version} of {path}"
    print_result({**describe_version(content.version), "file": str(file)}, text, json)


@cli.command()
def history(
    path: FilePath, session: Session = None, whose: Whose = None, json: Json = False
) -> None:
    """Show the versions of a file, the newest first.

    Example: uncaged agent files history notes/plan.md
    """
    from functions.agent.management.files import describe_version
    from functions.agent.workspace.path import parse_path
    from sigil.cli.times import format_time

    with _open_files(session, whose, path) as opened:
        versions = opened.files.list_versions(parse_path(path))
        if not versions:
            opened.files.require(path)
    if json:
        Printer(json=True).document([describe_version(version) for version in versions])
        return
    cells = []
    for version in versions:
        changed = "removed" if version.removed else f"+{version.added} -{version.gone}"
        written = format_time(version.at)
        row = (version.version, f"{version.size:,}", changed, written, version.by, version.task)
        cells.append((*row, version.why))
    Printer().table(("version", "bytes", "lines", "written", "by", "task", "why"), cells)


@cli.command()
def rollback(
    path: FilePath,
    version: Annotated[int, typer.Argument(help="The version to go back to.", min=1)],
    session: Session = None,
    whose: Whose = None,
    json: Json = False,
) -> None:
    """Make an earlier version the file again, as a new version; also of a file that was removed.

    Example: uncaged agent files rollback notes/plan.md 1
    """
    from functions.agent.management.files import describe_version

    with _open_files(session, whose, path) as opened:
        made = opened.roll_back(path, version)
    print_result(describe_version(made), f"{made.path} is at version {made.version}", json)


@cli.command()
def remove(
    path: FilePath,
    *,
    for_good: Annotated[
        bool, typer.Option("--for-good", help="Also all of its versions; nothing brings them back.")
    ] = False,
    session: Session = None,
    whose: Whose = None,
    json: Json = False,
) -> None:
    """Remove a file. For 30 days an earlier version can be brought back.

    Example: uncaged agent files remove notes/plan.md
    """
    from functions.agent.workspace.path import parse_path

    with _open_files(session, whose, path) as opened:
        plain = parse_path(path)
        if for_good:
            gone = opened.files.destroy(plain)
            if not gone:
                opened.files.require(plain)
            print_result({"removed": plain, "versions": gone}, f"removed for good: {plain}", json)
            return
        made = opened.remove(plain)
    text = f"removed: {plain}; `uncaged agent files rollback` brings a version back"
    print_result({"removed": plain, "version": made.version}, text, json)


@contextmanager
def _open_files(session: str | None, whose: str | None, path: str) -> Iterator[FileEditor]:
    """Open the files among which a path of an agent, or of one chat with it, is looked for."""
    from functions.agent.management.files import FileEditor

    with open_agent(switch=True, name=whose, session=session) as (app, _):
        scope = _find_scopes(app, session).choose(path)
        yield FileEditor(app.kv, app.open_workspace(scope), BY)


def _find_scopes(app: App, session: str | None) -> FileScopes:
    from functions.agent.workspace.scope import find_scopes_of_agent, find_scopes_of_chat

    key = session_key(app, session)
    return find_scopes_of_chat(key) if key else find_scopes_of_agent(app.name)


def _read_bytes(file: str) -> bytes:
    """Return the bytes of a file of this machine, or of standard input."""
    from functions.agent.workspace.files import FILE_BYTES

    try:
        if file != "-" and not Path(file).is_file():
            raise UsageError(
                "ENOENT", f"there is no file {file}", suggestion="name a file, or - for its input"
            )
        with sys.stdin.buffer if file == "-" else Path(file).open("rb") as stream:
            body = stream.read(FILE_BYTES + 1)
    except OSError as problem:
        raise UsageError("EINVAL", f"{file} cannot be read: {problem.strerror}") from None
    if len(body) > FILE_BYTES:
        raise UsageError(
            "ETOOBIG",
            f"{file} has more than {FILE_BYTES:,} bytes",
            suggestion="divide it into several files",
        )
    return body
