"""An API mapping of a custom domain puts a base path before the path of each request: `/bot` of
`/bot/webhook/telegram`. The gateway chooses the route without it, and tells the function the whole
path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.types import Scope

_PARAMETER = re.compile(r"\{([^{}+]+)\+?\}")


def find_base_path(event: Mapping[str, Any], path: str) -> str:
    """Return what stands before a request's route in its path; empty when nothing does, or the
    gateway names no route.
    """
    _, _, route = str(event.get("routeKey") or "").partition(" ")
    values = event.get("pathParameters") or {}
    routed = _PARAMETER.sub(lambda found: str(values.get(found[1], found[0])), route)
    return path.removesuffix(routed) if routed.startswith("/") else ""


def without_base_path(scope: Scope) -> Scope:
    """Return the scope of a request with the path of its route."""
    path = scope.get("path", "")
    base = find_base_path(scope.get("aws.event", {}), path)
    if not base or base == path:
        return scope
    return {**scope, "path": path[len(base) :]}
