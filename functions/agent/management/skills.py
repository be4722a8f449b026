"""What people and programs ask of an agent's skills."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from functions.agent.app import App
from functions.agent.memory.documents import Doc
from functions.agent.skills.package import SkillPackage
from functions.agent.skills.skill import FILE, PREFIX, Skill, can_be_capability, parse_skill
from sigil.errors import BackendError, UsageError, one_line
from sigil.protocol import Json
from sigil.storage.stored import row

SCRIPTS: Final = ("scripts/", ".sh", ".py", ".js", ".ts", ".rb", ".pl", ".ps1", ".bat")
"""How the paths of programs begin or end."""
WARNED_MOST: Final = 10


def list_skills(app: App) -> list[dict[str, object]]:
    """Return a row for each skill, by name, without its text."""
    return [row(entry) for entry in app.skills.read_catalog().skills]


def describe_skill(app: App, name: str, version: int | None = None) -> dict[str, object]:
    """Return one version of a skill with its text and the names of its files."""
    skills = app.skills
    doc = skills.read(name) if version is None else skills.read_version(name, version)
    entry = skills.read_catalog().find(name)
    found: dict[str, object] = {
        "name": name,
        "version": doc.version,
        "at": doc.at,
        "by": doc.by,
        "why": doc.why,
        "pinned": entry.pinned if entry else False,
        "files": [{"path": each.path, "bytes": each.size} for each in doc.files],
        "text": doc.text,
    }
    if doc.text:
        skill = parse_skill(doc.text)
        found |= {"description": skill.description, "tools": list(skill.tools)}
    return found


def describe_version(doc: Doc) -> dict[str, object]:
    """Return a version of a skill without its text."""
    return {
        "name": doc.name.removeprefix(PREFIX),
        "version": doc.version,
        "characters": len(doc.text),
        "files": sum(each.path != FILE for each in doc.files),
        "removed": not doc.text,
        "at": doc.at,
        "by": doc.by,
        "why": doc.why,
    }


def read_package(fields: Mapping[str, Json]) -> SkillPackage:
    """Return the skill in the body of a request: its `text`, and `files` by path, which are texts
    too.
    """
    text = fields.get("text")
    files = fields.get("files", {})
    is_known = isinstance(text, str) and set(fields) <= {"text", "files"}
    if not is_known or not isinstance(files, dict):
        hint = 'such as {"text": "---\\nname: …", "files": {"references/a.md": "…"}}'
        raise UsageError("EINVAL", "text is the SKILL.md", source="http", suggestion=hint)
    bodies = {}
    for path, body in files.items():
        if not isinstance(body, str):
            raise UsageError("EINVAL", f"{one_line(path, 80)} is no text", source="http")
        bodies[path] = _encode(body)
    return SkillPackage(_encode(str(text)), bodies)


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise UsageError("EINVAL", "a text has half a character", source="http") from None


def list_warnings(app: App, skill: Skill, files: Iterable[str] = ()) -> list[str]:
    """Return what the owner of a skill should know of it: tools that are not there, and files that
    others would run.
    """
    warnings = []
    missing = [tool for tool in skill.tools if not _has_tool(app, tool)]
    for tool in missing[:WARNED_MOST]:
        warnings.append(f"the tool {tool} is not there: whoever finds the skill is told so")
    if any(path.startswith(SCRIPTS[0]) or path.endswith(SCRIPTS[1:]) for path in files):
        warnings.append("its scripts are kept as texts, and never run")
    return warnings


def _has_tool(app: App, tool: str) -> bool:
    if not can_be_capability(tool):
        return False
    try:
        app.registry.inspect(tool, app.make_caller(""))
    except UsageError:
        return False
    except BackendError:
        return True  # nobody can say now
    return True
