"""A skill is a rule for a kind of task, written as a `SKILL.md` file of the Agent Skills format.

Its front matter is YAML between two lines of `---`. Of YAML only texts, lists of texts and one map
of texts are read: no anchors, no tags, and no words that turn into other values by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import orjson

from functions.agent.sanitize import find_unseen
from sigil.errors import UsageError, one_line
from sigil.protocol import TOOL_PREFIX, capability_of, is_full_name, is_name

if TYPE_CHECKING:
    from yaml import Node

PREFIX: Final = "skill/"
"""The names of the documents that hold skills begin so."""
FILE: Final = "SKILL.md"
FENCE: Final = "---"
NAME_CHARACTERS: Final = 64
DESCRIPTION_CHARACTERS: Final = 1_024
COMPATIBILITY_CHARACTERS: Final = 500
LICENSE_CHARACTERS: Final = 500
DEPTH_MOST: Final = 32
"""The lists and mappings of a front matter stand so deeply in one another at most."""
FRONT_CHARACTERS: Final = 10_000
METADATA_MOST: Final = 50
TOOLS_MOST: Final = 32
TOOL_CHARACTERS: Final = 100
_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*", re.ASCII)
_NAME_RULE: Final = "lower-case letters, digits and single hyphens between them, such as pdf-forms"
_TOOL: Final = re.compile(r"[^\s,()]+(?:\([^()]*\))?")
_PLAIN_VALUE: Final = re.compile(r"""([A-Za-z][\w-]*):[ \t]+([^\s"'|>\[{&*!#%@`].*)""")
"""A field of the front matter on one line, without quotes around its text."""


@dataclass(frozen=True, slots=True)
class Skill:
    """What a `SKILL.md` says: its front matter, and its instructions.

    `tools` are the capabilities that it names, by their names here; one that can be none, such as
    a tool of another program, as it is written. `metadata` are texts by name.
    """

    name: str
    description: str
    instructions: str
    tools: tuple[str, ...] = ()
    license: str = ""
    compatibility: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)


def is_skill_name(name: str) -> bool:
    """Return whether a skill can have this name."""
    return len(name) <= NAME_CHARACTERS and _NAME.fullmatch(name) is not None


def require_skill_name(name: str) -> str:
    """Return `name` when a skill can have it; `UsageError` EINVAL otherwise."""
    if not is_skill_name(name):
        hint = f"at most {NAME_CHARACTERS} characters: {_NAME_RULE}"
        raise UsageError("EINVAL", f"{one_line(name, 80)!r} is no name of a skill", suggestion=hint)
    return name


def parse_skill(text: str) -> Skill:
    """Return the skill that a text describes; `UsageError` EINVAL, which says what to do."""
    place = find_unseen(text)
    if place is not None:
        line = text.count("\n", 0, place) + 1
        hint = "take it out: a reader of the file does not see it, and a model would"
        raise _fault("", f"line {line} has an invisible character", hint)
    front, instructions = split_front(text)
    fields = _read_front(front)
    name = _read_name(fields)
    if not instructions:
        hint = "write below its front matter what is to be done"
        raise _fault(name, "it has no instructions", hint)
    return Skill(
        name,
        _read_text(name, fields, "description", DESCRIPTION_CHARACTERS, required=True),
        instructions,
        _read_tools(name, fields),
        _read_text(name, fields, "license", LICENSE_CHARACTERS),
        _read_text(name, fields, "compatibility", COMPATIBILITY_CHARACTERS),
        _read_metadata(name, fields),
    )


