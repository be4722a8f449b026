"""A store that is away, slow, silent or lies about what it did: a server over it loses no message
and repeats no answer.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial

import httpx
import pytest
import redis

from tests.fakes.model import say
from tests.machine import until
from tests.selection import thorough
from tests.servers.proxy import (
    CUT,
    DROP_REPLY,
    HANG,
    MUTE,
    PASS,
    REFUSE,
    RESET,
    THROTTLE,
    Mode,
    Proxy,
)
from tests.stories.backends import Backend
from tests.stories.server_forker import TOKEN
from tests.stories.servers import PATIENCE, Server
from tests.stories.system import LONG, System, ignore, update

OpenSystem = Callable[..., AbstractContextManager[System]]
STALL_SECONDS = 2.0
BEARER = {"authorization": f"Bearer {TOKEN}"}
ANSWERS = ["answer to one", "answer to two", "answer to three"]


@dataclass
class ProxiedStore:
    """A kind of store, the proxy before its server, and the systems that reach it through the
    proxy.
    """

    backend: Backend
    proxy: Proxy
    open_system: OpenSystem

    @contextmanager
    def stalled(self) -> Iterator[None]:
        """SIGSTOP inside, SIGCONT after."""
        os.kill(self.backend.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.backend.pid, signal.SIGCONT)


@contextmanager
def open_through(proxy: Proxy, open_directly: OpenSystem) -> Iterator[System]:
    """A system whose servers reach the store through the proxy; the test itself looks at it
    directly.
    """
    with open_directly() as system:
        system.settings["store"] = system.settings["store"].replace(proxy.target, proxy.address)
        yield system


@pytest.fixture(params=["redis", *thorough("dynamodb")])
def store(
    request: pytest.FixtureRequest, open_system_on: OpenSystem, backends: Callable[[str], Backend]
) -> Iterator[ProxiedStore]:
    backend = backends(request.param)
    with Proxy(backend.address) as proxy:
        yield ProxiedStore(
            backend, proxy, partial(open_through, proxy, partial(open_system_on, backend))
        )


def name_row(value: str | Mode) -> str:
    """Return how a table's value is called in the name of a test."""
    return value.value if isinstance(value, Mode) else value


def expect_all_answered(system: System, server: Server) -> None:
    """Expect the end of every story: the second message is answered after the first, and a third one is
    too.
    """
    system.platform.wait_for_texts(*ANSWERS[:2])
    until(partial(server.post_update, update(3, "three")), "the third message is taken")
    system.platform.wait_for_texts(*ANSWERS)
    until(system.is_idle, "nothing waits any more")
    assert system.platform.texts == ANSWERS
    assert system.model.asked()[-1] == "three"
    assert [message.content for message in system.document().messages][-6:] == [
        text for pair in zip(["one", "two", "three"], ANSWERS, strict=True) for text in pair
    ]
    assert not system.dead_letters()
    print(
        f"\nthe model was asked {len(system.model.bodies)} times; the person read"
        f" {system.platform.texts}"
    )


def start_and_answer(system: System) -> Server:
    """A server that has answered once."""
    server = system.start()
    assert server.post_update(update(1, "one"))
    system.platform.wait_for_texts(ANSWERS[0])
    until(system.is_idle, "nothing waits any more")
    return server


def test_a_store_that_is_down_at_the_start_is_waited_for_and_nothing_is_taken_meanwhile(
    store: ProxiedStore,
) -> None:
    with store.open_system() as system:
        store.proxy.mode = REFUSE
        server = system.start()
        assert not server.post_update(update(1, "one"))
        asked = httpx.post(
            f"http://127.0.0.1:{server.port}/chat",
            json={"text": "hi"},
            headers=BEARER,
            timeout=PATIENCE,
        )
        assert asked.status_code == 503
        assert asked.headers["retry-after"]
        store.proxy.mode = PASS
        until(partial(server.post_update, update(1, "one")), "the message is taken")
        system.platform.wait_for_texts(ANSWERS[0])
        assert server.post_update(update(2, "two"))
        expect_all_answered(system, server)


