"""All pages of the agent: a feature's are a line here."""

from __future__ import annotations

from starlette.responses import Response

from functions.page import (
    agents,
    capabilities,
    files,
    knowledge,
    overview,
    people,
    policy,
    runs,
    safety,
    settings,
    usage,
)
from functions.page.access import sign_in
from functions.page.access.viewer import VIEWERS
from functions.page.chat import chat_table
from functions.page.chat import pages as chat
from functions.page.frame import Page, PageRequest, PageRoute, redirect, render


def show_first(page: PageRequest) -> Response:
    """Lead to the first page that the viewer may see; an owner on a phone to what waits for them,
    if anything does.
    """
    if overview.is_needed(page):
        return redirect(page, "/overview")
    for each in PAGES:
        if page.viewer.role in each.roles:
            return redirect(page, each.path)
    return render(page, "first.html", title=page.deps.app.name)


ROUTES: tuple[PageRoute, ...] = (
    PageRoute("/", "GET", show_first, VIEWERS),
    *sign_in.ROUTES,
    *chat.ROUTES,
    *overview.ROUTES,
    *runs.ROUTES,
    *capabilities.ROUTES,
    *agents.ROUTES,
    *knowledge.ROUTES,
    *people.ROUTES,
    *policy.ROUTES,
    *safety.ROUTES,
    *usage.ROUTES,
    *settings.ROUTES,
    *chat_table.ROUTES,
    *files.ROUTES,
)
PAGES: tuple[Page, ...] = (
    *chat.PAGES,
    *sign_in.PAGES,
    *runs.PAGES,
    *capabilities.PAGES,
    *agents.PAGES,
    *knowledge.PAGES,
    *people.PAGES,
    *safety.PAGES,
    *usage.PAGES,
    *settings.PAGES,
    *overview.PAGES,
)
"""The bar of names, in its order."""
