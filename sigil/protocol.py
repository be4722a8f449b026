"""Define what Sigil and its callers exchange: values, names and the four verbs of a registry."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, Protocol, runtime_checkable

from sigil.errors import UsageError
from sigil.json_fields import Json as Json  # noqa: PLC0414  most take it from here

if TYPE_CHECKING:
    from sigil.rows import (
        DeployedRow,
        DetailRow,
        ExampleRow,
        FileRow,
        GlimpseRow,
        GoldenTestCounts,
        HitRow,
        OfferRow,
        QueryPage,
        ReportRow,
    )


LIBRARY = "library"
"""The namespace of the standard library: everybody sees it, nobody deploys to it."""

NAME_LIMIT = 60
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", re.ASCII)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_VERSION = re.compile(r"[1-9][0-9]{0,7}", re.ASCII)
TOOL_PREFIX, TOOL_LIMIT = "cap_", 64
Kind = Literal["wasm", "host", "mcp", "bundle"]
"""The kind of a capability: a module in the sandbox, a function of the agent's own, a tool of an
MCP server, or some of these that are found together.
"""


def is_name(text: str) -> bool:
    """Tell if `text` can name a capability: `[a-z][a-z0-9]*(-[a-z0-9]+)*`, at most 60
    characters.
    """
    return len(text) <= NAME_LIMIT and _NAME.fullmatch(text) is not None


def is_full_name(text: str) -> bool:
    """Tell if `text` is `NAMESPACE/NAME`, as another namespace's public capability is called; its
    tool has to fit into 64 characters.
    """
    namespace, slash, name = text.partition("/")
    return bool(slash) and is_name(namespace) and is_name(name) and len(tool_of(text)) <= TOOL_LIMIT


@lru_cache(maxsize=4096)
def tool_of(name: str) -> str:
    """Return the tool of a capability: `sha256-hash` → `cap_sha256_hash`, `alice/sha256-hash` →
    `cap_alice__sha256_hash`.
    """
    return TOOL_PREFIX + name.replace("-", "_").replace("/", "__")


def capability_of(tool: str) -> str | None:
    """Return the capability of a tool, None when no capability can have this tool.

    It inverts `tool_of`: no name holds `--`.
    """
    name = tool.removeprefix(TOOL_PREFIX).replace("__", "/").replace("_", "-")
    return name if (is_name(name) or is_full_name(name)) and tool_of(name) == tool else None


@dataclass(frozen=True, slots=True)
class Ref:
    """A capability as callers name it: `name`, `name@3` or `name@sha256:…`, all three also as
    `namespace/name…`.
    """

    name: str
    version: int | None = None
    digest: str | None = None
    namespace: str = ""

    @classmethod
    def parse(cls, text: str) -> Ref:
        """Read `[NAMESPACE/]NAME[@VERSION|@sha256:DIGEST]`; `UsageError` when it is none."""
        full, at, rest = text.partition("@")
        namespace, slash, name = full.rpartition("/")
        if not is_name(name) or (slash and not is_name(namespace)):
            raise UsageError(
                "ENAME",
                f"not a capability's name: {text!r}",
                suggestion="lower-case words joined by hyphens, at most 60 characters",
            )
        if not at:
            return cls(name, namespace=namespace)
        if _DIGEST.fullmatch(rest):
            return cls(name, digest=rest, namespace=namespace)
        if _VERSION.fullmatch(rest):
            return cls(name, version=int(rest), namespace=namespace)
        raise UsageError(
            "ENAME",
            f"not a version: {rest!r}",
            source=name,
            suggestion="use NAME@3 or NAME@sha256:DIGEST",
        )


OWN_WORK = "own:"
"""The sessions of the work that an agent does by itself begin so."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a registry's verbs.

    `namespace`: the agent's own. `session`: the chat it speaks in, empty for a person at a shell.
    `owner`: True when the request is an owner's. `author`: who wrote the code of a deploy. `token`:
    the id of the request's key, `admin` for the admin token, empty in this process. `only`: unless
    it is None, the caller reaches nothing but these: `*`, `NAMESPACE/*` or `NAMESPACE/NAME`.
    `deployer`: whose deploys are recorded as this caller's own, empty without an access token.
    """

    namespace: str
    session: str = ""
    owner: bool = False
    author: Literal["person", "model", "library"] = "person"
    token: str = ""
    only: tuple[str, ...] | None = None
    deployer: str = ""

    def reaches(self, namespace: str, name: str) -> bool:
        """Tell if its token lets it see and run this capability, provided that its namespace
        does.
        """
        if self.only is None:
            return True
        patterns = {"*", f"{namespace}/*", f"{namespace}/{name}"}
        return not patterns.isdisjoint(self.only)

    @property
    def own(self) -> str:
        """The namespace of the capabilities that only this session sees."""
        return f"{self.namespace}~{self.session}"

    @property
    def sees(self) -> tuple[str, ...]:
        """The namespaces whose capabilities this caller has by plain name, nearest first."""
        nearest = (self.own, self.namespace) if self.session else (self.namespace,)
        return (*nearest, LIBRARY)

    @property
    def target(self) -> str:
        """The namespace of this caller's deploys: a model that speaks with no owner deploys for its
        session alone.
        """
        if self.author == "library":
            return LIBRARY
        if self.author == "model" and self.session and not self.owner:
            return self.own
        return self.namespace


def caller_within(namespace: str) -> Caller:
    """Return a caller who sees exactly what a capability of `namespace` sees."""
    agent, _, session = namespace.partition("~")
    return Caller(agent, session)


@dataclass(frozen=True, slots=True)
class Offer:
    """A capability as a caller may use it, which becomes a tool.

    `pure`: it may run twice (no permission, or idempotent). One of kind `host` is run by the agent
    that was offered it, and by no registry. A call of one with `background` may outlive the turn
    that makes it.
    """

    name: str
    version: int
    digest: str
    description: str
    schema: Mapping[str, Json]
    pure: bool = False
    kind: Kind = "wasm"
    background: bool = field(default=False, metadata={"since": "0.2.0"}, kw_only=True)
    _rest: Mapping[str, Json] | None = field(default=None, compare=False, repr=False, kw_only=True)
    """The fields that a newer version wrote into a history: see `sigil.storage.stored`."""

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def tool(self) -> str:
        return tool_of(self.name)


DESCRIPTION_MOST: Final = 1_024
"""Characters of a tool's description.

