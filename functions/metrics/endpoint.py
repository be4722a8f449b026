"""GET /metrics of a server, for Prometheus and whatever reads its format."""

from __future__ import annotations

from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from functions.agent.app import App
from functions.metrics.first_words import FirstWords, ShowsTurns
from functions.metrics.gauges import CountsWatchers, read_gauges
from functions.metrics.measured_store import find_meter
from functions.metrics.prometheus import CONTENT_TYPE, format_metrics
from functions.queues.base import Queue
from functions.settings import Settings
from sigil.access.authentication import Authenticator, require_admin
from sigil.errors import SigilError, UsageError
from sigil.http.credentials import admit_request, read_credentials
from sigil.http.response import QUIET, failure_response
from sigil.storage.kv import KV
from sigil.storage.setting_secrets import reveal

TOKEN_CHARACTERS: Final = 20
"""A shorter token could be guessed."""


def watch_words(live: ShowsTurns, kv: KV) -> FirstWords:
    """Return what shows turns as `live` does, and measures how long the first word takes."""
    return FirstWords(live, find_meter(kv))


def build_routes(
    settings: Settings, app: App, queue: Queue, live: CountsWatchers, gate: Authenticator
) -> list[Route]:
    """Return GET /metrics, where the settings want it. It needs the token for that, or the admin's.

    `UsageError` ESETTING for a token that could be guessed.
    """
    if settings.metrics == "no":
        return []
    token = reveal(settings.metrics_token)
    if token and len(token) < TOKEN_CHARACTERS:
        raise UsageError(
            "ESETTING",
            "UNCAGED_METRICS_TOKEN could be guessed",
            suggestion=f"use {TOKEN_CHARACTERS} characters or more",
        )
    reader = Authenticator(token)
    meter = find_meter(app.kv)

    def read() -> str:
        read_gauges(meter, app, queue, live)
        return format_metrics(meter.read())

    async def show_metrics(request: Request) -> Response:
        try:
            if not reader.find_admin(*read_credentials(request)):
                require_admin(await admit_request(request, gate), "reads this")
            text = await run_in_threadpool(read)
        except SigilError as problem:
            return failure_response(problem)
        return Response(text, headers={**QUIET, "Content-Type": CONTENT_TYPE})

    return [Route("/metrics", show_metrics, methods=["GET"])]
