"""Memory under fire: a crash at every write, and two workers at once. No entry is lost, none is
there twice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from functions.agent.app import App
from functions.agent.consolidation import consolidate_owed
from functions.agent.conversation.messages import Message
from functions.agent.session.document import Document
from functions.agent.session.store import SessionHandle, Sessions
from functions.agent.turn.turn import run_turn
from functions.events import Event
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from sigil.errors import BackendError, Conflict
from sigil.storage.kv import KV, Item, Key, keys
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.memory.memories import (
    SESSION,
    asked,
    consolidations,
    document,
    entries,
    memory,
    saves,
)
from tests.functions.agent.talk import event, run_event, tell
from tests.machine import within

Open = Callable[..., AgentRuntime]


class Crash(BaseException):
    """The process is gone."""


class Forgetful:
    """A store that fails once, at its verb number `at`."""

    def __init__(self, kv: KV, at: int) -> None:
        self._kv = kv
        self.left = at

    def __getattr__(self, verb: str) -> Any:
        def done(*given: Any, **more: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                raise BackendError("ESTORE", "the store is away")
            return getattr(self._kv, verb)(*given, **more)

        return done


class Fragile:
    """A store whose process dies at its write number `at`: before the write, or right after it."""

    def __init__(self, kv: KV, at: int, *, after: bool) -> None:
        self._kv = kv
        self._left = at
        self._after = after

    def get(self, key: Key) -> Item | None:
        return self._kv.get(key)

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        return self._kv.scan(partition, prefix, after, limit)

    def put(self, key: Key, value: bytes, **given: Any) -> str:
        self._left -= 1
        if self._left == 0 and not self._after:
            raise Crash
        version = self._kv.put(key, value, **given)
        if self._left == 0:
            raise Crash
        return version

    def delete(self, key: Key, **given: Any) -> None:
        self._kv.delete(key, **given)


def over(home: AgentRuntime, kv: Any) -> App:
    """The same agent over another store."""
    return replace(home.app, kv=kv, sessions=Sessions(kv, home.stores.artifacts))


def answers(model: ScriptedModel) -> None:
    """From now on the model gives each request what fits it."""

    def fitting(body: dict[str, Any]) -> dict[str, Any]:
        model.then(fitting)
        if not body.get("tools") or "sigil_query" in str(body["tools"]):
            return say("hi")
        said = asked(body).split("\n")
        number = sum("USER" in line for line in said)
        return saves(
            f"[2026-11-22 01:30] {number} lines, the last: {said[-1]}",
            f"# Memory\n- Up to {said[-1]}",
        )

    model._script[:] = [fitting]


def after_a_crash(
    home: AgentRuntime, happened: Event, at: int, after: bool
) -> tuple[bool, list[str]]:
    """Let a worker die at this write; return whether it did, and what the next one replies to the
    same event.
    """
    try:
        run_turn(happened, over(home, Fragile(home.app.kv, at, after=after)))
        crashed = False
    except Crash:
        crashed = True
    return crashed, [reply.text for reply in run_event(home, happened).document.outbox]


def whole(home: AgentRuntime, session: str) -> list[tuple[int, int]]:
    """Return what the entries cover, which they do without a gap or an overlap."""
    parts = [(entry.first, entry.last) for entry in entries(home, session)]
    assert all(before[1] < after[0] for before, after in pairwise(parts)), parts
    return parts


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_crash_at_any_write_of_mem_loses_and_doubles_nothing(
    runtime: Open, model: ScriptedModel, after: bool
) -> None:
    home = runtime(llm_url=model.url, tokens_per_day=0)
    for at in range(1, 30):
        chat = f"telegram:{100 + at}"
        session = f"main#{chat}"
        answers(model)
        tell(home, "I am Ada", session=chat)
        before = len(model.bodies)
        crashed, replies = after_a_crash(
            home, event("/mem and I like tea", session=chat), at, after
        )

        assert replies == [ENGLISH.mem_triggered]
        assert whole(home, session) == [(1, 3)], at
        assert entries(home, session)[0].text.endswith("USER: and I like tea")
        assert memory(home, session).text.endswith("USER: and I like tea"), at
        assert memory(home, session).version == 1
        assert (document(home, session).consolidated, document(home, session).noted) == (3, ())
        assert len(model.bodies) - before <= 2, "a crash repeats one request at most"
        assert tell(home, "/mem", session=chat) == [ENGLISH.mem_nothing_new]
        if not crashed:
            break
    assert 6 <= at < 29


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_crash_at_any_write_of_a_compaction_loses_and_doubles_nothing(
    runtime: Open, model: ScriptedModel, after: bool
) -> None:
    home = runtime(llm_url=model.url, tokens_per_day=0)
    said = [Message("user", f"line {number}", at=1e9) for number in range(1, 42)]
    for at in range(1, 30):
        chat = f"telegram:{200 + at}"
        session = f"main#{chat}"
        answers(model)
        home.app.sessions.save(home.app.sessions.open(session), Document().add(*said))
        before = len(consolidations(model.bodies))
        crashed, replies = after_a_crash(home, event("go on", session=chat), at, after)

        assert replies == ["hi"]
        assert whole(home, session) == [(1, 31)], at
        assert memory(home, session).text.endswith("line 31")
        assert memory(home, session).version == 1
        assert document(home, session).unheard == ()
        assert len(consolidations(model.bodies)) - before <= 2
        assert [message.seq for message in home.app.sessions.load_archived(session, 2)] == list(
            range(2, 32)
        )
        tell(home, "/mem", session=chat)
        assert whole(home, session) == [(1, 31), (32, 43)]
        if not crashed:
            break
    assert 6 <= at < 29


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_crash_at_any_write_of_a_consolidation_beside_the_turns_loses_and_doubles_nothing(
    runtime: Open, model: ScriptedModel, after: bool
) -> None:
    home = runtime(llm_url=model.url, tokens_per_day=0)
    said = [Message("user", f"line {number}", at=1e9) for number in range(1, 42)]
    for at in range(1, 30):
        chat = f"telegram:{400 + at}"
        session = f"main#{chat}"
        answers(model)
        home.app.sessions.save(home.app.sessions.open(session), Document().add(*said))
        run_turn(event("go on", session=chat), home.app)
        before = len(consolidations(model.bodies))
        crashed = False
        try:
            consolidate_owed(session, over(home, Fragile(home.app.kv, at, after=after)))
        except Crash:
            crashed = True
            tell(home, "a turn in between", session=chat)
        consolidate_owed(session, home.app)

        assert whole(home, session) == [(1, 31)], at
        assert memory(home, session).text.endswith("line 31")
        assert memory(home, session).version == 1
        assert document(home, session).consolidated == 31
        assert document(home, session).unheard == ()
        assert not document(home, session).owes_memory
        assert len(consolidations(model.bodies)) - before <= 2
        if not crashed:
            break
    assert 4 <= at < 29


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_crash_at_any_write_loses_nothing_that_leaves_the_memory(
    runtime: Open, model: ScriptedModel, after: bool
) -> None:
    home = runtime(llm_url=model.url, tokens_per_day=0)
    lines = [f"- Box {number} stands in cellar {number + 50}." for number in range(100, 120)]
    for at in range(1, 30):
        chat = f"telegram:{300 + at}"
        session = f"main#{chat}"
        home.app.documents.write(session, "memory", "\n".join(lines), by="test")
        model._script[:] = [saves(memory="\n".join(lines[2:])) for _ in range(2)]
        crashed, replies = after_a_crash(
            home, event("/mem and I like tea", session=chat), at, after
        )

        assert replies == [ENGLISH.mem_triggered]
        assert memory(home, session).text == "\n".join(lines[2:]), at
        assert lines[0] in tell(home, "/recall box 100", session=chat)[0], at
        assert lines[1] in tell(home, "/recall box 101", session=chat)[0], at
        if not crashed:
            break
    assert 6 <= at < 29


def test_a_crash_before_the_last_of_three_failures_still_ends_in_the_messages_themselves(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, tokens_per_day=0)
    tell(home, "I am Ada")
    for at in range(1, 5):
        try:
            run_turn(event("/mem"), over(home, Fragile(home.app.kv, at, after=False)))
        except Crash:
            continue
    tell(home, "/mem")

    assert whole(home, SESSION) == [(1, 2)]
    assert entries(home)[0].raw


def test_two_workers_with_one_session_make_one_entry(runtime: Open, model: ScriptedModel) -> None:
    home = runtime(llm_url=model.url, tokens_per_day=0)
    tell(home, "I am Ada")
    gate = threading.Barrier(2)

    def together(body: dict[str, Any]) -> dict[str, Any]:
        gate.wait(within(10))
        return saves()

    model._script[:] = [together, together]
    outcomes: list[Any] = []

    def work() -> None:
        try:
            outcomes.append(run_event(home, event("/mem")))
        except Conflict as problem:
            outcomes.append(problem)

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(20)

    assert sorted(type(outcome) for outcome in outcomes if isinstance(outcome, SessionHandle)) == [
        SessionHandle
    ]
    assert len(model.bodies) == 3
    assert whole(home, SESSION) == [(1, 2)]
    assert memory(home).version == 1
    assert tell(home, "/mem") == [ENGLISH.mem_nothing_new]


def test_two_workers_each_with_words_of_their_own_keep_both(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, tokens_per_day=0)
    first, second = event("/mem I like tea"), event("/mem I like cake")
    finished: list[SessionHandle] = []

    def overtaken(body: dict[str, Any]) -> dict[str, Any]:
        answers(model)
        finished.append(run_turn(second, home.app))
        return saves()

    model._script[:] = [overtaken]
    with pytest.raises(Conflict):
        run_turn(first, home.app)
    again = run_event(home, first)

    assert [note.content for note in finished[0].document.noted] == [""], (
        "the words are archived; only whose they were is kept"
    )
    assert [reply.text for reply in again.document.outbox] == [
        ENGLISH.mem_triggered,
        ENGLISH.mem_triggered,
    ]
    assert whole(home, SESSION) == [(1, 2)]
    assert all(f"USER: I like {what}" in asked(model.bodies[1]) for what in ("tea", "cake"))
    assert [
        message.content
        for first in (1, 2)
        for message in home.app.sessions.load_archived(SESSION, first)
    ] == ["I like tea", "I like cake"]


def test_who_finds_an_entry_takes_its_word_and_goes_on_from_there(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, tokens_per_day=0)
    tell(home, "I am Ada")
    answers(model)
    with pytest.raises(Crash):
        run_turn(event("/mem"), over(home, Fragile(home.app.kv, 4, after=True)))
    assert [entry.memory for entry in entries(home)] != [None]
    tell(home, "I like tea")
    before = len(model.bodies)

    assert tell(home, "/mem") == [ENGLISH.mem_triggered]
    assert whole(home, SESSION) == [(1, 2), (3, 4)]
    assert len(model.bodies) == before + 1
    assert "I am Ada" not in asked(model.bodies[-1])
    assert "Up to" in model.bodies[-1]["messages"][1]["content"]
    assert memory(home).version == 2
    assert entries(home)[0].memory is None


@pytest.mark.parametrize("words", ["/mem tea", "/soul be fond of tea"])
def test_a_store_that_fails_for_a_moment_loses_and_doubles_nothing(
    runtime: Open, model: ScriptedModel, words: str, tmp_path: Path
) -> None:
    def fitting(body: dict[str, Any]) -> dict[str, Any]:
        model.then(fitting)
        return saves() if body.get("tools") else say("# Soul\nFond of tea.")

    at, left = 0, 0
    while left <= 0:
        at += 1
        home = runtime(
            llm_url=model.url, access="open", owners=("terminal:local",), data=tmp_path / str(at)
        )
        for text in ("first", "second"):
            home.app.documents.write(
                home.app.documents.agent, "soul", f"the {text} soul", by="somebody"
            )
        model._script[:] = [fitting]
        happened, kv = event(words), Forgetful(home.app.kv, at)
        with suppress(BackendError):
            run_turn(happened, over(home, kv))
        run_event(home, happened)
        left = kv.left

        versions = {
            doc.version: doc.text
            for doc in home.app.documents.list_versions(home.app.documents.agent, "soul")
        }
        assert [versions[1], versions[2]] == ["the first soul", "the second soul"]
        if words.startswith("/soul"):
            assert versions == {
                1: "the first soul",
                2: "the second soul",
                3: "# Soul\nFond of tea.",
            }
        else:
            tell(home, "/mem")
            assert whole(home, SESSION) == [(1, 1)]
            assert memory(home).text == "# Memory\n- The user is called Ada."


def test_a_document_that_cannot_be_read_for_a_moment_is_not_taken_for_a_damaged_one(
    runtime: Open,
) -> None:
    home = runtime(llm_url="")
    for at in range(1, 5):
        documents = over(home, Forgetful(home.app.kv, at)).documents
        home.app.documents.write(home.app.documents.agent, "role", f"role {at}", by="somebody")
        with suppress(BackendError):
            documents.write(home.app.documents.agent, "role", f"other role {at}", by="somebody")
    versions = [
        doc.text for doc in home.app.documents.list_versions(home.app.documents.agent, "role")
    ]
    assert [text for text in versions if not text.startswith("other")] == [
        "role 4",
        "role 3",
        "role 2",
        "role 1",
    ]
    assert "" not in versions


@pytest.mark.parametrize("before", [[], ["one"]], ids=["the first version", "a later one"])
def test_of_two_who_write_a_document_at_once_one_wins_and_the_other_is_told(
    runtime: Open, before: list[str]
) -> None:
    documents = runtime(llm_url="").app.documents
    for text in before:
        documents.write(documents.agent, "role", text, by="somebody")

    class Overtaken(Forgetful):
        def put(self, key: Key, value: bytes, **given: Any) -> Any:
            if key == keys.document(documents.agent, "role"):
                documents.write(documents.agent, "role", "theirs", by="somebody")
            return self._kv.put(key, value, **given)

    home = runtime(llm_url="")
    with pytest.raises(Conflict):
        over(home, Overtaken(home.app.kv, 0)).documents.write(
            documents.agent, "role", "mine", by="somebody"
        )
    assert [doc.text for doc in documents.list_versions(documents.agent, "role")] == [
        "theirs",
        *before,
    ]
