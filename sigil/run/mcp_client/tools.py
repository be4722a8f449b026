"""The tools that an MCP server lists, made fit to be capabilities.

Names are mapped, descriptions and schemas cleaned; a tool that cannot be a capability says why.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sigil.errors import UsageError, one_line
from sigil.manifest import schema
from sigil.mcp.hints import read_hints
from sigil.protocol import NAME_LIMIT, Json, is_name
from sigil.run.mcp_client import document

if TYPE_CHECKING:
    from sigil.rows import ServerToolRow

MOST = 200
"""At most so many tools of one server are imported; a namespace holds at most 500 capabilities."""
NAME_CHARACTERS = 128
DESCRIPTION_CHARACTERS = 380
NOTE_CHARACTERS = 300
VALUE_CHARACTERS = 1_000
KEY_CHARACTERS = 200
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", re.ASCII)
_SUBSCHEMAS = (
    "items",
    "additionalProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
)
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = ("properties", "patternProperties", "$defs", "dependentSchemas")
_NAMES = ("required", "dependentRequired")
_VALUES = frozenset(
    "type enum const default format pattern deprecated readOnly writeOnly contentEncoding"
    " contentMediaType $ref".split()
)
_BOUNDS = frozenset(
    f"{end}{what}"
    for end in ("min", "max")
    for what in ("imum", "Length", "Items", "Properties", "Contains")
)
_OTHERS = frozenset("description exclusiveMinimum exclusiveMaximum multipleOf uniqueItems".split())
_KNOWN = _VALUES | _BOUNDS | _OTHERS | schema.UNSUPPORTED | {*_SUBSCHEMAS, *_LISTS, *_MAPS, *_NAMES}
"""Keywords that say something; those that are unsupported stay, so that they are refused. Nothing
is checked by any other, so others are dropped.
"""
_SIGNATURE = re.compile(
    r"[(\[{<]?\s*\ba[\W_]+tool[\W_]+of[\W_]+the[\W_]+MCP[\W_]+server(?![a-z])([\W_]*[\w-]+)?\s*[)\]}>]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ImportedTool:
    """One tool of a server.

    `capability` is its name here; `problem` says why it cannot be a capability, empty when it can;
    `hints` are what the server says of its effects.
    """

    name: str
    capability: str
    description: str
    schema: Mapping[str, Json]
    problem: str = ""
    hints: tuple[str, ...] = ()

    @property
    def row(self) -> ServerToolRow:
        """Its row in the list of a server's tools."""
        return {
            "tool": self.name,
            "capability": self.capability,
            "description": self.description,
            "schema": dict(self.schema),
            "problem": self.problem,
            "hints": list(self.hints),
        }


def clean_tools(
    listed: Iterable[Json], server: str, only: Sequence[str] = ()
) -> list[ImportedTool]:
    """Return the tools of a server, by name; with `only`, those alone.

    Of tools that would share one name here, none can be a capability. Raises `UsageError` when
    there are too many, or one of `only` is not there.
    """
    found: dict[str, ImportedTool] = {}
    for value in listed:
        if not isinstance(value, dict) or (only and value.get("name") not in only):
            continue
        name = value.get("name")
        if not isinstance(name, str) or not name:
            continue
        line = one_line(name, NAME_CHARACTERS)
        if line in found:  # looked at once: to check a schema takes time
            continue
        found[line] = _parse_tool(value, name, line, server)
        if len(found) > MOST:
            raise UsageError(
                "ETOOBIG",
                f"the server has more than {MOST} tools",
                source=server,
                suggestion="say which ones you want with --only",
            )
    for name in only:
        if name not in found:
            message = f"the server has no tool {one_line(name, 60)!r}"
            raise UsageError("ENOENT", message, source=server)
    uses = Counter(tool.capability for tool in found.values() if not tool.problem)
    tools = []
    for name in sorted(found):
        tool = found[name]
        if not tool.problem and uses[tool.capability] > 1:
            tool = replace(tool, problem="another tool of the server would have the same name here")
        tools.append(tool)
    return tools


def capability_of(tool: str, server: str) -> str:
    """Return the name of the capability that a tool becomes.

    `readFile` and `read_file` of `files` are `files-read-file`. A long name ends in a hash, and so
    does one with letters of other scripts, such as 查询, which no capability's name has.
    """
    name = "-".join((server, *(word.lower() for word in _WORD.findall(tool))))
    is_whole = tool.isascii() or not any(char.isalpha() for char in tool if not char.isascii())
    if len(name) <= NAME_LIMIT and is_whole:
        return name
    return f"{name[: NAME_LIMIT - 7].rstrip('-')}-h{hashlib.sha256(tool.encode()).hexdigest()[:5]}"


