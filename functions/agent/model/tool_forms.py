"""The tools of a request as a dialect wants them.

A schema that an endpoint refuses costs that tool alone: it is told in the strictest form, then in
words, and only then left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import orjson

from functions.agent.conversation.prompt import ToolDefinition
from functions.agent.model.base import ModelRequest
from functions.agent.model.dialect import Dialect
from functions.agent.sanitize import cut_text
from sigil.protocol import Json
from sigil.tool_schemas.portable import Untellable, portable

DESCRIPTION_MOST: Final = 1_000
"""Characters of a description in the strictest form; some endpoints take 1,024."""
KEPT: Final = 512
"""So many tools keep their strictest form from one request to the next."""
NO_PARAMETERS: Final[Mapping[str, Json]] = {"type": "object", "properties": {}}
IN_WORDS: Final = "Its arguments are a JSON object by this schema: "

_portable: dict[int, tuple[ToolDefinition, ToolDefinition]] = {}
"""The strictest form of a tool by the identity of the tool, with the tool itself."""


def fit_tools(tools: Sequence[ToolDefinition], dialect: Dialect) -> Sequence[ToolDefinition]:
    """Return the tools as a dialect wants them; they themselves where it wants nothing else."""
    if dialect.is_toolless:
        return ()
    special = (*dialect.portable_tools, *dialect.bare_tools, *dialect.without_tools)
    if dialect.schemas == "clean" and not special:
        return tools
    fitted = []
    for tool in tools:
        name = tool["function"]["name"]
        if name in dialect.without_tools:
            continue
        if name in dialect.bare_tools:
            fitted.append(tell_in_words(tool))
        elif dialect.schemas == "portable" or name in dialect.portable_tools:
            fitted.append(find_portable(tool))
        else:
            fitted.append(tool)
    return fitted


def find_portable(tool: ToolDefinition) -> ToolDefinition:
    """Return a tool in the form that every endpoint takes."""
    known = _portable.get(id(tool))
    if known and known[0] is tool:
        return known[1]
    if len(_portable) >= KEPT:
        _portable.clear()
    function = tool["function"]
    schema = portable(function["parameters"])
    if isinstance(schema, Untellable):
        made = tell_in_words(tool)
    else:
        made = _make_tool(function["name"], function["description"], schema)
    _portable[id(tool)] = (tool, made)
    return made


def tell_in_words(tool: ToolDefinition) -> ToolDefinition:
    """Return a tool without parameters, whose description has their schema."""
    function = tool["function"]
    schema = orjson.dumps(function["parameters"]).decode()
    room = DESCRIPTION_MOST - len(IN_WORDS) - len(schema)
    if room < len(IN_WORDS):
        room = DESCRIPTION_MOST // 2
    description = f"{cut_text(function['description'], room)} {IN_WORDS}{schema}"
    return _make_tool(function["name"], description, NO_PARAMETERS)


def choose_tools(request: ModelRequest, dialect: Dialect) -> tuple[Sequence[ToolDefinition], Json]:
    """Return the tools of a request and the choice among them, as a dialect takes it; None leaves
    it to the model. Where nothing can be chosen, a request for no call offers no tools.
    """
    tools = fit_tools(request.tools, dialect)
    choice = request.tool_choice
    if not tools or choice is None:
        return tools, None
    if choice == "none" and dialect.choices in ("auto", "omitted"):
        return (), None
    if dialect.choices == "omitted":
        return tools, None
    if not isinstance(choice, str) and dialect.choices != "named":
        return tools, "required" if dialect.choices == "words" else "auto"
    return tools, choice


def _make_tool(name: str, description: str, parameters: Mapping[str, Json]) -> ToolDefinition:
    short = cut_text(description, DESCRIPTION_MOST)
    return {
        "type": "function",
        "function": {"name": name, "description": short, "parameters": parameters},
    }