Endpoints refuse longer ones, and with them the whole chat.
"""
EXAMPLES_MOST: Final = 3
_EXAMPLE: Final = " Example: "
_ROOM: Final = len(_EXAMPLE) + 2


def add_examples(description: str, examples: Sequence[str]) -> str:
    """Return the description of an offer: the capability's, with its first examples below it, each
    as a sentence, as far as they fit.
    """
    for example in examples[:EXAMPLES_MOST]:
        if len(description) + len(example) < DESCRIPTION_MOST - _ROOM:
            description += f"{_EXAMPLE}{example}."
    return description


def remove_examples(description: str) -> str:
    """Return the description of an offer without the examples that `add_examples` wrote below it.

    They are for whoever searches: a small model takes their data for the person's. An example that
    its author wrote stays where further lines follow it.
    """
    head, *sentences = description.split(_EXAMPLE)
    own = len(sentences)
    least = max(own - EXAMPLES_MOST, 0)
    while own > least and sentences[own - 1].endswith(".") and "\n" not in sentences[own - 1]:
        own -= 1
    return _EXAMPLE.join((head, *sentences[:own]))


@dataclass(frozen=True, slots=True)
class Hit:
    """An offer that a query found; `score` in 0…1. `summary`: its description without the examples,
    which its tool has. `offers` are those of a bundle's members, what was found itself first.
    """

    offer: Offer
    score: float
    summary: str = ""
    offers: tuple[Offer, ...] = ()

    @property
    def loads(self) -> tuple[Offer, ...]:
        """Return the offers that become tools."""
        return self.offers or (self.offer,)


@dataclass(frozen=True, slots=True)
class WeakHit:
    """A capability that fits a query too little to be paged in; a query for its name pages it
    in.
    """

    name: str
    description: str
    kind: Kind = "wasm"


NEAR: Final = 0.8
"""The share of the best score that a hit needs beside the best one to become a tool."""
SURE: Final = 0.5
"""A best hit with a lower score leaves out no other.

