"""A request that was authorised, the bodies that it may have, and JSON answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, TypeVar, Unpack

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from sigil.access.tokens import TokenHolder
from sigil.admin_protocol import AdminRegistry
from sigil.errors import Refused, UsageError, one_line
from sigil.http.route import NAME_SCHEMA, REF_SCHEMA
from sigil.protocol import Caller, Ref
from sigil.strict_json import read_object

LIMIT_MOST = 50
PAGE_MOST = 500


def _read_integer(value: object) -> object:
    """Return a float without a fraction as an integer: to JSON Schema 3.0 is one."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


Name = Annotated[str, Field(min_length=1, max_length=200, json_schema_extra=NAME_SCHEMA)]
Reference = Annotated[str, Field(min_length=1, max_length=200, json_schema_extra=REF_SCHEMA)]
VersionNumber = Annotated[int, Field(ge=1, lt=10**8), BeforeValidator(_read_integer)]


class RequestBody(BaseModel):
    """The base of the bodies, which are read strictly: no other field, no other type.

    A body is published under the name of its class without the word `Body`.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    def __init_subclass__(cls, **options: Unpack[ConfigDict]) -> None:
        super().__init_subclass__(**options)
        cls.__qualname__ = cls.__name__.removesuffix("Body")


_BodyT = TypeVar("_BodyT", bound=RequestBody)


@dataclass(frozen=True, slots=True)
class AuthorizedRequest:
    """An authorised request, its body read. `query`: every value of each parameter. `ref`: what the
    path names.

    `url`: where it was sent to, without the query. A HEAD has the method
    GET. `headers`: by their lower-case names. `again` lets it in once more, as one more request of
    its token: `Refused` EAUTH or ERATE.
    """

    registry: AdminRegistry
    holder: TokenHolder
    caller: Caller
    method: str
    base: str
    ref: str
    query: Mapping[str, list[str]]
    accept: str
    body: bytes
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    again: Callable[[], object] = lambda: None

    def read_text(self, name: str) -> str:
        """Return the last value of a query parameter, empty when it is not given."""
        return self.query.get(name, [""])[-1]

    def read_number(self, name: str, default: int, most: int = LIMIT_MOST, least: int = 1) -> int:
        """Return a query parameter that is a whole number from `least` to `most`; `UsageError`
        EINVAL otherwise.
        """
        text = self.read_text(name)
        if name not in self.query:
            return default
        if not re.fullmatch(r"[0-9]{1,12}", text, re.ASCII) or not least <= int(text) <= most:
            raise UsageError("EINVAL", f"{name} is a number from {least} to {most}", source="http")
        return int(text)

    def read_flag(self, name: str) -> bool:
        """Tell if a query parameter is 1, not 0 or missing; `UsageError` EINVAL for any other
        value.
        """
        return self.read_choice(name, ("0", "1")) == "1"

    def read_choice(self, name: str, known: tuple[str, ...]) -> str:
        """Return a query parameter that is one of `known`, the first when it is not given;
        `UsageError` EINVAL otherwise.
        """
        text = self.read_text(name)
        if name not in self.query:
            return known[0]
        if text not in known:
            raise UsageError("EINVAL", f"{name} is {' or '.join(known)}", source="http")
        return text

    def read_body(self, model: type[_BodyT]) -> _BodyT:
        """Return the body as `model`.

        `UsageError` EJSON or EINVAL names the field that is wrong, and never its value.
        """
        read_object(self.body, source="http")  # stricter about JSON than pydantic
        try:
            return model.model_validate_json(self.body)
        except ValidationError as problem:
            first = problem.errors(include_input=False, include_url=False, include_context=False)[0]
            place = ".".join(map(str, first["loc"])) or "the body"
            known = ", ".join(model.model_fields)
            message = f"{one_line(place, 60)}: {one_line(str(first['msg']), 120)}"
            raise UsageError(
                "EINVAL", message, source="http", suggestion=f"the fields are {known}"
            ) from None

    def require_deploy(self, name: str) -> None:
        """Raise `Refused` EPERM unless the token may change the capability `name`; `*` asks about
        every one.
        """
        if not self.holder.may_deploy(name):
            what = f"deploy {name}" if name != "*" else "deploy under a name that is not given"
            raise Refused(
                "EPERM",
                f"this token may not {what}",
                source="http",
                suggestion="`sigil whoami` shows its scopes",
            )

    def require_reach(self, ref: str) -> None:
        """Raise `Refused` EPERM unless the token reaches the capability `ref`, by default of its
        own namespace.
        """
        parsed = Ref.parse(ref)
        if not self.caller.reaches(parsed.namespace or self.caller.namespace, parsed.name):
            raise Refused(
                "EPERM",
                f"this token does not reach {parsed.name}",
                source="http",
                suggestion="`sigil whoami` shows its scopes",
            )
