"""A request that was let in, and the answers that every verb gives."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import orjson
from fastapi import Response

from sigil.access.tokens import TokenHolder
from sigil.admin_protocol import AdminRegistry
from sigil.errors import Refused, UsageError
from sigil.protocol import Caller, Json, Ref

LIMIT_MOST = 50
PAGE_MOST = 500
QUIET = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
SEALED = {**QUIET, "Content-Security-Policy": "default-src 'none'; sandbox"}


@dataclass(frozen=True, slots=True)
class AuthorizedRequest:
    """An authorised request, its body read. `query`: every value of each parameter. `ref`: what the
    path names.

    `url`: where it was sent to, without the query. A HEAD is asked as the GET that it stands for.
    `headers`: by their lower-case names. `again` lets it in once more, as one more request of its
    token: `Refused` EAUTH or ERATE.
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

    def last(self, name: str) -> str:
        """Return the last value of a query parameter, empty when it is not given."""
        return self.query.get(name, [""])[-1]

    def whole(self, name: str, default: int, most: int = LIMIT_MOST, least: int = 1) -> int:
        """Return a query parameter that is a whole number from `least` to `most`; `UsageError`
        otherwise.
        """
        text = self.last(name)
        if name not in self.query:
            return default
        if not re.fullmatch(r"[0-9]{1,12}", text, re.ASCII) or not least <= int(text) <= most:
            raise UsageError("EINVAL", f"{name} is a number from {least} to {most}", source="http")
        return int(text)

    def flag(self, name: str) -> bool:
        """Tell if a query parameter is 1, not 0 or missing; `UsageError` for any other value."""
        return self.choice(name, ("0", "1")) == "1"

    def choice(self, name: str, known: tuple[str, ...]) -> str:
        """Return a query parameter that is one of `known`, the first when it is not given;
        `UsageError` otherwise.
        """
        text = self.last(name)
        if name not in self.query:
            return known[0]
        if text not in known:
            raise UsageError("EINVAL", f"{name} is {' or '.join(known)}", source="http")
        return text

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
        """Raise `Refused` EPERM unless the token is about the capability `ref`, by default of its
        own namespace.
        """
        wanted = Ref.parse(ref)
        if not self.caller.reaches(wanted.namespace or self.caller.namespace, wanted.name):
            raise Refused(
                "EPERM",
                f"this token is not about {wanted.name}",
                source="http",
                suggestion="`sigil whoami` shows its scopes",
            )


def json_response(
    value: Json, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return `value` as JSON that no cache keeps."""
    return Response(
        orjson.dumps(value),
        status,
        {**QUIET, **(headers or {}), "Content-Type": "application/json; charset=utf-8"},
    )
