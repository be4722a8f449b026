"""What a registry elsewhere answers to its keepers, as far as this side reads it: every other
answer is one that no registry gives.

The shapes say less than those of the API's description, so that a registry of another version is
understood too.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NotRequired, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

from sigil.errors import UsageError
from sigil.http import wire
from sigil.protocol import Json

Row = dict[str, Json]
_STRICT = ConfigDict(strict=True, extra="ignore")


@with_config(_STRICT)
class Anything(TypedDict):
    """An object of which nothing is read but to show it."""


@with_config(_STRICT)
class Named(TypedDict):
    """A version of a capability."""

    capability: str
    version: int
    digest: str


class Changed(Named):
    changed: bool


class Version(Named):
    author: str
    at: float | None
    active: bool
    yanked: bool
    health: str


@with_config(_STRICT)
class Step(TypedDict):
    version: int
    at: float | None
    by: str
    action: str


@with_config(_STRICT)
class Limits(TypedDict):
    timeout_ms: int


class Listed(Named):
    namespace: str
    tags: list[str]
    description: str


class Detail(Listed):
    """`kind`, `source`, `pending`: of a capability that the token may see all of."""

    schema: dict[str, Any]
    limits: Limits
    kind: NotRequired[str]
    source: NotRequired[str | None]
    pending: NotRequired[list[str]]
    active: NotRequired[bool]
    requires: NotRequired[list[str]]
    permissions: NotRequired[dict[str, Any]]
    tests: NotRequired[list[dict[str, Any]]]
    at: NotRequired[float | None]
    expires_at: NotRequired[float | None]
    last: NotRequired[float | None]


@with_config(_STRICT)
class Sandbox(TypedDict):
    slots: NotRequired[int]
    cold: NotRequired[int]
    evictions: NotRequired[int]


@with_config(_STRICT)
class Status(TypedDict):
    sandbox: NotRequired[Sandbox]
    items: NotRequired[list[dict[str, Any]]]


@with_config(_STRICT)
class Difference(TypedDict):
    field: str
    old: Any
    new: Any


@with_config(_STRICT)
class Differences(TypedDict):
    same: bool
    manifest: list[Difference]
    schema: str
    source: str


class Asked(Named):
    namespace: str
    asked: list[str]
    granted: list[str]
    new: list[str]
    widened: list[str]
    before: str | None
    secrets_missing: list[str]


@with_config(_STRICT)
class Grant(TypedDict):
    """`version` is null when it is gone."""

    capability: str
    namespace: str
    version: int | None
    state: str
    permissions: list[str]
    at: NotRequired[float]


@with_config(_STRICT)
class Revoked(TypedDict):
    capability: str
    revoked: list[str]


@with_config(_STRICT)
class Secret(TypedDict):
    secret: str
    at: float | None
    by: str


@with_config(_STRICT)
class Holder(TypedDict):
    id: str
    kind: str
    namespace: str
    name: str
    scopes: list[str]
    expires: float | None


class Key(Holder):
    last_use: float | None
    expired: bool


class NewKey(Holder):
    token: str


@with_config(_STRICT)
class Entry(TypedDict):
    number: int
    at: float | None
    action: str


@with_config(_STRICT)
class Verdict(TypedDict):
    namespace: str
    entries: int
    tip: str
    ok: bool
    problem: str


@with_config(_STRICT)
class Tool(TypedDict):
    tool: str
    capability: str
    description: str
    schema: dict[str, Any]
    problem: str


def one(shape: type, body: bytes) -> Row:
    """The object in `body`, of that shape, with all that it holds; `BackendError` when it is
    none.
    """
    try:
        value = wire.read_object(body)
        _adapter(shape).validate_python(value)
    except (ValidationError, UsageError):
        raise wire.strange() from None
    return value


def page(shape: type, body: bytes, part: str = "items") -> tuple[list[Row], str]:
    """The rows of a list, each of that shape, and where its next part begins (empty: that was all);
    `BackendError` when it is none.
    """
    value = one(Anything, body)
    rows: Any = value.get(part, None if part == "items" else [])
    after = value.get("next", "")
    try:
        _adapter(list[shape]).validate_python(rows, strict=True)  # type: ignore[valid-type]
    except ValidationError:
        raise wire.strange() from None
    if not isinstance(after, str):
        raise wire.strange()
    return cast("list[Row]", rows), after


@lru_cache(maxsize=64)
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)
