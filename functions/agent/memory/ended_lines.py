"""The lines of a chat's memory document that say what is no longer true.

The document is in the prompt of every turn, so a corrected fact may not stand there as a true one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from functions.agent.memory.corrections import Correction, mentions
from functions.agent.memory.documents import Documents
from functions.agent.memory.memory_lines import LINE_CHARACTERS, NAME, is_same_line
from functions.agent.memory.thing import Thing
from functions.texts.en import Texts
from functions.time.time_zone import format_stamp
from sigil.errors import Conflict, UsageError, one_line

DAY = len("2026-11-22")


def mark_ended_lines(
    documents: Documents, scope: str, correction: Correction, by: str, texts: Texts
) -> str:
    """Take the lines that say what ended, and nothing else, out of the memory of a scope, and mark
    those that mention it; a mark of what was restored goes.

    Returns a line that could not be changed, empty when there is none.
    """
    memory = documents.read(scope, NAME)
    if not memory.text:
        return ""
    lines = memory.text.split("\n")
    if correction.restored:
        mark = _match_mark(correction.restored, texts)
        lines = [mark.sub("", line) for line in lines]
    kept: list[str] = []
    for line in lines:
        if not any(is_same_line(line, _write_sentence(thing)) for thing in correction.ended):
            kept.append(_mark_line(line, correction.ended, texts))
    text = "\n".join(kept)
    if text == memory.text:
        return ""
    with suppress(Conflict, UsageError):  # somebody wrote meanwhile, or there is no room
        documents.write(scope, NAME, text, by=by, why="corrected", expect=memory.version)
        return ""
    line = next((line for line in lines if line not in kept), "")
    return one_line(line.strip(), LINE_CHARACTERS)


def _mark_line(line: str, ended: Sequence[Thing], texts: Texts) -> str:
    """Return a line with a mark behind it for each thing that it mentions and that ended."""
    marked = line
    for thing in ended:
        if mentions(line, thing) and not _match_mark(thing, texts).search(line):
            day = format_stamp(thing.ended)[:DAY]
            marked += texts.memory_over.format(day=day, words=_name_thing(thing))
    return marked


def _match_mark(thing: Thing, texts: Texts) -> re.Pattern[str]:
    """Return what finds the mark of a thing, of whatever day."""
    mark = re.escape(texts.memory_over.format(day="\0", words=_name_thing(thing)))
    return re.compile(mark.replace(re.escape("\0"), r"\d{4}-\d\d-\d\d"))


def _write_sentence(thing: Thing) -> str:
    return thing.texts[-1] if thing.kind == "event" else thing.in_words


def _name_thing(thing: Thing) -> str:
    return one_line(thing.in_words, LINE_CHARACTERS)
