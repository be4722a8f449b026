"""Measures how many of the messages that answer a question `search-history` finds, in conversations of
LoCoMo's form: the recall of the question's evidence.

Each conversation becomes the chat of a group, message after message: evicted, consolidated into
memory (by the offline model), archived, and then searched as in a turn of its own, with the question
word for word.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from functions.agent import context
from functions.agent.app import App, ignore_step
from functions.agent.consolidation import consolidate_owed
from functions.agent.conversation.messages import Message
from functions.agent.eviction import evict
from functions.agent.sanitize import clean_text
from functions.agent.services.call_context import CallContext
from functions.agent.services.search_history import search_history
from functions.agent.session.document import Document
from functions.agent.session.memory_progress import adopt_progress
from functions.agent.session.store import SessionHandle
from functions.agent.side_request import SideRequests
from functions.settings import Settings
from functions.time.clock import Clock
from functions.wiring import open_runtime
from scripts.benchmarks.conversations import (
    Id,
    Line,
    LocomoConversation,
    Question,
    read_conversations,
)
from scripts.benchmarks.rows import Row
from sigil.storage.kv import keys

BEST: Final = (5, 10)
OVERHEAD: Final = 3_000.0
"""Estimated tokens of a prompt beside its history."""
QUERY_CHARACTERS: Final = 500
SESSION: Final = "telegram:evidence"


@dataclass(frozen=True, slots=True)
class FoundEvidence:
    """The messages that a search found for a question, the best first, in `ms` milliseconds of wall
    time.
    """

    question: Question
    found: Sequence[Id | None]
    ms: float

    def recall(self, best: int) -> float:
        """Return the share of the question's evidence that is among the first `best` messages."""
        evidence = self.question.evidence
        return len(evidence.intersection(self.found[:best])) / len(evidence)


def run(data: Path) -> Iterator[Row]:
    """Measure recall in all and by category, and milliseconds a question. `data`: a file, or a folder
    with `locomo*.json` in it.
    """
    paths = sorted(data.glob("locomo*.json")) if data.is_dir() else [data]
    answers: list[FoundEvidence] = []
    for path in paths:
        for conversation in read_conversations(path):
            answers += answer_questions(conversation)
    groups = {
        f"category {number}": [each for each in answers if each.question.category == number]
        for number in range(1, 6)
    }
    for name, group in {**groups, "all": answers}.items():
        if not group:
            continue
        for best in BEST:
            yield Row(
                f"recall@{best}, {name} ({len(group)} questions)",
                statistics.fmean(each.recall(best) for each in group),
            )
    if answers:
        yield Row(
            "search-history, a question, p50", statistics.median(each.ms for each in answers), "ms"
        )


def answer_questions(conversation: LocomoConversation) -> Iterator[FoundEvidence]:
    """Ask each question that has evidence, in the chat of the conversation; yield the answers."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(open_runtime(Settings(data=folder, library="none", runners=1))) as runtime,
    ):
        opened, ids = hold_conversation(conversation, runtime.app)
        for question in conversation.questions:
            if not question.evidence:
                continue
            query = {"query": question.text[:QUERY_CHARACTERS], "limit": max(BEST)}
            began = time.perf_counter()
            answer: Any = search_history(CallContext(runtime.app, opened.key), query)
            spent = time.perf_counter() - began
            found: list[Id | None] = []
            for item in answer["items"]:
                found.append(None if item["who"] == "history" else ids[item["message"]])
            yield FoundEvidence(question, found, spent * 1e3)


def hold_conversation(
    conversation: LocomoConversation, app: App
) -> tuple[SessionHandle, dict[int, Id]]:
    """Play a conversation; return its session, and the id of the line behind each message number."""
    opened = app.sessions.open(keys.session_of(app.name, SESSION))
    ids: dict[int, Id] = {}
    for line in conversation.lines:
        document = _add_line(opened, line, app)
        ids[document.next_seq - 1] = line.id
        opened = app.sessions.save(opened, document)
        if document.owes_memory:
            consolidate_owed(opened.key, app)
            heard = app.kv.get(keys.memory_progress(opened.key))
            opened = opened.with_document(adopt_progress(opened.key, document, heard))
    return opened, ids


def _add_line(opened: SessionHandle, line: Line, app: App) -> Document:
    """Return the document with one more message, as a turn makes it."""
    side = SideRequests(opened.key, replace(app, clock=Clock(now=lambda: line.at)), opened.document)
    document = evict(
        side,
        context.count_available_tokens(app.model.window, OVERHEAD, opened.document.ratio),
        ignore_step,
    )
    return document.add(
        Message("user", clean_text(line.text), at=line.at, origin=f"telegram · {line.who}")
    )
