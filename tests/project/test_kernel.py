"""The kernel of the agent gets simpler with each change, and never the other way.

The kernel (turn, session, conversation, calls, model, safety) shall know no feature. Until it does
not, this counts what ties them together and what the shortest turn passes through, and compares it
with tests/data/ratchet.json. A change that needs more of something is made in another way; one that
needs less writes the smaller numbers there.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from math import inf
from types import FrameType
from typing import Any

import pytest

from functions.agent.app import App
from functions.agent.calls.tool_calls import ToolCallContext
from functions.agent.services.call_context import CallContext
from functions.agent.session.document import Document, Turn
from functions.agent.turn.loop import RoundContext
from functions.agent.turn.turn import run_turn
from functions.events import Event
from functions.wiring import AgentRuntime
from scripts.benchmarks.turn import NOUNS, ROUNDS, make_history
from sigil.catalog import health
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.talk import event, stop_clock, tell
from tests.project.tree import ROOT, arrows, find_loaded, modules

RATCHET = ROOT / "tests" / "data" / "ratchet.json"
VALUES = (
    App,
    AgentRuntime,
    CallContext,
    Document,
    Event,
    RoundContext,
    ToolCallContext,
    Turn,
)
"""What travels with a turn."""
ENTRY_POINTS = ("webhook", "worker", "scheduler", "registry", "admin", "local", "cli.app")
JITTER = 0.005
"""Functions, steps and calls differ a little by what the process has done before."""
MEASURED_ON = (3, 11)
"""The version of Python whose interpreter's steps and calls are in the ratchet."""

OUTSIDE_THE_AGENT = {
    "functions.hooks": "hooks",
    "functions.overheard": "groups",
    "functions.personal_data": "people",
    "functions.agent_data": "agents",
    "functions.skill_ranking": "skills",
}
KERNEL = {"services.table", "services.call_context"}
FOLDERS = {
    "access": "people",
    "agents": "agents",
    "behaviours": "behaviours",
    "growth": "growth",
    "knowledge": "knowledge",
    "ledger": "runs",
    "memory": "memory",
    "policy": "policy",
    "runs": "runs",
    "schedules": "schedules",
    "skills": "skills",
    "team": "team",
    "workspace": "files",
}
FILES = {
    "agent_directory": "agents",
    "approvals": "policy",
    "calls.background_calls": "background_calls",
    "consolidation": "memory",
    "eviction": "memory",
    "mailbox": "mail",
    "offline_signature": "offline",
    "safety.hp": "hp",
    "safety.task_limits": "agents",
    "session.memory_progress": "memory",
    **{f"commands.{name}": name for name in ("agents", "files", "hooks", "knowledge", "memory")},
    **{f"commands.{name}": name for name in ("policy", "skills", "team", "groups")},
    **{f"commands.{name}": "memory" for name in ("document_versions", "soul")},
    **{f"commands.{name}": "people" for name in ("links", "pairing")},
    **{
        f"commands.{name}": "schedules"
        for name in ("heartbeat", "quiet", "remind", "snooze", "wakeups")
    },
    "commands.proposals": "policy",
    "commands.spent": "runs",
    "commands.tasks": "team",
    **{f"{folder}.board": "team" for folder in ("services", "management")},
    "services.opened_files": "files",
    "services.own_work": "behaviours",
    "services.ranking": "memory",
    "services.review_runs": "growth",
    "services.search_history": "memory",
    "services.search_terms": "memory",
    "services.things": "memory",
    "management.agent_tree": "agents",
    "management.git_repository": "agents",
    "management.ledger": "runs",
    "management.sessions": "runs",
    "management.things_file": "memory",
    "management.wakeups": "schedules",
}


@cache
def feature_of(module: str) -> str | None:
    """The feature that a module of the agent belongs to; empty for the kernel, None for others."""
    name = module.removeprefix("functions.agent.")
    if name == module:
        return OUTSIDE_THE_AGENT.get(module)
    if name in KERNEL:
        return ""
    folder, _, rest = name.partition(".")
    if folder in ("services", "management"):
        return FILES.get(name, rest)
    if name.startswith("model.offline"):
        return "offline"
    return FILES.get(name) or FOLDERS.get(folder, "")


def find_arrows() -> list[str]:
    """What the kernel imports of features."""
    return sorted(
        f"{source} → {target}"
        for source, targets in arrows().items()
        for target in targets
        if feature_of(source) == "" and feature_of(target)
    )


def find_pairs() -> list[str]:
    """The features that import each other."""
    ties = {
        (first, second)
        for source, targets in arrows().items()
        for target in targets
        if (first := feature_of(source)) and (second := feature_of(target)) and first != second
    }
    return sorted(f"{one} ↔ {two}" for one, two in ties if (two, one) in ties and one < two)


