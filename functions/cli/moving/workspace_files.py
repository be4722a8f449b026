"""Reads the folder that nanobot and OpenClaw call a workspace: documents, a memory, and what was
written down day by day.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final

import orjson

from functions.cli.moving.foreign_agent import Collector
from functions.cli.moving.source_folder import SourceFolder
from functions.time.time_zone import is_known
from sigil.errors import one_line
from sigil.protocol import Json

DOCUMENTS: Final = {
    "agents": "AGENTS.md",
    "soul": "SOUL.md",
    "user": "USER.md",
    "tools": "TOOLS.md",
    "self": "IDENTITY.md",
}
MEMORY: Final = "memory/MEMORY.md"
HISTORY: Final = "memory/HISTORY.md"
HISTORY_LINES: Final = "memory/history.jsonl"
HISTORY_BYTES: Final = 8 * 1024 * 1024
DAY: Final = re.compile(r"(\d{4}-\d\d-\d\d)\.md", re.ASCII)
_ENTRY: Final = re.compile(r"(?:\A|\n[ \t]*\n)\s*(?=\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d)")
_STAMP: Final = re.compile(r"\[(\d{4}-\d\d-\d\d[ T]\d\d:\d\d)", re.ASCII)


def read_documents(collector: Collector, workspace: SourceFolder) -> None:
    """Take the documents of a workspace, its memory, and what was written down day by day."""
    for name, place in DOCUMENTS.items():
        collector.add_document(name, workspace.read_text(place), place)
    for place in (MEMORY, "MEMORY.md", "memory.md"):
        text = workspace.read_text(place)
        if text is not None:
            collector.add_memory(text, place, workspace.read_time(place))
            break
    history = workspace.read_text(HISTORY, HISTORY_BYTES)
    if history:
        read_history(collector, history, workspace.read_time(HISTORY))
    lines = workspace.read_text(HISTORY_LINES, HISTORY_BYTES)
    if lines:
        read_history_lines(collector, lines, workspace.read_time(HISTORY_LINES))
    for name in workspace.list_names("memory"):
        place = f"memory/{name}"
        if place in (MEMORY, HISTORY, HISTORY_LINES) or name.startswith("."):
            continue
        day = DAY.fullmatch(name)
        at = read_stamp(day[1]) if day else None
        if name.endswith(".md") and not workspace.is_folder(place):
            text = workspace.read_text(place) or ""
            kind = "note" if at is None else "daily note"
            collector.add_notes(kind, text, place, workspace.read_time(place) if at is None else at)
        else:
            collector.leave(place, "is no text of its memory", "`uncaged kb add` keeps texts")


def read_history(collector: Collector, text: str, at: float) -> None:
    """Take a HISTORY.md: its entries begin with a time in brackets, after a blank line."""
    for entry in filter(None, map(str.strip, _ENTRY.split(text.replace("\r\n", "\n")))):
        stamp = _STAMP.match(entry)
        moment = read_stamp(stamp[1]) if stamp else None
        collector.add_notes("history", entry, HISTORY, at if moment is None else moment)


def read_history_lines(collector: Collector, text: str, at: float) -> None:
    """Take a history of later versions: a line of JSON an entry, with `timestamp` and `content`."""
    unread = 0
    for line in text.splitlines():
        try:
            row = orjson.loads(line) if line.strip() else {}
        except orjson.JSONDecodeError:
            row = None
        if not isinstance(row, dict):
            unread += 1
        elif isinstance(row.get("content"), str):
            moment = read_stamp(str(row.get("timestamp") or ""))
            moment = at if moment is None else moment
            collector.add_notes("history", row["content"], HISTORY_LINES, moment)
    if unread:
        collector.leave(f"{unread} lines of {HISTORY_LINES}", "are no JSON")


def read_stamp(text: str) -> float | None:
    """Return a time in seconds since 1970, that of this machine's clock without a zone."""
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def read_path(config: Json, *path: str) -> Json:
    """Return what stands at a path of the settings, None for nothing."""
    for step in path:
        config = config.get(step) if isinstance(config, dict) else None
    return config


def find_zone(config: Json, name: str) -> str:
    """Return the time zone of the settings, empty where they name none that is known."""
    zone = read_path(config, "agents", "defaults", name)
    return zone if isinstance(zone, str) and is_known(zone) else ""


def leave_secrets(collector: Collector, hints: tuple[tuple[str, str], ...]) -> None:
    """Name the secrets that do not come along, and where to set them again."""
    for place in collector.secrets.places:
        hint = next((hint for prefix, hint in hints if place.startswith(prefix)), "")
        collector.leave(place, "is a secret", hint or "set it again where it is needed")


def leave_model(collector: Collector, config: Json) -> None:
    """Name the model that the agent had."""
    model = read_path(config, "agents", "defaults", "model")
    if isinstance(model, dict):
        model = model.get("primary")
    if isinstance(model, str) and model:
        hint = "`uncaged setup model` chooses one"
        collector.leave(f"the model {one_line(model, 80)}", "is a setting", hint)


def leave_workspace(collector: Collector, config: Json) -> None:
    """Name the workspace of the settings, which is in another folder."""
    named = read_path(config, "agents", "defaults", "workspace")
    hint = f"import that folder too: {one_line(named, 120)}" if isinstance(named, str) else ""
    collector.leave("the workspace", "is not in this folder", hint)


def leave_others(
    collector: Collector,
    workspace: SourceFolder,
    read: Collection[str],
    known: Mapping[str, tuple[str, str]],
) -> None:
    """Name what else a workspace has, without what begins with a dot."""
    others = []
    for name in workspace.list_names():
        if name in known:
            collector.leave(name, *known[name])
        elif name not in read and not name.startswith("."):
            others.append(name)
    for name in others[:20]:
        hint = "`uncaged agent files put PATH FILE` keeps one"
        collector.leave(name, "is a file or folder that it worked with", hint)
    if len(others) > 20:
        collector.leave(f"{len(others) - 20} more", "are files or folders that it worked with")
