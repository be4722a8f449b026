"""Who looks at a page of the agent: see `sigil.http.page.viewer`."""

from __future__ import annotations

from sigil.http.page.viewer import (
    EVERYBODY,
    OWNERS,
    PEOPLE,
    RANKS,
    STRANGER,
    VIEWERS,
    WATCHERS,
    Role,
    Viewer,
    limit_role,
)

__all__ = [
    "EVERYBODY",
    "OWNERS",
    "PEOPLE",
    "RANKS",
    "STRANGER",
    "VIEWERS",
    "WATCHERS",
    "Role",
    "Viewer",
    "limit_role",
]
