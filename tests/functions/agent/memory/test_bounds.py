"""A chat that goes on and on costs no more than one of a week, and what was said on its first day
is still known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from functions.agent.consolidation import MOST
from functions.agent.memory.history import History, HistoryEntry
from functions.agent.model.base import ModelRequest
from functions.agent.session.store import Sessions
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from scripts.benchmarks.year import FIRST, SESSION, WEEK, YearModel, chat, summarize_week
from sigil.storage.kv import KV
from tests.fakes.model import ScriptedModel
from tests.functions.agent.memory.memories import entries, saves
from tests.functions.agent.talk import tell
from tests.selection import in_full

S = f"main#{SESSION}"


class Counting:
    """A store that counts what it is asked for."""

    def __init__(self, kv: KV) -> None:
        self._kv = kv
        self.asked = 0

    def __getattr__(self, verb: str) -> Any:
        self.asked += 1
        return getattr(self._kv, verb)


class Forgetful(YearModel):
    """A model that never shortens anything, and remembers at length."""

    def chat(self, request: ModelRequest) -> Any:
        reply = super().chat(request)
        if "<<IDENTITY>>" in str(request.messages[0]["content"]):
            return reply
        memory = (
            str(request.messages[1]["content"])
            .partition("<<MEMORY>>\n")[2]
            .partition("\n<</MEMORY>>")[0]
        )
        told = memory if "- " in memory else f"# Memory\n- {FIRST}"
        made = saves(memory=f"{told}\n- {'more and more ' * 60}")["choices"][0]["message"][
            "tool_calls"
        ][0]["function"]["arguments"]
        return replace(
            reply,
            calls=tuple(replace(call, arguments=made) for call in reply.calls),
            text="" if reply.calls else told * 2,
        )


def test_a_long_chat_costs_what_a_week_costs_and_forgets_nothing(
    runtime: Callable[..., AgentRuntime],
) -> None:
    home, model = runtime(), YearModel()
    kv = Counting(home.app.kv)
    app = replace(home.app, kv=kv, sessions=Sessions(kv, home.stores.artifacts))  # type: ignore[arg-type]
    marks, turns = [0], []
    for turn in chat(app, (4 if in_full() else 2) * WEEK, model):
        turns.append(turn)
        marks.append(kv.asked)
    first, last = summarize_week(turns[:WEEK]), summarize_week(turns[-WEEK:])

    assert last.prompt <= 1.3 * first.prompt
    assert last.size <= 1.3 * first.size
    assert marks[-1] - marks[-WEEK - 1] <= 1.3 * marks[WEEK]
    assert FIRST in model.system
    told = History(home.app.kv, S).list_page(limit=1000)
    assert len(told) == model.consolidations
    assert all(before.last < after.first for before, after in pairwise(told))
    assert (
        max(message.seq for message in home.app.sessions.open(S).document.messages) - told[-1].last
        <= 41
    )


def test_a_model_that_never_shortens_keeps_below_the_cap_all_the_same(
    runtime: Callable[..., AgentRuntime],
) -> None:
    home, model = runtime(), Forgetful()
    turns = list(chat(home.app, 250, model))

    doc = home.app.documents.read(S, "memory")
    assert MOST - 1_000 < len(doc.text) <= MOST
    assert FIRST in doc.text
    assert FIRST in model.system
    assert max(turn.prompt for turn in turns[-30:]) < model.window


def test_entries_come_in_pages(runtime: Callable[..., AgentRuntime], model: ScriptedModel) -> None:
    home = runtime(llm_url=model.url, tokens_per_day=0)
    model._script[:] = [saves(f"[2026-11-22 01:30] Number {number}.") for number in range(5)]
    for number in range(5):
        assert tell(home, f"/mem {number}") == [ENGLISH.mem_triggered]

    history = History(home.app.kv, "main#telegram:7")
    assert [entry.first for entry in entries(home)] == [1, 2, 3, 4, 5]
    assert [entry.first for entry in history.list_page(limit=2)] == [1, 2]
    assert [entry.first for entry in history.list_page(after=2, limit=2)] == [3, 4]


def test_an_entry_that_stands_is_never_written_over(runtime: Callable[..., AgentRuntime]) -> None:
    history = History(runtime().app.kv, "main#telegram:7")
    first, other = (
        HistoryEntry(1, 2, 0.0, "They met.", memory="Ada", base=1),
        HistoryEntry(1, 3, 0.0, "They parted.", memory="Bob"),
    )
    assert history.add(first) == history.add(other) == first
    history.mark_followed(other)
    assert list(history.scan()) == [first]
    history.mark_followed(first)
    assert history.get(1) == replace(first, memory=None)
