"""The rows of Sigil's API, described once: the server writes them, the description of the API is
made of them, and the client reads them.

A row is a plain dictionary of JSON. `schema_name` keeps the name that a row has in the published
description where the class has a longer one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, NotRequired, TypeVar

from pydantic import Field, with_config
from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

REPORT_TYPE = "application/x-ndjson"
"""A client that accepts this media type gets a run's report on the first line and the output's
exact bytes after it.
"""

Digest = Annotated[str, Field(pattern="^sha256:[0-9a-f]{64}$")]
EntryHash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Timestamp = Annotated[float, Field(description="seconds since 1970")]
Number = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]
Score = Annotated[float, Field(ge=0, le=1)]
Author = Literal["person", "model", "library"]
Lifetime = Literal["persistent", "normal", "ephemeral"]
State = Literal["ok", "degraded", "inactive", "yanked"]
NextPage = Annotated[
    str, Field(description="where the next page begins: its `after`. Missing on the last page.")
]
TokenKind = Literal["admin", "deploy", "invoke"]
CapabilityKind = Annotated[
    Literal["wasm", "host", "mcp", "bundle"],
    Field(description="what runs; `host` runs inside an agent alone, of a `bundle` its members"),
]
_Class = TypeVar("_Class", bound=type)


def schema_name(name: str) -> Callable[[_Class], _Class]:
    """Give a row the name that it has in the published description of the API."""

    def set_name(row: _Class) -> _Class:
        row.__name__ = row.__qualname__ = name
        return row

    return set_name


@schema_name("Offer")
class OfferRow(TypedDict):
    """A capability with all that a client needs to show it and to call it."""

    capability: str
    tool: str
    version: Number
    digest: Digest
    description: str
    schema: dict[str, object]
    pure: bool
    kind: CapabilityKind


@schema_name("Tests")
class GoldenTestCounts(TypedDict):
    passed: Count
    failed: Count


@schema_name("Example")
class ExampleRow(TypedDict):
    """The one run of what was deployed without tests, on the example of its schema. `output`: what
    it returned, or the beginning of its JSON text when that is long. `problem`: why it failed.
    """

    input: dict[str, object]
    output: NotRequired[object]
    problem: NotRequired[str]


@schema_name("Deployed")
class DeployedRow(OfferRow):
    """The version that a deploy left active. `pending`: the permissions that wait for an owner.
    `example`: where it has no tests and no permissions that reach outside.
    """

    url: str
    expires_at: NotRequired[Timestamp]
    tests: GoldenTestCounts
    pending: list[str]
    example: NotRequired[ExampleRow]


@schema_name("Removed")
class RemovedRow(TypedDict):
    removed: str


@schema_name("Hit")
class HitRow(OfferRow):
    """A capability that a query found, ready to call. `summary`: the description without the
    examples. `offers`: the members of a bundle, which are what is called.
    """

    summary: str

    score: Score
    tags: list[str]
    examples: list[str]
    offers: NotRequired[list[OfferRow]]


@schema_name("Glimpse")
class GlimpseRow(TypedDict):
    """A capability as exploring shows it."""

    capability: str
    tool: str
    description: str
    score: NotRequired[Score]


@schema_name("WeakHit")
class WeakHitRow(TypedDict):
    """A capability that fits a query too little; a query for its name finds it."""

    capability: str
    description: str
    kind: CapabilityKind


@schema_name("Found")
class QueryPage(TypedDict):
    """The capabilities that a query found, best first. `total`: how many are relevant; `weak`: at
    most two that fit too little, where few were found.
    """

    items: list[HitRow]
    total: Count
    weak: NotRequired[list[WeakHitRow]]


@schema_name("Explored")
class ExplorePage(TypedDict):
    """A choice of what there is, each unlike the others; the list has all of it, page by page."""

    items: list[GlimpseRow]


@schema_name("Uses")
class UsageRow(TypedDict):
    """The calls of a capability: how many, and how they ended."""

    calls: Count
    errors: Count
    mean_ms: float | None
    p95_ms: float | None
    last: Timestamp | None


@schema_name("Plain")
class PublicRow(TypedDict):
    """The fields of a capability that everybody sees who may run it."""

    capability: str
    tool: str
    version: Number
    digest: Digest
    description: str
    kind: CapabilityKind
    namespace: str
    lifetime: Lifetime
    tags: list[str]
    author: Author
    at: Timestamp
    expires_at: Timestamp | None
    state: State


@schema_name("Row")
class ListRow(PublicRow, UsageRow):
    """One line of the list."""

    active: bool


@schema_name("Listed")
class ListPage(TypedDict):
    items: list[ListRow]
    next: NotRequired[NextPage]


class LimitsRow(TypedDict):
    timeout_ms: Number


@schema_name("Interface")
class InterfaceRow(PublicRow):
    """A capability without its source, its tests and how it is used."""

    schema: dict[str, object]
    pure: bool
    aliases: list[str]
    examples: list[str]
    requires: list[str]
    public: bool
    idempotent: bool
    permissions: dict[str, object]
    limits: LimitsRow
    members: NotRequired[list[str]]


@schema_name("Pin")
class PinRow(TypedDict):
    """A version that another one was deployed with. `digest` is null for what did not exist then,
    `version` for what is gone.
    """

    call: str
    namespace: str | None
    version: Number | None
    digest: Digest | None
    state: Literal["ok", "yanked", "gone", "absent", "waiting"]


@schema_name("Run")
class RunRow(TypedDict):
    """One of a capability's last runs. `code` is `ok` or its error's, `chat` a mark of the chat,
    empty outside of chats, `lines` how many lines it logged, of which `logs` has the first ones.
    """

    at: Timestamp
    version: Count
    input_bytes: Count
    code: str
    ms: float
    chat: str
    lines: Count
    logs: list[str]


@schema_name("Detail")
class DetailRow(InterfaceRow, UsageRow):
    """Everything about a capability. `source` is null for a module, `wasm` the digest of what runs,
    `pins` what it calls. `runs`, its last ones, are null for whoever is
    no owner.
    """

    active: bool
    pending: list[str]
    pins: list[PinRow]
    lang: str
    output_schema: NotRequired[dict[str, object]]
    tests: list[dict[str, object]]
    on_degraded: Literal["wait", "rollback"]
    session: str
    wasm: Digest
    source: str | None
    runs: list[RunRow] | None


@schema_name("Health")
class HealthRow(TypedDict):
    ok: Literal[True]
    version: str


@schema_name("Problem")
class ErrorRow(TypedDict):
    """`code` is a word for programs, the rest is for people. `logs`: the lines that a failed run
    had logged; only the admin sees them.
    """

    source: str
    code: Annotated[str, Field(pattern="^[A-Z][A-Z0-9_]*$")]
    message: str
    suggestion: str
    logs: NotRequired[list[str]]


@schema_name("Failure")
class FailureRow(TypedDict):
    error: ErrorRow


@schema_name("Version")
class VersionRow(TypedDict):
    """A version of a capability."""

    capability: str
    version: Number
    digest: Digest
    author: Author
    session: str
    at: Timestamp
    expires_at: Timestamp | None
    lang: str
    bytes: Count
    active: bool
    yanked: bool
    state: State
    health: Literal["closed", "degraded"]


@schema_name("Changed")
class ChangedVersionRow(VersionRow):
    """The version that was meant, as it is after the change."""

    changed: bool


@schema_name("Step")
class ActivationRow(TypedDict):
    """When a version began to run, by whom and how."""

    version: Number
    at: Timestamp
    by: str
    action: str


@schema_name("Versions")
class VersionPage(TypedDict):
    """The versions, newest first, and the last twenty times that one began to run, oldest first."""

    items: list[VersionRow]
    history: list[ActivationRow]
    next: NotRequired[NextPage]


@schema_name("Difference")
class FieldChangeRow(TypedDict):
    field: str
    old: object
    new: object


VersionDiffRow = TypedDict(
    "VersionDiffRow",
    {
        "capability": str,
        "from": Number,
        "to": Number,
        "same": bool,
        "manifest": list[FieldChangeRow],
        "schema": Annotated[str, Field(description="a unified diff")],
        "source": Annotated[str, Field(description="a unified diff")],
    },
)
schema_name("Differences")(VersionDiffRow)


@schema_name("Brought")
class ImportedRow(DeployedRow):
    created: bool


@schema_name("Imported")
class ImportedList(TypedDict):
    items: list[ImportedRow]


class GrantRow(TypedDict):
    """Permissions of one version that wait for an owner, or that are granted. `version` is null
    when it is gone. `hints`: what an MCP server says of the effects of its tool.
    """

    capability: str
    namespace: str
    version: Number | None
    digest: Digest
    state: Literal["waits", "stands"]
    permissions: list[str]
    at: NotRequired[Timestamp]
    by: NotRequired[str]
    chat: NotRequired[str]
    hints: NotRequired[list[str]]


@schema_name("Grants")
class GrantPage(TypedDict):
    items: list[GrantRow]
    next: NotRequired[NextPage]


@schema_name("Asked")
class PermissionRequestRow(TypedDict):
    """The permissions that a version asks for; `new` is not granted to it, `widened` neither to the
    version `before`. `owners_only`: those of the new ones that the caller's token cannot grant.
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
    hints: NotRequired[list[str]]
    owners_only: NotRequired[list[str]]