Without this limit 24 of 609 requests that find the right tool of MetaTool's lose it, with it none.
"""


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a query, best first; `total` counts all hits above the relevance floor, `weak`
    has the best below it.
    """

    hits: tuple[Hit, ...] = ()
    total: int = 0
    weak: tuple[WeakHit, ...] = ()

    def keep_near(self) -> Found:
        """Return it with the hits that are near the best one; the others are named before those
        that fit too little.

        A hit is compared with the best of those before it: other namespaces' capabilities come
        last, however well they fit, and leave out none of one's own.
        """
        best = 0.0
        near: list[Hit] = []
        others: list[WeakHit] = []
        for hit in self.hits:
            if best < SURE or hit.score >= NEAR * best:
                near.append(hit)
            else:
                description = hit.summary or remove_examples(hit.offer.description)
                others.append(WeakHit(hit.offer.name, description, hit.offer.kind))
            best = max(best, hit.score)
        return Found(tuple(near), self.total, (*others, *self.weak))


@dataclass(frozen=True, slots=True)
class Glimpse:
    """A capability as exploring shows it; `score` in 0…1."""

    name: str
    description: str
    score: float

    @property
    def tool(self) -> str:
        return tool_of(self.name)


@dataclass(frozen=True, slots=True)
class ExampleRun:
    """The run of a capability that was deployed without tests, on the example of its schema.

    `output` is what it returned, or the beginning of its JSON text when that is long. `problem` is
    a code and a message when it failed, empty otherwise.
    """

    input: Mapping[str, Json]
    output: Json = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Deployed:
    """The result of a deploy. `created` is False when this very digest was there already.

    `example` is None where none was run.
    """

    offer: Offer
    created: bool
    passed: int = 0
    pending: tuple[str, ...] = ()
    expires_at: float | None = None
    example: ExampleRun | None = None


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file that a run returned and that is kept for its caller, until a time (seconds since
    1970). `size` is in bytes.
    """

    id: str
    name: str
    type: str
    size: int
    until: float
    _rest: Mapping[str, Json] | None = field(default=None, compare=False, repr=False, kw_only=True)
    """The fields that a newer version wrote into a history: see `sigil.storage.stored`."""


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of a run: `output` is one JSON value, encoded; `files` were kept beside it."""

    output: bytes
    version: int
    digest: str
    duration_ms: float = 0.0
    cold: bool = False
    logs: tuple[str, ...] = field(default=())
    files: tuple[KeptFile, ...] = ()


class Registry(Protocol):
    """The verbs that an agent needs; in this process or over HTTP, the caller cannot tell."""

    def query(self, text: str, caller: Caller, *, limit: int = 3) -> Found:
        """Return the capabilities that are relevant for `text`, best first."""

    def inspect(self, ref: str, caller: Caller) -> DetailRow:
        """Return everything about one capability; `UsageError` ENOENT when there is none.

        A caller that may only run it sees no more than the fields of `InterfaceRow`.
        """

    def deploy(
        self, spec: Mapping[str, Json], caller: Caller, *, replace: bool = False
    ) -> Deployed:
        """Check, test and activate the capability that `spec` (the flat form of a manifest with its
        source) describes.

        `Refused` EEXIST where it would hide one of its name of the library or another namespace,
        unless it may `replace` that.
        """

    def run(self, ref: str, arguments: Mapping[str, Json], caller: Caller) -> Ran:
        """Run a capability on `arguments`."""

    def read_file(self, id: str, caller: Caller) -> bytes:
        """Return the bytes of a file that a run of this caller's left; `UsageError` ENOENT when
        there is none, or not any more.
        """


