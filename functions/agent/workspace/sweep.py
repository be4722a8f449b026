"""What crashes left in workspaces goes, and what is older than they keep."""

from __future__ import annotations

from collections.abc import Callable

from functions.agent.workspace.files import Workspace
from sigil.errors import BackendError
from sigil.storage.artifacts import Artifacts
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import scan_all


def sweep_workspaces(kv: KV, artifacts: Artifacts, root: str, now: Callable[[], float]) -> int:
    """Sweep the workspaces of a root, of the agents below it and of their chats, and return how
    many versions went. One that cannot be read is left as it is.
    """
    gone = 0
    for scope, _ in list(scan_all(kv, keys.workspace_record("").partition)):
        if not keys.belongs_to(root, scope):
            continue
        try:
            gone += Workspace(kv, artifacts, scope, now).sweep()
        except BackendError as problem:
            if problem.code != "EDAMAGED":
                raise
    return gone
