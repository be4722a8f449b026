"""A server is killed at every write after an owner's approval, and the call is made all the same:
once.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Final

import httpx
import orjson
import pytest

from functions import scheduler
from functions.agent.policy.act import Act
from functions.agent.policy.document import open_versions, write_policy
from functions.agent.policy.proposals import AskedCall, Proposal, Proposals, make_proposal
from functions.agent.policy.settlement import GRACE_SECONDS
from functions.channels.telegram.channel import Telegram
from functions.wiring import open_queue
from sigil.protocol import Caller, Offer
from sigil.storage.kv import keys
from sigil.wiring import local_registry
from tests.channel_settings import make_settings
from tests.fakes.bot_api import TOKEN as BOT_TOKEN
from tests.machine import until, within
from tests.selection import in_full, thorough
from tests.stories.backends import open_stores_of
from tests.stories.server_forker import TOKEN
from tests.stories.servers import PATIENCE, SECRET, Server
from tests.stories.system import System, update

AT_ONCE: Final = 6
"""Rows played at the same time: mostly they wait for a lease to end."""
POLICY: Final = 'format = 1\nrules = ["ask everybody call note"]'
WRITTEN: Final = re.compile(r"(write|delete) .* after|run note 1 during")
"""The points at which the store has just been written to, and one in the call."""
BASIC: Final = re.compile(
    r"(write (proposal [12]|inbox 1|head [236]|use 1)|delete inbox 1) after|run note 1 during"
)
"""Those of the suite: before and behind each step from the approval to the answer."""
OpenSystem = Callable[..., AbstractContextManager[System]]


@pytest.mark.parametrize("open_system", ["sqlite", *thorough("redis", "dynamodb")], indirect=True)
def test_a_crash_after_an_approval_makes_the_call_once_or_says_that_nobody_knows(
    open_system: OpenSystem,
) -> None:
    with open_system(lease=60.0) as system:
        offer = find_offer(system)
        id = propose(system, offer)
        approve(system.start(), id)
        wait_for_outcome(system, id)
        until(system.is_idle, "the session is given back")
        assert Counter(system.notes("runs")) == {"note": 1}
        points = [point for point in system.notes("journal") if WRITTEN.fullmatch(point)]
    assert {"write proposal 1 after", "write proposal 2 after", "write head 1 after"} <= set(points)
    points = [point for point in points if in_full() or BASIC.fullmatch(point)]
    with ThreadPoolExecutor(AT_ONCE) as players:
        found = players.map(partial(play, open_system, offer), points)
        problems = {point: problem for point, problem in zip(points, found, strict=True) if problem}
    assert not problems


def play(open_system: OpenSystem, offer: Offer, point: str) -> str:
    """Crash at the point after an approval, and return which promise was not kept; empty for
    none.
    """
    with open_system(lease=within(1.0)) as system:
        try:
            id = propose(system, offer)
            victim = system.start(point)
            approve(victim, id)
            until(system.fired, f"a server gets to {point}")
            system.forker.ended(victim)
            survivor = system.start()
            if find(system, id).state == "open":
                # whoever approved it got no answer, and nothing was approved
                approve(survivor, id)
            tick(system)
            wait_for_outcome(system, id)
            until(partial(system.is_idle, claims=False), "nothing waits any more")
            tick(system)
            until(partial(system.is_idle, claims=False), "nothing waits any more")
        except AssertionError as problem:
            return str(problem)
        runs = Counter(system.notes("runs"))["note"]
        answers = [each.content for each in system.document().messages if each.role == "tool"]
        said = [text for text in system.platform.texts if text.startswith("(Approved")]
        if runs > 1 or not (runs or "EINTERRUPTED" in str(answers)):
            return f"it ran {runs} times: {answers}"
        # a part that left and was not marked before the crash leaves once more
        if len(answers) != 1 or not 1 <= len(said) <= 2:
            return f"answers {answers}, said {said}"
        state = find(system, id).state
        left = system.store.scan(keys.unsettled_proposal("main", "").partition)
        if state != "applied" or left or system.dead_letters():
            return f"it is {state}; left: {left}, dead letters {system.dead_letters()}"
    return ""


def find_offer(system: System) -> Offer:
    """Return what a search offers of the capability `note`, which is the same in every system."""
    settings = make_settings(**{**system.settings, "owners": tuple(system.settings["owners"])})
    with open_stores_of(system.settings) as stores:
        registry = local_registry(settings, stores)
        hit = registry.query("note a number", Caller("main")).hits[0]
        registry.close()
    assert hit.offer.name == "note"
    return hit.offer


def propose(system: System, offer: Offer) -> str:
    """Store a proposal to call what is offered, as the turn of a person does, and return its id."""
    write_policy(open_versions(system.store, "main", time.time), POLICY, by="terminal:local")
    (event,) = Telegram(BOT_TOKEN, SECRET).read_update(orjson.dumps(update(10, "note it"))).events
    asked = AskedCall("cap_note", '{"spin":400}', offer)
    wanted = make_proposal(event, "main", [Act("call", "note")], asked)
    return Proposals(system.store, "main", time.time).propose(wanted)[0].id


def approve(server: Server, id: str) -> None:
    """Approve a proposal over HTTP; the server may die before it answers."""
    url = f"http://127.0.0.1:{server.port}/proposals/{id}/approve"
    with suppress(httpx.HTTPError):
        httpx.post(url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=PATIENCE)


def find(system: System, id: str) -> Proposal:
    """Return the proposal as it stands in the store."""
    found = Proposals(system.store, "main", time.time).find(id)
    assert found
    return found


def wait_for_outcome(system: System, id: str) -> None:
    """Wait until the chat has heard what came of the proposal."""
    until(
        lambda: any(f"proposal {id}:" in text for text in system.platform.texts),
        "the chat hears of the call",
    )


def tick(system: System) -> None:
    """Run the minute's tick, a minute later."""
    settings = make_settings(**system.settings)
    with open_stores_of(system.settings) as stores:
        queue = open_queue(settings, stores).chats
        scheduler.tick(stores, queue, "main", lambda: time.time() + 2 * GRACE_SECONDS)
