"""The bodies of requests to keepers' routes, read strictly: no other field, no other type."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sigil.errors import UsageError, one_line
from sigil.wire import read_object

Name = Annotated[str, Field(min_length=1, max_length=200)]
Number = Annotated[int, Field(ge=1, lt=10**8)]


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class Rollback(_Body):
    name: Name
    version: Number | None = None


class Yank(_Body):
    ref: Name
    undo: bool = False


class Publish(_Body):
    name: Name
    session: Annotated[str, Field(max_length=500)] = ""
    replace: bool = False


class Export(_Body):
    refs: Annotated[list[Name], Field(min_length=1, max_length=200)]


class Grant(_Body):
    ref: Name
    digest: Annotated[str, Field(max_length=100)] = ""


class Revoke(_Body):
    name: Name
    permission: Annotated[str, Field(max_length=500)] = ""


class Secret(_Body):
    value: Annotated[str, Field(max_length=64 << 10)]


class Key(_Body):
    kind: Annotated[str, Field(max_length=20)]
    name: Annotated[str, Field(max_length=200)] = ""
    scopes: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=50)] = []
    namespace: Annotated[str, Field(max_length=200)] = ""
    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


Body = TypeVar("Body", bound=_Body)


def read(model: type[Body], body: bytes) -> Body:
    """The body as `model`; `UsageError` with EJSON or EINVAL, which names the field and never its value."""
    try:
        return model.model_validate_json(_plain(body))
    except ValidationError as problem:
        first = problem.errors(include_input=False, include_url=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"])) or "the body"
        known = ", ".join(model.model_fields)
        message = f"{one_line(place, 60)}: {one_line(str(first['msg']), 120)}"
        raise UsageError("EINVAL", message, source="http", suggestion=f"the fields are {known}") from None


def _plain(body: bytes) -> bytes:
    """The same bytes, once they are known to be a JSON object without surprises."""
    read_object(body, source="http")
    return body
