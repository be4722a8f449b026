"""`kb-search`, `kb-ingest` and `kb-update`: documents that an agent, or its team, looks things
up in.

What is found says where it is from. It stands among the results of tools: a document is read, and
gives no orders.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from functions.agent.knowledge.knowledge_base import KnowledgeBase, WrittenDocument
from functions.agent.knowledge.page import READER, is_page, read_page
from functions.agent.knowledge.record import (
    HEARSAY,
    Draft,
    KnowledgeDocument,
    check_tags,
    make_draft,
)
from functions.agent.knowledge.search import (
    PUBLIC,
    USUAL,
    DocumentFilter,
    Scope,
    ScopedChunk,
    read_scope,
    read_scopes,
    search_knowledge,
)
from functions.agent.policy.act import Act
from functions.agent.services.call_context import (
    Arguments,
    CallContext,
    read_number,
    read_share,
    read_text,
)
from functions.agent.services.files import read_whole_text
from functions.agent.services.things import format_time, parse_time
from functions.agent.workspace.path import parse_path
from sigil.errors import Refused, UsageError
from sigil.protocol import Json

MOST: Final = 10
"""So many passages fit into a result of a tool."""
NOTHING: Final = "nothing in the knowledge base answers this: say so, and do not guess"
TARGETS: Final[Mapping[Scope, str]] = {"agent": "knowledge", "team": "team"}
"""What rules of the policy call the scopes."""


def search(context: CallContext, arguments: Arguments) -> Json:
    """Return the passages that answer a question, the best first, each with its provenance.

    A guest finds what is public alone.
    """
    question = read_text(arguments, "query")
    limit = read_number(arguments, "topk", USUAL, MOST)
    scopes = read_scopes(read_text(arguments, "scope"))
    documents = _read_filter(arguments.get("filters"), context.zone)
    if context.role == "guest":
        documents = replace(documents, tags=(*documents.tags, PUBLIC))
    bases = {scope: context.app.open_knowledge(scope) for scope in scopes}
    found = search_knowledge(bases, question, limit, documents)
    answer: dict[str, Json] = {"results": list(map(describe_chunk, found)), "found": len(found)}
    return answer if found else {**answer, "note": NOTHING}


def ingest(context: CallContext, arguments: Arguments) -> Json:
    """Add a document; the same one again changes nothing.

    Raises `UsageError` EINVAL for one without a source.
    """
    check_ingest(context, arguments)
    scope = _read_own_scope(arguments)
    draft = _read_draft(context, arguments)
    base = context.app.open_knowledge(scope)
    with context.app.helpers.lock:
        holder = context.find_holder()
        written = base.add(draft, may_replace=context.owner, holder=holder)
        return _describe_written(written, scope)


def check_ingest(context: CallContext, arguments: Arguments) -> None:
    """Raise `Refused` EPERM for a guest's document, and `UsageError` for what is none, before an
    owner is asked about it.
    """
    if context.role == "guest":
        raise Refused(
            "EPERM",
            "guests add nothing to the knowledge base, which all chats use",
            suggestion="let a member or an owner say so",
            reason="no-guests",
        )
    _read_own_scope(arguments)
    _read_draft(context, arguments)


def update(context: CallContext, arguments: Arguments) -> Json:
    """Replace the text of a document; it keeps its id, and its title unless it gets another."""
    scope, base, before = _find_document(context, arguments)
    draft = _read_draft(context, arguments, before)
    with context.app.helpers.lock:
        return _describe_written(base.update(read_text(arguments, "id"), draft), scope)


def check_update(context: CallContext, arguments: Arguments) -> None:
    """Raise `Refused` EPERM unless an owner asks, and `UsageError` for what is no document."""
    before = _find_document(context, arguments)[2]
    _read_draft(context, arguments, before)


def name_scope(arguments: Arguments) -> str:
    """Return the scope of a document as rules of the policy name it."""
    return TARGETS[_read_own_scope(arguments)]


def list_acts_on_file(context: CallContext, arguments: Arguments) -> tuple[Act, ...]:
    """Return what is done with the file that a call names: it is read, and a page by the capability
    for pages.
    """
    path = read_text(arguments, "path")
    if not path:
        return ()
    read = Act("read", parse_path(path))
    return (read, Act("call", READER)) if is_page(path) else (read,)


def describe_chunk(found: ScopedChunk) -> dict[str, Json]:
    """Return a passage as the model reads it, with the document that it is of."""
    record = found.found.record
    row: dict[str, Json] = {
        "text": found.found.chunk.text.strip(),
        "title": record.title,
        "place": found.found.chunk.place,
        "source": record.source,
        "time": format_time(record.time),
        "author": record.known_author,
        "added_by": record.by,
        "confidence": record.known_confidence,
        "score": found.found.score,
        "id": found.found.id,
        "scope": found.scope,
    }
    if record.stated_author:
        row["author_stated_by"] = "owner"
    if record.tags:
        row["tags"] = list(record.tags)
    return row


def _describe_written(written: WrittenDocument, scope: Scope) -> Json:
    return {
        "id": written.id,
        "title": written.record.title,
        "source": written.record.source,
        "added_by": written.record.by,
        "scope": scope,
        "chunks": written.record.chunks,
        "new": written.new,
        "changed": written.changed,
    }


def _read_own_scope(arguments: Arguments) -> Scope:
    return read_scope(read_text(arguments, "scope") or "agent")


def _read_draft(
    context: CallContext, arguments: Arguments, before: KnowledgeDocument | None = None
) -> Draft:
    """Return the document that the arguments give, which may be a new text of one before. It
    leaves the chat, so it is without what the policy's patterns fit.

    A model says what the arguments are, so nobody's name is taken from them: the document is by the
    person whose turn it is, and hearsay.
    """
    title, text = _read_text(context, arguments)
    title, text = context.gate.redact(title), context.gate.redact(text)
    arguments = {name: context.redact(value) for name, value in arguments.items()}
    tags = _read_texts(arguments, "tags")
    return make_draft(
        title=read_text(arguments, "title") or title or (before.title if before else ""),
        source=read_text(arguments, "source"),
        text=text,
        by=context.by,
        time=context.app.clock.now(),
        confidence=read_share(arguments, "confidence", HEARSAY),
        tags=tags if "tags" in arguments or not before else before.tags,
        is_hearsay=True,
    )


def _read_text(context: CallContext, arguments: Arguments) -> tuple[str, str]:
    """Return the title and the text of what a call gives, or of the file that it names."""
    path = read_text(arguments, "path")
    text = read_text(arguments, "text")
    if bool(path) == bool(text):
        hint = "text is the document's own words, path a file of the workspace"
        raise UsageError("EINVAL", "give either text or path", suggestion=hint)
    if not path:
        return "", text
    path = parse_path(path)
    text = read_whole_text(context, path)
    if not is_page(path):
        return "", text
    context.gate.require_undenied("call", READER)
    page = read_page(path, text, context.app.registry, context.app.make_caller(context.home))
    return page.title, page.text


def _find_document(
    context: CallContext, arguments: Arguments
) -> tuple[Scope, KnowledgeBase, KnowledgeDocument]:
    """Return the document that an owner wants to update, and where it is."""
    context.require_owner()
    scope = _read_own_scope(arguments)
    base = context.app.open_knowledge(scope)
    return scope, base, base.read(read_text(arguments, "id"))


def _read_filter(value: Json, zone: str) -> DocumentFilter:
    if value is None:
        return DocumentFilter()
    if not isinstance(value, dict):
        raise UsageError("EINVAL", "filters is an object with tags, source, author or since")
    since = read_text(value, "since")
    return DocumentFilter(
        tags=check_tags(_read_texts(value, "tags")),
        source=read_text(value, "source"),
        author=read_text(value, "author"),
        since=parse_time("since", since, zone) if since else 0.0,
        confidence=read_share(value, "confidence", 0.0),
    )


def _read_texts(arguments: Arguments, name: str) -> tuple[str, ...]:
    value = arguments.get(name)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise UsageError("EINVAL", f"{name} is a list of texts")
    texts = [each for each in value if isinstance(each, str)]
    if len(texts) != len(value):
        raise UsageError("EINVAL", f"{name} is a list of texts")
    return tuple(texts)
