"""`uncaged agent doc`: the documents of an agent, or of one chat with it: show, edit, roll back,
export and import.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from functions.cli.commands import agent
from functions.cli.local_agent import (
    BY,
    Json,
    Session,
    Whose,
    memory_scope,
    open_agent,
    require_model,
)
from sigil.cli.printing import Printer
from sigil.errors import BackendError, Conflict, UsageError

if TYPE_CHECKING:
    from functions.agent.app import App
    from functions.agent.memory.documents import Doc, Documents

cli = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Manage the agent's documents: soul, memory, role and the others, and its behaviours.",
)
Name = Annotated[
    str,
    typer.Argument(
        help="role, self, agents, soul, user, tools or memory, or behaviour/NAME such as"
        " behaviour/on_wakeup."
    ),
]
HISTORY = "history"
FILE_BYTES = 1 << 20


@cli.command("list")
def list_documents(session: Session = None, whose: Whose = None, json: Json = False) -> None:
    """Show the documents, how long they are and who wrote them last.

    Example: uncaged agent doc list --session telegram:42
    """
    with _open_documents(session, whose) as (documents, scope):
        docs = _read_written(documents, scope)
    first = f"memory --session {session}" if session else "soul"
    nothing = f"no document was written yet; `uncaged agent doc edit {first}` writes the first"
    print_versions(docs, nothing, json)


@cli.command()
def show(
    name: Name,
    version: Annotated[int | None, typer.Option("--version", help="An earlier version.")] = None,
    session: Session = None,
    whose: Whose = None,
    json: Json = False,
) -> None:
    """Print a document.

    Example: uncaged agent doc show soul > SOUL.md
    """
    from functions.agent.memory.documents import OF_CHATS

    if name == HISTORY and session is not None:
        agent.show_history(session, whose, json)
        return
    with _open_documents(session, whose) as (documents, scope):
        if version is None:
            doc = documents.read(scope, name)
        else:
            doc = documents.read_version(scope, name, version)
    if not doc.version and not doc.text:
        option = f" --session {session}" if session else ""
        suggestion = f"`uncaged agent doc edit {name}{option}` writes it"
        if not session and name in OF_CHATS:
            suggestion += (
                f"; `uncaged agent doc show {name} --session terminal:main` shows one chat's own"
            )
        raise UsageError("ENOENT", f"{name} was never written", suggestion=suggestion)
    if json:
        Printer(json=True).document({**_make_row(doc), "text": doc.text})
    else:
        Printer().text(doc.text)


@cli.command()
def history(name: Name, session: Session = None, whose: Whose = None, json: Json = False) -> None:
    """Show a document's versions, the newest first.

    Example: uncaged agent doc history soul
    """
    with _open_documents(session, whose) as (documents, scope):
        versions = list(documents.list_versions(scope, name))
    print_versions(versions, f"{name} was never written", json)


@cli.command()
def diff(
    name: Name,
    old: Annotated[int | None, typer.Argument(help="A version; else the one before.")] = None,
    new: Annotated[int | None, typer.Argument(help="A later version; else the newest.")] = None,
    *,
    session: Session = None,
    whose: Whose = None,
    json: Json = False,
) -> None:
    """Show what changed between two versions of a document; 0 is the one that nobody wrote.

    Example: uncaged agent doc diff soul 1
    """
    with _open_documents(session, whose) as (documents, scope):
        newest = documents.read(scope, name).version
        last = newest if new is None else new
        first = max(last - 1, 0) if old is None else old
        before = _read_version_text(documents, scope, name, first)
        after = _read_version_text(documents, scope, name, last)
    print_diff(first, last, before, after, json)


@cli.command()
def edit(name: Name, session: Session = None, whose: Whose = None) -> None:
    """Write a document in your editor (EDITOR).

    Nothing is changed when you leave the text as it was, or when somebody else changed it
    meanwhile.

    Example: uncaged agent doc edit memory --session telegram:42
    """
    with open_agent(name=whose, session=session) as (app, settings):
        before = app.documents.read(memory_scope(app, session), name)
        file = edit_in_editor(before, settings.editor)
        try:
            text = read_text_file(str(file))
            if not text.strip():
                Printer().note(
                    f"an empty text changes nothing; `uncaged agent doc write {name} -` with"
                    " nothing as its input empties it"
                )
            elif text.strip() == before.text:
                Printer().note("nothing was changed")
            else:
                _require_model(app, name, text)
                written = app.documents.write(
                    before.scope, name, text, by=BY, why="edited", expect=before.version
                )
                report_version(written, json=False)
                _warn_of_unknown(app, written)
        except (UsageError, Conflict) as problem:  # the file stays, so that no work is lost
            if file.exists():
                command = f"uncaged agent doc write {name} {file}"
                problem.suggestion = (
                    f"{problem.suggestion}; your text is in {file}: `{command}`".lstrip("; ")
                )
            raise
        file.unlink()


@cli.command()
def write(
    name: Name,
    file: Annotated[str, typer.Argument(help="A Markdown file, or - for standard input.")],
    session: Session = None,
    whose: Whose = None,
    json: Json = False,
) -> None:
    """Write a document from a file.

    Example: uncaged agent doc write soul SOUL.md
    """
    text = read_text_file(file)
    with open_agent(name=whose, session=session) as (app, _):
        _require_model(app, name, text)
        why = f"from {file}" if file != "-" else ""
        doc = app.documents.write(memory_scope(app, session), name, text, by=BY, why=why)
        _warn_of_unknown(app, doc)
    report_version(doc, json)


@cli.command()
def rollback(
    name: Name,
    version: Annotated[int, typer.Argument(help="The version to go back to.")],
    session: Session = None,
    whose: Whose = None,
    json: Json = False,
) -> None:
    """Make an earlier version the document again, as a new version.

    Example: uncaged agent doc rollback soul 3
    """
    with _open_documents(session, whose) as (documents, scope):
        doc = documents.roll_back(scope, name, version, BY)
    report_version(doc, json)


@cli.command("export")
def export_documents(
    folder: Annotated[
        Path, typer.Argument(help="The folder for the Markdown files, one for each document.")
    ],
    session: Session = None,
    whose: Whose = None,
    json: Json = False,
) -> None:
    """Write the documents as Markdown files.

    They are SOUL.md, MEMORY.md and so on, and replace files of the same name. With --session,
    HISTORY.md holds what happened in the chat.

    Example: uncaged agent doc export backup
    """
    from sigil.storage.files import make_write_error, write_whole

    with _open_documents(session, whose) as (documents, scope):
        texts = {doc.name: doc.text for doc in _read_written(documents, scope)}
    if session is not None:
        entries = agent.read_history(session, whose)
        if entries:
            texts[HISTORY] = agent.format_history(entries)
    files = {file_of(name): f"{text}\n".encode() for name, text in texts.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise make_write_error(folder, problem) from None
    # all are checked before the first is written
    paths = [_require_plain_file(folder / name) for name in files]
    for path, body in zip(paths, files.values(), strict=True):
        write_whole(path, body)
    printer = Printer(json=json)
    if json:
        printer.document(list(files))
    else:
        printer.note(f"{', '.join(files) or 'nothing'} in {folder}")


@cli.command("import")
def import_documents(
    folder: Annotated[Path, typer.Argument(help="A folder with SOUL.md, MEMORY.md and so on.")],
    session: Session = None,
    whose: Whose = None,
    json: Json = False,
) -> None:
    """Write the documents from the Markdown files of a folder.

    All of them are written, or none when one of them is not allowed. HISTORY.md is left alone: only
    consolidation adds entries to it.

    Example: uncaged agent doc import backup
    """
    from functions.agent.memory.documents import check_document_text

    with open_agent(name=whose, session=session) as (app, _):
        documents = app.documents
        scope = memory_scope(app, session)
        names = _document_names(documents, scope)
        texts = {}
        for name in (*names, *_list_behaviours_in(folder, documents, scope)):
            path = folder / file_of(name)
            if os.path.lexists(path):
                text = read_text_file(str(_require_plain_file(path)))
                texts[name] = check_document_text(name, text)
                _require_model(app, name, texts[name])
        if not texts:
            files = ", ".join(file_of(name) for name in names)
            raise UsageError(
                "ENOENT", f"{folder} holds no document", suggestion=f"documents are named {files}"
            )
        docs = [
            documents.write(scope, name, text, by=BY, why=f"imported from {folder}")
            for name, text in texts.items()
        ]
        for doc in docs:
            _warn_of_unknown(app, doc)
    printer = Printer(json=json)
    if json:
        printer.document([_make_row(doc) for doc in docs])
    else:
        printer.note(f"{', '.join(texts)} imported")


def _read_version_text(documents: Documents, scope: str, name: str, version: int) -> str:
    """Return the text of a version; that of version 0 is mostly empty."""
    try:
        return documents.read_version(scope, name, version).text
    except UsageError:
        if version:
            raise
        return ""


def print_diff(first: int, last: int, before: str, after: str, json: bool) -> None:
    """Print what changed between the texts of two versions."""
    from difflib import unified_diff

    names = (f"version {first}", f"version {last}")
    lines = list(unified_diff(before.splitlines(), after.splitlines(), *names, lineterm=""))
    if json:
        Printer(json=True).document({"old": first, "new": last, "diff": lines})
    elif lines:
        Printer().text("\n".join(lines))
    else:
        Printer().note(f"version {first} and version {last} are the same")


def file_of(name: str) -> str:
    """Return the Markdown file of a document: `SOUL.md`, `BEHAVIOUR.ON_WAKEUP.md`."""
    return f"{name.upper().replace('/', '.')}.md"


def _list_behaviours_in(folder: Path, documents: Documents, scope: str) -> Sequence[str]:
    """Return the documents of behaviours that a folder has files of; a chat has no behaviours."""
    from functions.agent.behaviours.behaviour import PREFIX, is_behaviour_document

    if scope != documents.agent:
        return ()
    start = file_of(PREFIX).removesuffix(".md")
    files = sorted(path.name for path in folder.glob(f"{start}*.md"))
    names = [PREFIX + file.removeprefix(start).removesuffix(".md").lower() for file in files]
    return [name for name in names if is_behaviour_document(name) and file_of(name) in files]


def _require_model(app: App, name: str, text: str) -> None:
    """Raise `UsageError` unless the model that the text of a behaviour names answers, if it names
    one.
    """
    from functions.agent.behaviours.behaviour import (
        PREFIX,
        is_behaviour_document,
        parse_behaviour,
    )

    if text.strip() and is_behaviour_document(name):
        behaviour = parse_behaviour(name.removeprefix(PREFIX), text)
        if behaviour.model:
            require_model(app, behaviour.model)


def _warn_of_unknown(app: App, doc: Doc) -> None:
    """Say which of the names in a behaviour mean nothing as yet: what it pins is left out while it
    does not exist, and nothing follows it.
    """
    from functions.agent.behaviours.behaviour import (
        PREFIX,
        is_behaviour_document,
        parse_behaviour,
    )
    from functions.agent.behaviours.pins import find_pins
    from functions.agent.schedules.schedule import OWN_SESSION

    if not (doc.text and is_behaviour_document(doc.name)):
        return
    behaviour = parse_behaviour(doc.name.removeprefix(PREFIX), doc.text)
    notes = []
    if behaviour.next and app.find_behaviour(behaviour.next) is None:
        known = ", ".join(app.list_behaviours())
        notes.append(f"there is no behaviour {behaviour.next} to go on with; there are {known}")
    with suppress(BackendError):  # a registry that is away now knows them later
        caller = app.make_caller(OWN_SESSION)
        _, unknown = find_pins(behaviour.pins, app.registry, caller, inf)
        notes += [f"there is no capability {pin} to pin; it is left out" for pin in unknown]
    for note in notes:
        Printer().note(f"{doc.name}: {note}")


@contextmanager
def _open_documents(session: str | None, whose: str | None) -> Iterator[tuple[Documents, str]]:
    """Open the documents, and return them with the scope of the chat or of the agent."""
    with open_agent(name=whose, session=session) as (app, _):
        yield app.documents, memory_scope(app, session)


def _document_names(documents: Documents, scope: str) -> tuple[str, ...]:
    from functions.agent.memory.documents import CAPS, OF_CHATS

    return tuple(CAPS) if scope == documents.agent else OF_CHATS


def _read_written(documents: Documents, scope: str) -> list[Doc]:
    """Return the documents of a scope that were ever written."""
    docs = [documents.read(scope, name) for name in _document_names(documents, scope)]
    behaviours = documents.list_behaviours() if scope == documents.agent else []
    return [doc for doc in (*docs, *behaviours) if doc.version]


def _require_plain_file(path: Path) -> Path:
    """Return `path` when it is a plain file, or missing.

    A folder from elsewhere may hold links, and must not choose what is read or written outside of
    it.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise UsageError(
            "EINVAL", f"{path} is a link, or no file", suggestion="put a file in its place"
        )
    return path


