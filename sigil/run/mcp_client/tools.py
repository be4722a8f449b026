"""The tools that a server tells of, made fit to be capabilities: names mapped, words cleaned, and
what cannot be one told apart.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sigil.errors import UsageError, one_line
from sigil.manifest import schema
from sigil.protocol import NAME_LIMIT, Json, is_name
from sigil.run.mcp_client import document

if TYPE_CHECKING:
    from sigil.rows import ServerToolRow

MOST = 200
"""Tools of one server that are brought in: a namespace has room for 500 capabilities."""
DESCRIPTION_CHARACTERS, NOTE_CHARACTERS = 380, 300
VALUE_CHARACTERS, KEY_CHARACTERS = 1_000, 200
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
_LISTS, _MAPS = (
    ("anyOf", "oneOf", "allOf", "prefixItems"),
    ("properties", "patternProperties", "$defs", "dependentSchemas"),
)
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
"""Keywords that say something; what is unsupported stays, so that it is refused. By all others
nothing is checked: they are dropped.
"""
_SIGNATURE = re.compile(
    r"[(\[{<]?\s*\ba[\W_]+tool[\W_]+of[\W_]+the[\W_]+MCP[\W_]+server(?![a-z])([\W_]*[\w-]+)?\s*[)\]}>]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ImportedTool:
    """One tool. `capability`: what it is called here; `problem`: why it cannot be one, empty when
    it can.
    """

    name: str
    capability: str
    description: str
    schema: Mapping[str, Json]
    problem: str = ""

    @property
    def row(self) -> ServerToolRow:
        """Its row in the list of a server's tools."""
        return {
            "tool": self.name,
            "capability": self.capability,
            "description": self.description,
            "schema": dict(self.schema),
            "problem": self.problem,
        }


def clean_tools(told: Iterable[Json], server: str, only: Sequence[str] = ()) -> list[ImportedTool]:
    """The tools of `server`, by name; of those that would share one name none can be a capability.
    `only`: these alone.

    `UsageError` when there are too many, or one of `only` is not there.
    """
    found: dict[str, ImportedTool] = {}
    for value in told:
        wanted = isinstance(value, dict) and (not only or value.get("name") in only)
        tool = _tool(value, server) if wanted else None
        if tool:
            found.setdefault(tool.name, tool)
            if len(found) > MOST:
                message = f"the server has more than {MOST} tools"
                raise UsageError(
                    "ETOOBIG",
                    message,
                    source=server,
                    suggestion="say which ones you want with --only",
                )
    missing = next((name for name in only if name not in found), None)
    if missing:
        raise UsageError(
            "ENOENT", f"the server has no tool {one_line(missing, 60)!r}", source=server
        )
    shared = Counter(tool.capability for tool in found.values() if not tool.problem)
    return [_alone(found[name], shared) for name in sorted(found)]


def capability_of(tool: str, server: str) -> str:
    """The capability that a tool becomes: `readFile` and `read_file` of `files` are
    `files-read-file`; a long one ends in a hash.
    """
    name = "-".join((server, *(word.lower() for word in _WORD.findall(tool))))
    if len(name) <= NAME_LIMIT:
        return name
    return f"{name[: NAME_LIMIT - 7].rstrip('-')}-h{hashlib.sha256(tool.encode()).hexdigest()[:5]}"


def _alone(tool: ImportedTool, shared: Counter[str]) -> ImportedTool:
    if tool.problem or shared[tool.capability] == 1:
        return tool
    return ImportedTool(
        tool.name,
        tool.capability,
        tool.description,
        tool.schema,
        "another tool of the server would have the same name here",
    )


def _tool(value: Json, server: str) -> ImportedTool | None:
    """None of what does not even have a name."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"]:
        return None
    name = one_line(value["name"], 128)
    try:
        document.read_tool_name(value["name"])
        capability = capability_of(name, server)
        if not is_name(capability):
            raise UsageError("ENAME", "its name has no letters")
        return ImportedTool(
            name, capability, _described(value, name, server), _schema(value.get("inputSchema"))
        )
    except UsageError as problem:
        return ImportedTool(name, "", "", {}, problem.message)


def _described(value: Mapping[str, Json], name: str, server: str) -> str:
    """Its own words, and whose they are: they are read by a model, and nobody here wrote them."""
    said = next(
        (
            text
            for text in (value.get("description"), value.get("title"))
            if isinstance(text, str) and text.strip()
        ),
        name,
    )
    own = _unsigned(one_line(said, 2 * DESCRIPTION_CHARACTERS))
    return f"{one_line(own, DESCRIPTION_CHARACTERS)} (a tool of the MCP server {server})"


def _unsigned(said: str) -> str:
    """Without what reads like our own words about whose it is, in whatever letters."""
    plain = unicodedata.normalize("NFKC", said)
    while _SIGNATURE.search(plain):  # what is left may read so again
        said = plain = _SIGNATURE.sub("…", plain)
    return said


def _schema(given: Json) -> dict[str, Json]:
    """The input schema with clean words and without ornaments; `UsageError` when it is not one that
    calls can be checked against.
    """
    if given is None:
        given = {"type": "object"}
    if not isinstance(given, dict):
        raise UsageError("ESCHEMA", "its schema is no object")
    return schema.check(_plain(given, 0))


def _plain(node: Json, depth: int) -> Json:
    """A schema, and each schema in it."""
    if depth > schema.SCHEMA_DEPTH:
        raise UsageError("ESCHEMA", "its schema is nested too deep")
    if not isinstance(node, dict):
        _require_plain(node, 0)
        return node
    return {key: _part(key, value, depth + 1) for key, value in node.items() if key in _KNOWN}


def _part(key: str, value: Json, depth: int) -> Json:
    """The value of a keyword."""
    if key == "description":
        return one_line(value, NOTE_CHARACTERS) if isinstance(value, str) else ""
    if key in _SUBSCHEMAS:
        return _plain(value, depth)
    if key in _LISTS and isinstance(value, list):
        return [_plain(part, depth) for part in value]
    if key in _MAPS and isinstance(value, dict):
        return {_key(name): _plain(part, depth) for name, part in value.items()}
    _require_plain(value, 0, names=key in _NAMES)
    return value


def _require_plain(value: Json, depth: int, *, names: bool = False) -> None:
    """Values have to stay as they are, so one that could deceive whoever reads it is not taken at
    all. `names`: its texts are keys.
    """
    if depth > schema.SCHEMA_DEPTH:
        raise UsageError("ESCHEMA", "its schema is nested too deep")
    if isinstance(value, str):
        _require_clean(
            _key(value) if names else re.sub(r"[\n\t]", " ", value).strip(), VALUE_CHARACTERS
        )
    for key in value if isinstance(value, dict) else ():
        _key(key)
    for part in (
        value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    ):
        _require_plain(part, depth + 1, names=names)


def _key(name: str) -> str:
    """A key as it stands: no schema needs one with a line break."""
    _require_clean(name, KEY_CHARACTERS)
    return name


def _require_clean(text: str, most: int) -> None:
    if one_line(text, len(text) + 1) != text:
        raise UsageError("ESCHEMA", "its schema holds control characters")
    if len(text) > most:
        raise UsageError("ESCHEMA", f"its schema holds a text of more than {most:,} characters")
