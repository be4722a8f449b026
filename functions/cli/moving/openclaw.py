"""Reads an agent of OpenClaw: `~/.openclaw`, which has `openclaw.json`, `workspace/` and `skills/`,
or a workspace alone.
"""

from __future__ import annotations

from typing import Final

from functions.cli.moving.cron_jobs import read_jobs
from functions.cli.moving.foreign_agent import Collector, ForeignAgent
from functions.cli.moving.source_folder import SourceFolder
from functions.cli.moving.todo_lists import FOLDERS, LISTS, read_knowledge, read_lists
from functions.cli.moving.workspace_files import (
    DOCUMENTS,
    find_zone,
    leave_model,
    leave_others,
    leave_secrets,
    leave_workspace,
    read_documents,
    read_path,
)
from sigil.errors import one_line

CONFIG: Final = "openclaw.json"
_SECRETS: Final = (
    ("models.", "`uncaged setup model` asks for it"),
    ("auth.", "`uncaged setup model` asks for it"),
    ("channels.telegram.", "`uncaged setup telegram` asks for it"),
    ("channels.", "this channel is not supported"),
    ("gateway.", "is made anew: `uncaged setup` writes the settings here"),
    ("mcp.servers.", "`sigil secret set NAME`, with the NAME in the command of its server"),
    ("skills.", "`sigil secret set NAME` keeps it for a tool"),
)
_READ: Final = frozenset(
    (
        *DOCUMENTS.values(),
        *("MEMORY.md", "memory.md", "memory", "skills", CONFIG, "workspace", "cron"),
        *LISTS,
        *FOLDERS,
    )
)
_LEFT: Final = {
    "HEARTBEAT.md": ("is the list of its heartbeat", "`uncaged wake` and `/heartbeat` do that"),
    "BOOT.md": ("is about its start", ""),
    "BOOTSTRAP.md": ("is about its first start", ""),
    "canvas": ("has pages of its own screen", ""),
}
_LEFT_OF_STATE: Final = {
    "credentials": ("has keys and tokens", "they are never read; set them again"),
    "agents": ("has conversations and keys of single agents", "they are never read"),
}


def read_openclaw(root: SourceFolder) -> ForeignAgent:
    """Return the agent in a folder of OpenClaw; skills of its workspace come before shared ones."""
    collector = Collector("openclaw")
    config = root.read_config(CONFIG)
    collector.secrets.collect(config)
    workspace = root.enter("workspace") or root
    if config and workspace is root:
        leave_workspace(collector, config)
    read_documents(collector, workspace)
    collector.add_skills(workspace, "skills")
    if workspace is not root:
        collector.add_skills(root, "skills")
        leave_state(collector, root)
    read_jobs(collector, root, find_zone(config, "userTimezone"))
    read_lists(collector, workspace)
    read_knowledge(collector, workspace)
    collector.add_servers(read_path(config, "mcp", "servers"), CONFIG)
    leave_secrets(collector, _SECRETS)
    leave_model(collector, config)
    leave_others(collector, workspace, _READ, {**_LEFT, **_LEFT_OF_STATE})
    return collector.finish()


def leave_state(collector: Collector, root: SourceFolder) -> None:
    """Name what stands beside the workspace and does not come along."""
    for name in root.list_names():
        if name in _LEFT_OF_STATE:
            collector.leave(name, *_LEFT_OF_STATE[name])
        elif name.startswith("workspace-"):
            hint = f"`uncaged agent create`, then import {one_line(name, 80)} with `--agent`"
            collector.leave(name, "is the workspace of another agent", hint)
