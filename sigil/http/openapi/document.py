"""The parts of an OpenAPI document, as far as the description of this API has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NotRequired, Required, TypedDict, final

from sigil.http.route import Schema
from sigil.protocol import Json

Reference = TypedDict("Reference", {"$ref": str})


class ExampleObject(TypedDict):
    summary: NotRequired[str]
    value: Json


class MediaObject(TypedDict):
    """A body of one media type."""

    schema: Schema
    examples: NotRequired[dict[str, ExampleObject]]


Content = dict[str, MediaObject]

Parameter = TypedDict(
    "Parameter",
    {
        "name": Required[str],
        "in": Required[str],
        "description": str,
        "required": bool,
        "style": str,
        "explode": bool,
        "schema": Schema,
        "examples": dict[str, ExampleObject],
    },
    total=False,
)


class RequestBody(TypedDict):
    required: bool
    content: Content


@final
class ResponseObject(TypedDict):
    description: str
    headers: dict[str, Reference]
    content: NotRequired[Content]


class Operation(TypedDict):
    """One method of one path."""

    operationId: str
    tags: list[str]
    summary: str
    description: str
    security: list[dict[str, list[str]]]
    parameters: list[Parameter | Reference]
    requestBody: NotRequired[RequestBody]
    responses: NotRequired[dict[str, ResponseObject | Reference]]


class Info(TypedDict):
    title: str
    version: str
    description: str
    license: dict[str, str]


class Components(TypedDict):
    schemas: dict[str, Schema]
    headers: Mapping[str, Json]
    parameters: Mapping[str, Json]
    responses: dict[str, ResponseObject]
    securitySchemes: Mapping[str, Json]


class ApiDescription(TypedDict):
    openapi: str
    info: Info
    servers: list[dict[str, str]]
    tags: list[dict[str, str]]
    paths: dict[str, dict[str, Operation]]
    components: Components
