"""`uncaged kb`: the documents that the agent, or all agents together, look things up in."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from functions.cli.local_agent import BY, Json, Whose, open_agent, print_result
from sigil.cli.printing import Printer
from sigil.errors import BackendError, SigilError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from functions.agent.app import App
    from functions.agent.knowledge.knowledge_base import KnowledgeBase, WrittenDocument
    from functions.agent.knowledge.record import Draft, KnowledgeDocument
    from functions.agent.knowledge.search import Scope, ScopedChunk

LINKS_NAMED: Final = 5

cli = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Add documents to the knowledge base, search it and look after it.",
)
LINE_CHARACTERS = 300


class ScopeName(StrEnum):
    """The values of --scope."""

    agent = "agent"
    team = "team"


OneScope = Annotated[
    ScopeName, typer.Option("--scope", help="Its own documents, or those of all agents (team).")
]
AnyScope = Annotated[
    ScopeName | None, typer.Option("--scope", help="Only its own documents, or only the team's.")
]
Id = Annotated[str, typer.Argument(help="Its id, as the list shows it.", metavar="ID")]
Source = Annotated[
    str, typer.Option(help="Where it is from; else the file's path, as it is given.")
]
Title = Annotated[str, typer.Option(help="What it is called; else its first heading or name.")]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="A word to find it by; can be repeated.")
]
Why = Annotated[str, typer.Option(help="What the change is for; it stands beside the version.")]
Author = Annotated[str, typer.Option(help="Who wrote it.")]
Confidence = Annotated[
    float | None,
    typer.Option(help="How sure it is, from 0 to 1; else as before, or 1.", min=0, max=1),
]


@cli.command()
def search(
    question: Annotated[str, typer.Argument(help="The question, or words of the answer.")],
    *,
    limit: Annotated[int, typer.Option(help="How many passages.", min=1, max=20)] = 5,
    tag: Tags = None,
    scope: AnyScope = None,
    agent: Whose = None,
    json: Json = False,
) -> None:
    """Show the passages that answer a question, each with its source.

    Example: uncaged kb search "how long can goods be returned"
    """
    from functions.agent.knowledge.record import check_tags
    from functions.agent.knowledge.search import DocumentFilter, make_excerpt, search_knowledge

    documents = DocumentFilter(tags=check_tags(tag or ()))
    with open_agent(switch=True, name=agent) as (app, _):
        found = search_knowledge(_open_bases(app, scope), question, limit, documents)
    printer = Printer(json=json)
    if json:
        printer.document([_describe_found(each) for each in found])
        return
    for number, each in enumerate(found):
        record = each.found.record
        text = make_excerpt(each.found.chunk.text, LINE_CHARACTERS)
        blank = "\n" if number else ""
        printer.text(
            f"{blank}{record.title} ({each.found.chunk.place})\n  {text}\n"
            f"  source: {record.source}, {_describe_author(record)},"
            f" score {each.found.score:g}, id {each.found.id}"
        )
    if not found:
        printer.note("nothing in the knowledge base answers that")


@cli.command()
def add(
    paths: Annotated[
        list[str],
        typer.Argument(help="Markdown, text or HTML files, folders, or - for standard input."),
    ],
    *,
    source: Source = "",
    title: Title = "",
    tag: Tags = None,
    author: Author = "",
    confidence: Confidence = None,
    scope: OneScope = ScopeName.agent,
    agent: Whose = None,
    json: Json = False,
) -> None:
    """Add files to the knowledge base.

    A file that is there already and says something else is replaced; one that is there as it is
    changes nothing. What you leave out of tags, author and confidence stays as it is. Standard
    input needs --title and --source.

    Example: uncaged kb add handbook.md notes/ --tag people
    """
    from functions.cli.commands.document_files import STDIN, list_files, list_links

    printer = Printer(json=json)
    files = list(list_files(paths))
    if STDIN in files and not (source and title):
        raise UsageError(
            "EUSAGE",
            "standard input has neither name nor path",
            suggestion="say --title and --source",
        )
    if len(files) > 1 and title:
        raise UsageError("EUSAGE", "--title is for a single file", suggestion="leave it out")
    links = list_links(paths)
    if links:
        names = ", ".join(links[:LINKS_NAMED]) + (", …" if len(links) > LINKS_NAMED else "")
        count = "1 link is" if len(links) == 1 else f"{len(links):,} links are"
        printer.note(f"{count} not followed: {names} (name a link itself to add what it leads to)")
    if not files:
        raise UsageError(
            "ENOENT",
            f"there are no documents in {', '.join(paths)}",
            suggestion="name a file of Markdown, text or HTML, or a folder that has some",
        )
    rows: list[dict[str, object]] = []
    with open_agent(switch=True, name=agent) as (app, _):
        base = app.open_knowledge(_name_scope(scope))
        for number, file in enumerate(files, 1):
            try:
                with printer.progress(f"{number:,} of {len(files):,}: {file}"):
                    fields = {"source": source, "title": title, "author": author}
                    written = _add_file(
                        app, base, file, fields=fields, tags=tag, confidence=confidence
                    )
            except SigilError as problem:
                if len(files) == 1:
                    raise
                rows.append(
                    {
                        "path": file,
                        "state": "failed",
                        "error": problem.message,
                        "suggestion": problem.suggestion,
                    }
                )
                if not json:
                    problem.source = file
                    printer.error(problem)
                if problem.code == "EQUOTA":
                    break
                continue
            state = _name_state(written)
            record = written.record
            rows.append({"path": file, "state": state, **_describe(written.id, record, scope)})
            if not json:
                count = "1 chunk" if record.chunks == 1 else f"{record.chunks:,} chunks"
                printer.line(f"{state}: {file} ({record.title}, {count}, id {written.id})")
    if json:
        printer.document(rows)
    if any(row["state"] == "failed" for row in rows):
        raise typer.Exit(1)


@cli.command("list")
def list_documents(scope: AnyScope = None, agent: Whose = None, json: Json = False) -> None:
    """List the documents of the knowledge base, by title.

    Example: uncaged kb list --scope team
    """
    from sigil.cli.times import format_time

    rows: list[Mapping[str, object]] = []
    printer = Printer(json=json)
    with open_agent(switch=True, name=agent) as (app, _):
        for name, base in _open_bases(app, scope).items():
            rows += [_describe(each.id, each.record, name) for each in base.scan()]
    rows.sort(key=lambda row: (str(row["title"]).casefold(), str(row["id"])))
    if json:
        printer.document(rows)
    elif rows:
        printer.table(
            ("id", "title", "source", "time", "tags", "chunks", "scope"),
            [
                (
                    str(row["id"]),
                    str(row["title"]),
                    str(row["source"]),
                    format_time(float(str(row["time"]))),
                    ", ".join(map(str, _list_tags(row))),
                    f"{row['chunks']:,}",
                    str(row["scope"]),
                )
                for row in rows
            ],
        )
    else:
        printer.note("the knowledge base is empty; `uncaged kb add FILE` adds a document")


@cli.command()
def show(
    id: Id,
    version: Annotated[
        int, typer.Option(help="An earlier version.", min=0, show_default=False)
    ] = 0,
    scope: AnyScope = None,
    agent: Whose = None,
    json: Json = False,
) -> None:
    """Print a document; with --json also its provenance.

    Example: uncaged kb show 5c0e3a1b9d7f2468
    """
    with open_agent(switch=True, name=agent) as (app, _):
        name, base = _find_base(app, id, scope)
        record = base.read_version(id, version) if version else base.read(id)
        row = _describe(id, record, name)
        text = base.read_text_of(id, record)
    if json:
        Printer(json=True).document({**row, "text": text})
        return
    Printer().text(text.removesuffix("\n"))
    Printer().note(f"{row['title']}, from {row['source']}, {_describe_author(record)}")


@cli.command()
def history(id: Id, scope: AnyScope = None, agent: Whose = None, json: Json = False) -> None:
    """Show the versions of a document that are kept, the newest first.

    Example: uncaged kb history 5c0e3a1b9d7f2468
    """
    from sigil.cli.times import format_time

    with open_agent(switch=True, name=agent) as (app, _):
        name, base = _find_base(app, id, scope)
        records = base.list_versions(id)
    if json:
        Printer(json=True).document([_describe(id, each, name) for each in records])
        return
    Printer().table(
        ("version", "characters", "written", "by", "source", "why"),
        [
            (
                each.version,
                f"{each.characters:,}",
                format_time(each.at),
                each.by,
                each.source,
                each.why,
            )
            for each in records
        ],
    )


@cli.command()
def diff(
    id: Id,
    old: Annotated[
        int, typer.Argument(help="A version; else the one before.", min=0, show_default=False)
    ] = 0,
    new: Annotated[
        int, typer.Argument(help="A later version; else the newest.", min=0, show_default=False)
    ] = 0,
    *,
    scope: AnyScope = None,
    agent: Whose = None,
    json: Json = False,
) -> None:
    """Show what changed between two versions of a document.

    Example: uncaged kb diff 5c0e3a1b9d7f2468 1
    """
    from functions.agent.management.knowledge import compare_versions

    with open_agent(switch=True, name=agent) as (app, _):
        row = compare_versions(_find_base(app, id, scope)[1], id, old, new)
    if json:
        Printer(json=True).document(row)
    elif row["diff"]:
        Printer().text(str(row["diff"]))
    else:
        Printer().note(f"version {row['from']} and version {row['to']} say the same")


@cli.command()
def rollback(
    id: Id,
    version: Annotated[int, typer.Argument(help="The version to go back to.", min=1)],
    *,
    why: Why = "",
    scope: AnyScope = None,
    agent: Whose = None,
    json: Json = False,
) -> None:
    """Make an earlier version the document again, as a new version.

    Example: uncaged kb rollback 5c0e3a1b9d7f2468 1
    """
    with open_agent(switch=True, name=agent) as (app, _):
        name, base = _find_base(app, id, scope)
        written = base.roll_back(id, version, by=BY, why=why)
    row = {"state": _name_state(written), **_describe(id, written.record, name)}
    print_result(row, f"{written.record.title} is at version {written.record.version}", json)


@cli.command()
def update(
    id: Id,
    file: Annotated[str, typer.Argument(help="The new text: a file, or - for standard input.")],
    *,
    source: Source = "",
    title: Annotated[str, typer.Option(help="A new title; else it keeps its own.")] = "",
    tag: Tags = None,
    author: Author = "",
    confidence: Confidence = None,
    why: Why = "",
    scope: AnyScope = None,
    agent: Whose = None,
    json: Json = False,
) -> None:
    """Replace the text of a document, which keeps its id.

    Example: uncaged kb update 5c0e3a1b9d7f2468 handbook.md
    """
    from functions.cli.commands.document_files import STDIN, read_file

    if file == STDIN and not source:
        raise UsageError("EUSAGE", "standard input has no path", suggestion="say --source")
    with open_agent(switch=True, name=agent) as (app, _):
        name, base = _find_base(app, id, scope)
        before = base.read(id)
        read = read_file(file, app.registry, app.make_caller(BY, owner=True))
        written = base.update(
            id,
            _make_draft(
                app,
                read.text,
                title=title or before.title,
                source=source or file,
                tags=before.tags if tag is None else tag,
                author=author or before.stated_author,
                confidence=before.known_confidence if confidence is None else confidence,
                why=why,
            ),
        )
    row = {"state": _name_state(written), **_describe(id, written.record, name)}
    print_result(row, f"{row['state']}: {written.record.title}", json)


@cli.command()
def drop(id: Id, scope: AnyScope = None, agent: Whose = None, json: Json = False) -> None:
    """Delete a document permanently.

    Example: uncaged kb drop 5c0e3a1b9d7f2468
    """
    with open_agent(switch=True, name=agent) as (app, _):
        name, base = _find_base(app, id, scope)
        gone = base.drop(id)
    title = gone.title if gone else id
    print_result({"dropped": id, "scope": name}, f"dropped: {title}", json)


def _add_file(
    app: App,
    base: KnowledgeBase,
    file: str,
    *,
    fields: Mapping[str, str],
    tags: Sequence[str] | None,
    confidence: float | None,
) -> WrittenDocument:
    """Add a file; what is not given stays as it is in a document that is there."""
    from functions.cli.commands.document_files import read_file

    read = read_file(file, app.registry, app.make_caller(BY, owner=True))
    draft = _make_draft(
        app,
        read.text,
        title=fields["title"] or read.title or Path(file).stem,
        source=fields["source"] or file,
        tags=tags or (),
        author=fields["author"],
        confidence=1.0 if confidence is None else confidence,
    )
    before = _read_or_none(base, draft.id)
    if before:
        draft = replace(
            draft,
            tags=before.tags if tags is None else draft.tags,
            author=draft.author or before.stated_author,
            confidence=before.known_confidence if confidence is None else draft.confidence,
        )
    return base.add(draft, may_replace=True)


def _read_or_none(base: KnowledgeBase, id: str) -> KnowledgeDocument | None:
    try:
        return base.read(id)
    except (UsageError, BackendError) as problem:
        # a document that is damaged is written anew
        if problem.code not in {"ENOENT", "EDAMAGED"}:
            raise
        return None


def _make_draft(
    app: App,
    text: str,
    *,
    title: str,
    source: str,
    tags: Sequence[str],
    author: str,
    confidence: float,
    why: str = "",
) -> Draft:
    from functions.agent.knowledge.record import make_draft

    return make_draft(
        title=title,
        source=source,
        text=text,
        by=BY,
        time=app.clock.now(),
        author=author,
        confidence=confidence,
        tags=tags,
        why=why,
    )


def _name_state(written: WrittenDocument) -> str:
    if written.new:
        return "added"
    return "replaced" if written.changed else "unchanged"


def _name_scope(scope: ScopeName) -> Scope:
    from functions.agent.knowledge.search import read_scope

    return read_scope(scope.value)


def _open_bases(app: App, scope: ScopeName | None) -> dict[Scope, KnowledgeBase]:
    from functions.agent.knowledge.search import read_scopes

    names = read_scopes(scope.value if scope else "")
    return {name: app.open_knowledge(name) for name in names}


def _find_base(app: App, id: str, scope: ScopeName | None) -> tuple[Scope, KnowledgeBase]:
    """Return the knowledge base that has a document, the agent's own first; `UsageError` ENOENT
    when none has.
    """
    bases = list(_open_bases(app, scope).items())
    for name, base in bases[:-1]:
        try:
            base.read(id)
        except UsageError:
            continue
        return name, base
    name, base = bases[-1]
    base.read(id)
    return name, base


def _describe(id: str, record: KnowledgeDocument, scope: str) -> dict[str, object]:
    from functions.agent.knowledge.record import describe_document

    return describe_document(id, record, str(scope))


def _describe_author(record: KnowledgeDocument) -> str:
    """Return who has added a document, and its author as far as an owner has stated one."""
    added = f"added by {record.by}"
    if record.stated_author:
        return f"author {record.stated_author} (stated by the owner), {added}"
    return added


def _describe_found(each: ScopedChunk) -> dict[str, object]:
    from functions.agent.knowledge.search import describe_found

    return describe_found(each)


def _list_tags(row: Mapping[str, object]) -> list[object]:
    tags = row["tags"]
    return list(tags) if isinstance(tags, list) else []
