"""Races between whole servers: stalled workers, doubled and reordered deliveries, crowds, bursts,
and a stop that passes them all.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

import pytest

from functions.agent.schedules.schedule import Schedule, Schedules
from functions.agent.schedules.when import When
from tests.machine import until
from tests.selection import in_full, thorough
from tests.stories.backends import STORES
from tests.stories.servers import Server
from tests.stories.system import OWNER, Gate, System, update

on_every_store = pytest.mark.parametrize("open_system", STORES, indirect=True)
"""For what the compare-and-swap of a store decides: a lease that was lost, and two that begin at
once.
"""
on_sqlite = pytest.mark.parametrize(
    "open_system", ["sqlite", *thorough("redis", "dynamodb")], indirect=True
)
OpenSystem = Callable[..., AbstractContextManager[System]]
CROWD = 50 if in_full() else 12
"""Chats that write at once, more than there are workers."""
LONG_LEASE = 60.0
"""Where nobody crashes or stalls, no lease shall end, however busy the machine is."""


def lost_its_place(server: Server) -> bool:
    """Whether the server has noticed that somebody else was faster."""
    return any(step["step"] == "waits" and step["code"] == "ECONFLICT" for step in server.steps())


def answers(*names: object) -> list[str]:
    return [f"answer to {name}" for name in names]


def slow_down(system: System) -> None:
    """The platform does not take the next message yet."""
    system.platform.fail(429, parameters={"retry_after": 1})


def history(system: System, chat: int = OWNER) -> list[str]:
    """The texts of the session's messages."""
    return [message.content for message in system.document(chat).messages]


@on_every_store
def test_a_worker_that_stalls_while_the_model_thinks_neither_saves_nor_sends(
    open_system: OpenSystem,
) -> None:
    with open_system() as system:
        gate = Gate(system.model)
        system.model.then(gate.held("from a worker that lost its place"))
        stalled = system.start()
        assert stalled.post_update(update(1, "first"))
        system.model.wait_for(1)
        stalled.signal(signal.SIGSTOP)
        system.start()
        system.platform.wait_for_texts("answer to first")
        until(system.is_idle, "the other one is done")
        stalled.signal(signal.SIGCONT)
        gate.open()
        until(lambda: lost_its_place(stalled), "the stalled worker sees that it lost its place")
        assert stalled.post_update(update(2, "second"))
        system.platform.wait_for_texts("answer to second")
        assert system.platform.texts == answers("first", "second")
        assert history(system) == ["first", "answer to first", "second", "answer to second"]
        assert not system.dead_letters()


@pytest.mark.parametrize("place", ["write run 1 before", "read head 2 before"])
@on_sqlite
def test_a_worker_that_stalls_before_it_sends_does_not_send(
    open_system: OpenSystem, place: str
) -> None:
    with open_system() as system:
        stalled = system.start(place, signal.SIGSTOP)
        system.deliver(stalled, update(1, "first"))
        until(system.fired, "the worker stalls")
        system.start()
        system.platform.wait_for_texts("answer to first")
        until(system.is_idle, "the other one is done")
        stalled.signal(signal.SIGCONT)
        until(lambda: lost_its_place(stalled), "the stalled worker sees that it lost its place")
        assert stalled.post_update(update(2, "second"))
        system.platform.wait_for_texts("answer to second")
        assert system.platform.texts == answers("first", "second")


@on_sqlite
def test_two_workers_that_both_find_a_reply_unsent_send_it_once(open_system: OpenSystem) -> None:
    with open_system() as system:
        gate = Gate(system.model)
        system.platform.on_event = lambda server, point: (
            gate.wait() if point == "message 1 received" else None
        )
        early = system.start("read head 1 before", signal.SIGSTOP)
        system.deliver(early, update(1, "first"))
        until(system.fired, "the first worker stalls before it opens the session")
        late = system.start("write run 1 before", signal.SIGSTOP, once="second")
        until(lambda: system.fired("second"), "the second worker stalls before it sends")
        early.signal(signal.SIGCONT)
        system.platform.wait_for_texts("answer to first")
        late.signal(signal.SIGCONT)
        until(lambda: lost_its_place(late), "the second worker sees that it lost its place")
        gate.open()
        until(
            lambda: any(step["step"] == "done" for step in early.steps()),
            "the first worker is done",
        )
        assert system.platform.texts == answers("first")


@on_every_store
def test_one_update_that_comes_to_both_servers_at_once_is_answered_once(
    open_system: OpenSystem,
) -> None:
    with open_system(workers=2, lease=LONG_LEASE) as system, ThreadPoolExecutor(6) as platform:
        servers = [system.start(), system.start()]
        assert all(
            platform.map(
                lambda number: servers[number % 2].post_update(update(1, "first")), range(6)
            )
        )
        system.platform.wait_for_texts("answer to first")
        assert all(
            platform.map(
                lambda number: servers[number % 2].post_update(update(1, "first")), range(6)
            )
        )
        assert servers[0].post_update(update(2, "second"))
        system.platform.wait_for_texts("answer to second")
        assert system.platform.texts == answers("first", "second")
        assert system.model.asked() == ["first", "second"]