def read_text_file(file: str) -> str:
    """Return a file's text: regular, of at most 1 MiB, in UTF-8."""
    try:
        if file != "-" and not Path(file).is_file():
            raise UsageError(
                "ENOENT",
                f"there is no file {file}",
                suggestion="name a file with the text, or - for standard input",
            )
        with sys.stdin.buffer if file == "-" else Path(file).open("rb") as stream:
            data = stream.read(FILE_BYTES + 1)
        if len(data) > FILE_BYTES:
            raise UsageError(
                "ETOOBIG",
                f"{file} is larger than 1 MiB",
                suggestion="a document has a few thousand characters",
            )
        return data.decode("utf-8-sig")
    except OSError as problem:
        raise UsageError("EINVAL", f"{file} cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(
            "EINVAL", f"{file} is not UTF-8 text", suggestion="save it as UTF-8"
        ) from None


def edit_in_editor(doc: Doc, editor: str) -> Path:
    """Open the text in the editor, and return the temporary file once the editor has ended well."""
    import shlex
    import subprocess
    import tempfile

    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix=f"{doc.name}-", suffix=".md", delete=False
    ) as file:
        file.write(f"{doc.text}\n")
    try:
        code = subprocess.run([*shlex.split(editor), file.name], check=False).returncode
    except (OSError, ValueError) as problem:
        Path(file.name).unlink()
        why = getattr(problem, "strerror", None) or problem
        raise UsageError(
            "ENOENT",
            f"the editor {editor!r} does not start: {why}",
            suggestion="set EDITOR to the command of your editor",
        ) from None
    if code:
        raise UsageError(
            "EINVAL",
            f"the editor ended with exit code {code}; nothing was changed",
            suggestion=f"your text is in {file.name}",
        )
    return Path(file.name)


def report_version(doc: Doc, json: bool) -> None:
    note = f"{doc.name} is at version {doc.version} ({len(doc.text):,} characters)"
    Printer(json=json).result(_make_row(doc), note)


def print_versions(docs: Sequence[Doc], nothing: str, json: bool) -> None:
    """Print the documents as JSON or as a table, or on stderr that there is `nothing`."""
    from sigil.cli.times import format_time

    printer = Printer(json=json)
    if json:
        printer.document([_make_row(doc) for doc in docs])
    elif not docs:
        printer.note(nothing)
    else:
        cells = [
            (doc.name, doc.version, f"{len(doc.text):,}", format_time(doc.at), doc.by, doc.why)
            for doc in docs
        ]
        printer.table(("document", "version", "characters", "written", "by", "why"), cells)


def _make_row(doc: Doc) -> dict[str, object]:
    return {
        "name": doc.name,
        "version": doc.version,
        "characters": len(doc.text),
        "at": doc.at,
        "by": doc.by,
        "why": doc.why,
    }
