"""What time and want of room do to capabilities, as callers see it: what a runner lets go of first,
and what nobody uses any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from functions import scheduler
from functions.queues.store_queue import StoreQueue
from sigil.access.authentication import Authenticator
from sigil.http import app as sigil_http
from sigil.registry import LocalRegistry, RegistryRules
from sigil.sandbox.pool import Sandbox
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV
from sigil.wiring import Stores
from tests.fakes.clock import Clock
from tests.machine import within
from tests.sigil.cli.conftest import Sigil, run_sigil
from tests.sigil.serving import served
from tests.sigil.web import ENGINE, TOKEN

__all__ = ["run_sigil"]

DAY = 86_400.0
LARGE = "// " + "x" * 250_000 + "\n"
"""Of such sources a runner holds about two dozen."""


@dataclass(frozen=True, slots=True)
class Place:
    """A registry with one runner, asked over HTTP."""

    client: httpx.Client
    kv: MemoryKV

    def deploy(self, name: str, lifetime: str = "normal", **more: Any) -> None:
        spec = {
            "name": name,
            "description": f"Answers {name}.",
            "execute": f"{LARGE}return '{name}'",
            "type": lifetime,
            **more,
        }
        assert self.client.post("/_api/deploy", json=spec).status_code == 201

    def is_cold(self, name: str) -> bool:
        """Run it: whether the runner had to load it for that."""
        answer = self.client.post(f"/run/{name}")
        assert answer.text == name
        return answer.headers["x-sigil-cold-start"] == "true"

    def sandbox(self) -> dict[str, int]:
        found: dict[str, int] = self.client.get("/_health").json()["sandbox"]
        return found

    def states(self) -> dict[str, str]:
        return {
            row["capability"]: row["state"] for row in self.client.get("/_api/list").json()["items"]
        }

    def found(self, text: str) -> list[str]:
        return [
            row["capability"]
            for row in self.client.get("/_api/query", params={"q": text}).json()["items"]
        ]


@pytest.fixture
def place(
    compiled: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Place]:
    kv = MemoryKV(clock)
    sandbox = Sandbox(engine=ENGINE, cache=compiled, children=1, clock=clock)
    registry = LocalRegistry(kv, MemoryArtifacts(), sandbox, clock, rules=RegistryRules(pause=0))
    with (
        served(
            sigil_http.build_app(
                lambda: registry, Authenticator(TOKEN, lambda: registry.keys, "main", 6_000, clock)
            )
        ) as url,
        httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=within(60)
        ) as client,
    ):
        for name, value in {
            "UNCAGED_DATA": str(tmp_path),
            "SIGIL_URL": url,
            "SIGIL_TOKEN": TOKEN,
        }.items():
            monkeypatch.setenv(name, value)
        yield Place(client, kv)
    registry.close()


def test_a_full_runner_lets_go_of_the_expired_then_the_ephemeral_the_normal_and_the_persistent(
    place: Place, clock: Clock, run_sigil: Sigil
) -> None:
    place.deploy("lasting", "persistent")
    place.deploy("usual")
    place.deploy("fleeting", "ephemeral", ttl=86_400)
    place.deploy(
        "passing", "ephemeral", ttl=60
    )  # used last: by their last use alone it would stay longest
    clock.now += 61
    fillers = 0
    while not place.sandbox()["evictions"]:
        place.deploy(f"filler-{fillers}")
        fillers += 1
    room = place.sandbox()["slots"]

    assert room == fillers + 3  # all but the expired one
    assert [place.is_cold(name) for name in ("lasting", "usual", "filler-0", "fleeting")] == [
        False
    ] * 4
    place.deploy("one-more")
    assert place.sandbox()["evictions"] == 2
    assert [place.is_cold(name) for name in ("lasting", "usual", "filler-0")] == [False] * 3
    assert place.is_cold(
        "fleeting"
        # ephemeral, though used later than any normal one; now the oldest normal one made room for
        # it
    )
    assert not place.is_cold("filler-2")
    assert place.is_cold("filler-1")
    for number in range(room - 1):
        place.deploy(f"kept-{number}", "persistent")
    assert not place.is_cold("lasting")
    assert place.is_cold("usual")

    told = place.sandbox()
    assert told["slots"] == room
    assert told["cold"] == told["slots"] + told["evictions"]
    line = (
        f"sandbox: {told['slots']} loaded, {told['cold']} cold starts, {told['evictions']}"
        " evictions"
    )
    assert line in run_sigil("list").err


def test_what_nobody_used_for_thirty_days_is_inactive_until_somebody_does(
    place: Place, clock: Clock, run_sigil: Sigil, shown: Callable[[], dict[str, str]]
) -> None:
    place.deploy("forgotten")
    place.deploy("used")
    place.deploy("lasting", "persistent")
    clock.now += 29 * DAY
    scheduler.tick(Stores(place.kv, MemoryArtifacts()), StoreQueue(place.kv), "main", clock)
    assert shown() == place.states() == {"forgotten": "ok", "used": "ok", "lasting": "ok"}
    assert not place.is_cold("used")

    clock.now += DAY + 1
    scheduler.tick(Stores(place.kv, MemoryArtifacts()), StoreQueue(place.kv), "main", clock)
    assert shown() == place.states() == {"forgotten": "inactive", "used": "ok", "lasting": "ok"}
    items = place.client.get("/_health").json()["items"]
    assert {item["capability"]: item["state"] for item in items}["forgotten"] == "inactive"
    assert "forgotten" not in place.found("answers forgotten")

    assert place.client.post("/run/forgotten").text == "forgotten"
    assert shown() == place.states() == {"forgotten": "ok", "used": "ok", "lasting": "ok"}
    assert "forgotten" in place.found("answers forgotten")


@pytest.fixture
def shown(run_sigil: Sigil) -> Callable[[], dict[str, str]]:
    """The states that `sigil list` shows."""

    def read() -> dict[str, str]:
        ended = run_sigil("list", "--json")
        assert ended.code == 0, ended.err
        return {row["capability"]: row["state"] for row in ended.document["items"]}

    return read
