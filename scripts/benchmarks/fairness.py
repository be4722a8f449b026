"""Measures the owner's run while other tokens keep every runner and every compiler busy.

It starts a real `sigil serve` with two runners, then with one. The owner runs a short capability and
one that computes for a while, alone; then again while 30 threads with a deploy token of the
namespace `alice` run an endless capability over and over, and eight others with deploy tokens of
their own deploy modules that are expensive to compile. They wait as long as `retry-after` says.

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
"""The milliseconds of an endless call of `alice`, by the number of runners: with a single runner the
owner waits for one of them.
"""
FREE_SECONDS: Final = 0.3
"""The target is three times as long as alone, or so much longer, whichever is more."""
SHORT: Final = "return input"
LONG: Final = "let x = 0; for (let i = 0; i < 3e6; i++) x = (x * 31 + i) | 0; return x"


def run(data: Path | None) -> Iterator[Row]:
    """Measure in milliseconds of wall time as the owner sees them, p95 of forty; with a single runner
    the longest of five.
    """
    for runners in (2, 1):
        with tempfile.TemporaryDirectory() as folder, _run_registry(Path(folder), runners) as url:
            owner = httpx.Client(base_url=url, headers=_bearer_header(ADMIN), timeout=120)
            for name, code in (("short", SHORT), ("long", LONG)):
                owner.post("/_api/deploy", json={"name": name, "execute": code}).raise_for_status()
            alone = {name: _p95(owner, name) for name in ("short", "long")}
            one_call = 0.0 if runners > 1 else float(ENDLESS_MS[runners])
            with _keep_busy(owner, url, ENDLESS_MS[runners]) as answers:
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
            print(f"  answers to the other tokens: {dict(answers)}", file=sys.stderr)


def _p95(client: httpx.Client, name: str, calls: int = CALLS) -> float:
    """Return the 95th percentile of the milliseconds; of few calls the longest."""
    taken = []
    for _ in range(calls):
        started = time.perf_counter()
        client.post(f"/run/{name}", json={"n": 1}).raise_for_status()
        taken.append((time.perf_counter() - started) * 1e3)
    return statistics.quantiles(taken, n=20)[-1] if calls >= 20 else max(taken)


@contextmanager
def _keep_busy(owner: httpx.Client, url: str, milliseconds: int) -> Iterator[Counter[str]]:
    """Have the tokens of `alice` call and deploy all the time; yield the counts of their answers."""
    tokens = [
        owner.post("/_api/keys", json={"kind": "deploy", "namespace": "alice"}).json()["token"]
        for _ in range(BOMBS + 1)
    ]
    endless = {"name": "endless", "execute": "for (;;);", "limits": {"timeout_ms": milliseconds}}
    httpx.post(f"{url}/_api/deploy", json=endless, headers=_bearer_header(tokens[0]), timeout=120)
    over = threading.Event()
    answers = Counter[str]()
    bomb = b64encode(_make_compile_bomb()).decode()

    def send_requests(path: str, token: str, body: object) -> None:
        with httpx.Client(base_url=url, headers=_bearer_header(token), timeout=120) as client:
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
    threads = [threading.Thread(target=send_requests, args=job, daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        over.set()


def _make_compile_bomb() -> bytes:
    """Return a valid module that takes a compiler longer than it may."""
    locals_ = depth = 250
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
def _run_registry(folder: Path, runners: int) -> Iterator[str]:
    """Run a registry in a process of its own; yield its address."""
    settings = {
        "UNCAGED_DATA": str(folder / "data"),
        "UNCAGED_CACHE": str(folder / "cache"),
        "UNCAGED_LIBRARY": "none",
        "UNCAGED_TOKEN": ADMIN,
        "SIGIL_RUNNERS": str(runners),
        "SIGIL_DEPLOY_COOLDOWN": "0",
    }
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    command = [sys.executable, "-m", "sigil.cli", "serve", "--port", "0", "--json"]
    with subprocess.Popen(
        command,
        env={**inherited, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            yield json.loads(server.stdout.readline())["url"]
        finally:
            server.kill()


def _bearer_header(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
