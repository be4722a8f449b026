"""Conversations of LoCoMo's form, read: sessions of two people's messages, and questions with the
messages that answer them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sigil import strict_json
from sigil.errors import UsageError, one_line

Id = tuple[int, int]
"""(session, message): `D1:3`."""
SPACING: Final = 30.0
"""Seconds between two messages of a session: the form has the time of its first one alone."""
_WHEN: Final = "%I:%M %p on %d %B, %Y"
_SESSION: Final = re.compile(r"session_([0-9]{1,6})", re.ASCII)
_ID: Final = re.compile(r"D:?([0-9]{1,6}):([0-9]{1,6})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a conversation, said at seconds since the epoch."""

    id: Id
    who: str
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class Question:
    """`evidence`: the messages that answer it; empty where the set names none that there is."""

    text: str
    evidence: frozenset[Id]
    category: int


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation and what is asked about it."""

    lines: Sequence[Line]
    questions: Sequence[Question]


def read(path: Path) -> list[Talk]:
    """The conversations of a file; `UsageError` says what is wrong with it, and where."""
    try:
        samples = strict_json.loads(path.read_bytes())
        return [
            _talk(sample, f"sample {place}")
            for place, sample in enumerate(_list(samples, "the document"), 1)
        ]
    except OSError as problem:
        raise UsageError("ENOENT", f"{path} cannot be read: {problem.strerror}") from None
    except UsageError as problem:
        raise UsageError(
            problem.code,
            f"{path}: {problem.message}",
            suggestion="a file of LoCoMo's form, like locomo10.json",
        ) from None


def _talk(sample: Any, place: str) -> Talk:
    conversation = _object(_object(sample, place), place, "conversation")
    names = sorted(
        (int(found[1]), name) for name in conversation if (found := _SESSION.fullmatch(name))
    )
    lines = [
        line
        for number, name in names
        for line in _session(conversation, number, name, f"{place}, {name}")
    ]
    if not lines:
        raise UsageError("EINVAL", f"{place}: conversation has no session_1 with messages")
    there = frozenset(line.id for line in lines)
    asked = enumerate(_list(sample.get("qa"), f"{place}, qa"), 1)
    return Talk(
        lines, [_question(each, there, f"{place}, question {number}") for number, each in asked]
    )


def _session(conversation: Mapping[str, Any], number: int, name: str, place: str) -> Iterator[Line]:
    began = _moment(_text(conversation, f"{name}_date_time", place), place)
    for position, said in enumerate(_list(conversation[name], place)):
        where = f"{place}, message {position + 1}"
        who, text = _text(_object(said, where), "speaker", where), _text(said, "text", where)
        shown = _text(said, "blip_caption", where) if said.get("blip_caption") else ""
        found = _ID.fullmatch(_text(said, "dia_id", where))
        if found is None or int(found[1]) != number:
            raise UsageError(
                "EINVAL",
                f"{where}: dia_id {one_line(said['dia_id'], 40)!r} is not like"
                f" D{number}:{position + 1}",
            )
        yield Line(
            _id(found),
            who,
            f"{text} [shows {shown}]" if shown else text,
            began + position * SPACING,
        )


def _question(given: Any, there: frozenset[Id], place: str) -> Question:
    """A set that people wrote names several messages in one word, too, and some that there are
    not.
    """
    text, category = _text(_object(given, place), "question", place), given.get("category")
    if type(category) is not int or not 1 <= category <= 5:
        raise UsageError("EINVAL", f"{place}: category is not a number from 1 to 5")
    named = [
        each
        for each in _list(given.get("evidence", []), f"{place}, evidence")
        if isinstance(each, str)
    ]
    return Question(
        text,
        there.intersection(_id(found) for each in named for found in _ID.finditer(each)),
        category,
    )


def _id(found: re.Match[str]) -> Id:
    return int(found[1]), int(found[2])


def _moment(text: str, place: str) -> float:
    try:
        return datetime.strptime(text, _WHEN).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise UsageError(
            "EINVAL", f"{place}: {one_line(text, 40)!r} is not a time like '1:56 pm on 8 May, 2023'"
        ) from None


def _object(value: Any, place: str, name: str = "") -> Mapping[str, Any]:
    value, place = (value.get(name), f"{place}, {name}") if name else (value, place)
    if not isinstance(value, dict):
        raise UsageError("EINVAL", f"{place} is not an object")
    return value


def _list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise UsageError("EINVAL", f"{place} is not a list")
    return value


def _text(given: Mapping[str, Any], name: str, place: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise UsageError("EINVAL", f"{place}: {name} is missing or not a text")
    return value
