"""What the HTTP API tells without a token: that it works, what it can do, and how it is used."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from fastapi import Response

from sigil.http.admin import status_row
from sigil.http.request import AuthorizedRequest, json_response
from sigil.http.route import Route
from sigil.version import version

SHARED = {"X-Content-Type-Options": "nosniff", "Cache-Control": "public, max-age=300"}
"""The description is the same for everybody, and tells nothing that its source code does not."""


class ApiDescription:
    """A table of routes, described for programs and for people when somebody first asks: it takes a
    while, and then stays.
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = tuple(routes)

    @cached_property
    def document(self) -> bytes:
        """The description, in OpenAPI 3.1."""
        from sigil.http import openapi

        return openapi.written(self._routes, version())

    @cached_property
    def page(self) -> tuple[bytes, str]:
        """The page, and what a browser may do with it."""
        from sigil.http import openapi

        return openapi.page(self._routes, version())


def health() -> Response:
    """That the server answers; opens nothing."""
    return json_response({"ok": True, "version": version()})


def wellbeing(ask: AuthorizedRequest | None) -> Response:
    """That the server answers; with a deploy token or the admin's also how the registry does."""
    return json_response(
        {"ok": True, "version": version(), **(status_row(ask.registry, ask.caller) if ask else {})}
    )


def document(described: ApiDescription) -> Response:
    """This description of the API, in OpenAPI 3.1."""
    return Response(
        described.document, headers={**SHARED, "Content-Type": "application/json; charset=utf-8"}
    )


def docs(described: ApiDescription) -> Response:
    """The description as a page for people."""
    body, policy = described.page
    return Response(
        body,
        headers={
            **SHARED,
            "Content-Security-Policy": policy,
            "Content-Type": "text/html; charset=utf-8",
        },
    )
