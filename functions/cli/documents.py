"""`uncaged agent doc`: the documents of an agent, or of one chat with it: show, edit, roll back,
export and import.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from functions.cli import history as histories
from functions.cli.open_agent import BY, Json, Session, open_agent, session_key
from sigil.cli.printing import Printer
from sigil.errors import Conflict, UsageError

if TYPE_CHECKING:
    from functions.agent.memory.documents import Doc, Documents

cli = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Its documents: soul, memory, role and the others.",
)
Name = Annotated[str, typer.Argument(help="role, self, agents, soul, user, tools or memory.")]
HISTORY = "history"
FILE_BYTES = 1 << 20
EMPTIED = "`uncaged agent doc write {name} -` with nothing as its input empties it"


@cli.command("list")
def list_documents(session: Session = None, json: Json = False) -> None:
    """Show which documents there are, how long they are and who wrote them last.

    Example: uncaged agent doc list --session telegram:42
    """
    with _documents(session) as (documents, scope):
        found = [documents.read(scope, name) for name in _document_names(documents, scope)]
    docs = [doc for doc in found if doc.version]
    printer = Printer(json=json)
    if json:
        printer.document([_row(doc) for doc in docs])
    elif docs:
        printer.table(
            ("document", "version", "characters", "written", "by", "why"),
            [_cells(doc) for doc in docs],
        )
    else:
        first = f"memory --session {session}" if session else "soul"
        printer.note(
            f"no document was written yet; `uncaged agent doc edit {first}` writes the first"
        )


@cli.command()
def show(
    name: Name,
    version: Annotated[int | None, typer.Option("--version", help="An earlier version.")] = None,
    session: Session = None,
    json: Json = False,
) -> None:
    """Print a document.

    Example: uncaged agent doc show soul > SOUL.md
    """
    if name == HISTORY and session is not None:
        histories.history(session, json)
        return
    with _documents(session) as (documents, scope):
        doc = (
            documents.read(scope, name)
            if version is None
            else documents.read_version(scope, name, version)
        )
    if not (doc.version or doc.text):
        raise UsageError(
            "ENOENT", f"{name} was never written", suggestion=_suggest_edit(name, session)
        )
    if json:
        Printer(json=True).document({**_row(doc), "text": doc.text})
    else:
        Printer().text(doc.text)


@cli.command()
def history(name: Name, session: Session = None, json: Json = False) -> None:
    """Show a document's versions, the newest first.

    Example: uncaged agent doc history soul
    """
    with _documents(session) as (documents, scope):
        versions = list(documents.list_versions(scope, name))
    printer = Printer(json=json)
    if json:
        printer.document([_row(doc) for doc in versions])
    elif not versions:
        printer.note(f"{name} was never written")
    else:
        printer.table(
            ("document", "version", "characters", "written", "by", "why"),
            [_cells(doc) for doc in versions],
        )


@cli.command()
def edit(name: Name, session: Session = None) -> None:
    """Write a document in your editor (EDITOR).

    Nothing is changed when the text is left as it was, or when somebody else changed it meanwhile.

    Example: uncaged agent doc edit memory --session telegram:42
    """
    with open_agent() as (app, settings):
        before = app.documents.read(session_key(app, session) or app.documents.agent, name)
        file = _edit_in_editor(before, settings.editor)
        try:
            text = _read_text(str(file))
            if text.strip() not in ("", before.text):
                _report_version(
                    app.documents.write(
                        before.scope, name, text, by=BY, why="edited", expect=before.version
                    ),
                    json=False,
                )
            else:
                Printer().note(
                    "nothing was changed"
                    if text.strip()
                    else f"an empty text changes nothing; {EMPTIED.format(name=name)}"
                )
        except (UsageError, Conflict) as problem:  # the file stays, so that no work is lost
            if file.exists():
                again = f"uncaged agent doc write {name} {file}"
                problem.suggestion = (
                    f"{problem.suggestion}; your text is in {file}: `{again}`".lstrip("; ")
                )
            raise
        file.unlink()


@cli.command()
def write(
    name: Name,
    file: Annotated[str, typer.Argument(help="A Markdown file, or - for standard input.")],
    session: Session = None,
    json: Json = False,
) -> None:
    """Write a document from a file.

    Example: uncaged agent doc write soul SOUL.md
    """
    text = _read_text(file)
    with _documents(session) as (documents, scope):
        doc = documents.write(scope, name, text, by=BY, why=f"from {file}" if file != "-" else "")
    _report_version(doc, json)


@cli.command()
def rollback(
    name: Name,
    version: Annotated[int, typer.Argument(help="The version to go back to.")],
    session: Session = None,
    json: Json = False,
) -> None:
    """Make an earlier version the document again, as a new version.

    Example: uncaged agent doc rollback soul 3
    """
    with _documents(session) as (documents, scope):
        doc = documents.roll_back(scope, name, version, BY)
    _report_version(doc, json)


@cli.command("export")
def export_documents(
    folder: Annotated[Path, typer.Argument(help="Where to: one Markdown file each.")],
    session: Session = None,
    json: Json = False,
) -> None:
    """Write the documents as Markdown files: SOUL.md, MEMORY.md and so on, over those of the same
    name.

    Of a chat, what happened in it as HISTORY.md as well.

    Example: uncaged agent doc export backup
    """
    with _documents(session) as (documents, scope):
        docs = [
            doc
            for name in _document_names(documents, scope)
            if (doc := documents.read(scope, name)).version
        ]
    told = histories.entries(session) if session is not None else []
    texts = [
        *((doc.name, doc.text) for doc in docs),
        *([(HISTORY, histories.markdown(told))] if told else []),
    ]
    files = {file_of(name): f"{text}\n".encode() for name, text in texts}
    _write_files(folder, files)
    written = list(files)
    Printer(json=json).document(written) if json else Printer().note(
        f"{', '.join(written) or 'nothing'} in {folder}"
    )


@cli.command("import")
def import_documents(
    folder: Annotated[Path, typer.Argument(help="A folder with SOUL.md, MEMORY.md and so on.")],
    session: Session = None,
    json: Json = False,
) -> None:
    """Write the documents from the Markdown files of a folder: all of them, or none when one of
    them may not be.

    HISTORY.md is left alone: entries are only ever added to it, and none is changed.

    Example: uncaged agent doc import backup
    """
    from functions.agent.memory.documents import check_document_text

    with _documents(session) as (documents, scope):
        found = [
            (name, _require_plain_file(folder / file_of(name)))
            for name in _document_names(documents, scope)
            if os.path.lexists(folder / file_of(name))
        ]
        if not found:
            names = ", ".join(map(file_of, _document_names(documents, scope)))
            raise UsageError(
                "ENOENT", f"{folder} holds no document", suggestion=f"the files: {names}"
            )
        texts = [(name, check_document_text(name, _read_text(str(path)))) for name, path in found]
        docs = [
            documents.write(scope, name, text, by=BY, why=f"imported from {folder}")
            for name, text in texts
        ]
    Printer(json=json).document([_row(doc) for doc in docs]) if json else Printer().note(
        f"{', '.join(doc.name for doc in docs)} imported"
    )


def file_of(name: str) -> str:
    """Return the Markdown file of a document: `SOUL.md`."""
    return f"{name.upper()}.md"


@contextmanager
def _documents(session: str | None) -> Iterator[tuple[Documents, str]]:
    with open_agent() as (app, _):
        yield app.documents, session_key(app, session) or app.documents.agent


def _document_names(documents: Documents, scope: str) -> tuple[str, ...]:
    from functions.agent.memory.documents import CAPS, OF_CHATS

    return tuple(CAPS) if scope == documents.agent else OF_CHATS


def _suggest_edit(name: str, session: str | None) -> str:
    from functions.agent.memory.documents import OF_CHATS

    writes = (
        f"`uncaged agent doc edit {name}{f' --session {session}' if session else ''}` writes it"
    )
    own = (
        f"; a chat's own: `uncaged agent doc show {name} --session terminal:main`"
        if not session and name in OF_CHATS
        else ""
    )
    return writes + own


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files into the folder; `UsageError` and nothing written when one of them is a link
    or no file.
    """
    from sigil.storage.files import make_write_error, write_whole

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise make_write_error(folder, problem) from None
    places = [(_require_plain_file(folder / name), body) for name, body in files.items()]
    for path, body in places:
        write_whole(path, body)


