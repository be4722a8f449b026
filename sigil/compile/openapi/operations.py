"""The operations of an OpenAPI document, and those of them that a person chooses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain, count

from sigil.compile.openapi.document import ApiDocument, DocumentProblem, join_place
from sigil.compile.openapi.schemas import clean_text
from sigil.errors import UsageError, one_line
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json
from sigil.run.mcp_client.tools import capability_of

OPERATIONS_MOST = 500
"""The most operations that are added at once; a namespace holds as many capabilities."""
LISTED_MOST = 5_000
"""The most operations of a document, of which some are chosen."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
SUMMARY_CHARACTERS = 300
PATH_CHARACTERS = 500
ID_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. `capability`: the name that it has here; `shared`: the object of its path,
    with what all its methods have in common; `shared_place`: where that stands; `problem`: why it
    cannot be a capability.
    """

    capability: str
    id: str
    method: str
    path: str
    summary: str
    tags: tuple[str, ...]
    place: str
    shared: Json
    shared_place: str
    node: Json
    problem: str = ""

    @property
    def title(self) -> str:
        """Return how people name it: `GET /pets`."""
        return f"{self.method} {self.path}"


def list_operations(document: ApiDocument, prefix: str) -> list[Operation]:
    """Return the document's operations in its own order, each with a name of its own that begins
    with `prefix`; `UsageError` when there are too many.
    """
    operations: list[Operation] = []
    names: set[str] = set()
    for path, item in as_mapping(document.root.get("paths")).items():
        if not path.startswith("/"):
            continue
        place = join_place("#/paths", path)
        try:
            shared, shared_place = document.follow(item, place)
        except DocumentProblem as problem:
            operations.append(_make_unusable(path, place, str(problem)))
            continue
        for method in METHODS:
            node = shared.get(method.lower())
            if not isinstance(node, dict):
                continue
            if len(operations) >= LISTED_MOST:
                raise UsageError(
                    "ETOOBIG",
                    f"the document has more than {LISTED_MOST:,} operations",
                    source=document.source,
                )
            operation_id = one_line(as_string(node.get("operationId")), ID_CHARACTERS)
            operations.append(
                Operation(
                    _name_operation(prefix, operation_id, method, path, names),
                    operation_id,
                    method,
                    one_line(path, PATH_CHARACTERS),
                    _summarize(node),
                    tuple(
                        clean_text(tag, 60)
                        for tag in as_sequence(node.get("tags"))
                        if isinstance(tag, str)
                    )[:5],
                    join_place(shared_place, method.lower()),
                    dict(shared),
                    shared_place,
                    node,
                    "" if path == one_line(path, PATH_CHARACTERS) else f"{place}: not a path",
                )
            )
    return operations


def _make_unusable(path: str, place: str, problem: str) -> Operation:
    shown = one_line(path, PATH_CHARACTERS)
    return Operation("", "", "", shown, "", (), place, {}, place, {}, problem)


def _summarize(node: Json) -> str:
    """Return what an operation does: its summary, or else the beginning of its description."""
    texts = as_mapping(node)
    return clean_text(
        as_string(texts.get("summary")) or as_string(texts.get("description")), SUMMARY_CHARACTERS
    )


def _name_operation(prefix: str, operation_id: str, method: str, path: str, taken: set[str]) -> str:
    """Return a name that no other operation has: of its id, or else of method and path."""
    by_path = capability_of(f"{method.lower()} {path}", prefix)
    by_id = capability_of(operation_id, prefix)
    doubled = f"{prefix}-{prefix}-"
    if by_id.startswith(doubled):
        by_id = by_id.removeprefix(f"{prefix}-")
    candidates = [by_id, by_path] if by_id != prefix else [by_path]
    numbered = (f"{candidates[0][:54].rstrip('-')}-n{number}" for number in count(2))
    name = next(name for name in chain(candidates, numbered) if name not in taken)
    taken.add(name)
    return name


def choose_operations(
    operations: Sequence[Operation], only: Sequence[str], tags: Sequence[str], source: str
) -> list[Operation]:
    """Return the operations that `only` (ids, names here, or `GET /pets`) or `tags` name, all
    without either; `UsageError` for a word that names none, or when there are too many.
    """
    chosen = []
    known: dict[str, None] = {}
    wanted = {word.casefold() for word in (*only, *tags)}
    found: set[str] = set()
    for operation in operations:
        words = {operation.id, operation.capability, operation.title} - {""} if only else set()
        if tags:
            words |= set(operation.tags)
        known.update(dict.fromkeys(sorted(words)))
        hits = {word.casefold() for word in words} & wanted
        found |= hits
        if hits or not wanted:
            chosen.append(operation)
    for word in (*only, *tags):
        if word.casefold() not in found:
            similar = get_close_matches(word, known, n=1, cutoff=0.5)
            raise UsageError(
                "ENOENT",
                f"the document has no operation or tag {one_line(word, 60)!r}",
                source=source,
                suggestion=f"did you mean {similar[0]}?" if similar else "--dry-run lists them",
            )
    if len(chosen) > OPERATIONS_MOST:
        raise UsageError(
            "ETOOBIG",
            f"{len(chosen):,} operations; at most {OPERATIONS_MOST} are added at once",
            source=source,
            suggestion="say which ones you want with --only or --tag",
        )
    return chosen