@on_sqlite
def test_updates_that_come_in_another_order_are_answered_in_the_order_in_which_they_were_written(
    open_system: OpenSystem,
) -> None:
    with open_system(lease=LONG_LEASE) as system:
        gate = Gate(system.model)
        system.model.then(gate.held("answer to 0"))
        servers = [system.start(), system.start()]
        assert servers[0].post_update(update(10, "0"))
        system.model.wait_for(1)
        for number in (3, 1, 2):
            assert servers[number % 2].post_update(update(10 + number, str(number)))
        gate.open()
        system.platform.wait_for_texts(*answers(3))
        assert system.platform.texts == answers(0, 1, 2, 3)


@on_sqlite
def test_an_older_message_that_comes_after_a_crash_waits_for_the_turn_in_progress(
    open_system: OpenSystem,
) -> None:
    with open_system() as system:
        victim = system.start("model request 1 before")
        system.deliver(victim, update(5, "five"))
        system.forker.ended(victim)
        system.platform.on_event = lambda server, point: (
            slow_down(system) if point == "message 1 received" else None
        )
        assert system.start().post_update(update(4, "four"))
        system.platform.wait_for_texts(*answers("five", "four"))
        until(system.is_idle, "all is done")
        assert system.platform.texts == answers("five", "four")
        assert len(system.platform.calls("sendMessage")) == 3


@on_sqlite
def test_many_sessions_at_once_are_each_answered_once(open_system: OpenSystem) -> None:
    with open_system(workers=4, lease=LONG_LEASE) as system, ThreadPoolExecutor(8) as platform:
        servers = [system.start(), system.start()]
        chats = range(1000, 1000 + CROWD)
        assert all(
            platform.map(
                lambda chat: servers[chat % 2].post_update(
                    update(chat, f"hello from {chat}", sender=chat)
                ),
                chats,
            )
        )
        system.platform.wait_for_texts(*(f"answer to hello from {chat}" for chat in chats))
        until(lambda: all(map(system.is_idle, chats)), "all is done")
        assert Counter(message["chat_id"] for message in system.platform.messages) == Counter(chats)
        assert all(
            message["text"] == f"answer to hello from {message['chat_id']}"
            for message in system.platform.messages
        )
        assert len(system.model.bodies) == len(chats)


@on_sqlite
def test_a_burst_of_thirty_messages_is_answered_in_order_and_each_once(
    open_system: OpenSystem,
) -> None:
    with open_system(workers=2, lease=LONG_LEASE) as system:
        servers = [system.start(), system.start()]
        for number in range(1, 31):
            assert servers[number % 2].post_update(update(number, str(number)))
        system.platform.wait_for_texts(*answers(30))
        until(system.is_idle, "all is done")
        assert system.platform.texts == answers(*range(1, 31))
        assert system.model.asked() == [str(number) for number in range(1, 31)]


@on_sqlite
def test_what_an_agent_does_by_itself_never_runs_side_by_side_on_two_servers(
    open_system: OpenSystem,
) -> None:
    with open_system(lease=LONG_LEASE) as system:
        gate = Gate(system.model)
        system.model.then(gate.held("the first is done"))
        now, chat = time.time(), f"telegram:{OWNER}"
        when = When(kind="at", at=now - 1.0, zone="UTC")
        schedules = Schedules(system.store, "main")
        for text in ("look at the mail", "look at the news"):
            schedules.add(
                Schedule(id="", when=when, session=chat, by=chat, since=now - 2.0, text=text)
            )
        servers = [system.start(), system.start()]
        system.model.wait_for(1)
        until(lambda: all(each.runs for each in schedules.scan()), "both are queued")
        for number, server in enumerate(servers):  # each has a free worker for a chat
            assert server.post_update(update(number + 1, f"hi {number}"))
        system.platform.wait_for_texts(*answers("hi 0", "hi 1"))
        assert sum("by yourself" in str(body["messages"]) for body in system.model.bodies) == 1
        gate.open()
        until(lambda: len(system.platform.texts) == 4, "the other one follows")
        assert not system.dead_letters()


@on_sqlite
def test_stop_ends_a_turn_whose_model_hangs_though_twenty_messages_wait_and_they_are_answered_then(
    open_system: OpenSystem,
) -> None:
    with open_system(workers=2, lease=LONG_LEASE) as system:
        system.model.then(Gate(system.model).held("too late"))
        servers = [system.start(), system.start()]
        assert servers[0].post_update(update(1, "think for long"))
        system.model.wait_for(1)
        for number in range(2, 22):
            assert servers[number % 2].post_update(update(number, str(number)))
        assert servers[1].post_update(update(22, "/stop"))
        system.platform.wait_for_texts("Stopped.")
        system.platform.wait_for_texts(*answers(21))
        assert system.platform.texts == ["Stopped.", *answers(*range(2, 22))]
        assert not system.dead_letters()