def _parse_tool(value: Mapping[str, Json], name: str, line: str, server: str) -> ImportedTool:
    """Return the tool that a server lists; `line` is its name as one line."""
    from sigil.manifest.older_drafts import modernize

    try:
        document.read_tool_name(name)
        capability = capability_of(line, server)
        if not is_name(capability):
            raise UsageError("ENAME", "its name has no letters")
        input_schema = value.get("inputSchema")
        if input_schema is None:
            input_schema = {"type": "object"}
        if not isinstance(input_schema, dict):
            raise UsageError("ESCHEMA", "its schema is not an object")
        cleaned = schema.check(_clean_schema(modernize(input_schema), 0))
        description = _describe_tool(value, line, server)
        hints = read_hints(value.get("annotations"))
        return ImportedTool(line, capability, description, cleaned, hints=hints)
    except UsageError as problem:
        return ImportedTool(line, "", "", {}, problem.message)


def _describe_tool(value: Mapping[str, Json], name: str, server: str) -> str:
    """Return the tool's own description, and behind it the server that wrote it.

    A model reads it, so what imitates our own words about the server is taken out, in whatever
    letters it is written.
    """
    words = name
    for field in ("title", "description"):
        text = value.get(field)
        if isinstance(text, str) and text.strip():
            words = text
    words = one_line(words, 2 * DESCRIPTION_CHARACTERS)
    plain = unicodedata.normalize("NFKC", words)
    while _SIGNATURE.search(plain):  # what is left may read so again
        plain = _SIGNATURE.sub("…", plain)
        words = plain
    return f"{one_line(words, DESCRIPTION_CHARACTERS)} (a tool of the MCP server {server})"


def _clean_schema(node: Json, depth: int) -> Json:
    """Return a schema, and each schema in it, with clean words and without unknown keywords.

    Raises `UsageError` when it is not one that calls can be checked against.
    """
    if depth > schema.SCHEMA_DEPTH:
        raise UsageError("ESCHEMA", "its schema is nested too deep")
    if not isinstance(node, dict):
        _require_clean_value(node, 0)
        return node
    cleaned: dict[str, Json] = {}
    for key, value in node.items():
        if key not in _KNOWN:
            continue
        if key == "description":
            cleaned[key] = one_line(value, NOTE_CHARACTERS) if isinstance(value, str) else ""
        elif key in _SUBSCHEMAS:
            cleaned[key] = _clean_schema(value, depth + 1)
        elif key in _LISTS and isinstance(value, list):
            cleaned[key] = [_clean_schema(part, depth + 1) for part in value]
        elif key in _MAPS and isinstance(value, dict):
            parts: dict[str, Json] = {}
            for name, part in value.items():
                _require_clean_key(name)
                parts[name] = _clean_schema(part, depth + 1)
            cleaned[key] = parts
        else:
            _require_clean_value(value, 0, names=key in _NAMES)
            cleaned[key] = value
    return cleaned


def _require_clean_value(value: Json, depth: int, *, names: bool = False) -> None:
    """Raise `UsageError` for a value that could deceive its reader.

    Values have to stay as they are, so nothing is corrected. `names` says that its texts are keys.
    """
    if depth > schema.SCHEMA_DEPTH:
        raise UsageError("ESCHEMA", "its schema is nested too deep")
    parts: list[Json] = []
    if isinstance(value, str):
        if names:
            _require_clean_key(value)
        else:
            text = re.sub(r"[\n\t]", " ", value).strip()
            _require_clean_text(text, VALUE_CHARACTERS)
    elif isinstance(value, list):
        parts = value
    elif isinstance(value, dict):
        for key in value:
            _require_clean_key(key)
        parts = list(value.values())
    for part in parts:
        _require_clean_value(part, depth + 1, names=names)


def _require_clean_key(name: str) -> None:
    """Raise `UsageError` for a key that is too long, or has a line break: no schema needs one."""
    _require_clean_text(name, KEY_CHARACTERS)


def _require_clean_text(text: str, most: int) -> None:
    if one_line(text, len(text) + 1) != text:
        raise UsageError("ESCHEMA", "its schema holds control characters")
    if len(text) > most:
        raise UsageError("ESCHEMA", f"its schema holds a text of more than {most:,} characters")
