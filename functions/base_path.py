"""An API mapping of a custom domain puts a base path before the path of each request, and a stage
with a name puts its name there: `/bot` of `/bot/webhook/telegram`. The gateway chooses the route
without it, and tells the function the whole path: so do HTTP APIs in both formats of their events,
and REST APIs. A REST API under its own address is the exception: there the path has no stage, and
only the request's context says what was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from starlette.types import Scope

BASE = "base_path"
"""The key of a request's scope for what a client writes before the path of its route."""
_PARAMETER = re.compile(r"\{([^{}+]+)\+?\}")


def find_base_path(event: Mapping[str, Any], path: str) -> str:
    """Return what stands before a request's route in its path; empty when nothing does.

    Where the gateway names no route, it is the name of the stage.
    """
    # "ANY /webhook/{proxy+}" in format 2.0, "/webhook/{proxy+}" in format 1.0
    route = str(event.get("routeKey") or event.get("resource") or "").rpartition(" ")[2]
    values = event.get("pathParameters") or {}
    routed = _PARAMETER.sub(lambda found: str(values.get(found[1], found[0])), route)
    if not routed.startswith("/"):
        stage = event.get("requestContext", {}).get("stage")
        return f"/{stage}" if stage and path.startswith(f"/{stage}/") else ""
    # a parameter is as it was sent, and the path is decoded
    for ending in (routed, unquote(routed)):
        if path.endswith(ending):
            return path.removesuffix(ending)
    return ""


def without_base_path(scope: Scope) -> Scope:
    """Return the scope of a request with the path of its route."""
    path = scope.get("path", "")
    event = scope.get("aws.event", {})
    base = find_base_path(event, path)
    asked = event.get("requestContext", {}).get("path")
    written = find_base_path(event, asked) if isinstance(asked, str) else base
    if not (base or written):
        return scope
    return {**scope, "path": path[len(base) :], BASE: written}
