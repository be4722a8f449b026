"""Sigil's values as they travel over HTTP, written and read in one place so that the two sides
cannot drift apart.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeVar
from urllib.parse import quote, unquote

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sigil.errors import BackendError, UsageError, one_line
from sigil.manifest.languages import BINARY
from sigil.manifest.package import Package
from sigil.protocol import (
    LIBRARY,
    Caller,
    Deployed,
    Found,
    Glimpse,
    Hit,
    Json,
    Kind,
    Offer,
    Ran,
    Ref,
    Registry,
    is_full_name,
    is_name,
)
from sigil.strict_json import loads

NAMESPACE, SESSION, AUTHOR, OWNER = (
    "X-Sigil-Namespace",
    "X-Sigil-Session",
    "X-Sigil-Author",
    "X-Sigil-Owner",
)
REPORT = "application/x-ndjson"
"""A client that accepts this media type gets a run's report on the first line and the output's
exact bytes after it.
"""
ELSEWHERE = "check that the address (--url, SIGIL_URL) leads to a Sigil registry"
DESCRIPTION_LIMIT = 4_000
PART_LIMIT = 500
DEPTH_LIMIT = 100


def headers_of(caller: Caller) -> dict[str, str]:
    """The headers that say on whose behalf an agent asks; percent-encoded."""
    fields = {
        NAMESPACE: caller.namespace,
        SESSION: caller.session,
        AUTHOR: caller.author,
        OWNER: "1" if caller.owner else "0",
    }
    return {name: quote(value, safe="", errors="replace") for name, value in fields.items()}


def caller_of(headers: Mapping[str, str], agent: str) -> Caller:
    """Who asks. Without headers the token's holder, an owner at a shell; `UsageError` with ECALLER
    when they make no sense.
    """
    namespace = _part(headers, NAMESPACE) or agent
    author, owner = (
        _part(headers, AUTHOR, "person"),
        _part(headers, OWNER) if OWNER in headers else None,
    )
    if namespace == LIBRARY or "~" in namespace:
        raise UsageError(
            "ECALLER", f"{NAMESPACE}: nobody deploys to {namespace!r} or asks in its name"
        )
    if author not in ("person", "model"):
        raise UsageError("ECALLER", f"{AUTHOR} is person or model")
    if owner not in (None, "0", "1"):
        raise UsageError("ECALLER", f"{OWNER} is 0 or 1")
    model = author == "model"
    return Caller(
        namespace,
        _part(headers, SESSION),
        owner == "1" or (owner is None and not model),
        "model" if model else "person",
    )


def _part(headers: Mapping[str, str], name: str, default: str = "") -> str:
    value = unquote(headers.get(name, default), errors="replace")
    if len(value) > PART_LIMIT:
        raise UsageError("ECALLER", f"{name}: at most {PART_LIMIT} characters")
    return value


def offer_row(offer: Offer) -> dict[str, Json]:
    """An offer: what a client needs to show it and to call it."""
    return {
        "capability": offer.name,
        "tool": offer.tool,
        "version": offer.version,
        "digest": offer.digest,
        "description": offer.description,
        "schema": offer.schema,
        "pure": offer.pure,
        "kind": offer.kind,
    }


def found_row(hit: Hit, registry: Registry, caller: Caller) -> dict[str, Json]:
    """A found capability, ready to be called: its offer, tags, examples and score."""
    try:
        detail = registry.inspect(f"{hit.offer.name}@{hit.offer.digest}", caller)
    except UsageError:
        detail = {}  # it was removed a moment ago
    about = {"tags": detail.get("tags", []), "examples": detail.get("examples", [])}
    return {**offer_row(hit.offer), "summary": hit.summary, **about, "score": hit.score}


def glimpse_row(glimpse: Glimpse) -> dict[str, Json]:
    """A capability as somebody sees it who looks around."""
    return {
        "capability": glimpse.name,
        "tool": glimpse.tool,
        "description": glimpse.description,
        "score": glimpse.score,
    }


def deployed_row(deployed: Deployed, url: str) -> dict[str, Json]:
    """The answer to a deploy; `url` is where it runs."""
    lasting = {} if deployed.expires_at is None else {"expires_at": deployed.expires_at}
    tests = {"passed": deployed.passed, "failed": 0}
    return {
        **offer_row(deployed.offer),
        "url": url,
        **lasting,
        "tests": tests,
        "pending": list(deployed.pending),
    }


def report_row(ran: Ran) -> dict[str, Json]:
    """What a run says beside its output."""
    return {
        "version": ran.version,
        "digest": ran.digest,
        "duration_ms": ran.duration_ms,
        "cold": ran.cold,
        "logs": list(ran.logs),
    }


Model = TypeVar("Model", bound=BaseModel)


def spec_of(package: Package) -> dict[str, Json]:
    """A package as `deploy` takes it: the flat form that `manifest.parse_flat` reads back to the
    same digest.
    """
    fields = package.manifest.model_dump(mode="json", exclude_unset=True)
    names = {"lifetime": "type", "input": "schema", "output": "output_schema"}
    flat = {names.get(name, name): value for name, value in fields.items()}
    if (lang := flat.pop("lang", "js")) in BINARY:
        return {**flat, "lang": lang, "wasm": base64.b64encode(package.code).decode()}
    try:
        return {**flat, "lang": package.manifest.lang, "code": package.code.decode()}
    except UnicodeDecodeError:
        raise UsageError(
            "EMANIFEST", "the source is not UTF-8", source=package.manifest.name
        ) from None


class _Row(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class _Offer(_Row):
    capability: str
    version: Annotated[int, Field(ge=1, lt=10**8)]
    digest: str
    description: str
    parameters: dict[str, Any] = Field(alias="schema")
    pure: bool
    kind: Kind = "wasm"


class _Hit(_Offer):
    score: float = Field(ge=0, le=1)
    summary: str = ""


class _Found(_Row):
    items: list[_Hit] = Field(max_length=50)
    total: int = Field(ge=0)


class _Glimpse(_Row):
    capability: str
    description: str
    score: float = Field(ge=0, le=1)


class _Glimpses(_Row):
    items: list[_Glimpse] = Field(max_length=50)


class _Tests(_Row):
    passed: int = Field(ge=0)


class _Deployed(_Offer):
    tests: _Tests
    pending: list[str]
    expires_at: float | None = None
    created: bool = True


class _Report(_Row):
    version: int
    digest: str
    duration_ms: float
    cold: bool
    logs: list[str]


class _Failure(_Row):
    source: str = ""
    code: str
    message: str
    suggestion: str = ""
    logs: list[str] = []


class _Failed(_Row):
    error: _Failure


class _Imported(_Row):
    items: list[_Deployed]


def read_object(body: bytes | str, *, source: str = "") -> dict[str, Json]:
    """The JSON object in `body`; `UsageError` with EJSON when it is none, or nested deeper than we
    could write again.
    """
    value = loads(body, source=source)
    if not isinstance(value, dict):
        raise UsageError("EJSON", "a JSON object is wanted", source=source)
    level: list[Json] = [value]
    for _ in range(DEPTH_LIMIT):
        level = [child for node in level for child in _children(node)]
        if not level:
            return value
    raise UsageError("EJSON", f"nested deeper than {DEPTH_LIMIT}", source=source)


def _children(node: Json) -> Iterable[Json]:
    return node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()


def read_found(body: bytes) -> Found:
    """The answer to a query; `BackendError` when it is not one."""
    answer = _read(_Found, body)
    return Found(tuple(_hit(item) for item in answer.items), answer.total)


def read_glimpses(body: bytes) -> tuple[Glimpse, ...]:
    """The answer to somebody who looks around; `BackendError` when it is not one."""
    items = _read(_Glimpses, body).items
    if not all(is_name(item.capability) or is_full_name(item.capability) for item in items):
        raise strange()
    return tuple(
        Glimpse(item.capability, one_line(item.description, DESCRIPTION_LIMIT), item.score)
        for item in items
    )


def read_deployed(body: bytes, *, created: bool) -> Deployed:
    """The answer to a deploy; `BackendError` when it is not one."""
    return _deployed(_read(_Deployed, body), created=created)


def read_ran(body: bytes) -> Ran:
    """A run's report and its output; `BackendError` when they are not there."""
    report, _, output = body.partition(b"\n")
    answer = _read(_Report, report)
    return Ran(
        output,
        answer.version,
        answer.digest,
        answer.duration_ms,
        answer.cold,
        tuple(one_line(line, 1_000) for line in answer.logs),
    )


