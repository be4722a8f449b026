"""Reads conversations of LoCoMo's form: sessions of two people's messages, and questions with the
messages that answer them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sigil import strict_json
from sigil.errors import UsageError, one_line

Id = tuple[int, int]
"""(session, message): (1, 3) for `D1:3`."""
SPACING: Final = 30.0
"""The seconds between two messages of a session: the form has the time of the first one only."""
_WHEN: Final = "%I:%M %p on %d %B, %Y"
_SESSION: Final = re.compile(r"session_([0-9]{1,6})", re.ASCII)
_ID: Final = re.compile(r"D:?([0-9]{1,6}):([0-9]{1,6})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a conversation; `at`: seconds since the epoch."""

    id: Id
    who: str
    text: str
    at: float


@dataclass(frozen=True, slots=True)
class Question:
    """A question. `evidence`: the messages that answer it; empty where the set names none, or none
    that the conversation has.
    """

    text: str
    evidence: frozenset[Id]
    category: int


@dataclass(frozen=True, slots=True)
class LocomoConversation:
    """A conversation and the questions about it."""

    lines: Sequence[Line]
    questions: Sequence[Question]


def read_conversations(path: Path) -> list[LocomoConversation]:
    """Return the conversations of a file; `UsageError` says what is wrong with it, and where."""
    try:
        samples = _require_list(strict_json.loads(path.read_bytes()), "the document")
        return [
            _read_conversation(sample, f"sample {number}")
            for number, sample in enumerate(samples, 1)
        ]
    except OSError as problem:
        raise UsageError("ENOENT", f"{path} cannot be read: {problem.strerror}") from None
    except UsageError as problem:
        raise UsageError(
            problem.code,
            f"{path}: {problem.message}",
            suggestion="a file of LoCoMo's form, like locomo10.json",
        ) from None


def _read_conversation(sample: object, place: str) -> LocomoConversation:
    sample = _require_object(sample, place)
    sessions = _require_object(sample.get("conversation"), f"{place}, conversation")
    lines: list[Line] = []
    names = sorted(
        (int(found[1]), name) for name in sessions if (found := _SESSION.fullmatch(name))
    )
    for number, name in names:
        lines += _read_session(sessions, number, name, f"{place}, {name}")
    if not lines:
        raise UsageError("EINVAL", f"{place}: conversation has no session_1 with messages")
    ids = frozenset(line.id for line in lines)
    questions = []
    for number, each in enumerate(_require_list(sample.get("qa"), f"{place}, qa"), 1):
        questions.append(_read_question(each, ids, f"{place}, question {number}"))
    return LocomoConversation(lines, questions)


def _read_session(
    sessions: Mapping[str, object], number: int, name: str, place: str
) -> Iterator[Line]:
    time = _require_text(sessions, f"{name}_date_time", place)
    try:
        began = datetime.strptime(time, _WHEN).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise UsageError(
            "EINVAL", f"{place}: {one_line(time, 40)!r} is not a time like '1:56 pm on 8 May, 2023'"
        ) from None
    for position, value in enumerate(_require_list(sessions[name], place)):
        where = f"{place}, message {position + 1}"
        message = _require_object(value, where)
        speaker = _require_text(message, "speaker", where)
        text = _require_text(message, "text", where)
        if message.get("blip_caption"):
            text += f" [shows {_require_text(message, 'blip_caption', where)}]"
        name_of_message = _require_text(message, "dia_id", where)
        found = _ID.fullmatch(name_of_message)
        if found is None or int(found[1]) != number:
            raise UsageError(
                "EINVAL",
                f"{where}: dia_id {one_line(name_of_message, 40)!r} is not like"
                f" D{number}:{position + 1}",
            )
        yield Line(_read_id(found), speaker, text, began + position * SPACING)


def _read_question(value: object, ids: frozenset[Id], place: str) -> Question:
    """Read a question. People wrote the sets: one word of the evidence may name several messages, and
    some that the conversation does not have.
    """
    question = _require_object(value, place)
    text = _require_text(question, "question", place)
    category = question.get("category")
    if type(category) is not int or not 1 <= category <= 5:
        raise UsageError("EINVAL", f"{place}: category is not a number from 1 to 5")
    evidence: set[Id] = set()
    for each in _require_list(question.get("evidence", []), f"{place}, evidence"):
        if isinstance(each, str):
            evidence.update(_read_id(found) for found in _ID.finditer(each))
    return Question(text, ids.intersection(evidence), category)


def _read_id(found: re.Match[str]) -> Id:
    return int(found[1]), int(found[2])


def _require_object(value: object, place: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise UsageError("EINVAL", f"{place} is not an object")
    return value


def _require_list(value: object, place: str) -> list[object]:
    if not isinstance(value, list):
        raise UsageError("EINVAL", f"{place} is not a list")
    return value


def _require_text(row: Mapping[str, object], name: str, place: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise UsageError("EINVAL", f"{place}: {name} is missing or not a text")
    return value
