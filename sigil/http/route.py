"""The parts of the table of routes: a route, the token that it takes, and the bodies it knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from types import MappingProxyType
from typing import NamedTuple

from starlette.responses import Response

from sigil.protocol import Json

BODY_BYTES = 1 << 20

Schema = Mapping[str, Json]
"""A JSON Schema; `description` and `required` say the same of a parameter that has it."""

NAME_SCHEMA: Schema = {
    "type": "string",
    "pattern": "^[a-z][a-z0-9]*(-[a-z0-9]+)*$",
    "maxLength": 60,
    "description": "a capability's name",
}
REF_SCHEMA: Schema = {
    "type": "string",
    "pattern": (
        "^([a-z][a-z0-9]*(-[a-z0-9]+)*/)?[a-z][a-z0-9]*(-[a-z0-9]+)*(@([1-9][0-9]{0,7}|sha256:[0-9a-f]{64}))?$"
    ),
    "maxLength": 200,
    "description": "NAME, NAME@VERSION or NAME@sha256:DIGEST; of another namespace NAMESPACE/NAME",
}
"""The registry itself tells what is wrong with any other name, and says it better."""


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
KEPT_FILE = Media(
    {"*/*": {"type": "string", "description": "the file, of the type that it really is"}}
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

    `responses`: the shape of each good answer by its status: a row of `sigil.rows`, several, or a
    `Media`. `body`: the shape of the body. `ref`: the schema of `{ref}` in the path. `query`: the
    parameters, each with its schema; one whose name is `*` describes all others. `body_bytes`: the
    longest body. `failures`: statuses of failures beyond those that its access and its body bring
    along. `has_etag`: the answer has an ETag, and a client that knows it already gets 304. `slow`:
    it runs or compiles something, so it may take long. `operation`: its published id, by default
    the handler's name.
    """

    method: str
    path: str
    handler: Callable[..., Response]
    access: Access
    responses: Mapping[int, object]
    body: object = None
    ref: Schema = REF_SCHEMA
    query: Mapping[str, Schema] = MappingProxyType({})
    body_bytes: int = BODY_BYTES
    failures: tuple[int, ...] = ()
    has_etag: bool = False
    slow: bool = False
    operation: str = ""

    @property
    def operation_name(self) -> str:
        """The name from which the description makes its operation id."""
        return self.operation or self.handler.__name__
