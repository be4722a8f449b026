"""Every example of the description is a request that was sent, and its answer one that came back
and is as described.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import asdict
from typing import Any

import jsonschema
import orjson

from sigil.http import app
from sigil.http.openapi.examples import load_examples
from tests.sigil.http.openapi import story
from tests.sigil.http.openapi.conftest import Stage

OF_THE_SERVER = {"date", "server", "content-length", "content-type"}


def operation(document: dict[str, Any], route: str) -> Any:
    method, _, path = route.partition(" ")
    return document["paths"][path.replace(":path}", "}")][method.lower()]


def resolved(document: dict[str, Any], node: Any) -> Any:
    if "$ref" not in node:
        return node
    for part in node["$ref"].removeprefix("#/").split("/"):
        document = document[part]
    return document


def closed(document: dict[str, Any]) -> dict[str, Any]:
    """The components with every object closed that does not say what else it may hold: a field that
    is not described is a failure.
    """
    parts = deepcopy(document["components"])
    for schema in parts["schemas"].values():
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
    return {"components": parts}


def test_every_example_is_answered_as_the_description_shows(stage: Stage) -> None:
    for played in stage.played:
        shown, told = played.example, story.answered(played, stage.url)
        place = f"{shown.route} {shown.name}: {played.response.text[:300]}"
        assert played.response.status_code == shown.status, place
        assert played.response.headers["content-type"].partition(";")[0] == shown.kind, place
        if shown.route in story.SHUFFLED:
            assert [sorted(row) for row in told["items"]] == [
                sorted(row) for row in shown.answer["items"]
            ], place
            continue
        assert story.steady(told) == story.steady(shown.answer), (
            f"{place}\n`python -m {story.__name__}` writes the answers anew"
        )


def test_every_answer_has_the_shape_and_the_headers_that_are_described(
    stage: Stage, document: dict[str, Any]
) -> None:
    parts = closed(document)
    for played in stage.played:
        answer = resolved(
            document,
            operation(document, played.example.route)["responses"][
                str(played.response.status_code)
            ],
        )
        kind = played.response.headers["content-type"].partition(";")[0]
        assert kind in answer["content"], played.example
        if kind == "application/json":
            jsonschema.Draft202012Validator(
                {**parts, **answer["content"][kind]["schema"]}
            ).validate(orjson.loads(played.response.content))
        demand_headers(document, played, answer["headers"])


def demand_headers(
    document: dict[str, Any], played: story.Played, described: dict[str, Any]
) -> None:
    known = {name.lower(): resolved(document, header) for name, header in described.items()}
    there = {name.lower() for name in played.response.headers} - OF_THE_SERVER
    assert there <= known.keys(), (played.example, there - known.keys())
    assert {name for name, header in known.items() if header["required"]} <= there, played.example


def test_every_request_has_the_shape_that_is_described(
    stage: Stage, document: dict[str, Any]
) -> None:
    parts = {"components": document["components"]}
    for played in stage.played:
        example, own = played.example, operation(document, played.example.route)
        if example.body is not None:
            schema = own["requestBody"]["content"]["application/json"]["schema"]
            jsonschema.Draft202012Validator({**parts, **schema}).validate(example.body)
        named = {each["name"] for each in own["parameters"] if each.get("in") == "query"}
        assert named == {"arguments"} or example.query.keys() <= named, example


def test_every_operation_has_an_example_that_succeeds() -> None:
    shown = {example.route for example in load_examples() if example.status < 300}
    routes = {f"{route.method} {route.path}" for route in app.ROUTES}
    # these take a server of somebody else's
    assert routes - shown == {"POST /_api/mcp/tools", "GET /_api/files/{ref}"}


def test_examples_are_told_apart_by_their_names() -> None:
    names = [(example.route, example.name) for example in load_examples()]
    assert len(names) == len(set(names))


def test_the_description_shows_every_example(document: dict[str, Any]) -> None:
    for example in load_examples():
        own = operation(document, example.route)
        if example.body is not None:
            assert (
                own["requestBody"]["content"]["application/json"]["examples"][example.name]["value"]
                == example.body
            )
        if example.answer is not None:
            answer = own["responses"][str(example.status)]["content"][example.kind]
            assert answer["examples"][example.name]["value"] == example.answer


def test_no_example_has_a_token_of_anybody() -> None:
    assert not [
        text
        for text in strings([asdict(example) for example in load_examples()])
        if text.startswith("sgl_") and set(text[4:]) != {"x"}
    ]


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, list | tuple)
        else ()
    ):
        yield from strings(each)
