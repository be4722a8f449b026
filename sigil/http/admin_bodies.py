"""The bodies of requests to keepers' routes, read strictly: no other field, no other type."""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from sigil.errors import UsageError, one_line
from sigil.strict_json import read_object

NAME: Final = {
    "type": "string",
    "pattern": "^[a-z][a-z0-9]*(-[a-z0-9]+)*$",
    "maxLength": 60,
    "description": "a capability's name",
}
REF: Final = {
    "type": "string",
    "pattern": (
        "^([a-z][a-z0-9]*(-[a-z0-9]+)*/)?[a-z][a-z0-9]*(-[a-z0-9]+)*(@([1-9][0-9]{0,7}|sha256:[0-9a-f]{64}))?$"
    ),
    "maxLength": 200,
    "description": "NAME, NAME@VERSION or NAME@sha256:DIGEST; of another namespace NAMESPACE/NAME",
}
SCOPE: Final = {
    "type": "string",
    "pattern": r"^(run:\*|(run|deploy):[a-z][a-z0-9-]*/(\*|[a-z][a-z0-9-]*))$",
}
"""What may be named, in JSON Schema: the registry itself tells what is wrong with any other name,
and says it better.
"""

Name = Annotated[str, Field(min_length=1, max_length=200, json_schema_extra=NAME)]
Reference = Annotated[str, Field(min_length=1, max_length=200, json_schema_extra=REF)]


def _whole(value: object) -> object:
    return (
        int(value) if isinstance(value, float) and value.is_integer() else value
    )  # 3.0 is an integer to JSON Schema


Number = Annotated[int, Field(ge=1, lt=10**8), BeforeValidator(_whole)]


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class Rollback(_Body):
    name: Name
    version: Number | None = None


class Yank(_Body):
    ref: Annotated[
        Name, Field(json_schema_extra={**REF, "pattern": str(REF["pattern"]).replace(")?$", ")$")})
    ]
    undo: bool = False


class Remove(_Body):
    """Either of them, unless the address says it: older clients send `capability`."""

    name: Name | None = None
    capability: Name | None = None


class Publish(_Body):
    name: Name
    session: Annotated[str, Field(max_length=500)] = ""
    replace: bool = False


class Export(_Body):
    refs: Annotated[list[Reference], Field(min_length=1, max_length=200)]


class Tools(_Body):
    server: dict[str, Any]
    only: Annotated[list[Name], Field(max_length=200)] = []


class Grant(_Body):
    ref: Reference
    digest: Annotated[str, Field(max_length=100)] = ""


class Revoke(_Body):
    name: Name
    permission: Annotated[str, Field(max_length=500)] = ""


class Secret(_Body):
    value: Annotated[
        str, Field(max_length=64 << 10, json_schema_extra={"minLength": 8, "maxLength": 8_192})
    ]


class Key(_Body):
    kind: Annotated[str, Field(max_length=20, json_schema_extra={"enum": ["deploy", "invoke"]})]
    name: Annotated[str, Field(max_length=200, json_schema_extra={"maxLength": 80})] = ""
    scopes: Annotated[
        list[Annotated[str, Field(max_length=200, json_schema_extra=SCOPE)]], Field(max_length=50)
    ] = []
    namespace: Annotated[str, Field(max_length=200)] = ""
    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


Body = TypeVar("Body", bound=_Body)


def read(model: type[Body], body: bytes) -> Body:
    """The body as `model`; `UsageError` with EJSON or EINVAL, which names the field and never its
    value.
    """
    try:
        return model.model_validate_json(_plain(body))
    except ValidationError as problem:
        first = problem.errors(include_input=False, include_url=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"])) or "the body"
        known = ", ".join(model.model_fields)
        message = f"{one_line(place, 60)}: {one_line(str(first['msg']), 120)}"
        raise UsageError(
            "EINVAL", message, source="http", suggestion=f"the fields are {known}"
        ) from None


def _plain(body: bytes) -> bytes:
    """The same bytes, once they are known to be a JSON object without surprises."""
    read_object(body, source="http")
    return body
