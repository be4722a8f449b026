"""`review-runs` shows an agent how its own work went: what failed, and what it noted."""

from __future__ import annotations

from typing import Final

from functions.agent.behaviours.pins import REVIEW_DAYS_MOST
from functions.agent.runs.failures import scan_since, summarize
from functions.agent.services.call_context import Arguments, CallContext, read_number
from sigil.protocol import Json

USUAL_DAYS: Final = 7
DAY_SECONDS: Final = 86_400.0


def review_runs(context: CallContext, arguments: Arguments) -> Json:
    """Return what failed lately, a page at most: of all runs for an owner, and for anybody else of
    those that were on their behalf.
    """
    app = context.app
    days = read_number(arguments, "days", USUAL_DAYS, REVIEW_DAYS_MOST)
    since = app.clock.now() - days * DAY_SECONDS
    runs = list(scan_since(app.kv, app.name, since))
    if not app.people.is_owner(context.by):
        runs = [run for run in runs if run.by == context.by]
    return context.redact({"days": days, **summarize(runs)})
