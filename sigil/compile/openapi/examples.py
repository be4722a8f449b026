"""Golden tests from a document's own examples: the request that they make, and the answer that they
promise, both checked without the network.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from sigil.compile.openapi.document import ApiDocument, DocumentProblem, join_place
from sigil.compile.openapi.operations import Operation
from sigil.compile.openapi.requests import JSON, Field, Request, find_example
from sigil.errors import SigilError
from sigil.json_fields import as_mapping
from sigil.manifest.arguments import accept
from sigil.protocol import Json
from sigil.strict_json import canonical, is_within_depth

EXAMPLE_BYTES = 8_000
EXAMPLE_DEPTH = 20
EXAMPLES_SECONDS = 3.0
_SEPARATORS = {"comma": ",", "space": "%20", "pipe": "%7C"}


class ExampleBudget:
    """The time for checking a document's examples, all operations together.

    A hostile document makes each check slow, and there may be hundreds of operations.
    """

    def __init__(self) -> None:
        self._left = EXAMPLES_SECONDS

    @property
    def is_spent(self) -> bool:
        return self._left <= 0

    @contextmanager
    def measure(self) -> Iterator[None]:
        """Take the time of what is done inside from what is left."""
        begin = time.monotonic()
        try:
            yield
        finally:
            self._left -= time.monotonic() - begin


def write_tests(
    document: ApiDocument, operation: Operation, request: Request, budget: ExampleBudget
) -> list[Json]:
    """Return the golden tests of an operation; none where the document lacks the examples, or
    checking them takes too long.
    """
    given: dict[str, Json] = {}
    for each in request.fields:
        if each.example:
            given[each.name] = each.example[0]
        elif each.is_required and "default" not in each.schema and not _choices(each):
            return []
        elif each.is_required and "default" not in each.schema:
            given[each.name] = _choices(each)[0]
    if not _is_small(given) or budget.is_spent:
        return []
    try:
        with budget.measure():
            filled = accept(request.schema, given)
    except SigilError:
        return []
    url = _write_url(request, filled)
    if not url or len(url) > 2_000:
        return []
    fixture: dict[str, Json] = {"url": url, "method": request.method}
    headers: dict[str, Json] = {"content-type": JSON}
    tests: list[Json] = []
    answer = _find_answer(document, operation)
    if answer and request.method != "HEAD":
        body = canonical(answer[0]).decode()
        http: list[Json] = [{**fixture, "headers": headers, "body": body}]
        tests.append({"input": given, "output": answer[0], "http": http})
    missing: list[Json] = [{**fixture, "status": 404, "body": "not found"}]
    tests.append({"input": given, "error": "ENOENT", "http": missing})
    return tests


def _choices(each: Field) -> list[Json]:
    choices = each.schema.get("enum")
    return choices if isinstance(choices, list) else []


def _is_small(value: Json) -> bool:
    if not is_within_depth(value, EXAMPLE_DEPTH):
        return False
    try:
        return len(canonical(value)) <= EXAMPLE_BYTES
    except SigilError:
        return False


def _find_answer(document: ApiDocument, operation: Operation) -> tuple[Json, ...]:
    """Return the example of the answer of a success, in a tuple; an empty one without any."""
    responses = as_mapping(as_mapping(operation.node).get("responses"))
    for status in ("200", "201", "202", "2XX", "default"):
        if status not in responses:
            continue
        try:
            place = join_place(operation.place, "responses", status)
            response, place = document.follow(responses[status], place)
            media = as_mapping(as_mapping(response.get("content")).get(JSON))
            nodes = [media]
            if isinstance(media.get("schema"), dict):
                nodes.append(document.follow(media["schema"], place)[0])
        except DocumentProblem:
            continue
        found = find_example(*nodes)
        if found and _is_small(found[0]):
            return found
    return ()


def _write_url(request: Request, filled: dict[str, Json]) -> str:
    """Return the address that the code asks for this input; empty where it cannot be told here."""
    url = f"{request.base}{request.path}"
    query = []
    for each in request.fields:
        value = filled.get(each.name)
        if each.part not in ("path", "query") or value is None:
            continue
        texts = [_encode(item) for item in (value if isinstance(value, list) else [value])]
        if "" in texts or each.style in ("deep", "spread", "json"):
            return ""
        if each.part == "path":
            url = url.replace(f"{{{each.wire}}}", ",".join(texts))
        elif each.style == "repeat":
            query += [f"{_quote(each.wire)}={text}" for text in texts]
        else:
            query.append(f"{_quote(each.wire)}={_SEPARATORS.get(each.style, '').join(texts)}")
    query += [f"{_quote(name)}={_quote(value)}" for name, value in request.query]
    return f"{url}?{'&'.join(query)}" if query else url


def _quote(text: str) -> str:
    return quote(text, safe="-_.!~*'()")


def _encode(value: Json) -> str:
    """Return what `encodeURIComponent` makes of a value; empty for one whose text JavaScript writes
    in its own way.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) < 2**53:
        return str(value)
    if isinstance(value, str) and value not in (".", ".."):
        return _quote(value)
    return ""
