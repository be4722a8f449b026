"""Measures the owner's run while somebody else's tokens keep every runner and every compiler busy.

A real `sigil serve` on two runners, then on one. The owner runs a short capability and one that
computes for a while, alone; then again while 30 threads with a deploy token of the namespace
`alice` run an endless capability over and over, and eight others with deploy tokens of their own
deploy modules that are expensive to compile. They wait as long as they are told to.

A floor is the same run on the same server without them.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx
import wasmtime

from scripts.benchmarks.rows import Row

CALLS: Final = 40
ENDLESS: Final = 30
BOMBS: Final = 8
SETTLING_SECONDS: Final = 6.0
ADMIN: Final = "an-admin-token-of-the-benchmark"
ENDLESS_MS: Final = {2: 30_000, 1: 3_000}
"""How long an endless call of `alice` lasts, by the number of runners: with a single one there is
one of them to wait for.
"""
FREE_SECONDS: Final = 0.3
"""The bar: three times as long as alone, or so much more, whichever is more."""
SHORT: Final = "return input"
LONG: Final = "let x = 0; for (let i = 0; i < 3e6; i++) x = (x * 31 + i) | 0; return x"


def run(data: Path | None) -> Iterator[Row]:
    """Milliseconds of wall time as the owner sees them, p95 of forty; with a single runner the
    longest of five.
    """
    for runners in (2, 1):
        yield from _measured(runners)


def _measured(runners: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, _served(Path(folder), runners) as url:
        owner = httpx.Client(base_url=url, headers=_bearer(ADMIN), timeout=120)
        for name, code in (("short", SHORT), ("long", LONG)):
            owner.post("/_api/deploy", json={"name": name, "execute": code}).raise_for_status()
        alone = {name: _p95(owner, name) for name in ("short", "long")}
        one_call = 0.0 if runners > 1 else float(ENDLESS_MS[runners])
        with _besieged(owner, url, ENDLESS_MS[runners]) as answers:
            time.sleep(SETTLING_SECONDS)
            for name, floor in alone.items():
                value = _p95(owner, name, CALLS if runners > 1 else CALLS // 8)
                bar = one_call + max(3 * floor, floor + FREE_SECONDS * 1e3)
                yield Row(
                    f"the owner's {name} run in a crowd, runners: {runners}, p95",
                    value,
                    "ms",
                    round(bar, 1),
                    floor=floor,
                )
        print(f"  what the crowd was answered: {dict(answers)}", file=sys.stderr)


def _p95(client: httpx.Client, name: str, calls: int = CALLS) -> float:
    """The 95th percentile; of few calls the longest."""
    taken = []
    for _ in range(calls):
        started = time.perf_counter()
        client.post(f"/run/{name}", json={"n": 1}).raise_for_status()
        taken.append((time.perf_counter() - started) * 1e3)
    return statistics.quantiles(taken, n=20)[-1] if calls >= 20 else max(taken)


@contextmanager
def _besieged(owner: httpx.Client, url: str, milliseconds: int) -> Iterator[Counter[str]]:
    """While the tokens of `alice` do what they can; what they are answered, counted."""
    tokens = [
        owner.post("/_api/keys", json={"kind": "deploy", "namespace": "alice"}).json()["token"]
        for _ in range(BOMBS + 1)
    ]
    endless = {"name": "endless", "execute": "for (;;);", "limits": {"timeout_ms": milliseconds}}
    httpx.post(f"{url}/_api/deploy", json=endless, headers=_bearer(tokens[0]), timeout=120)
    over, answers = threading.Event(), Counter[str]()
    bomb = b64encode(_bomb()).decode()

    def again(path: str, token: str, body: object) -> None:
        with httpx.Client(base_url=url, headers=_bearer(token), timeout=120) as client:
            while not over.is_set():
                try:
                    answer = client.post(path, json=body)
                except httpx.HTTPError:
                    continue
                code = answer.json()["error"]["code"] if answer.is_error else ""
                answers[f"{path} {answer.status_code} {code}"] += 1
                over.wait(float(answer.headers.get("retry-after", 0)))

    jobs: list[tuple[str, str, object]] = [("/run/endless", tokens[0], {})] * ENDLESS
    jobs += [
        ("/_api/deploy", tokens[at + 1], {"name": f"bomb-{at}", "wasm": bomb})
        for at in range(BOMBS)
    ]
    threads = [threading.Thread(target=again, args=job, daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        over.set()


def _bomb() -> bytes:
    """A valid module that no compiler is done with in its time."""
    locals_, depth = 250, 250
    body = "".join(
        f"(local.set {n} (i32.add (local.get {n * 7 % locals_}) (i32.const 1)))"
        for n in range(locals_)
    )
    function = (
        f"(func (local {'i32 ' * locals_}) {'(loop ' * depth} {body}"
        f" {'(br_if 0 (local.get 0))) ' * depth})"
    )
    return bytes(
        wasmtime.wat2wasm(f"""(module (memory (export "memory") 2) {function * 4}
            (func (export "sigil_alloc") (param i32) (result i32) (i32.const 1024))
            (func (export "sigil_run") (param i32 i32) (result i32) (i32.const 0))
            (func (export "sigil_out_ptr") (result i32) (i32.const 1024))
            (func (export "sigil_out_len") (result i32) (i32.const 0)))""")
    )


@contextmanager
def _served(folder: Path, runners: int) -> Iterator[str]:
    """The address of a registry in a process of its own."""
    told = {
        "UNCAGED_DATA": str(folder / "data"),
        "UNCAGED_CACHE": str(folder / "cache"),
        "UNCAGED_LIBRARY": "none",
        "UNCAGED_TOKEN": ADMIN,
        "SIGIL_RUNNERS": str(runners),
        "SIGIL_DEPLOY_COOLDOWN": "0",
    }
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    command = [sys.executable, "-m", "sigil.cli", "serve", "--port", "0", "--json"]
    with subprocess.Popen(
        command, env={**kept, **told}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        try:
            yield json.loads(server.stdout.readline())["url"]
        finally:
            server.kill()


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
