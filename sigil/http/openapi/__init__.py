"""The HTTP API described: for programs as OpenAPI 3.1, for people as a page. Made of the table of
routes and the rows that it names.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from sigil.http.openapi import operations
from sigil.http.openapi import page as pages
from sigil.http.route import Route
from sigil.protocol import Json


def described(routes: Sequence[Route], version: str) -> dict[str, Json]:
    """The description of `routes`."""
    return operations.document(routes, version)


def written(routes: Sequence[Route], version: str) -> bytes:
    """The description as JSON."""
    return orjson.dumps(described(routes, version))


def page(routes: Sequence[Route], version: str) -> tuple[bytes, str]:
    """The page, and the `Content-Security-Policy` under which a browser shows it."""
    return pages.page(described(routes, version))