@schema_name("Revoked")
class RevokedRow(TypedDict):
    capability: str
    namespace: str
    namespaces: list[str]
    revoked: list[str]


@schema_name("Kept")
class StoredSecretRow(TypedDict):
    secret: str
    at: Timestamp


class SecretRow(StoredSecretRow):
    """A secret's name, and who set it when; never its value. `server`: the address of the MCP
    server whose access token it is. `renews`: it is renewed when it ends; `ends`: when it does, if
    the server says so.
    """

    by: str
    server: NotRequired[str]
    renews: NotRequired[bool]
    ends: NotRequired[Timestamp]


@schema_name("Secrets")
class SecretPage(TypedDict):
    items: list[SecretRow]
    next: NotRequired[NextPage]


@schema_name("Holder")
class TokenRow(TypedDict):
    """The holder of a token, and what the token is about."""

    id: str
    kind: TokenKind
    namespace: str
    name: str
    scopes: list[str]
    created: Timestamp
    expires: Timestamp | None


@schema_name("KeyRow")
class TokenUseRow(TokenRow):
    last_use: Timestamp | None
    expired: bool


@schema_name("Keys")
class TokenPage(TypedDict):
    items: list[TokenUseRow]
    next: NotRequired[NextPage]


@schema_name("NewKey")
class NewTokenRow(TokenRow):
    token: Annotated[str, Field(description="the token itself, shown only this once")]


