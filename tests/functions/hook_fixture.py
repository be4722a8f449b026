"""A hook for the chat of the owner, and its token."""

from __future__ import annotations

from typing import Any

from functions.hooks import Hook, Hooks, make_token
from functions.wiring import AgentRuntime
from tests.functions.people import OWNER

BY = f"telegram:{OWNER}"
NOTE = "When a build fails, tell me which one."


def add_hook(runtime: AgentRuntime, name: str = "builds", **fields: Any) -> tuple[Hook, str]:
    """Make a hook of the root agent; its record and its token."""
    token, digest = make_token()
    given = {
        "id": "0123456789ab",
        "agent": "main",
        "by": BY,
        "session": BY,
        "text": NOTE,
        "language": "en",
        **fields,
    }
    hook = Hook(name=name, digest=digest, since=1e9, **given)
    Hooks(runtime.stores.kv, "main").add(hook)
    return hook, token
