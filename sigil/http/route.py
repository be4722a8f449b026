"""A route of the HTTP API: the token it takes, the body it reads, and the answers it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from types import MappingProxyType
from typing import Any, NamedTuple

from fastapi import Response

from sigil.http.admin_bodies import REF
from sigil.protocol import Json

BODY_BYTES = 1 << 20

Schema = Mapping[str, Json]


class Media(NamedTuple):
    """A body that is more, or other, than one kind of JSON: its media types and what each holds, in
    JSON Schema.
    """

    kinds: Mapping[str, Mapping[str, Json]]


RUN_OUTPUT = Media(
    {
        "application/json": {},
        "text/plain": {
            "type": "string",
            "description": "a string as it is, unless `Accept` takes nothing but JSON",
        },
        "application/x-ndjson": {
            "type": "string",
            "description": "a report on the first line, the output after it",
        },
    }
)
BUNDLE_FILE = Media({"application/zip": {"type": "string", "contentMediaType": "application/zip"}})
RUN_ARGUMENTS = Media(
    {"application/json": {"type": "object", "description": "the arguments; empty for none"}}
)
DEPLOY_SPEC = Media({"application/json": {"$ref": "#/components/schemas/Spec"}})
"""A manifest's fields flat, with the code: `sigil.http.openapi` makes its schema of the manifest's
own model.
"""
MCP_MESSAGE = Media(
    {
        "application/json": {
            "description": (
                "a message of the Model Context Protocol, which is JSON-RPC 2.0, or a list of them"
            )
        }
    }
)
DOCS_PAGE = Media({"text/html": {"type": "string"}})
OPENAPI_DOCUMENT = Media(
    {"application/json": {"type": "object", "required": ["openapi", "info", "paths"]}}
)


class Access(Enum):
    """The token that a route takes."""

    PUBLIC = auto()
    """No token: the answer is the same for everybody."""
    OPTIONAL_TOKEN = auto()
    """None either, but a deploy token or the admin's gets more."""
    ANY_TOKEN = auto()
    """Any token; what it reaches is the registry's matter."""
    DEPLOY_TOKEN = auto()
    """A deploy token or the admin's."""
    ADMIN_TOKEN = auto()
    """The admin token alone."""


class Route(NamedTuple):
    """One method of one path.

    `gives`: the shape of each good answer by its status: a row of `sigil.rows`, several, or a
    `Media`. `takes`: the shape of the body. `ref`: what may stand for `{ref}` in the path. `query`:
    the parameters, each with its JSON Schema; one whose name is `*` stands for all others. `most`:
    bytes of the body. `fails`: statuses of failures beyond those that its right and its body bring
    along. `kept`: the answer has an ETag, and whoever knows it already is told so. `works`: it runs
    or compiles something, so it may take long.
    """

    method: str
    path: str
    action: Callable[..., Response]
    access: Access
    gives: Mapping[int, Any]
    takes: Any = None
    ref: Schema = REF
    query: Mapping[str, Schema] = MappingProxyType({})
    most: int = BODY_BYTES
    fails: tuple[int, ...] = ()
    kept: bool = False
    works: bool = False
