"""Where pages stand in a server. Nothing of them is imported before somebody asks for one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

PREFIX: Final = "/ui"
BASE: Final = "base_path"
"""The key of a request's scope for what a gateway has put before its path."""


def build_routes(open_site: Callable[[], ASGIApp]) -> list[BaseRoute]:
    """Return the routes of a site of pages, which its first request opens, and `/`, which leads a
    browser to them.
    """
    site = _LaterSite(open_site)
    return [
        Mount(PREFIX, site),
        Route(PREFIX, site),
        Route("/", _lead_to_pages, methods=["GET"]),
    ]


class _LaterSite:
    """An ASGI app that opens a site at its first request."""

    def __init__(self, open_site: Callable[[], ASGIApp]) -> None:
        self._open_site = open_site
        self._lock = threading.Lock()
        self._site: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        site = self._site
        if site is None:
            site = await run_in_threadpool(self._open)
        await site(scope, receive, send)

    def _open(self) -> ASGIApp:
        with self._lock:
            if self._site is None:
                self._site = self._open_site()
            return self._site


async def _lead_to_pages(request: Request) -> Response:
    """Lead a browser to the pages; for everybody else there is nothing at `/`."""
    kinds = request.headers.get("accept", "").lower().split(",")
    if not any(kind.partition(";")[0].strip() == "text/html" for kind in kinds):
        raise HTTPException(404)
    base = str(request.scope.get(BASE, ""))
    # a proxy may have taken a path away, so without a base it leads from / of wherever that is
    location = f"{base}{PREFIX}" if base else PREFIX.removeprefix("/")
    return Response(status_code=303, headers={"Location": location})
