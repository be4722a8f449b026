"""The description of the HTTP API, made of the table of routes and the rows that it names.

It is OpenAPI 3.1 for programs, and a page for people.
"""

from __future__ import annotations

from sigil.http.openapi.operations import describe_routes, encode_document
from sigil.http.openapi.page import render_page

__all__ = ["describe_routes", "encode_document", "render_page"]
