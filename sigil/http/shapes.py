"""The shapes of what the HTTP API answers; its description is made of them, and a test holds every
answer against them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

from sigil.protocol import Json

Digest = Annotated[str, Field(pattern="^sha256:[0-9a-f]{64}$")]
Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Moment = Annotated[float, Field(description="seconds since 1970")]
Number = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]
Author = Literal["person", "model", "library"]
Lifetime = Literal["persistent", "normal", "ephemeral"]
State = Literal["ok", "degraded", "inactive", "yanked"]
Next = Annotated[
    str, Field(description="where the next page begins: its `after`. Missing on the last page.")
]
Kind = Literal["admin", "deploy", "invoke"]
Behind = Annotated[
    Literal["wasm", "host", "mcp"],
    Field(description="what runs; `host` runs inside an agent alone"),
]


class Media(NamedTuple):
    """A body that is more, or other, than one kind of JSON: its media types and what each holds, in
    JSON Schema.
    """

    kinds: Mapping[str, Mapping[str, Json]]


ANYTHING = Media(
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
BUNDLE = Media({"application/zip": {"type": "string", "contentMediaType": "application/zip"}})
ARGUMENTS = Media(
    {"application/json": {"type": "object", "description": "the arguments; empty for none"}}
)
SPEC = Media({"application/json": {"$ref": "#/components/schemas/Spec"}})
"""A manifest's fields flat, with the code: `sigil.http.openapi` makes the schema of the manifest's
own model.
"""
MESSAGE = Media(
    {
        "application/json": {
            "description": (
                "a message of the Model Context Protocol, which is JSON-RPC 2.0, or a list of them"
            )
        }
    }
)
PAGE = Media({"text/html": {"type": "string"}})
DOCUMENT = Media({"application/json": {"type": "object", "required": ["openapi", "info", "paths"]}})


class Offer(TypedDict):
    """What a client needs to show a capability and to call it."""

    capability: str
    tool: str
    version: Number
    digest: Digest
    description: str
    schema: dict[str, Any]
    pure: bool
    kind: Behind


class Tests(TypedDict):
    passed: Count
    failed: Count


class Deployed(Offer):
    """What stands after a deploy. `pending`: the permissions that wait for an owner."""

    url: str
    expires_at: NotRequired[Moment]
    tests: Tests
    pending: list[str]


class Removed(TypedDict):
    removed: str


class Hit(Offer):
    """What a query found, ready to call. `summary`: the description without the examples."""

    summary: str

    score: Annotated[float, Field(ge=0, le=1)]
    tags: list[str]
    examples: list[str]


class Glimpse(TypedDict):
    """What exploring shows."""

    capability: str
    tool: str
    description: str
    score: NotRequired[Annotated[float, Field(ge=0, le=1)]]


class Found(TypedDict):
    """What a query found, best first. `total`: how many are relevant."""

    items: list[Hit]
    total: Count


class Explored(TypedDict):
    """A choice of what there is, each unlike the others; the list has all of it, page by page."""

    items: list[Glimpse]


class Uses(TypedDict):
    """How often and how well it was called."""

    calls: Count
    errors: Count
    mean_ms: float | None
    p95_ms: float | None
    last: Moment | None


class Plain(TypedDict):
    """What everybody may see of a capability who may run it."""

    capability: str
    tool: str
    version: Number
    digest: Digest
    description: str
    kind: Behind
    namespace: str
    lifetime: Lifetime
    tags: list[str]
    author: Author
    at: Moment
    expires_at: Moment | None
    state: State


class Row(Plain, Uses):
    """A line of the list."""

    active: bool


class Listed(TypedDict):
    items: list[Row]
    next: NotRequired[Next]


class Interface(Plain):
    """A capability without its source, its tests and how it is used."""

    schema: dict[str, Any]
    pure: bool
    aliases: list[str]
    examples: list[str]
    requires: list[str]
    public: bool
    idempotent: bool
    permissions: dict[str, Any]
    limits: dict[str, Any]


class Pin(TypedDict):
    """A version that another one was deployed with. `digest` is null for what did not exist then,
    `version` for what is gone.
    """

    call: str
    namespace: str | None
    version: Number | None
    digest: Digest | None
    state: Literal["ok", "yanked", "gone", "absent", "waiting"]


class Detail(Interface, Uses):
    """Everything about a capability. `source` is null for a module, `wasm` the digest of what runs,
    `pins` what it calls.
    """

    active: bool
    pending: list[str]
    pins: list[Pin]
    lang: str
    tests: list[dict[str, Any]]
    on_degraded: Literal["wait", "rollback"]
    session: str
    wasm: Digest
    source: str | None


class Health(TypedDict):
    ok: Literal[True]
    version: str


class Problem(TypedDict):
    """`code` is a word for programs, the rest is for people. `logs`: what a failed run had said;
    the admin alone is told.
    """

    source: str
    code: Annotated[str, Field(pattern="^[A-Z][A-Z0-9_]*$")]
    message: str
    suggestion: str
    logs: NotRequired[list[str]]


class Failure(TypedDict):
    error: Problem