def read_imported(body: bytes) -> list[Deployed]:
    """The answer to an import; `BackendError` when it is not one."""
    return [_deployed(row, created=row.created) for row in _read(_Imported, body).items]


def read_failure(body: bytes) -> tuple[dict[str, str], tuple[str, ...]] | None:
    """The fields of a failure and what its run had said, each one clean line; None when the body is
    no failure of ours.
    """
    try:
        error = _Failed.model_validate(loads(body)).error
    except (ValidationError, UsageError):
        return None
    fields = error.model_dump(exclude={"logs"})
    return {name: one_line(text) for name, text in fields.items()}, tuple(
        one_line(line, 1_000) for line in error.logs
    )


def strange() -> BackendError:
    """For an answer that no registry of ours gives."""
    return BackendError(
        "EUNAVAILABLE", "the registry's answer is not one of Sigil's", suggestion=ELSEWHERE
    )


def _read(model: type[Model], body: bytes) -> Model:
    try:
        return model.model_validate(loads(body))
    except (ValidationError, UsageError):
        raise strange() from None


def _hit(row: _Hit) -> Hit:
    return Hit(_offer(row), row.score, one_line(row.summary, DESCRIPTION_LIMIT))


def _deployed(row: _Deployed, *, created: bool) -> Deployed:
    return Deployed(
        _offer(row), created, row.tests.passed, tuple(map(one_line, row.pending)), row.expires_at
    )


def _offer(row: _Offer) -> Offer:
    if (
        not (is_name(row.capability) or is_full_name(row.capability))
        or row.parameters.get("type") != "object"
    ):
        raise strange()
    try:
        Ref.parse(f"{row.capability}@{row.digest}")
    except UsageError:
        raise strange() from None
    return Offer(
        row.capability,
        row.version,
        row.digest,
        one_line(row.description, DESCRIPTION_LIMIT),
        row.parameters,
        row.pure,
        row.kind,
    )
