"""Reads an agent of Letta: an agent file (`.af`), in the form of many agents with their blocks, or
in the earlier one of a single agent with its `core_memory`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from functions.agent.skills.package import SkillPackage
from functions.agent.skills.skill import FILE
from functions.cli.moving.foreign_agent import Collector, ForeignAgent
from functions.cli.moving.source_folder import read_text_file
from functions.cli.moving.todo_lists import take_document
from functions.cli.moving.workspace_files import leave_secrets, read_path, read_stamp
from sigil.errors import UsageError, one_line
from sigil.protocol import Json
from sigil.strict_json import DEPTH_LIMIT, is_within_depth, loads

FILE_BYTES: Final = 16 * 1024 * 1024
EXCHANGE_CHARACTERS: Final = 1_500
_DOCUMENTS: Final = {"persona": "soul", "human": "user"}
"""The document of a block, by its label; other blocks are sections of the memory."""
_OWN_INSTRUCTIONS: Final = ("<base_instructions>", "You are Letta", "You are MemGPT")
"""How the text begins that tells Letta's agents of their program."""
_NO_SETTINGS: Final = frozenset(("agents", "messages", "tools", "blocks", "files", "skills"))
_SECRETS: Final = (("", "`sigil secret set NAME` keeps it for a tool"),)


def read_letta(file: Path, name: str = "") -> ForeignAgent:
    """Return the agent of this name in an agent file, which may be left out when it has only one.

    `UsageError` for a file that is none.
    """
    if file.is_symlink() or not file.is_file():
        hint = "name the .af file that Letta exported"
        raise UsageError("EINVAL", f"{file} is no file, or a link to one", suggestion=hint)
    document = loads(read_text_file(file, str(file), FILE_BYTES), source=file.name)
    if not isinstance(document, dict) or not is_within_depth(document, DEPTH_LIMIT):
        raise UsageError("EINVAL", f"{file} is no agent file, or nested too deeply")
    agent = _choose_agent(document, name)
    collector = Collector("letta")
    for part in (document,) if agent is document else (agent, document):
        settings = {key: value for key, value in part.items() if key not in _NO_SETTINGS}
        collector.secrets.collect(settings)
    _read_blocks(collector, document, agent)
    _read_instructions(collector, agent)
    _read_messages(collector, agent)
    _read_skills(collector, document)
    _read_files(collector, document, agent)
    collector.add_servers(_name_servers(document), file.name)
    leave_secrets(collector, _SECRETS)
    _leave_others(collector, document, agent)
    return collector.finish()


def _choose_agent(document: dict[str, Json], name: str) -> dict[str, Json]:
    if isinstance(document.get("core_memory"), list):
        return document
    agents = _list_objects(document.get("agents"))
    if not agents:
        raise UsageError("EINVAL", "there is no agent in this file")
    names = [str(agent.get("name") or "") for agent in agents]
    if name:
        chosen = [agent for agent in agents if agent.get("name") == name]
    else:
        chosen = agents
    if len(chosen) != 1:
        known = ", ".join(one_line(each, 40) for each in names[:10])
        what = f"no agent {name}" if name and not chosen else f"{len(names)} agents"
        raise UsageError(
            "EINVAL", f"there is {what}", suggestion=f"choose one with --name: {known}"
        )
    return chosen[0]


def _read_blocks(
    collector: Collector, document: Mapping[str, Json], agent: Mapping[str, Json]
) -> None:
    """Take the blocks of an agent: who it is, whom it talks to, and sections of its memory."""
    known = {str(block.get("id")): block for block in _list_objects(document.get("blocks"))}
    ids = agent.get("block_ids")
    named = ids if isinstance(ids, list) else []
    blocks = [known[each] for each in named if isinstance(each, str) and each in known]
    blocks += _list_objects(agent.get("memory_blocks")) + _list_objects(agent.get("core_memory"))
    sections: list[str] = []
    for block in blocks:
        label, value = str(block.get("label") or ""), str(block.get("value") or "").strip()
        if label in _DOCUMENTS:
            collector.add_document(_DOCUMENTS[label], value, f"the block {label}")
        elif value:
            sections.append(f"## {one_line(label, 80)}\n\n{value}")
    collector.add_memory("\n\n".join(sections), "its blocks", _read_time(agent, "created_at"))


def _read_instructions(collector: Collector, agent: Mapping[str, Json]) -> None:
    text = str(agent.get("system") or "").strip()
    if text.startswith(_OWN_INSTRUCTIONS):
        collector.leave("system", "tells it of Letta's own tools")
    else:
        collector.add_document("agents", text, "system")