class GrantVerb(Protocol):
    """The grant of permissions to a capability, which is an owner's act."""

    def grant(self, ref: str, caller: Caller, digest: str = "") -> object:
        """Grant what it asks for; `Conflict` when `ref` no longer means `digest`."""


@runtime_checkable
class GrantsPermissions(Protocol):
    """A registry at which permissions are granted."""

    @property
    def granting(self) -> GrantVerb: ...


@runtime_checkable
class SearchesMany(Protocol):
    """A registry that answers several queries with one look at what has changed."""

    def query_each(self, texts: Sequence[str], caller: Caller, *, limit: int = 3) -> list[Found]:
        """Return what `Registry.query` does for each of the texts."""


def offer_row(offer: Offer) -> OfferRow:
    """Return the row of an offer."""
    return {
        "capability": offer.name,
        "tool": offer.tool,
        "version": offer.version,
        "digest": offer.digest,
        "description": offer.description,
        "schema": dict(offer.schema),
        "pure": offer.pure,
        "kind": offer.kind,
    }


def hit_row(hit: Hit, registry: Registry, caller: Caller) -> HitRow:
    """Return the row of a capability that a query found, with its tags and examples."""
    tags: list[str] = []
    examples: list[str] = []
    try:
        detail = registry.inspect(f"{hit.offer.name}@{hit.offer.digest}", caller)
    except UsageError:
        pass  # it was removed a moment ago
    else:
        tags = detail.get("tags", [])
        examples = detail.get("examples", [])
    row: HitRow = {
        **offer_row(hit.offer),
        "summary": hit.summary,
        "tags": tags,
        "examples": examples,
        "score": hit.score,
        "offers": [offer_row(each) for each in hit.offers],
    }
    if not hit.offers:
        del row["offers"]
    return row


def query_page(found: Found, registry: Registry, caller: Caller) -> QueryPage:
    """Return the answer to a query; `weak` is in it only where there is something in it."""
    page: QueryPage = {
        "items": [hit_row(hit, registry, caller) for hit in found.hits],
        "total": found.total,
    }
    if found.weak:
        page["weak"] = [
            {"capability": each.name, "description": each.description, "kind": each.kind}
            for each in found.weak
        ]
    return page


def glimpse_row(glimpse: Glimpse) -> GlimpseRow:
    """Return the row of a capability that exploring showed."""
    return {
        "capability": glimpse.name,
        "tool": glimpse.tool,
        "description": glimpse.description,
        "score": glimpse.score,
    }


def example_row(example: ExampleRun) -> ExampleRow:
    """Return the row of an example that was run."""
    if example.problem:
        return {"input": dict(example.input), "problem": example.problem}
    return {"input": dict(example.input), "output": example.output}


def deployed_row(deployed: Deployed, url: str) -> DeployedRow:
    """Return the answer to a deploy; `url` is where the capability runs."""
    offer = offer_row(deployed.offer)
    tests: GoldenTestCounts = {"passed": deployed.passed, "failed": 0}
    pending = list(deployed.pending)
    row: DeployedRow = {
        **offer,
        "url": url,
        "expires_at": deployed.expires_at or 0.0,
        "tests": tests,
        "pending": pending,
        "example": example_row(deployed.example or ExampleRun({})),
    }
    if deployed.expires_at is None:
        del row["expires_at"]
    if deployed.example is None:
        del row["example"]
    return row


def report_row(ran: Ran) -> ReportRow:
    """Return the report of a run, without its output."""
    return {
        "version": ran.version,
        "digest": ran.digest,
        "duration_ms": ran.duration_ms,
        "cold": ran.cold,
        "logs": list(ran.logs),
        "files": [file_row(file) for file in ran.files],
    }


def file_row(file: KeptFile) -> FileRow:
    """Return the row of a file."""
    return {
        "id": file.id,
        "name": file.name,
        "type": file.type,
        "size": file.size,
        "until": file.until,
    }