def count_fields(value: type[Any]) -> int:
    """The fields of a dataclass, without the place for those of other versions."""
    return sum(not each.name.startswith("_") for each in fields(value))


class Walk:
    """What a thread passes through: our own files, functions and the interpreter's steps in them,
    or all calls, also those of libraries and of what is written in C.
    """

    def __init__(self) -> None:
        self.functions: Counter[tuple[str, str]] = Counter()
        self.steps = 0
        self.calls = 0

    @property
    def files(self) -> set[str]:
        return {file for file, _ in self.functions}

    @contextmanager
    def follow(self) -> Iterator[None]:
        """Follow this thread until the end of the block, step by step."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)

    @contextmanager
    def count(self) -> Iterator[None]:
        """Count this thread's calls until the end of the block."""
        sys.setprofile(self._count)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _enter(self, frame: FrameType, what: str, _: Any) -> Callable[..., Any] | None:
        file = frame.f_code.co_filename
        if not file.startswith((f"{ROOT}/functions/", f"{ROOT}/sigil/")):
            return None
        self.functions[file, frame.f_code.co_qualname] += 1
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return self._step

    def _step(self, frame: FrameType, what: str, _: Any) -> Callable[..., Any]:
        self.steps += what == "opcode"
        return self._step

    def _count(self, frame: FrameType, what: str, _: Any) -> None:
        self.calls += what in ("call", "c_call")


@pytest.fixture
def hello(home: AgentRuntime, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> Walk:
    """A person says hello in a chat that has begun, and is answered.

    A slow machine would look once more whether the turn is halted, and read again how healthy
    capabilities are.
    """
    monkeypatch.setattr(health, "CACHED_SECONDS", inf)
    app = stop_clock(home).app
    model.then(*[say("Hello, Ada.")] * 12)
    walks = []
    for session in ("telegram:5", "telegram:6", "telegram:7"):  # an answer may come in more parts
        for _ in range(2):
            tell(home, "hello", session=session)
        walks.append(Walk())
        with walks[-1].follow():
            run_turn(event("hello", session), app)
    walk = min(walks, key=lambda each: each.steps)
    counted = []
    for session in ("telegram:8", "telegram:9", "telegram:10"):
        walk.calls = 0
        with walk.count():
            run_turn(event("hello", session), app)
        counted.append(walk.calls)
    walk.calls = min(counted)
    return walk


@pytest.fixture
def six_rounds(home: AgentRuntime, model: ScriptedModel) -> Walk:
    """A turn of six rounds, with 40 messages and 20 tools."""
    history = make_history(home)
    calls = [call((f"cap_mend_{noun}", {"text": "abc"})) for noun in NOUNS[: ROUNDS - 1]]
    walk = Walk()
    counted = []
    for _ in range(4):  # the first one loads what is used, and a slow machine looks more often
        walk.calls = 0
        model.then(*calls, say("Done."))
        sessions = home.app.sessions
        sessions.save(sessions.open(keys.session_of("main", "telegram:7")), history)
        with walk.count():
            closed = run_turn(event("go on"), home.app)
        assert closed.document.outbox[-1].rounds == ROUNDS
        counted.append(walk.calls)
    walk.calls = min(counted)
    return walk


def test_the_kernel_grows_by_nothing(hello: Walk, six_rounds: Walk) -> None:
    own = {f"functions.{name}": find_loaded(f"functions.{name}") for name in ENTRY_POINTS}
    compare(
        {
            "arrows from the kernel to features": len(find_arrows()),
            "features that import each other": len(find_pairs()),
            "fields of the values of a turn": sum(map(count_fields, VALUES)),
            "files of a hello": len(hello.files),
            **{
                f"own modules of {name}": len(loaded & modules().keys())
                for name, loaded in own.items()
            },
        }
    )
    if sys.version_info[:2] == MEASURED_ON:
        compare(
            {
                "functions of a hello": len(hello.functions),
                "steps of a hello": hello.steps,
                "calls of a hello": hello.calls,
                "calls of six rounds": six_rounds.calls,
            },
            JITTER,
        )


def compare(counted: Mapping[str, int], jitter: float = 0.0) -> None:
    """Compare what was counted with the ratchet."""
    bars: dict[str, int] = json.loads(RATCHET.read_text(encoding="utf-8"))
    more = {name: each for name, each in counted.items() if each > bars[name] * (1 + jitter)}
    less = {name: each for name, each in counted.items() if each < bars[name] * (1 - 4 * jitter)}

    assert not more, f"more than tests/data/ratchet.json allows: {more}"
    assert not less, f"less than before: write it into tests/data/ratchet.json: {less}"