@pytest.mark.parametrize(
    ("store", "mode"),
    [
        ("redis", REFUSE),
        ("redis", HANG),
        ("dynamodb", HANG),
        pytest.param("redis", RESET, marks=pytest.mark.thorough),
        pytest.param("dynamodb", REFUSE, marks=pytest.mark.thorough),
        pytest.param("dynamodb", RESET, marks=pytest.mark.thorough),
    ],
    indirect=["store"],
    ids=name_row,
)
def test_a_store_that_goes_away_while_the_model_thinks_is_waited_for(
    store: ProxiedStore, mode: Mode
) -> None:
    with store.open_system() as system:
        server = start_and_answer(system)

        def goes_away(name: str, point: str) -> None:
            system.model.on_event = ignore
            store.proxy.mode = mode
            threading.Timer(STALL_SECONDS, setattr, (store.proxy, "mode", PASS)).start()

        system.model.on_event = goes_away
        assert server.post_update(update(2, "two"))
        expect_all_answered(system, server)
        print(
            f"\n{mode.value} for {STALL_SECONDS} s while the model thinks: {store.proxy.hits}"
            " requests"
        )


@pytest.mark.parametrize(
    ("store", "mode"),
    [
        ("redis", DROP_REPLY),
        ("redis", CUT),
        ("redis", MUTE),
        ("redis", RESET),
        # what it did although nobody heard of it: a write that is tried again finds itself
        ("dynamodb", DROP_REPLY),
        pytest.param("dynamodb", CUT, marks=pytest.mark.thorough),
        pytest.param("dynamodb", MUTE, marks=pytest.mark.thorough),
        pytest.param("dynamodb", RESET, marks=pytest.mark.thorough),
    ],
    indirect=["store"],
    ids=name_row,
)
def test_a_request_about_the_session_that_goes_wrong_changes_nothing_for_the_person(
    store: ProxiedStore, mode: Mode
) -> None:
    # the read at the open, then writes; silence costs seconds each time
    gone_wrong(store, mode, times=1 if mode is MUTE else 3)


@pytest.mark.parametrize("store", ["dynamodb"], indirect=True)
def test_a_table_that_throttles_the_session_changes_nothing_for_the_person(
    store: ProxiedStore,
) -> None:
    gone_wrong(store, THROTTLE, times=3)


@pytest.mark.parametrize("padding", ["", LONG], ids=["one part", "two parts"])
def test_a_reply_is_not_sent_again_because_the_store_did_not_take_its_mark(
    store: ProxiedStore, padding: str
) -> None:
    with store.open_system() as system:
        server = start_and_answer(system)
        system.model.then(say(f"{padding}answer to two"))

        def refuse_marks(name: str, point: str) -> None:
            system.platform.on_event = ignore
            # longer than the client tries again
            store.proxy.mode = REFUSE

        system.platform.on_event = refuse_marks
        assert server.post_update(update(2, "two"))
        until(lambda: has_given_back(server), "the worker gives the event back")
        store.proxy.mode = PASS
        until(system.is_idle, "nothing waits any more")
        sent = system.platform.texts[1:]
        assert sent == (["…", "… answer to two"] if padding else ["answer to two"])
        print(f"\nrefused after a part had left; sent {sent}")


def has_given_back(server: Server) -> bool:
    """Return whether the server has put an event off."""
    return any(line["step"] == "waits" for line in server.steps())


def gone_wrong(store: ProxiedStore, mode: Mode, times: int) -> None:
    with store.open_system() as system:
        server = start_and_answer(system)
        for _ in range(times):
            store.proxy.arm(mode, b"head")
        assert server.post_update(update(2, "two"))
        expect_all_answered(system, server)
        print(f"\n{mode.value} at the session's document: {store.proxy.hits} requests")


def test_a_store_that_stalls_in_the_middle_of_a_turn_goes_on_where_it_was(
    store: ProxiedStore,
) -> None:
    with store.open_system() as system:
        server = start_and_answer(system)
        over = threading.Event()

        def stalls(name: str, point: str) -> None:
            system.model.on_event = ignore
            threading.Thread(target=_stalled, args=(store, over)).start()

        system.model.on_event = stalls
        assert server.post_update(update(2, "two"))
        assert over.wait(PATIENCE)
        expect_all_answered(system, server)


def _stalled(store: ProxiedStore, over: threading.Event) -> None:
    with store.stalled():
        time.sleep(STALL_SECONDS)  # so long it is silent: there is nothing to wait for
    over.set()


def test_a_redis_that_pauses_its_clients_is_waited_for(
    open_system_on: OpenSystem, backends: Callable[[str], Backend]
) -> None:
    backend = backends("redis")
    host, _, port = backend.address.partition(":")
    with open_system_on(backend) as system, redis.Redis(host, int(port)) as direct:
        server = start_and_answer(system)
        direct.client_pause(int(STALL_SECONDS * 1000), all=True)
        until(partial(server.post_update, update(2, "two")), "the message is taken")
        expect_all_answered(system, server)
