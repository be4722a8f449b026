"""Guides and strategies of other packages: what they do wrong ends no turn, and what cannot be used
is said at the start.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from functions.agent.conversation.compaction import apply_strategy, load_strategy, remove_orphans
from functions.agent.safety.guides import load_guide
from functions.wiring import AgentRuntime
from sigil.errors import UsageError
from tests.fakes.model import ScriptedModel, call, results, say
from tests.functions.agent.talk import tell

CODE = """
class Odd:
    def interpret_pain(self, fact): raise RuntimeError("no")
    def brief(self, fact): raise RuntimeError("no")
    def compact(self, messages, room): raise RuntimeError("no")
    def note(self, dropped, ask): raise RuntimeError("no")
class Torn(Odd):
    def interpret_pain(self, fact): return "x" * 10_000
    def compact(self, messages, room):
        from functions.agent.conversation.compaction import Compacted
        return Compacted(tuple(message for message in messages if message.role != "assistant"))
    def note(self, dropped, ask): return "n" * 100_000
class Half:
    def brief(self, fact): return ""
class Broken(Odd):
    def interpret_pain(self, fact): return "pain \\ud800"
    def brief(self, fact): return "pain \\udfff"
    def compact(self, messages, room):
        from functions.agent.conversation.compaction import compact
        return compact(messages, room)
    def note(self, dropped, ask): return "note \\ud800"
odd, torn, half, broken = Odd(), Torn(), Half(), Broken()
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = tmp_path / "strangers-1.0.dist-info"
    facts.mkdir()
    (tmp_path / "strangers.py").write_text(CODE)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: strangers\nVersion: 1.0\n")
    names = [
        "odd = strangers:odd",
        "torn = strangers:torn",
        "half = strangers:half",
        "broken = strangers:broken",
        "gone = nowhere:x",
        "kind = strangers:Odd",
    ]
    (facts / "entry_points.txt").write_text(
        "\n".join(["[uncaged.guides]", *names, "", "[uncaged.contexts]", *names])
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    for choose in (load_guide, load_strategy):
        choose.cache_clear()
    sys.modules.pop("strangers", None)


@pytest.mark.parametrize("choose", [load_guide, load_strategy])
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gone", "does not load: ModuleNotFoundError"),
        ("half", "lacks"),
        ("kind", "is a class"),
        ("none of it", "there is no"),
    ],
)
def test_what_cannot_be_used_is_said(choose: Callable[[str], object], name: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        choose(name)


def test_a_guide_that_fails_leaves_the_fact(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    model.then(call(("no_such_tool", {})), say("What now?"))
    home = runtime(llm_url=model.url, guide="odd")
    assert tell(home, "go") == ["What now?"]
    assert "\n" not in results(model.bodies[1])[0]
    assert 'Tool "no_such_tool" failed with ENOTOOL.' in tell(home, "/status all")[0]


def test_a_guides_words_are_bounded(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    model.then(call(("no_such_tool", {})), say("What now?"))
    tell(runtime(llm_url=model.url, guide="torn"), "go")
    assert len(results(model.bodies[1])[0]) < 3_000


@pytest.mark.parametrize("name", ["odd", "torn"])
def test_a_strategy_that_fails_or_tears_calls_from_results_ends_no_turn(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, name: str
) -> None:
    home = runtime(llm_url=model.url, context=name, tokens_per_day=0)
    for number in range(12):  # more messages than a chat keeps
        model.then(call(("sigil_query", {"query": f"number {number}"})), say(f"answer {number}"))
        assert tell(home, f"question {number}") == [f"answer {number}"]

    document = home.app.sessions.open("main#telegram:7").document
    assert list(remove_orphans(document.messages)) == list(document.messages)
    assert max(len(message.content) for message in document.messages) <= 8_000
    assert len(apply_strategy(load_strategy("odd"), document.messages, 1e9).kept) <= 40


def test_strangers_whose_text_is_no_unicode_end_no_turn(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, guide="broken", context="broken", tokens_per_day=0)
    model.then(call(("no_such_tool", {})), say("what now?"))

    assert tell(home, "go") == ["what now?"]
    assert results(model.bodies[-1])[0].endswith("pain ?")
    for number in range(21):
        assert tell(home, f"message {number}") == ["done"]
    assert any("note ?" in str(message["content"]) for message in model.bodies[-1]["messages"])
    assert "pain ?" in tell(home, "/status all")[0]
