"""Where the pages stand in a server. Nothing of them is imported before somebody asks for one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from functions.base_path import BASE

if TYPE_CHECKING:
    from functions.page.frame import PageDeps

PREFIX = "/ui"


def build_routes(open_deps: Callable[[], PageDeps]) -> list[BaseRoute]:
    """Return the routes of the pages, and `/`, which leads a browser to them."""
    site = _LaterSite(open_deps)
    return [
        Mount(PREFIX, site),
        Route(PREFIX, site),
        Route("/", _lead_to_pages, methods=["GET"]),
    ]


class _LaterSite:
    """An ASGI app that opens the site of the pages at its first request."""

    def __init__(self, open_deps: Callable[[], PageDeps]) -> None:
        self._open_deps = open_deps
        self._lock = threading.Lock()
        self._site: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        site = self._site
        if site is None:
            site = await run_in_threadpool(self._open)
        await site(scope, receive, send)

    def _open(self) -> ASGIApp:
        from functions.page.site import open_site

        with self._lock:
            if self._site is None:
                self._site = open_site(self._open_deps)
            return self._site


async def _lead_to_pages(request: Request) -> Response:
    """Lead a browser to the pages; for everybody else there is nothing at `/`."""
    kinds = request.headers.get("accept", "").lower().split(",")
    if not any(kind.partition(";")[0].strip() == "text/html" for kind in kinds):
        raise HTTPException(404)
    base = str(request.scope.get(BASE, ""))
    return Response(status_code=303, headers={"Location": f"{base}{PREFIX}"})
