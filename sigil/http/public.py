"""The handlers that need no token: the server's health, and the description of the API."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from starlette.responses import Response

from sigil.http.admin import status_row
from sigil.http.request import AuthorizedRequest
from sigil.http.response import json_response
from sigil.http.route import Route
from sigil.settings import installed_version

SHARED = {"X-Content-Type-Options": "nosniff", "Cache-Control": "public, max-age=300"}
"""The headers of the description, which is the same for everybody and holds no secrets."""


class ApiDescription:
    """The description of a table of routes, for programs and for people.

    It is made at the first request for it, because that takes a while, and then kept.
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = tuple(routes)

    @cached_property
    def document(self) -> bytes:
        """The description, in OpenAPI 3.1."""
        from sigil.http import openapi

        return openapi.encode_document(self._routes, installed_version())

    @cached_property
    def page(self) -> tuple[bytes, str]:
        """The page and its `Content-Security-Policy`."""
        from sigil.http import openapi

        return openapi.render_page(self._routes, installed_version())


def get_health() -> Response:
    """Tell that the server answers; opens nothing."""
    return json_response({"ok": True, "version": installed_version()})


def get_full_health(request: AuthorizedRequest | None) -> Response:
    """Tell that the server answers; with a deploy token or the admin's also how the registry
    does.
    """
    row: dict[str, object] = {"ok": True, "version": installed_version()}
    if request:
        row |= status_row(request.registry, request.caller)
    return json_response(row)


def get_openapi_document(description: ApiDescription) -> Response:
    """Give this description of the API, in OpenAPI 3.1."""
    headers = {**SHARED, "Content-Type": "application/json; charset=utf-8"}
    return Response(description.document, headers=headers)


def get_docs_page(description: ApiDescription) -> Response:
    """Give the description as a page for people."""
    body, policy = description.page
    headers = {
        **SHARED,
        "Content-Security-Policy": policy,
        "Content-Type": "text/html; charset=utf-8",
    }
    return Response(body, headers=headers)