def _read_messages(collector: Collector, agent: Mapping[str, Json]) -> None:
    """Take what was said, several messages a note, each with its time and who said it."""
    lines: list[str] = []
    first = 0.0
    for message in _list_objects(agent.get("messages")):
        text = " ".join(_read_message(message).split())
        if not text:
            continue
        at = _read_time(message, "created_at")
        stamp = str(message.get("created_at") or "?")[:16]
        first = first if lines else at
        lines.append(f"[{stamp}] {str(message.get('role')).upper()}: {text}")
        if sum(map(len, lines)) > EXCHANGE_CHARACTERS:
            collector.add_notes("history", "\n".join(lines), "its messages", first)
            lines = []
    collector.add_notes("history", "\n".join(lines), "its messages", first)


def _read_message(message: Mapping[str, Json]) -> str:
    """Return what a person or the agent said in a message, empty for what is none of both."""
    if message.get("role") not in ("user", "assistant"):
        return ""
    for call in _list_objects(message.get("tool_calls")):
        if read_path(call, "function", "name") == "send_message":
            return _read_packed(str(read_path(call, "function", "arguments") or ""), "")
    content = message.get("content")
    parts = [str(part.get("text") or "") for part in _list_objects(content)]
    text = content if isinstance(content, str) else "\n".join(parts)
    return _read_packed(text, text) if message.get("role") == "user" else text


def _read_packed(text: str, other: str) -> str:
    """Return the message in an object such as `{"type": "user_message", "message": "hello"}`,
    nothing for one of another type, and `other` for a text that is none.
    """
    try:
        packed = loads(text) if text.startswith("{") else None
    except UsageError:
        packed = None
    if not isinstance(packed, dict) or "message" not in packed:
        return other
    is_said = packed.get("type", "user_message") == "user_message"
    return str(packed["message"]) if is_said else ""


def _read_skills(collector: Collector, document: Mapping[str, Json]) -> None:
    for skill in _list_objects(document.get("skills")):
        label = one_line(str(skill.get("name") or ""), 80)
        files = skill.get("files")
        if not isinstance(files, dict) or FILE not in files:
            where = one_line(str(skill.get("source_url") or "elsewhere"), 200)
            collector.leave(f"the skill {label}", f"is not in the file: {where}")
            continue
        bodies = {path: str(body).encode(errors="replace") for path, body in files.items()}
        package = SkillPackage(bodies.pop(FILE), bodies)
        collector.add_skill(package, f"the skill {label}")


def _read_files(
    collector: Collector, document: Mapping[str, Json], agent: Mapping[str, Json]
) -> None:
    """Take the texts that the agent has: those that were given to it, and all of its sources."""
    ids = {link.get("file_id") for link in _list_objects(agent.get("files_agents"))}
    sources = agent.get("source_ids")
    known = sources if isinstance(sources, list) else []
    others = 0
    for file in _list_objects(document.get("files")):
        if file.get("id") not in ids and file.get("source_id") not in known:
            others += 1
            continue
        name = one_line(str(file.get("original_file_name") or file.get("file_name") or "?"), 80)
        text = file.get("content")
        if isinstance(text, str) and text.strip():
            at = _read_time(file, "file_last_modified_date") or _read_time(file, "created_at")
            take_document(collector, text, name, f"the file {name}", at)
        else:
            hint = "`uncaged kb add FILE` keeps one"
            collector.leave(f"the file {name}", "has no text in the agent file", hint)
    if others:
        collector.leave(f"{others} files", "are of another agent")


def _name_servers(document: Mapping[str, Json]) -> Json:
    """Return the servers of the file in the form that other programs have, by name."""
    servers: dict[str, Json] = {}
    for server in _list_objects(document.get("mcp_servers")):
        entry: dict[str, Json] = {}
        program = server.get("stdio_config")
        if server.get("server_type") == "sse":
            entry["transport"] = "sse"
        if isinstance(program, dict):
            entry |= {key: program.get(key) for key in ("command", "args", "env")}
        else:
            entry |= {"url": server.get("server_url"), "headers": server.get("custom_headers")}
        servers[str(server.get("server_name") or "")] = entry
    return servers


def _leave_others(
    collector: Collector, document: Mapping[str, Json], agent: Mapping[str, Json]
) -> None:
    model = read_path(agent.get("llm_config"), "model")
    if isinstance(model, str):
        hint = "`uncaged setup model` chooses one"
        collector.leave(f"the model {one_line(model, 80)}", "is a setting", hint)
    tools = _list_objects(document.get("tools"))
    custom = [str(tool.get("name")) for tool in tools if tool.get("tool_type") == "custom"]
    for name in custom[:20]:
        hint = "`sigil init` makes a capability that does the same"
        collector.leave(f"the tool {name}", "is a Python program", hint)
    others = len(tools) - min(len(custom), 20)
    if others:
        collector.leave(f"{others} other tools", "are Letta's own, or of MCP servers, or more")
    for kind in ("archives", "groups"):
        count = len(_list_objects(document.get(kind)))
        if count:
            collector.leave(f"{count} {kind}", "have no place here", "`uncaged kb add` keeps texts")


def _list_objects(value: Json) -> list[dict[str, Json]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _read_time(fields: Mapping[str, Json], name: str) -> float:
    return read_stamp(str(fields.get(name) or "")) or 0.0
