"""The names of tools as models write them: in a namespace, with other signs, run together.

A name that is almost right means the one tool that is offered and that it can mean. A name that
could mean two, or none, stays as it is, and its call says which tools there are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from functions.agent.conversation.messages import ToolCall
from functions.agent.model.base import UNNAMED, WRITTEN_ID
from sigil.errors import one_line
from sigil.protocol import TOOL_PREFIX

NAME_MOST: Final = 64
READ_CHARACTERS: Final = 256
"""A name is looked for in so many characters of what a model wrote as one."""
TOGETHER_MOST: Final = 16
"""At most so many calls that run together are taken apart."""
_ODD: Final = re.compile(r"[^A-Za-z0-9_-]", re.ASCII)
_NAMESPACE: Final = re.compile(r"^.*[.:/]", re.DOTALL)
_SPECIAL: Final = re.compile(r"<\|.*|:\d+$|\s*\(.*|[\s\"'`]+$", re.DOTALL)
"""What models write behind a name: tokens of their own template, parentheses, quotes."""
_DECODER: Final = json.JSONDecoder()


def resolve_calls(calls: Sequence[ToolCall], offered: Sequence[str]) -> Iterator[ToolCall]:
    """Yield the calls with names that endpoints accept in a history, those of the tools that are
    offered where they are meant; calls that run together as several.
    """
    for call in calls:
        names = [resolve_name(call.name, offered)]
        parts = split_arguments(call.arguments)
        if names[0] not in offered and len(parts) > 1:
            names = split_names(call.name, offered) or names
        if len(parts) == 1 or len(names) not in (1, len(parts)):
            yield replace(call, name=names[0])
            continue
        for place, part in enumerate(parts):
            name = names[place] if len(names) > 1 else names[0]
            yield ToolCall(call.id, name, part)


def resolve_name(name: str, offered: Sequence[str]) -> str:
    """Return the offered tool that a name means, or the name with signs that endpoints accept."""
    if name in offered:
        return name
    name = name[:READ_CHARACTERS]
    bare = _SPECIAL.sub("", name.strip())
    for spelling in (bare, _NAMESPACE.sub("", bare)):
        if spelling in offered:
            return spelling
        wanted = _reduce(spelling)
        meant = [tool for tool in offered if wanted and wanted in _list_spellings(tool)]
        if len(meant) == 1:
            return meant[0]
    clean = _ODD.sub("_", bare or name.strip())[:NAME_MOST]
    return clean if clean.strip("_-") else UNNAMED


def split_arguments(arguments: str) -> list[str]:
    """Return the JSON objects that follow each other in a text; the text itself when it has no
    more than one.
    """
    parts: list[str] = []
    place = 0
    with suppress(ValueError, RecursionError):
        while len(parts) < TOGETHER_MOST and place < len(arguments):
            value, end = _DECODER.raw_decode(arguments, place)
            if not isinstance(value, dict):
                return [arguments]
            parts.append(arguments[place:end])
            place = end
            while place < len(arguments) and arguments[place] in " \t\r\n,":
                place += 1
    return parts if len(parts) > 1 and place == len(arguments) else [arguments]


def split_names(name: str, offered: Sequence[str]) -> list[str]:
    """Return the offered names that follow each other in a name, none when it is anything else."""
    found: list[str] = []
    while name and len(found) < TOGETHER_MOST:
        longest = max((tool for tool in offered if name.startswith(tool)), key=len, default="")
        if not longest:
            return []
        found.append(longest)
        name = name[len(longest) :]
    return found if not name else []


def make_ids_unique(calls: Sequence[ToolCall]) -> Iterator[ToolCall]:
    """Yield the calls with unique ids, since providers send empty and repeated ones."""
    taken: set[str] = set()
    for position, call in enumerate(calls):
        name = one_line(call.id, 64) or f"call_{position}"
        if name.startswith(WRITTEN_ID):
            name = f"call_{name}"
        while name in taken:
            name = f"{name}_{position}"
        taken.add(name)
        yield ToolCall(name, call.name, call.arguments)


def _reduce(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def _list_spellings(tool: str) -> tuple[str, ...]:
    """Return a tool's name reduced to letters and digits, with and without its prefix."""
    return (_reduce(tool), _reduce(tool.removeprefix(TOOL_PREFIX)))
