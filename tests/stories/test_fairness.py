"""One token does what it can to keep everybody else from running and deploying anything."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.machine import until, within
from tests.sigil.sandbox.modules import guest
from tests.sigil.web import Web, error, web

FOREVER_MS = 30_000


class Crowd:
    """Requests of one token, sent side by side; `ended` are their answers so far, in order."""

    def __init__(self, client: httpx.Client, threads: ThreadPoolExecutor) -> None:
        self._client = client
        self._threads = threads
        self.ended: list[httpx.Response] = []

    def send(self, path: str, bodies: list[dict[str, Any]]) -> list[Future[None]]:
        return [self._threads.submit(self._sent, path, body) for body in bodies]

    def _sent(self, path: str, body: dict[str, Any]) -> None:
        self.ended.append(self._client.post(path, json=body))


@contextmanager
def crowded(compiled: Path, children: int) -> Iterator[tuple[Web, Crowd]]:
    """A registry, and the crowd of a deploy token of `alice`; at the end her calls are cut off."""
    with web(compiled, children=children) as place, ThreadPoolExecutor(40) as threads:
        token = place.client.post(
            "/_api/keys", json={"kind": "deploy", "namespace": "alice"}
        ).json()["token"]
        with httpx.Client(
            base_url=place.url, headers={"Authorization": f"Bearer {token}"}, timeout=within(60)
        ) as client:
            place.deploy("quick", "return input.n").raise_for_status()
            assert place.client.post("/run/quick", json={"n": 0}).json() == 0
            yield place, Crowd(client, threads)
            place.registry.close()


def endless(crowd: Crowd, milliseconds: int = FOREVER_MS) -> None:
    spec = {
        "name": "endless",
        "execute": "for (;;);",
        "schema": {"properties": {}},
        "limits": {"timeout_ms": milliseconds},
    }
    crowd._client.post("/_api/deploy", json=spec).raise_for_status()


def sandbox_of(place: Web) -> dict[str, int]:
    found: dict[str, int] = place.client.get("/_api/status").json()["sandbox"]
    return found


def test_with_a_single_runner_the_owner_waits_for_one_call_and_not_for_all_of_them(
    compiled: Path,
) -> None:
    with crowded(compiled, children=1) as (place, crowd):
        endless(crowd, 400)
        crowd.send("/run/endless", [{}] * 12)
        # the first ones may have ended before the last ones come
        until(lambda: sandbox_of(place)["waiting"] >= 6)
        ended = len(crowd.ended)
        assert place.client.post("/run/quick", json={"n": 7}).json() == 7
        assert (
            len(crowd.ended) - ended <= 2
        )  # the answer of the one before may still have been on its way


def test_who_has_too_much_under_way_hears_so_at_once_while_the_owner_runs_and_deploys(
    compiled: Path,
) -> None:
    with crowded(compiled, children=2) as (place, crowd):
        endless(crowd)
        crowd.send("/run/endless", [{}] * 30)
        until(lambda: len(crowd.ended) == 14)
        assert {error(answer) for answer in crowd.ended} == {"429 ERATE"}
        assert {answer.headers["retry-after"] for answer in crowd.ended} == {"1"}
        until(lambda: sandbox_of(place)["busy"] == 2)  # every runner
        ran = [place.client.post("/run/quick", json={"n": n}).json() for n in range(5)]
        assert ran == [0, 1, 2, 3, 4]
        assert place.deploy("another", "return 2").status_code == 201
        assert place.client.get("/_api/list").status_code == 200
        assert len(crowd.ended) == 14


def test_every_way_to_the_sandbox_counts(compiled: Path) -> None:
    with crowded(compiled, children=2) as (place, crowd):
        endless(crowd)
        call = {"name": "sigil_run", "arguments": {"capability": "endless"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        forever = {
            "execute": "for (;;);",
            "limits": {"timeout_ms": FOREVER_MS},
            "tests": [{"input": {}, "output": 1}],
        }
        # so many are refused only if all three ways count together
        crowd.send("/run/endless", [{}] * 10)
        crowd.send("/mcp", [message] * 10)
        crowd.send("/_api/deploy", [{**forever, "name": f"never-{n}"} for n in range(10)])
        until(lambda: sum(answer.status_code == 429 for answer in crowd.ended) >= 14)
        ran = [place.client.post("/run/quick", json={"n": n}).json() for n in range(3)]
        assert ran == [0, 1, 2]


def test_modules_that_are_slow_to_compile_hold_up_nobody_elses_deploy(compiled: Path) -> None:
    with crowded(compiled, children=2) as (place, crowd):
        slow = [b64encode(guest(more=slow_to_compile(number))).decode() for number in range(6)]
        done = crowd.send(
            "/_api/deploy",
            [{"name": f"slow-{at}", "wasm": module} for at, module in enumerate(slow)],
        )
        until(lambda: crowd.ended)
        before = len(crowd.ended)  # the others are on their way
        module = guest(more="(func (result i32) (i32.const 7))" * 600)
        assert (
            place.client.post(
                "/_api/deploy", json={"name": "mine", "wasm": b64encode(module).decode()}
            ).status_code
            == 201
        )
        assert len(crowd.ended) <= before + 2
        for each in done:
            each.result()
        assert {answer.status_code for answer in crowd.ended} == {201}


def slow_to_compile(number: int) -> str:
    """Functions that take a compiler about half a second; others for each number and for each run
    of these tests.
    """
    return (
        f"(func (result i64) (i64.const {time.time_ns() + number}) "
        + "(i64.const 3) (i64.mul) " * 25_000
        + ")"
    )
