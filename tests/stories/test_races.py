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

from tests.stories.ground import STORES
from tests.stories.servers import PATIENCE, Server
from tests.stories.stage import OWNER, Gate, Stage, until, update

pytestmark = pytest.mark.parametrize("stage", STORES, indirect=True)
Stages = Callable[..., AbstractContextManager[Stage]]
LONG_LEASE = 60.0
"""Where nobody crashes or stalls, no lease shall end, however busy the machine is."""


def lost_its_place(server: Server) -> bool:
    """Whether the server has noticed that somebody else was faster."""
    return any(step["step"] == "waits" and step["code"] == "ECONFLICT" for step in server.steps())


def answers(*names: object) -> list[str]:
    return [f"answer to {name}" for name in names]


def slow_down(scene: Stage) -> None:
    """The platform does not take the next message yet."""
    scene.platform.fail(429, parameters={"retry_after": 1})


def history(scene: Stage, chat: int = OWNER) -> list[str]:
    """The texts of the session's messages."""
    return [message.content for message in scene.document(chat).messages]


def test_a_worker_that_stalls_while_the_model_thinks_neither_saves_nor_sends(stage: Stages) -> None:
    with stage() as scene:
        gate = Gate(scene.model)
        scene.model.then(gate.held("from a worker that lost its place"))
        stalled = scene.start()
        assert stalled.knock(update(1, "first"))
        scene.model.wait_for(1)
        stalled.signal(signal.SIGSTOP)
        scene.start()
        scene.platform.wait_for_texts("answer to first")
        until(scene.rests, "the other one is done")
        stalled.signal(signal.SIGCONT)
        gate.open()
        until(lambda: lost_its_place(stalled), "the stalled worker sees that it lost its place")
        assert stalled.knock(update(2, "second"))
        scene.platform.wait_for_texts("answer to second")
        assert scene.platform.texts == answers("first", "second")
        assert history(scene) == ["first", "answer to first", "second", "answer to second"]
        assert not scene.dead()


@pytest.mark.parametrize("place", ["write trace 1 before", "read head 2 before"])
def test_a_worker_that_stalls_before_it_sends_does_not_send(stage: Stages, place: str) -> None:
    with stage() as scene:
        stalled = scene.start(place, signal.SIGSTOP)
        scene.deliver(stalled, update(1, "first"))
        until(scene.fired, "the worker stalls")
        scene.start()
        scene.platform.wait_for_texts("answer to first")
        until(scene.rests, "the other one is done")
        stalled.signal(signal.SIGCONT)
        until(lambda: lost_its_place(stalled), "the stalled worker sees that it lost its place")
        assert stalled.knock(update(2, "second"))
        scene.platform.wait_for_texts("answer to second")
        assert scene.platform.texts == answers("first", "second")


def test_two_workers_that_both_find_a_reply_unsent_send_it_once(stage: Stages) -> None:
    with stage() as scene:
        gate = Gate(scene.model)
        scene.platform.heard = lambda server, point: (
            gate.wait() if point == "message 1 received" else None
        )
        early = scene.start("read head 1 before", signal.SIGSTOP)
        scene.deliver(early, update(1, "first"))
        until(scene.fired, "the first worker stalls before it opens the session")
        late = scene.start("write trace 1 before", signal.SIGSTOP, once="second")
        until(lambda: scene.fired("second"), "the second worker stalls before it sends")
        early.signal(signal.SIGCONT)
        scene.platform.wait_for_texts("answer to first")
        late.signal(signal.SIGCONT)
        until(lambda: lost_its_place(late), "the second worker sees that it lost its place")
        gate.open()
        until(
            lambda: any(step["step"] == "done" for step in early.steps()),
            "the first worker is done",
        )
        assert scene.platform.texts == answers("first")


