"""Where the agent's pages stand in a server: see `sigil.http.page.mount`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from sigil.http.page import mount

if TYPE_CHECKING:
    from functions.page.frame import PageDeps


def build_routes(open_deps: Callable[[], PageDeps]) -> list[BaseRoute]:
    """Return the routes of the pages, and `/`, which leads a browser to them."""

    def open_site() -> ASGIApp:
        from functions.page import site

        return site.open_site(open_deps)

    return mount.build_routes(open_site)