@schema_name("Entry")
@with_config(extra="allow")
class AuditRow(TypedDict):
    """One entry of the audit, with the facts of its action (`name`, `version`, `digest`, …) beside
    these.
    """

    number: Number
    at: Timestamp
    namespace: str
    action: str
    previous: EntryHash
    hash: EntryHash


@schema_name("Audit")
class AuditPage(TypedDict):
    """Entries, oldest first."""

    items: list[AuditRow]
    next: NotRequired[NextPage]


@schema_name("BrokenChain")
class BrokenChainRow(TypedDict):
    """A namespace whose chain does not hold, and where it does not."""

    namespace: str
    problem: str


@schema_name("Verdict")
class AuditCheckRow(TypedDict):
    """Tells if the chain of a namespace holds, and where it does not.

    Where no namespace was asked for, all were checked: `ok` is about all of them then,
    `namespaces` is how many there are, and `broken` are those that do not hold.
    """

    namespace: str
    entries: Count
    tip: EntryHash
    ok: bool
    problem: str
    namespaces: NotRequired[Count]
    broken: NotRequired[list[BrokenChainRow]]


@schema_name("Allowed")
class QuotaRow(TypedDict):
    """The limits of a namespace."""

    capabilities: Count
    bytes: Count
    ephemeral: Count


@schema_name("Brief")
class CapabilityStatusRow(UsageRow):
    capability: str
    namespace: str
    version: Number
    lifetime: Lifetime
    state: State


@schema_name("SandboxStatus")
class SandboxStatusRow(TypedDict):
    """The sandbox: its path, its child processes, and the programs that they keep loaded."""

    path: NotRequired[str]
    children: NotRequired[Count]
    busy: NotRequired[Count]
    waiting: NotRequired[Count]
    started: NotRequired[Count]
    killed: NotRequired[Count]
    renewed: NotRequired[Count]
    calls: NotRequired[Count]
    slots: NotRequired[Count]
    bytes: NotRequired[Count]
    cold: NotRequired[Count]
    evictions: NotRequired[Count]


@schema_name("Status")
class StatusRow(TypedDict):
    """The state of a namespace: its contents and limits, its capabilities, the sandbox and the
    store.
    """

    namespace: str
    capabilities: Count
    bytes: Count
    ephemeral: Count
    limits: QuotaRow
    sandbox: SandboxStatusRow
    store: dict[str, float]
    items: list[CapabilityStatusRow]


@schema_name("Wellbeing")
class FullHealthRow(StatusRow):
    """The health of a registry with its status, for a deploy token and the admin's."""

    ok: Literal[True]
    version: str


@schema_name("Tool")
class ServerToolRow(TypedDict):
    """A tool of an MCP server; `problem`: why it cannot become a capability, empty when it can;
    `hints`: what the server says of its effects.
    """

    tool: str
    capability: str
    description: str
    schema: dict[str, object]
    problem: str
    hints: NotRequired[list[str]]


@schema_name("ServerTools")
class ServerToolList(TypedDict):
    items: list[ServerToolRow]


class FileRow(TypedDict):
    """A file that a run left for its caller: its size in bytes, and until when it is kept."""

    id: str
    name: str
    type: str
    size: int
    until: float


class ReportRow(TypedDict):
    """The report of a run, without its output. `duration_ms` is in milliseconds."""

    version: int
    digest: str
    duration_ms: float
    cold: bool
    logs: list[str]
    files: NotRequired[list[FileRow]]