def test_one_update_that_comes_to_both_servers_at_once_is_answered_once(stage: Stages) -> None:
    with stage(workers=2, lease=LONG_LEASE) as scene, ThreadPoolExecutor(6) as platform:
        servers = [scene.start(), scene.start()]
        assert all(
            platform.map(lambda number: servers[number % 2].knock(update(1, "first")), range(6))
        )
        scene.platform.wait_for_texts("answer to first")
        assert all(
            platform.map(lambda number: servers[number % 2].knock(update(1, "first")), range(6))
        )
        assert servers[0].knock(update(2, "second"))
        scene.platform.wait_for_texts("answer to second")
        assert scene.platform.texts == answers("first", "second")
        assert scene.model.asked() == ["first", "second"]


def test_updates_that_come_in_another_order_are_answered_in_the_order_in_which_they_were_written(
    stage: Stages,
) -> None:
    with stage(lease=LONG_LEASE) as scene:
        gate = Gate(scene.model)
        scene.model.then(gate.held("answer to 0"))
        servers = [scene.start(), scene.start()]
        assert servers[0].knock(update(10, "0"))
        scene.model.wait_for(1)
        for number in (3, 1, 2):
            assert servers[number % 2].knock(update(10 + number, str(number)))
        gate.open()
        scene.platform.wait_for_texts(*answers(3))
        assert scene.platform.texts == answers(0, 1, 2, 3)


def test_an_older_message_that_comes_after_a_crash_waits_for_the_turn_in_progress(
    stage: Stages,
) -> None:
    with stage() as scene:
        victim = scene.start("model request 1 before")
        scene.deliver(victim, update(5, "five"))
        scene.nursery.ended(victim)
        scene.platform.heard = lambda server, point: (
            slow_down(scene) if point == "message 1 received" else None
        )
        assert scene.start().knock(update(4, "four"))
        scene.platform.wait_for_texts(*answers("five", "four"))
        until(scene.rests, "all is done")
        assert scene.platform.texts == answers("five", "four")
        assert len(scene.platform.calls("sendMessage")) == 3


def test_fifty_sessions_at_once_are_each_answered_once(stage: Stages) -> None:
    with stage(workers=4, lease=LONG_LEASE) as scene, ThreadPoolExecutor(8) as platform:
        servers = [scene.start(), scene.start()]
        chats = range(1000, 1050)
        assert all(
            platform.map(
                lambda chat: servers[chat % 2].knock(
                    update(chat, f"hello from {chat}", sender=chat)
                ),
                chats,
            )
        )
        scene.platform.wait_for_texts(*(f"answer to hello from {chat}" for chat in chats))
        until(lambda: all(map(scene.rests, chats)), "all is done")
        assert Counter(message["chat_id"] for message in scene.platform.messages) == Counter(chats)
        assert all(
            message["text"] == f"answer to hello from {message['chat_id']}"
            for message in scene.platform.messages
        )
        assert len(scene.model.bodies) == len(chats)


def test_a_burst_of_thirty_messages_is_answered_in_order_each_by_its_own_turn(
    stage: Stages,
) -> None:
    with stage(workers=2, lease=LONG_LEASE) as scene:
        servers = [scene.start(), scene.start()]
        for number in range(1, 31):
            assert servers[number % 2].knock(update(number, str(number)))
        scene.platform.wait_for_texts(*answers(30))
        until(scene.rests, "all is done")
        assert scene.platform.texts == answers(*range(1, 31))
        assert scene.model.asked() == [str(number) for number in range(1, 31)]


def test_stop_ends_a_turn_whose_model_hangs_though_twenty_messages_wait_and_they_are_answered_then(
    stage: Stages,
) -> None:
    with stage(workers=2, lease=LONG_LEASE) as scene:
        scene.model.then(Gate(scene.model).held("too late"))
        servers = [scene.start(), scene.start()]
        assert servers[0].knock(update(1, "think for long"))
        scene.model.wait_for(1)
        for number in range(2, 22):
            assert servers[number % 2].knock(update(number, str(number)))
        began = time.monotonic()
        assert servers[1].knock(update(22, "/stop"))
        scene.platform.wait_for_texts("Stopped.")
        print(f"\nstopped after {time.monotonic() - began:.2f} s")
        assert time.monotonic() - began < PATIENCE / 3
        scene.platform.wait_for_texts(*answers(21))
        assert scene.platform.texts == ["Stopped.", *answers(*range(2, 22))]
        assert not scene.dead()
