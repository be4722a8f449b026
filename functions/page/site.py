"""The agent's pages put together: made at the first request of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from functions import log
from functions.agent.safety.locks import read_lock
from functions.agent.workspace.received import FILES_MOST
from functions.page import pages
from functions.page.access.visitors import AgentVisitors
from functions.page.frame import PageDeps
from sigil.http.page.forms import FormLimits
from sigil.http.page.frame import Site, SiteParts
from sigil.http.page.guard import Guard
from sigil.storage.kv import keys

_HERE: Final = Path(__file__).parent
FIELDS_BYTES: Final = 1 << 20
"""How large the fields of a form with files may be: a message's."""


def open_site(open_deps: Callable[[], PageDeps]) -> Site[PageDeps]:
    """Return the site of an agent's pages."""
    deps = open_deps()
    return Site(
        open_deps,
        SiteParts(
            routes=pages.ROUTES,
            pages=pages.PAGES,
            visitors=AgentVisitors(open_deps),
            guard=Guard(deps.settings.web_names, is_behind_gateway=deps.secure),
            describe=describe_agent,
            templates=[_HERE / "templates"],
            static=[_HERE / "static"],
            language=deps.settings.language or "en",
            files=FormLimits(FIELDS_BYTES, FILES_MOST, deps.files_bytes),
            requests_a_minute=deps.settings.rate,
            note=log.note,
        ),
    )


def describe_agent(deps: PageDeps) -> Mapping[str, object]:
    """Return what the bar says of the agent."""
    lock = read_lock(deps.kv, keys.escape(deps.app.root))
    model = deps.app.model.name if deps.live else ""  # a function that asks none knows none
    return {"name": deps.app.name, "model": model, "halted": lock.closed}