def _require_plain_file(path: Path) -> Path:
    """Return `path` when it is a plain file, or missing: a folder from elsewhere may hold links,
    and must not choose what is read or written outside of it.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise UsageError(
            "EINVAL", f"{path} is a link, or no file", suggestion="put a file in its place"
        )
    return path


def _read_text(file: str) -> str:
    """Return a file's text: regular, of at most 1 MiB, in UTF-8."""
    try:
        if file != "-" and not Path(file).is_file():
            raise UsageError(
                "ENOENT",
                f"there is no file {file}",
                suggestion="name a Markdown file, or - for standard input",
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


def _edit_in_editor(doc: Doc, editor: str) -> Path:
    """Open the text in the editor, and return the temporary file once the editor has ended well."""
    import shlex
    import subprocess
    import tempfile

    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix=f"{doc.name}-", suffix=".md", delete=False
    ) as file:
        file.write(f"{doc.text}\n")
    try:
        ended = subprocess.run([*shlex.split(editor), file.name], check=False).returncode
    except (OSError, ValueError) as problem:
        Path(file.name).unlink()
        why = getattr(problem, "strerror", None) or problem
        raise UsageError(
            "ENOENT",
            f"the editor {editor!r} does not start: {why}",
            suggestion="set EDITOR to a program",
        ) from None
    if ended:
        raise UsageError(
            "EINVAL",
            f"the editor ended with {ended}; nothing was changed",
            suggestion=f"your text is in {file.name}",
        )
    return Path(file.name)


def _report_version(doc: Doc, json: bool) -> None:
    if json:
        Printer(json=True).document(_row(doc))
    else:
        Printer().note(f"{doc.name} is at version {doc.version} ({len(doc.text):,} characters)")


def _row(doc: Doc) -> dict[str, object]:
    return {
        "name": doc.name,
        "version": doc.version,
        "characters": len(doc.text),
        "at": doc.at,
        "by": doc.by,
        "why": doc.why,
    }


def _cells(doc: Doc) -> tuple[object, ...]:
    from sigil.cli.times import format_time

    return doc.name, doc.version, f"{len(doc.text):,}", format_time(doc.at), doc.by, doc.why
