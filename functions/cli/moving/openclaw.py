"""Reads an agent of OpenClaw: `~/.openclaw`, which has `openclaw.json`, `workspace/`, `skills/` and
a `workspace-NAME/` of each other agent, or a workspace alone.
"""

from __future__ import annotations

from typing import Final

from functions.cli.moving.cron_jobs import read_jobs
from functions.cli.moving.foreign_agent import Collector, ForeignAgent
from functions.cli.moving.heartbeat_list import PLACE, read_duration, read_heartbeat
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
from sigil.errors import UsageError, one_line
from sigil.protocol import Json

CONFIG: Final = "openclaw.json"
_MAIN: Final = "workspace"
_OTHER: Final = "workspace-"
"""The folder of the main agent, and how those of the others begin."""
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
        PLACE,
    )
)
_LEFT: Final = {
    "BOOT.md": ("is about its start", ""),
    "BOOTSTRAP.md": ("is about its first start", ""),
    "canvas": ("has pages of its own screen", ""),
}
_LEFT_OF_STATE: Final = {
    "credentials": ("has keys and tokens", "they are never read; set them again"),
    "agents": ("has conversations and keys of single agents", "they are never read"),
}


def read_openclaw(root: SourceFolder) -> ForeignAgent:
    """Return the agent in a folder of OpenClaw, and the other agents that have a workspace there.

    Skills of a workspace come before shared ones.
    """
    config = root.read_config(CONFIG)
    main = _find_main_folder(config)
    workspace = root.enter(main) or root
    others = {} if workspace is root else _list_others(root, main)
    collector = Collector("openclaw")
    collector.secrets.collect(config)
    if config and workspace is root:
        leave_workspace(collector, config)
    _read_agent(collector, workspace, config)
    if workspace is not root:
        collector.add_skills(root, "skills")
        leave_state(collector, root)
    zone = find_zone(config, "userTimezone")
    read_jobs(collector, root, zone, lambda agent: agent not in others)
    collector.add_servers(read_path(config, "mcp", "servers"), CONFIG)
    leave_secrets(collector, _SECRETS)
    leave_model(collector, config)
    leave_others(collector, workspace, _READ, {**_LEFT, **_LEFT_OF_STATE})
    for name, place in others.items():
        _read_other(collector, root, config, name, place)
    _leave_distant(collector, config, main)
    return collector.finish()


def _read_agent(
    collector: Collector, workspace: SourceFolder, config: dict[str, Json], name: str = ""
) -> None:
    """Take what a workspace says of its agent, which has this name in the settings."""
    read_documents(collector, workspace)
    collector.add_skills(workspace, "skills")
    read_lists(collector, workspace)
    read_knowledge(collector, workspace)
    every = read_path(config, "agents", "defaults", "heartbeat", "every")
    own = read_path(_find_entry(config, name), "heartbeat", "every")
    read_heartbeat(
        collector, workspace, read_duration(own or every), find_zone(config, "userTimezone")
    )


def _read_other(
    collector: Collector, root: SourceFolder, config: dict[str, Json], name: str, place: str
) -> None:
    """Take another agent of the team, unless it cannot be read."""
    try:
        workspace = root.enter(place)
        assert workspace is not None, "its name was listed"
        other = Collector("openclaw")
        other.secrets.collect(config)
        _read_agent(other, workspace, config, name)
        zone = find_zone(config, "userTimezone")
        read_jobs(other, root, zone, lambda agent: agent == name)
        leave_others(other, workspace, _READ, _LEFT)
        collector.add_agent(name, other.finish(), place)
    except UsageError as problem:
        hint = f"`uncaged agent create`, then import {one_line(place, 80)} with `--agent`"
        collector.leave(place, f"is the workspace of another agent: {problem.message}", hint)


def _list_entries(config: Json) -> list[dict[str, Json]]:
    entries = read_path(config, "agents", "list")
    return [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []


def _find_entry(config: Json, name: str) -> dict[str, Json]:
    """Return the settings of an agent by its name, those of the main agent for none."""
    entries = _list_entries(config)
    if name:
        return next((each for each in entries if each.get("id") == name), {})
    marked = next((each for each in entries if each.get("default") is True), None)
    return marked or next((each for each in entries if each.get("id") == "main"), {})


def _find_main_folder(config: Json) -> str:
    """Return the name of the folder that the main agent works in."""
    place = _find_entry(config, "").get("workspace")
    name = place.rstrip("/").rpartition("/")[2] if isinstance(place, str) else ""
    return name if name.startswith(_OTHER) else _MAIN


def _list_others(root: SourceFolder, main: str) -> dict[str, str]:
    """Return the folders of the other agents by their names."""
    found = {}
    for name in root.list_names():
        if name.startswith(_OTHER) and name != main and root.is_folder(name):
            found[name.removeprefix(_OTHER)] = name
    if main != _MAIN and root.is_folder(_MAIN):
        found["main"] = _MAIN
    return found


def _leave_distant(collector: Collector, config: Json, main: str) -> None:
    """Name the agents of the settings that work in a folder elsewhere."""
    for entry in _list_entries(config):
        place = entry.get("workspace")
        folder = place.rstrip("/").rpartition("/")[2] if isinstance(place, str) else ""
        if not folder or folder in (_MAIN, main) or folder.startswith(_OTHER):
            continue
        name = one_line(str(entry.get("id")), 40)
        hint = f"import {one_line(str(place), 120)} with `--agent`"
        collector.leave(f"the agent {name}", "works in another folder", hint)


def leave_state(collector: Collector, root: SourceFolder) -> None:
    """Name what stands beside the workspace and does not come along."""
    for name in root.list_names():
        if name in _LEFT_OF_STATE:
            collector.leave(name, *_LEFT_OF_STATE[name])
