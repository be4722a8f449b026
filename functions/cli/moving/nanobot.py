"""Reads an agent of nanobot: `~/.nanobot`, which has `config.json` and `workspace/`, or a workspace
alone.
"""

from __future__ import annotations

from typing import Final

from functions.cli.moving.cron_jobs import read_jobs
from functions.cli.moving.foreign_agent import Collector, ForeignAgent
from functions.cli.moving.heartbeat_list import PLACE, read_heartbeat
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
from functions.time.time_zone import LATEST

_SECRETS: Final = (
    ("providers.", "`uncaged setup model` asks for it"),
    ("channels.telegram.", "`uncaged setup telegram` asks for it"),
    ("channels.", "this channel is not supported"),
    ("tools.mcpServers.", "`sigil secret set NAME`, with the NAME in the command of its server"),
)
_READ: Final = frozenset(
    (*DOCUMENTS.values(), "memory", "skills", "config.json", "cron", *LISTS, *FOLDERS, PLACE)
)
_LEFT: Final = {
    "BOOTSTRAP.md": ("is about its first start", ""),
    "sessions": ("has conversations of single chats", ""),
}


def read_nanobot(root: SourceFolder) -> ForeignAgent:
    """Return the agent in a folder of nanobot."""
    collector = Collector("nanobot")
    config = root.read_config("config.json")
    collector.secrets.collect(config)
    workspace = root.enter("workspace") or root
    if config and workspace is root:
        leave_workspace(collector, config)
    read_documents(collector, workspace)
    collector.add_skills(workspace, "skills")
    zone = find_zone(config, "timezone")
    for folder in dict.fromkeys((root, workspace)):
        read_jobs(collector, folder, zone)
    seconds = read_path(config, "gateway", "heartbeat", "intervalS")
    every = float(seconds) if type(seconds) is int and 0 < seconds < LATEST else None
    read_heartbeat(collector, workspace, every, zone)
    read_lists(collector, workspace)
    read_knowledge(collector, workspace)
    collector.add_servers(read_path(config, "tools", "mcpServers"), "config.json")
    leave_secrets(collector, _SECRETS)
    leave_model(collector, config)
    leave_others(collector, workspace, _READ, _LEFT)
    return collector.finish()
