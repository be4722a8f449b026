"""Measures what the pages of runs and capabilities cost the server: processor time and bytes."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from functions import local
from functions.agent.conversation.messages import Usage
from functions.agent.runs.run import Run, save_run
from functions.wiring import AgentRuntime, open_runtime
from scripts.benchmarks.rows import Row
from sigil.http.page.logins import Logins
from tests.channel_settings import make_settings

RUNS: Final = 7
REQUESTS: Final = 20
LIST_MS: Final = 6.0
TREE_KB: Final = 60.0
LATER_KB: Final = 6.0
ROOT_RUN: Final = "telegram:42:0"
_STEPS: Final = 10

App = Callable[..., Awaitable[None]]


def run(data: Path | None) -> Iterator[Row]:
    """Measure pages over a store with 260 runs: the least of several rounds."""
    with TemporaryDirectory() as folder:
        runtime = open_runtime(make_settings(data=folder, library="none", runners=1))
        try:
            fill_runs(runtime)
            app = local.build_app(runtime, "an-admin-token-of-the-benchmark")
            logins = Logins(runtime.stores.kv, runtime.app.root, runtime.app.clock.now)
            cookie = logins.open("http:admin", "owner", "code")
            for name, path, most in (
                ("server, runs", "/ui/runs", LIST_MS),
                ("server, run of 11 rows", "/ui/runs/telegram:43:0", LIST_MS),
                ("server, run of 300 nodes", f"/ui/runs/{ROOT_RUN}", None),
                ("server, use of 30 days", "/ui/usage", None),
            ):
                took, body = min(
                    (_time_requests(app, path, cookie) for _ in range(RUNS)), key=lambda e: e[0]
                )
                yield Row(name, took, "ms", target=most)
                size = len(gzip.compress(body, 6)) / 1_000
                limit = TREE_KB if "300" in name else LATER_KB
                yield Row(f"{name}, gz", size, "KB", target=limit)
        finally:
            runtime.close()


def fill_runs(runtime: AgentRuntime) -> None:
    """Write 260 runs, of which `ROOT_RUN` and those that it set off have 300 nodes."""
    now = time.time()
    steps = tuple(
        {"kind": "request", "n": n, "at": n * 20, "ms": 15, "prompt": 500, "completion": 20}
        if n % 2 == 0
        else {"kind": "call", "at": n * 20, "ms": 4, "name": f"cap_{n}", "id": f"c{n}", "size": 9}
        for n in range(_STEPS)
    )
    for chat, count, root in (("telegram:43", 200, ""), ("telegram:42", 60, ROOT_RUN)):
        for number in range(count):
            save_run(
                runtime.stores.kv,
                Run(
                    event=f"{chat}:{number}",
                    session=chat,
                    agent="main",
                    kind="message",
                    reason="message",
                    outcome="said",
                    began=now - 9_000 + number,
                    seconds=0.3,
                    requests=5,
                    usage=Usage(prompt=2_500, completion=100),
                    calls=5,
                    steps=steps[: 4 if root else _STEPS],
                    cause=root if number else "",
                    root=root if number else "",
                    posts=0 if number or not root else 59,
                ),
                90,
            )


def _time_requests(app: App, path: str, cookie: str) -> tuple[float, bytes]:
    """Return the milliseconds of processor time of one request, and the body of its answer."""

    async def ask() -> bytes:
        parts: list[bytes] = []

        async def receive() -> MutableMapping[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                assert message["status"] == 200, message
            parts.append(message.get("body", b""))

        raw = path.partition("?")[0]
        headers = [(b"host", b"127.0.0.1"), (b"cookie", f"uncaged={cookie}".encode())]
        scope = {
            "type": "http",
            "method": "GET",
            "path": raw,
            "raw_path": raw.encode(),
            "query_string": path.partition("?")[2].encode(),
            "headers": [*headers, (b"accept", b"text/html")],
            "scheme": "http",
            "server": ("127.0.0.1", 80),
            "client": ("127.0.0.1", 1),
            "root_path": "",
            "http_version": "1.1",
        }
        await app(scope, receive, send)
        return b"".join(parts)

    async def measure() -> tuple[float, bytes]:
        body = await ask()
        before = time.process_time()
        for _ in range(REQUESTS):
            await ask()
        return (time.process_time() - before) * 1e3 / REQUESTS, body

    return asyncio.run(measure())
