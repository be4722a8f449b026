"""What programs ask about the knowledge base over HTTP: the fields of a request become a document,
and a document becomes a row of an answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Final

from functions.agent.app import App
from functions.agent.knowledge.knowledge_base import KnowledgeBase
from functions.agent.knowledge.record import (
    SURE,
    Draft,
    KnowledgeDocument,
    check_tags,
    describe_document,
    is_id,
    make_draft,
)
from functions.agent.knowledge.search import (
    MOST,
    USUAL,
    DocumentFilter,
    Scope,
    describe_found,
    read_scope,
    read_scopes,
    search_knowledge,
)
from functions.agent.management.files import read_number, read_range
from functions.agent.workspace.difference import compare_texts
from sigil.errors import UsageError, one_line
from sigil.protocol import Json

BY: Final = "http:admin"
PAGE: Final = 100
FIELDS: Final = frozenset(
    ("text", "title", "source", "scope", "tags", "author", "time", "confidence", "why")
)
CHANGES: Final = FIELDS - {"scope"} | {"expect"}
ROLLBACK: Final = frozenset(("version", "why", "expect"))
VIEWS: Final = frozenset(("version", "versions", "diff"))
SHOWN_CHARACTERS: Final = 60
_LIMIT: Final = re.compile(r"[0-9]{1,3}", re.ASCII)


def list_documents(app: App, query: Mapping[str, str]) -> dict[str, object]:
    """Return a page of the documents of one scope, by id."""
    _require_known(query, frozenset(("scope", "after", "limit")))
    scope = read_scope(query.get("scope") or "agent")
    after = query.get("after", "")
    if after and not is_id(after):
        raise _refuse("after is the id of a document, such as `next` of the page before")
    limit = _read_limit(query, PAGE, PAGE)
    found = list(islice(app.open_knowledge(scope).scan(after), limit + 1))
    shown = [describe_document(each.id, each.record, scope) for each in found[:limit]]
    answer: dict[str, object] = {"items": shown}
    if len(found) > limit:
        answer["next"] = found[limit - 1].id
    return answer


def search(app: App, query: Mapping[str, str]) -> dict[str, object]:
    """Return the passages that answer the question `q`, the best first."""
    _require_known(query, frozenset(("q", "scope", "limit", "tag")))
    if "q" not in query:
        raise _refuse("q, the question, is missing")
    limit = _read_limit(query, USUAL, MOST)
    bases = {scope: app.open_knowledge(scope) for scope in read_scopes(query.get("scope", ""))}
    tags = check_tags((query["tag"],)) if "tag" in query else ()
    found = search_knowledge(bases, query.get("q", ""), limit, DocumentFilter(tags=tags))
    return {"items": [describe_found(each) for each in found]}


def add_document(app: App, fields: Mapping[str, Json]) -> tuple[dict[str, object], bool]:
    """Add the document that the fields of a request describe, in the place of the one with its
    title and source; the second value says whether it is new.
    """
    _require_known(fields, FIELDS)
    scope = read_scope(_read_text(fields, "scope") or "agent")
    written = app.open_knowledge(scope).add(_read_draft(app, fields), may_replace=True)
    row = describe_document(written.id, written.record, scope)
    return {**row, "new": written.new, "changed": written.changed}, written.new


def show_document(app: App, id: str, query: Mapping[str, str]) -> dict[str, object]:
    """Return a document with its text, or one of its versions (`version=3`), what changed between
    two (`diff=1..3`), or all that are kept without their texts (`versions=1`).
    """
    asked = VIEWS & query.keys()
    if len(asked) > 1:
        raise _refuse("ask by version, diff or versions")
    scope, base = _open_base(app, {name: query[name] for name in query.keys() - VIEWS})
    if "versions" in asked:
        versions = base.list_versions(id)
        return {"id": id, "items": [describe_document(id, each, scope) for each in versions]}
    if "diff" in asked:
        return compare_versions(base, id, *read_range(query["diff"]))
    record = base.read_version(id, read_number(query, "version") or base.read(id).version)
    return {**describe_document(id, record, scope), "text": base.read_text_of(id, record)}


def compare_versions(base: KnowledgeBase, id: str, first: int, last: int) -> dict[str, object]:
    """Return what changed between two versions of a document; 0 for the last ones."""
    after = base.read_version(id, last or base.read(id).version)
    first = first or after.version - 1
    before = base.read_text_of(id, base.read_version(id, first)) if first else ""
    found = compare_texts(
        before, base.read_text_of(id, after), f"version {first}", f"version {after.version}"
    )
    return {
        "id": id,
        "from": first,
        "to": after.version,
        "added": found.added,
        "removed": found.removed,
        "diff": found.text,
    }


def change_document(
    app: App, id: str, query: Mapping[str, str], fields: Mapping[str, Json]
) -> dict[str, object]:
    """Replace a document, or go back to the `version` that the fields name; what they leave out,
    but for its text and source, stays.
    """
    if "version" in fields:
        return _roll_back(app, id, query, fields)
    _require_known(fields, CHANGES)
    scope, base = _open_base(app, query)
    draft = _read_draft(app, fields, base.read(id))
    written = base.update(id, draft, _read_text(fields, "expect"))
    row = describe_document(id, written.record, scope)
    return {**row, "new": False, "changed": written.changed}


def _roll_back(
    app: App, id: str, query: Mapping[str, str], fields: Mapping[str, Json]
) -> dict[str, object]:
    _require_known(fields, ROLLBACK)
    version = fields["version"]
    if isinstance(version, bool) or not isinstance(version, int):
        raise _refuse("version is the number of a version")
    scope, base = _open_base(app, query)
    expect = _read_text(fields, "expect")
    written = base.roll_back(id, version, by=BY, why=_read_text(fields, "why"), expect=expect)
    row = describe_document(id, written.record, scope)
    return {**row, "new": False, "changed": written.changed}


def drop_document(app: App, id: str, query: Mapping[str, str]) -> dict[str, object]:
    """Delete a document; `UsageError` ENOENT when there is none."""
    scope, base = _open_base(app, query)
    if base.drop(id) is None:
        base.read(id)
    return {"dropped": id, "scope": scope}


def _open_base(app: App, query: Mapping[str, str]) -> tuple[Scope, KnowledgeBase]:
    _require_known(query, frozenset(("scope",)))
    scope = read_scope(query.get("scope") or "agent")
    return scope, app.open_knowledge(scope)


def _read_draft(
    app: App, fields: Mapping[str, Json], before: KnowledgeDocument | None = None
) -> Draft:
    tags: tuple[str, ...] = before.tags if before else ()
    if "tags" in fields:
        given = fields["tags"]
        if not isinstance(given, list):
            raise _refuse("tags is a list of texts")
        tags = tuple(each for each in given if isinstance(each, str))
        if len(tags) != len(given):
            raise _refuse("tags is a list of texts")
    return make_draft(
        title=_read_text(fields, "title") or (before.title if before else ""),
        source=_read_text(fields, "source"),
        text=_read_text(fields, "text"),
        by=BY,
        time=_read_number(fields, "time", app.clock.now()),
        author=_read_text(fields, "author") or (before.stated_author if before else ""),
        confidence=_read_number(fields, "confidence", before.known_confidence if before else SURE),
        tags=tags,
        why=_read_text(fields, "why"),
    )


def _read_text(fields: Mapping[str, Json], name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _refuse(f"{name} is a text")
    return value


def _read_number(fields: Mapping[str, Json], name: str, usual: float) -> float:
    value = fields.get(name)
    if value is None:
        return usual
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _refuse(f"{name} is a number")
    return float(value)


def _read_limit(query: Mapping[str, str], usual: int, most: int) -> int:
    limit = query.get("limit", str(usual))
    if not _LIMIT.fullmatch(limit) or not 1 <= int(limit) <= most:
        raise _refuse(f"limit is a number from 1 to {most}")
    return int(limit)


def _require_known(fields: Mapping[str, object], known: frozenset[str]) -> None:
    for name in sorted(fields.keys() - known):
        shown = one_line(name, SHOWN_CHARACTERS)
        raise _refuse(f"nothing is called {shown!r} here: it takes {', '.join(sorted(known))}")


def _refuse(message: str) -> UsageError:
    return UsageError("EINVAL", message, source="knowledge")
