"""A request that was let in, and the answers that every verb gives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from fastapi import Response

from sigil.errors import Refused, UsageError
from sigil.keeper import Keeper
from sigil.protocol import Caller, Json, Ref
from sigil.tokens import Holder

LIMIT_MOST = 50
PAGE_MOST = 500
QUIET = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
SEALED = {**QUIET, "Content-Security-Policy": "default-src 'none'; sandbox"}


@dataclass(frozen=True, slots=True)
class Ask:
    """An authorised request, its body read. `query`: every value of each parameter. `ref`: what the path names."""

    registry: Keeper
    holder: Holder
    caller: Caller
    method: str
    base: str
    ref: str
    query: Mapping[str, list[str]]
    accept: str
    body: bytes

    def last(self, name: str) -> str:
        """The last value of a query parameter, empty when it is not given."""
        return self.query.get(name, [""])[-1]

    def whole(self, name: str, default: int, most: int = LIMIT_MOST, least: int = 1) -> int:
        """A query parameter that is a whole number from `least` to `most`; `UsageError` otherwise."""
        text = self.last(name)
        if not text:
            return default
        if not re.fullmatch(r"[0-9]{1,12}", text, re.ASCII) or not least <= int(text) <= most:
            raise UsageError("EINVAL", f"{name} is a number from {least} to {most}", source="http")
        return int(text)

    def demand_deploy(self, name: str) -> None:
        """`Refused` with EPERM unless the token may change the capability `name`; `*` asks about every one."""
        if not self.holder.may_deploy(name):
            what = f"deploy {name}" if name != "*" else "deploy under a name that is not given"
            raise Refused("EPERM", f"this token may not {what}", source="http", suggestion="`sigil whoami` shows its scopes")

    def demand_reach(self, ref: str) -> None:
        """`Refused` with EPERM unless the token is about the capability `ref`, by default of its own namespace."""
        wanted = Ref.parse(ref)
        if not self.caller.reaches(wanted.namespace or self.caller.namespace, wanted.name):
            raise Refused("EPERM", f"this token is not about {wanted.name}", source="http", suggestion="`sigil whoami` shows its scopes")


def answer(value: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """`value` as JSON that nobody keeps."""
    return Response(orjson.dumps(value), status, {**QUIET, **(headers or {}), "Content-Type": "application/json; charset=utf-8"})
