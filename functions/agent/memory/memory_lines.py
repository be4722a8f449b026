"""The lines of a chat's memory document that say what was forgotten."""

from __future__ import annotations

import re
from collections.abc import Sequence

from functions.agent.memory.documents import Documents
from functions.agent.memory.thing import Thing
from sigil.errors import Conflict, one_line

NAME = "memory"
LINE_CHARACTERS = 200
_EDGES = re.compile(r"^[\s*•-]+|[\s.!。！]+$")
_UNSPACED = r"[\u3040-\u30ff\u3400-\u9fff]"
_UNSPACED_GAP = re.compile(rf"(?<={_UNSPACED}) | (?={_UNSPACED})")
_WORD = re.compile(r"[^\W_]+")


def remove_lines(documents: Documents, scope: str, things: Sequence[Thing], by: str) -> str:
    """Take the lines that say one of these things, and nothing else, out of the memory of a scope.

    Returns a line that still mentions one of them, empty when none does.
    """
    memory = documents.read(scope, NAME)
    lines = memory.text.split("\n") if memory.text else []
    said = {_fold(text) for thing in things for text in (thing.in_words, thing.texts[-1])}
    kept = [line for line in lines if not line.strip() or _fold(line) not in said]
    if kept != lines:
        try:
            documents.write(
                scope, NAME, "\n".join(kept), by=by, why="forgotten", expect=memory.version
            )
        except Conflict:  # a consolidation wrote meanwhile: what stays is told
            kept = lines
    for line in kept:
        if any(_mentions(line, thing) for thing in things):
            return one_line(line.strip(), LINE_CHARACTERS)
    return ""


def is_same_line(line: str, text: str) -> bool:
    """Return whether a line says a text and nothing else."""
    said = _fold(line)
    return said != "" and said == _fold(text)


def _fold(text: str) -> str:
    """Return a line as it is compared: no bullet, no full stop, single spaces, small letters.

    Between characters of a script without spaces none is left.
    """
    return _UNSPACED_GAP.sub("", " ".join(_EDGES.sub("", text).split()).casefold())


def _mentions(line: str, thing: Thing) -> bool:
    """Return whether a line has the thing's own words, all of them, among others."""
    text = thing.texts[-1]
    if thing.kind == "fact":
        text = f"{thing.texts[0]} {text}"
    words = set(_WORD.findall(text.casefold()))
    known = set(_WORD.findall(line.casefold()))
    if thing.kind == "kv" and known.isdisjoint(_WORD.findall(thing.about.casefold())):
        return False
    return bool(words) and (words <= known or _fold(text) in _fold(line))
