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
from tests.stories.ground import Ground
from tests.stories.nursery import TOKEN
from tests.stories.servers import PATIENCE, Server
from tests.stories.stage import Stage, unheard, until, update

Stages = Callable[..., AbstractContextManager[Stage]]
STALL_SECONDS = 2.0
BEARER = {"authorization": f"Bearer {TOKEN}"}
ANSWERS = ["answer to one", "answer to two", "answer to three"]


@dataclass
class Shop:
    """A kind of store, the proxy before its server, and the stages that stand on it through the
    proxy.
    """

    ground: Ground
    proxy: Proxy
    stage: Stages

    @contextmanager
    def stalled(self) -> Iterator[None]:
        """SIGSTOP inside, SIGCONT after."""
        os.kill(self.ground.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.ground.pid, signal.SIGCONT)


@contextmanager
def through(proxy: Proxy, open_stage: Stages) -> Iterator[Stage]:
    """A stage whose servers reach the store through the proxy; the test itself looks at it
    directly.
    """
    with open_stage() as scene:
        scene.settings["store"] = scene.settings["store"].replace(proxy.target, proxy.address)
        yield scene


@pytest.fixture(params=["redis", "dynamodb"])
def shop(
    request: pytest.FixtureRequest, staged_on: Stages, grounds: Callable[[str], Ground]
) -> Iterator[Shop]:
    ground = grounds(request.param)
    with Proxy(ground.address) as proxy:
        yield Shop(ground, proxy, partial(through, proxy, partial(staged_on, ground)))


def one_and_two(scene: Stage, server: Server) -> None:
    """What every story comes to: the second message is answered after the first, and a third one is
    too.
    """
    scene.platform.wait_for_texts(*ANSWERS[:2])
    until(partial(server.knock, update(3, "three")), "the third message is taken")
    scene.platform.wait_for_texts(*ANSWERS)
    until(scene.rests, "nothing waits any more")
    assert scene.platform.texts == ANSWERS
    assert scene.model.asked()[-1] == "three"
    assert [message.content for message in scene.document().messages][-6:] == [
        text for pair in zip(["one", "two", "three"], ANSWERS, strict=True) for text in pair
    ]
    assert not scene.dead()
    print(
        f"\nthe model was asked {len(scene.model.bodies)} times; the person read"
        f" {scene.platform.texts}"
    )


def begun(scene: Stage) -> Server:
    """A server that has answered once."""
    server = scene.start()
    assert server.knock(update(1, "one"))
    scene.platform.wait_for_texts(ANSWERS[0])
    until(scene.rests, "nothing waits any more")
    return server


def test_a_store_that_is_down_at_the_start_is_waited_for_and_nothing_is_taken_meanwhile(
    shop: Shop,
) -> None:
    with shop.stage() as scene:
        shop.proxy.mode = REFUSE
        server = scene.start()
        assert not server.knock(update(1, "one"))
        asked = httpx.post(
            f"http://127.0.0.1:{server.port}/chat",
            json={"text": "hi"},
            headers=BEARER,
            timeout=PATIENCE,
        )
        assert asked.status_code == 503
        assert asked.headers["retry-after"]
        shop.proxy.mode = PASS
        until(partial(server.knock, update(1, "one")), "the message is taken")
        scene.platform.wait_for_texts(ANSWERS[0])
        assert server.knock(update(2, "two"))
        one_and_two(scene, server)


@pytest.mark.parametrize("mode", [REFUSE, HANG, RESET], ids=lambda mode: mode.value)
def test_a_store_that_goes_away_while_the_model_thinks_is_waited_for(
    shop: Shop, mode: Mode
) -> None:
    with shop.stage() as scene:
        server = begun(scene)

        def goes_away(name: str, point: str) -> None:
            scene.model.heard = unheard
            shop.proxy.mode = mode
            threading.Timer(STALL_SECONDS, setattr, (shop.proxy, "mode", PASS)).start()

        scene.model.heard = goes_away
        assert server.knock(update(2, "two"))
        one_and_two(scene, server)
        print(
            f"\n{mode.value} for {STALL_SECONDS} s while the model thinks: {shop.proxy.hits}"
            " requests"
        )


@pytest.mark.parametrize("mode", [DROP_REPLY, CUT, MUTE, RESET], ids=lambda mode: mode.value)
def test_a_request_about_the_session_that_goes_wrong_changes_nothing_for_the_person(
    shop: Shop, mode: Mode
) -> None:
    # the read at the open, then writes; silence costs seconds each time
    gone_wrong(shop, mode, times=1 if mode is MUTE else 3)


@pytest.mark.parametrize("shop", ["dynamodb"], indirect=True)
def test_a_table_that_throttles_the_session_changes_nothing_for_the_person(shop: Shop) -> None:
    gone_wrong(shop, THROTTLE, times=3)


def gone_wrong(shop: Shop, mode: Mode, times: int) -> None:
    with shop.stage() as scene:
        server = begun(scene)
        for _ in range(times):
            shop.proxy.arm(mode, b"head")
        assert server.knock(update(2, "two"))
        one_and_two(scene, server)
        print(f"\n{mode.value} at the session's document: {shop.proxy.hits} requests")


def test_a_store_that_stalls_in_the_middle_of_a_turn_goes_on_where_it_was(shop: Shop) -> None:
    with shop.stage() as scene:
        server = begun(scene)
        over = threading.Event()

        def stalls(name: str, point: str) -> None:
            scene.model.heard = unheard
            threading.Thread(target=_stalled, args=(shop, over)).start()

        scene.model.heard = stalls
        assert server.knock(update(2, "two"))
        assert over.wait(PATIENCE)
        one_and_two(scene, server)


def _stalled(shop: Shop, over: threading.Event) -> None:
    with shop.stalled():
        time.sleep(STALL_SECONDS)
    over.set()


def test_a_redis_that_pauses_its_clients_is_waited_for(
    staged_on: Stages, grounds: Callable[[str], Ground]
) -> None:
    ground = grounds("redis")
    host, _, port = ground.address.partition(":")
    with staged_on(ground) as scene, redis.Redis(host, int(port)) as direct:
        server = begun(scene)
        direct.client_pause(int(STALL_SECONDS * 1000), all=True)
        until(partial(server.knock, update(2, "two")), "the message is taken")
        one_and_two(scene, server)
