"""What leaves a history is archived before the reply and told to memory after it, by whole servers:
nobody waits for the model's second answer, and a kill at any point loses and doubles nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from functions.agent.conversation.messages import Message
from functions.agent.memory.documents import Documents
from functions.agent.memory.history import History, HistoryEntry
from functions.agent.session.document import Document
from functions.agent.session.memory_progress import adopt_progress
from functions.agent.session.store import Sessions
from sigil.storage.kv import keys
from tests.fakes.model import say
from tests.fakes.server import Answer, Recorded
from tests.functions.agent.memory.memories import asked, consolidations, saves
from tests.machine import until, within
from tests.selection import in_full, thorough
from tests.stories.system import OWNER, Gate, System, update

AT_ONCE = 6
"""Kills played at the same time: mostly they wait for a lease to end."""
OpenSystem = Callable[..., AbstractContextManager[System]]
SESSION = keys.session_of("main", f"telegram:{OWNER}")
IN_THE_GAP = r"send 1 after|write head 3 before"
"""Between the sending of the reply and the note that it was sent, it may be sent again."""
BASIC = (
    r"send 1 after|model request 2 after"
    r"|write (head 3|inbox 2|begun 1|history [12]|doc 1|memory 1) after|delete inbox [12] after"
)
"""The points of the suite: behind each thing that must be there once."""
FACT = "- Ada's cat is called Miso."


def fill(system: System, session: str = SESSION) -> None:
    """A session that the next message makes too long."""
    said = [Message("user", f"line {number}", at=1e9) for number in range(1, 42)]
    sessions = Sessions(system.store)
    sessions.save(sessions.open(session), Document().add(*said))


def entries(system: System, session: str = SESSION) -> list[HistoryEntry]:
    return History(system.store, session).list_page(limit=1000)


def memory(system: System) -> str:
    return Documents(system.store, "main", lambda: 0.0).read(SESSION, "memory").text


def hears(system: System, gate: Gate | None = None) -> None:
    """From now on the model keeps the fact whenever it is asked what to keep, once the gate is
    open.
    """
    plain = system.model.answer

    def answer(request: Recorded) -> Answer:
        body = request.json()
        if not body["messages"][0]["content"].startswith("You keep the memory"):
            return plain(request)
        if gate:
            gate.wait()
        system.model.then(saves(memory=f"# Memory\n{FACT}\n- Up to: {asked(body)[-8:]}"))
        return plain(request)

    system.model.answer = answer  # type: ignore[method-assign]


@pytest.mark.parametrize(
    "open_system", ["sqlite", *thorough("redis", "dynamodb", "sqs")], indirect=True
)
def test_no_reply_waits_for_what_memory_hears_of(open_system: OpenSystem) -> None:
    with open_system(workers=2, lease=60.0) as system:
        gate = Gate(system.model)
        hears(system, gate)
        fill(system)
        server = system.start()
        assert server.post_update(update(1, "one"))
        system.platform.wait_for_texts("answer to one")
        until(lambda: len(consolidations(system.model.bodies)) == 1, "memory is asked")
        assert server.post_update(update(2, "two"))
        system.platform.wait_for_texts("answer to two")
        assert not entries(system)
        assert [each.seq for each in Sessions(system.store).load_archived(SESSION, 2)] == list(
            range(2, 32)
        )

        gate.open()
        until(system.is_idle, "memory has heard of it")
        assert [(entry.first, entry.last) for entry in entries(system)] == [(1, 31)]
        assert server.post_update(update(3, "three"))
        system.platform.wait_for_texts("answer to three")
        assert FACT in system.model.bodies[-1]["messages"][0]["content"]
        until(system.is_idle, "the turn is over")
        assert len(consolidations(system.model.bodies)) == 1
        document = system.document()
        assert (document.consolidated, document.unheard, document.owed) == (31, (), 0)


def test_however_many_chats_memory_hears_of_half_of_the_workers_are_there_for_people(
    open_system: OpenSystem,
) -> None:
    chats = (101, 102, 103)
    with open_system(workers=2, lease=60.0, guest_tokens=0) as system:
        gate = Gate(system.model)
        hears(system, gate)
        server = system.start()
        for chat in chats:
            fill(system, keys.session_of("main", f"telegram:{chat}"))
            assert server.post_update(update(chat, f"hi {chat}", chat))
            system.platform.wait_for_texts(f"answer to hi {chat}")
        until(lambda: len(consolidations(system.model.bodies)) == 1, "memory is asked")
        assert server.post_update(update(200, "still there?"))
        system.platform.wait_for_texts("answer to still there?")
        assert len(consolidations(system.model.bodies)) == 1

        gate.open()
        for chat in chats:
            session = keys.session_of("main", f"telegram:{chat}")
            until(partial(entries, system, session), "memory has heard of every chat")
        assert not system.dead_letters()


def way_of_a_consolidation(open_system: OpenSystem) -> list[str]:
    """The points that a server passes after it has sent the reply, until nothing waits.

    The turn and the consolidation claim once each. A worker that looks just before the last mark is
    deleted claims once more, which no other server repeats.
    """
    with open_system(lease=60.0) as system:
        hears(system)
        fill(system)
        assert system.start().post_update(update(1, "one"))
        system.platform.wait_for_texts("answer to one")
        until(lambda: memory(system), "memory has heard of it")
        until(system.is_idle, "nothing waits any more")
        points = system.notes("journal")
    points = points[points.index("send 1 before") :]
    return [point for point in points if not re.search(r" claim [3-9] ", point)]


@pytest.mark.parametrize("open_system", ["sqlite", *thorough("sqs")], indirect=True)
def test_a_server_that_is_killed_in_between_loses_and_doubles_nothing(
    open_system: OpenSystem, request: pytest.FixtureRequest
) -> None:
    points = way_of_a_consolidation(open_system)
    assert any(re.fullmatch(r"model request \d before", point) for point in points)
    assert any(re.fullmatch(r"write history \d after", point) for point in points)
    assert any(re.fullmatch(r"write memory \d after", point) for point in points)
    if request.node.callspec.params["open_system"] != "sqlite":
        # before a write stands in the store what stood there after the one before it
        points = [point for point in points if re.match(r"(write|delete) .* after", point)]
    points = [point for point in points if in_full() or re.fullmatch(BASIC, point)]
    with ThreadPoolExecutor(AT_ONCE) as players:
        problems = list(players.map(partial(play, open_system), points))
    broken = [
        f"killed at {point}: {problem}"
        for point, found in zip(points, problems, strict=True)
        for problem in found
    ]
    assert not broken, "\n".join(broken)


def rests(system: System) -> bool:
    """Whether no event waits; the claim of a server that was killed may be there still."""
    waits = any(
        system.store.scan(partition)
        for partition in (keys.READY, keys.READY_CONTROL, keys.READY_WORK)
    )
    return not waits and system.backend.is_idle(system.settings)


def play(open_system: OpenSystem, point: str) -> list[str]:
    """Kill the server at the point, start another one, and return what is not as it should be."""
    with open_system(lease=within(1.0)) as system:
        hears(system)
        fill(system)
        victim = system.start(point)
        assert victim.post_update(update(1, "one"))
        until(system.fired, f"the server gets to {point}")
        system.forker.ended(victim)
        system.start()
        until(lambda: memory(system), f"another server goes on, after {point}")
        until(partial(rests, system), f"nothing waits any more, after {point}")
        problems = []
        covered = [(entry.first, entry.last) for entry in entries(system)]
        if covered != [(1, 31)] or any(
            before[1] >= after[0] for before, after in pairwise(covered)
        ):
            problems.append(f"HISTORY covers {covered}")
        if memory(system).count(FACT) != 1:
            problems.append(f"the memory is {memory(system)!r}")
        if len(consolidations(system.model.bodies)) > 2:
            problems.append(f"memory was asked {len(consolidations(system.model.bodies))} times")
        replies = system.platform.texts.count("answer to one")
        if replies > (2 if re.fullmatch(IN_THE_GAP, point) else 1):
            problems.append(f"{replies} replies")
        progress = system.store.get(keys.memory_progress(SESSION))
        document = adopt_progress(SESSION, system.document(), progress)
        if (document.consolidated, document.unheard, document.owed) != (31, (), 0):
            problems.append(f"the session is at {document.consolidated}, {document.unheard}")
        if system.dead_letters():
            problems.append(f"dead letters: {system.dead_letters()}")
        return problems


def test_a_model_that_is_away_afterwards_is_asked_again(open_system: OpenSystem) -> None:
    with open_system(workers=2) as system:
        fill(system)
        away = Answer(503, b"", headers={"retry-after": "1"})
        system.model.then(say("hi"), away)
        server = system.start()
        assert server.post_update(update(1, "one"))
        system.platform.wait_for_texts("hi")
        until(lambda: len(system.model.bodies) == 2, "memory is asked")
        waits: list[dict[str, Any]] = []
        until(
            lambda: (
                waits.extend(step for step in server.steps() if step["step"] == "waits") or waits
            ),
            "the event waits",
        )
        assert waits[0]["event"].startswith(f"consolidate:telegram:{OWNER}:")
        assert not system.dead_letters()
        assert system.document().owes_memory
