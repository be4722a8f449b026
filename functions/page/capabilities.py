"""The pages of the agent's capabilities: see `sigil.http.page.capabilities`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import Final, cast

from functions.agent.app import App
from functions.agent.runs.run import LOOKED_MOST
from functions.agent.runs.tree import list_agents, scan_all_runs
from functions.page.frame import PageDeps, PageRequest, PageRoute
from functions.time.time_zone import DAY_SECONDS, to_local
from sigil.admin_protocol import AdminRegistry
from sigil.http.page import capabilities
from sigil.http.page.capabilities import Asker
from sigil.protocol import Caller

DAYS: Final = 30


def find_asker(page: PageRequest) -> Asker:
    """Return who asks for a page of capabilities.

    Owners see and change everything; members run what is pure, in a chat of their own.
    """
    app = page.deps.app
    registry = cast("AdminRegistry", app.registry)
    role = page.viewer.role
    if role == "owner":
        caller = Caller(app.root, owner=True)
        use = partial(count_calls, app)
        return Asker(registry, caller, may_change=True, sees_all=True, runs_pure=True, use=use)
    session = f"web:{page.viewer.person}:capabilities"
    return Asker(registry, app.make_caller(session), runs_pure=role == "member")


def count_calls(app: App, tool: str) -> Mapping[str, int]:
    """Return how often a tool was called on each of the last days, by the runs of all agents: as
    far as these are kept, and of the newest `LOOKED_MOST`.
    """
    last = to_local(app.clock.now(), app.zone).date()
    days = {(last - timedelta(days=DAYS - 1 - n)).isoformat(): 0 for n in range(DAYS)}
    since = app.clock.now() - DAYS * DAY_SECONDS
    runs = scan_all_runs(app.kv, list_agents(app.kv, app.root))
    for run in islice(runs, LOOKED_MOST):
        if run.began < since:
            break
        count = sum(step["kind"] == "call" and step.get("name") == tool for step in run.steps)
        day = to_local(run.began, app.zone).date().isoformat()
        if count and day in days:
            days[day] += count
    return days


_PAGES: Final = capabilities.CapabilityPages[PageDeps](find_asker)
ROUTES: tuple[PageRoute, ...] = _PAGES.routes
PAGES: Final = capabilities.PAGES