def split_front(text: str) -> tuple[str, str]:
    """Return the front matter of a `SKILL.md` and its instructions; `UsageError` without one."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != FENCE:
        raise _fault("", "it has no front matter", f"begin it with a line of {FENCE}")
    end = next((n for n, line in enumerate(lines) if n and line.rstrip() == FENCE), 0)
    if not end:
        raise _fault("", "its front matter has no end", f"close it with a line of {FENCE}")
    return "\n".join(lines[1:end]), "\n".join(lines[end + 1 :]).strip()


def _read_front(text: str) -> Mapping[str, Node]:
    """Return the fields of a front matter by name, unread.

    Many files in use have a colon within a text without quotes, which YAML does not allow: where
    the front matter is none, such texts are quoted, and it is read once more.
    """
    if len(text) > FRONT_CHARACTERS:
        hint = f"at most {FRONT_CHARACTERS:,} characters"
        raise _fault("", f"its front matter has {len(text):,} characters", hint)
    try:
        return _compose_fields(text)
    except ValueError as problem:
        quoted = "\n".join(map(_quote_value, text.split("\n")))
        try:
            return _compose_fields(quoted)
        except ValueError:
            why = one_line(str(problem), 200)
            hint = 'quote texts with special characters, such as description: "When: always"'
            raise _fault("", f"its front matter is no YAML: {why}", hint) from None


def _quote_value(line: str) -> str:
    found = _PLAIN_VALUE.fullmatch(line)
    if found and (": " in found[2] or found[2].endswith(":") or " #" in found[2]):
        return f"{found[1]}: {orjson.dumps(found[2].rstrip()).decode()}"
    return line


def _compose_fields(text: str) -> Mapping[str, Node]:
    """Return the fields of a YAML mapping; `ValueError` when it is none.

    What makes YAML dangerous is refused before anything is built: anchors, whose repetition grows
    without bounds, and tags, which choose types.
    """
    import yaml

    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > DEPTH_MOST:  # the time that the parser takes grows with its square
                raise ValueError("it is nested too deeply")
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise _fault("", "its front matter has an anchor", "write the text out")
            if getattr(event, "tag", None):
                raise _fault("", "its front matter has a tag", "write a plain text")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except yaml.YAMLError as problem:
        place = getattr(problem, "problem_mark", None)
        where = f" in line {place.line + 2}" if place else ""
        raise ValueError(f"{getattr(problem, 'problem', problem)}{where}") from None
    if not isinstance(root, yaml.MappingNode):
        raise ValueError("it has no fields")
    fields: dict[str, Node] = {}
    for key, value in root.value:
        if not isinstance(key, yaml.ScalarNode):
            raise ValueError("the name of a field is no text")
        if key.value in fields:
            raise _fault("", f"{one_line(key.value, 40)} stands there twice", "leave one of them")
        fields[key.value] = value
    return fields


def _read_name(fields: Mapping[str, Node]) -> str:
    name = _read_text("", fields, "name", FRONT_CHARACTERS, required=True)
    if not is_skill_name(name):
        what = f"{one_line(name, 80)!r} is no name of a skill"
        if len(name) > NAME_CHARACTERS:
            what = f"its name has {len(name)} characters"
            raise _fault("", what, f"at most {NAME_CHARACTERS}")
        raise _fault("", what, _NAME_RULE)
    return name


def _read_text(
    skill: str, fields: Mapping[str, Node], key: str, most: int, *, required: bool = False
) -> str:
    node = fields.get(key)
    if node is not None and node.id != "scalar":
        raise _fault(skill, f"its {key} is no text", f"such as {key}: some words")
    text = str(node.value).strip() if node else ""
    if required and not text:
        raise _fault(skill, f"it has no {key}", f"add a line {key}: … to its front matter")
    if len(text) > most:
        hint = f"at most {most:,}"
        raise _fault(skill, f"its {key} has {len(text):,} characters", hint)
    return text


def _read_tools(skill: str, fields: Mapping[str, Node]) -> tuple[str, ...]:
    """Return the tools that a skill names, each once, as a text with spaces or as a list."""
    node = fields.get("allowed-tools")
    if node is None:
        return ()
    hint = "such as allowed-tools: currency-rates text-diff"
    if node.id == "scalar":
        parts = [node.value]
    elif node.id == "sequence" and all(each.id == "scalar" for each in node.value):
        parts = [each.value for each in node.value]
    else:
        raise _fault(skill, "its allowed-tools are no text and no list of texts", hint)
    found = [tool for part in parts for tool in _TOOL.findall(part)]
    tools = tuple(dict.fromkeys(map(_name_tool, found)))
    if len(tools) > TOOLS_MOST:
        raise _fault(skill, f"it names {len(tools)} tools", f"at most {TOOLS_MOST}")
    return tools


def _name_tool(written: str) -> str:
    """Return the capability that is meant by a tool as it is written: `cap_text_diff`, `text-diff`,
    and `text-diff(…)`, the form in which other programs limit what a tool may do.
    """
    tool = written.partition("(")[0]
    if tool.startswith(TOOL_PREFIX):
        return capability_of(tool) or one_line(tool, TOOL_CHARACTERS)
    return one_line(tool, TOOL_CHARACTERS)


def can_be_capability(tool: str) -> bool:
    """Return whether a tool that a skill names can be a capability at all."""
    return is_name(tool) or is_full_name(tool)


def _read_metadata(skill: str, fields: Mapping[str, Node]) -> Mapping[str, str]:
    node = fields.get("metadata")
    if node is None or (node.id == "scalar" and not node.value):
        return {}
    if node.id != "mapping":
        raise _fault(skill, "its metadata has no names", "such as metadata: {author: somebody}")
    if len(node.value) > METADATA_MOST:
        raise _fault(skill, f"its metadata has {len(node.value)} names", f"at most {METADATA_MOST}")
    # what others put there in other forms is kept in the file, and read by nobody here
    pairs = [(key, value) for key, value in node.value if key.id == value.id == "scalar"]
    return {str(key.value): str(value.value) for key, value in pairs}


def _fault(skill: str, what: str, hint: str) -> UsageError:
    return UsageError("EINVAL", f"skill {skill}: {what}" if skill else what, suggestion=hint)
