"""What a model reads of a skill that a query has found.

The instructions are cut where they are long, or where the window has little room; the service
`read-skill`, which comes with such a skill, reads the rest of them and the files beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

import orjson

from functions.agent.skills.catalog import SkillEntry
from functions.agent.skills.search import FoundSkills
from functions.agent.skills.skill import FILE, split_front
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json, Offer
from sigil.strict_json import canonical

SKILL: Final = "skill"
"""The field of a query's result with the skill that it pages in."""
OTHERS: Final = "skills"
"""The field with the further skills that fit, by name."""
PART_CHARACTERS: Final = 10_000
"""So many characters of a text are read at once."""
WHOLE_CHARACTERS: Final = 4_000
"""A shorter skill is never cut but in a window that is full."""
FILES_MOST: Final = 40
"""So many files are named."""
READ: Final = "read-skill"
FOLLOW_IT: Final = "follow the skill {name}"
SEARCH_IT: Final = "if one in skills is about this, query its name; else: "
MISSING: Final = (
    "these tools of it are not here: do without them what can be done, and say what could not"
)
PINNED: Final = "it stands in the system message, under SKILL"
RESIDENT: Final = "it stands in an earlier result of sigil_query, unchanged"
NO_ROOM: Final = "your window is full: query the skill again with limit 1 when there is room"
SCRIPTS: Final = "its files are texts to read: none of them can be run here"
"""Said of a skill that has files."""

_READ_SCHEMA: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 64, "description": "The name of the skill"},
        "path": {
            "type": "string",
            "maxLength": 200,
            "description": "One of its files; left out, its own text",
        },
        "from": {
            "type": "integer",
            "minimum": 0,
            "default": 0,
            "description": "The character at which to begin, as next_from says",
        },
    },
    "required": ["name"],
    "additionalProperties": False,
}
_READ_DESCRIPTION: Final = (
    "Read on in a skill that sigil_query has found: the rest of its text, or one of its files."
)
READ_SKILL: Final = Offer(
    READ,
    1,
    f"sha256:{sha256(canonical([READ, _READ_DESCRIPTION, _READ_SCHEMA])).hexdigest()}",
    _READ_DESCRIPTION,
    _READ_SCHEMA,
    pure=True,
    kind="host",
)
"""The service that comes with a skill that is long or has files; no search finds it alone."""


def make_row(
    found: FoundSkills,
    offers: Sequence[Offer],
    missing: Sequence[str],
    *,
    is_resident: bool = False,
) -> dict[str, Json]:
    """Return the field with the skill that is paged in; empty when there is none.

    `offers` are those of the tools that it names, and `missing` the names of those that are gone.
    `is_resident`: the history has its text already, so that it is not said again.
    """
    entry, doc = found.entry, found.doc
    if entry is None or doc is None:
        return {}
    row: dict[str, Json] = {
        "name": entry.name,
        "description": entry.description,
        "version": doc.version,
        "kept_by": doc.by,
        "score": found.score,
    }
    if offers:
        row["tools"] = [offer.tool for offer in offers]
    if missing:
        row["missing"] = list(missing)
        row["missing_note"] = MISSING
    paths = [each.path for each in doc.files if each.path != FILE]
    if paths:
        row["files"] = list(paths[:FILES_MOST])
        row["files_note"] = SCRIPTS
    instructions = split_front(doc.text)[1]
    if entry.pinned:
        return {**row, "text": PINNED}
    if is_resident:
        return {**row, "text": RESIDENT}
    return _cut_text({**row, "text": instructions}, len(instructions), PART_CHARACTERS)


def needs_reader(found: FoundSkills) -> bool:
    """Return whether a skill that was found may have more to read than its row shows."""
    if found.entry is None or found.doc is None:
        return False
    has_files = any(each.path != FILE for each in found.doc.files)
    return has_files or found.entry.pinned or found.entry.size > WHOLE_CHARACTERS


def make_other_row(entry: SkillEntry) -> dict[str, Json]:
    """Return what a model reads of a skill that is only named."""
    return {"name": entry.name, "description": entry.description}


def drop_tools(listed: Mapping[str, Json], tools: set[str]) -> Mapping[str, Json]:
    """Return a query's result whose skill names none of these tools, for which there is no room."""
    row = as_mapping(listed.get(SKILL))
    if not tools.intersection(map(str, as_sequence(row.get("tools")))):
        return listed
    left = [tool for tool in as_sequence(row["tools"]) if tool not in tools]
    return {**listed, SKILL: {**row, "tools": left}}


def has_text(listed: Mapping[str, Json]) -> bool:
    """Return whether a query's result has the text of a skill, or the beginning of it."""
    text = as_mapping(listed.get(SKILL)).get("text")
    return text is not None and text not in (PINNED, RESIDENT, NO_ROOM)


def shorten_skill(listed: Mapping[str, Json], over: int) -> Mapping[str, Json]:
    """Return a query's result whose skill has a text that is `over` characters of JSON shorter."""
    if not has_text(listed):
        return listed
    row = dict(as_mapping(listed.get(SKILL)))
    text = as_string(row.get("text"))
    total = row.get("characters")
    whole = total if isinstance(total, int) else len(text)
    size = len(text)
    left = len(orjson.dumps(text).decode()) - over
    while size and len(orjson.dumps(text[:size]).decode()) > left:
        size = size * 9 // 10
    return {**listed, SKILL: _cut_text(row, whole, size)}


def _cut_text(row: dict[str, Json], whole: int, most: int) -> dict[str, Json]:
    """Return the row of a skill with at most so many characters of its text, which has `whole`.

    It ends with a paragraph or a line where one ends near.
    """
    text = as_string(row.get("text"))
    if len(text) <= most:
        return row
    if not most:
        return {**row, "text": NO_ROOM}
    most = find_end(text, most)
    rest = dumps_call({"name": row["name"], "from": most})
    more = f"{most:,} of {whole:,} characters; the rest: cap_read_skill {rest}"
    return {**row, "text": text[:most], "characters": whole, "more": more}


def find_end(text: str, most: int, begin: int = 0) -> int:
    """Return where a part of a text ends that begins there and has at most so many characters."""
    end = begin + most
    if end >= len(text):
        return len(text)
    for separator in ("\n\n", "\n", " "):
        place = text.rfind(separator, begin + most * 3 // 4, end)
        if place > begin:
            return place + len(separator)
    return end


def dumps_call(arguments: Mapping[str, Json]) -> str:
    """Return the arguments of a call as a model writes them."""
    return orjson.dumps(arguments).decode()
