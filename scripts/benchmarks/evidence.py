"""Measures how much of what answers a question `search-history` finds, in conversations of LoCoMo's
form: recall of the messages that are the question's evidence.

Each conversation becomes the chat of a group, message after message: evicted, told to memory (of
the offline model), archived, and then searched as in a turn of its own, with the question as it
stands there.
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
from functions.agent.eviction import evict
from functions.agent.messages import Message
from functions.agent.sanitize import clean_text
from functions.agent.services.call_context import CallContext
from functions.agent.services.search_history import search_history
from functions.agent.session.document import Document
from functions.agent.session.store import SessionHandle
from functions.agent.side_request import SideRequests
from functions.clock import Clock
from functions.settings import Settings
from functions.wiring import open_runtime
from scripts.benchmarks.rows import Row
from scripts.benchmarks.talks import Id, Line, Question, Talk, read
from sigil.storage.kv import keys

BEST: Final = (5, 10)
OVERHEAD: Final = 3_000.0
"""Estimated tokens of a prompt beside its history."""
QUERY_CHARACTERS: Final = 500
SESSION: Final = "telegram:evidence"


@dataclass(frozen=True, slots=True)
class Answer:
    """The messages that were found for a question, the best first, in `ms` milliseconds of wall
    time.
    """

    question: Question
    found: Sequence[Id | None]
    ms: float

    def recall(self, best: int) -> float:
        """The share of its evidence that is among the first so many."""
        return len(self.question.evidence.intersection(self.found[:best])) / len(
            self.question.evidence
        )


def run(data: Path) -> Iterator[Row]:
    """Recall in all and by category, and milliseconds a question. `data`: a file, or a folder with
    `locomo*.json` in it.
    """
    paths = sorted(data.glob("locomo*.json")) if data.is_dir() else [data]
    answers = [answer for path in paths for talk in read(path) for answer in answered(talk)]
    groups = {
        f"category {number}": [each for each in answers if each.question.category == number]
        for number in range(1, 6)
    }
    for name, group in {**groups, "all": answers}.items():
        for best in BEST if group else ():
            yield Row(
                f"recall@{best}, {name} ({len(group)} questions)",
                statistics.fmean(each.recall(best) for each in group),
            )
    if answers:
        yield Row(
            "search-history, a question, p50", statistics.median(each.ms for each in answers), "ms"
        )


def answered(talk: Talk) -> Iterator[Answer]:
    """Each question that has evidence, asked where the conversation was had."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(open_runtime(Settings(data=folder, library="none", runners=1))) as runtime,
    ):
        opened, ids = had(talk, runtime.app)
        for question in talk.questions:
            if question.evidence:
                began = time.perf_counter()
                answer: Any = search_history(
                    CallContext(runtime.app, opened.key),
                    {"query": question.text[:QUERY_CHARACTERS], "limit": max(BEST)},
                )
                spent = time.perf_counter() - began
                found = [
                    ids[item["message"]] if item["who"] != "history" else None
                    for item in answer["items"]
                ]
                yield Answer(question, found, spent * 1e3)


def had(talk: Talk, app: App) -> tuple[SessionHandle, dict[int, Id]]:
    """The session of a conversation, and which message of it has which number."""
    opened, ids = app.sessions.open(keys.session_of(app.name, SESSION)), {}
    for line in talk.lines:
        document = _said(opened, line, app)
        ids[document.next_seq - 1] = line.id
        opened = app.sessions.save(opened, document)
    return opened, ids


def _said(opened: SessionHandle, line: Line, app: App) -> Document:
    """The document with one more message, as a turn makes it."""
    side = SideRequests(opened.key, replace(app, clock=Clock(now=lambda: line.at)), opened.document)
    document = evict(
        side,
        context.count_available_tokens(app.model.window, OVERHEAD, opened.document.ratio),
        ignore_step,
    )
    return document.add(
        Message("user", clean_text(line.text), at=line.at, origin=f"telegram · {line.who}")
    )
