"""A server is killed while the call of a task runs: the chat is told once that nobody knows what
came of it, and the call is not made again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import pytest

from sigil.registry import LocalRegistry
from sigil.wiring import local_registry
from tests.channel_settings import make_settings
from tests.fakes.mcp import FakeMcp
from tests.fakes.model import call, say
from tests.functions.model_steps import find
from tests.machine import until, within
from tests.sigil.tool_importer import ToolImporter
from tests.stories.backends import open_stores_of
from tests.stories.system import System, update

OpenSystem = Callable[..., AbstractContextManager[System]]


@pytest.fixture
def fake() -> Iterator[FakeMcp]:
    with FakeMcp() as server:
        yield server


@pytest.mark.parametrize("open_system", ["sqlite"], indirect=True)
def test_a_server_that_is_killed_in_a_long_call_leaves_it_told_and_not_repeated(
    open_system: OpenSystem, fake: FakeMcp
) -> None:
    released = threading.Event()

    def greet(given: dict[str, Any]) -> str:
        released.wait(within(60))
        return "too late"

    fake.does["greet"] = greet
    with open_system(lease=within(1.0), loopback=True) as system:
        import_tools(system, fake)
        system.model.then(
            find("billing-greet"),
            call(("cap_billing_greet", {"name": "Ada"})),
            say("I have begun."),
            say("It may have been done."),
        )
        victim = system.start()
        assert victim.post_update(update(1, "greet Ada"))
        system.platform.wait_for_texts("I have begun.")
        until(lambda: "tools/call" in fake.methods, "the call runs")

        system.forker.kill(victim)
        released.set()
        system.start()

        system.platform.wait_for_texts("It may have been done.")
        until(partial(system.is_idle, claims=False), "nothing waits any more")
        assert system.platform.texts == ["I have begun.", "It may have been done."]
        assert fake.methods.count("tools/call") == 1
        (mail,) = [
            message.content
            for message in system.document().messages
            if "EINTERRUPTED" in message.content
        ]
        assert mail.startswith("<inbox>")
        assert system.dead_letters() == []


def import_tools(system: System, fake: FakeMcp) -> None:
    """Import the server's tools into the store of a system, to be called as tasks."""
    with open_stores_of(system.settings) as stores:
        registry = local_registry(make_settings(**{**system.settings, "owners": ()}), stores)
        assert isinstance(registry, LocalRegistry)
        server = {"name": "billing", "url": fake.address}
        ToolImporter(registry).import_tools(server, tags=("background",), timeout=30_000)
        registry.close()
