"""The shapes of what keepers are answered: versions, bundles, grants, secrets, tokens, the audit
and the status.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, with_config
from typing_extensions import TypedDict

from sigil.http.shapes import (
    Author,
    Count,
    Deployed,
    Digest,
    Hash,
    Kind,
    Lifetime,
    Moment,
    Next,
    Number,
    State,
    Uses,
)


class Version(TypedDict):
    """A version of a capability."""

    capability: str
    version: Number
    digest: Digest
    author: Author
    session: str
    at: Moment
    expires_at: Moment | None
    lang: str
    bytes: Count
    active: bool
    yanked: bool
    state: State
    health: Literal["closed", "degraded"]


class Changed(Version):
    """The version that was meant, as it stands now."""

    changed: bool


class Step(TypedDict):
    """When a version began to run, by whom and how."""

    version: Number
    at: Moment
    by: str
    action: str


class Versions(TypedDict):
    """The versions, newest first, and the last twenty times that one began to run, oldest first."""

    items: list[Version]
    history: list[Step]
    next: NotRequired[Next]


class Difference(TypedDict):
    field: str
    old: Any
    new: Any


Differences = TypedDict(
    "Differences",
    {
        "capability": str,
        "from": Number,
        "to": Number,
        "same": bool,
        "manifest": list[Difference],
        "schema": Annotated[str, Field(description="a unified diff")],
        "source": Annotated[str, Field(description="a unified diff")],
    },
)


class Brought(Deployed):
    created: bool


class Imported(TypedDict):
    items: list[Brought]


class GrantRow(TypedDict):
    """Permissions of one version that wait for an owner, or that stand. `version` is null when it
    is gone.
    """

    capability: str
    namespace: str
    version: Number | None
    digest: Digest
    state: Literal["waits", "stands"]
    permissions: list[str]
    at: NotRequired[Moment]
    by: NotRequired[str]
    chat: NotRequired[str]


class Grants(TypedDict):
    items: list[GrantRow]
    next: NotRequired[Next]


class Asked(TypedDict):
    """What a version asks for; `new` is not granted to it, `widened` neither to the version
    `before`.
    """

    capability: str
    namespace: str
    version: Number
    digest: Digest
    asked: list[str]
    granted: list[str]
    new: list[str]
    widened: list[str]
    before: Digest | None
    secrets_missing: list[str]


class Revoked(TypedDict):
    capability: str
    namespace: str
    namespaces: list[str]
    revoked: list[str]


class Kept(TypedDict):
    secret: str
    at: Moment


class SecretRow(Kept):
    """A secret's name, and who set it when; never its value."""

    by: str


class Secrets(TypedDict):
    items: list[SecretRow]
    next: NotRequired[Next]


class Holder(TypedDict):
    """Whoever shows a token, and what it is about."""

    id: str
    kind: Kind
    namespace: str
    name: str
    scopes: list[str]
    created: Moment
    expires: Moment | None


class KeyRow(Holder):
    last_use: Moment | None
    expired: bool


class Keys(TypedDict):
    items: list[KeyRow]
    next: NotRequired[Next]


class NewKey(Holder):
    token: Annotated[str, Field(description="the token itself, told this once")]


@with_config(extra="allow")
class Entry(TypedDict):
    """A line of the audit, with the facts of its action (`name`, `version`, `digest`, …) beside
    these.
    """

    number: Number
    at: Moment
    namespace: str
    action: str
    previous: Hash
    hash: Hash


class Audit(TypedDict):
    """Entries, oldest first."""

    items: list[Entry]
    next: NotRequired[Next]


class Verdict(TypedDict):
    """Whether the chain holds, and where it does not."""

    namespace: str
    entries: Count
    tip: Hash
    ok: bool
    problem: str


class Allowed(TypedDict):
    """What a namespace may hold."""

    capabilities: Count
    bytes: Count
    ephemeral: Count


class Brief(Uses):
    capability: str
    namespace: str
    version: Number
    lifetime: Lifetime
    state: State


class Status(TypedDict):
    """What a namespace holds and may hold, how its capabilities fare, and what the sandbox and the
    store do.
    """

    namespace: str
    capabilities: Count
    bytes: Count
    ephemeral: Count
    limits: Allowed
    sandbox: dict[str, Any]
    store: dict[str, float]
    items: list[Brief]


class Wellbeing(Status):
    """What a deploy token or the admin's is told beside that."""

    ok: Literal[True]
    version: str


class Tool(TypedDict):
    """A tool of an MCP server; `problem`: why it cannot become a capability, empty when it can."""

    tool: str
    capability: str
    description: str
    schema: dict[str, Any]
    problem: str


class ServerTools(TypedDict):
    items: list[Tool]
