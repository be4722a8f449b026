"""Measures the answers on a connection that is kept, as proxies, pages and MCP clients keep theirs,
beside the same app behind uvicorn's own socket.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from scripts.benchmarks.measuring import run_server, time_call
from scripts.benchmarks.rows import Row

REQUESTS: Final = 200
WARM: Final = 20


def run(data: Path | None) -> Iterator[Row]:
    """Measure in milliseconds an answer, the median of two hundred one after the other."""
    with run_server("scripts.benchmarks.connections") as urls:
        ours, bare = (_time_answers(url) for url in urls.split())
    yield Row("an answer on a kept connection", ours, "ms", floor=bare, ratio_target=2.0)


def _time_answers(url: str) -> float:
    connection = HTTPConnection(urlsplit(url).netloc)

    def ask() -> None:
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"ok"

    taken = [time_call(ask) for _ in range(WARM + REQUESTS)]
    connection.close()
    return statistics.median(taken[WARM:])


def _serve() -> None:
    import signal
    import threading

    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    from sigil.http.server import listen, serve, url_of

    async def answer(_: Request) -> PlainTextResponse:
        return PlainTextResponse("ok")

    app = Starlette(routes=[Route("/", answer)])
    listener = listen("127.0.0.1", 0)
    bare = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", ws="none"))

    def greet() -> None:
        while not bare.started:
            time.sleep(0.01)
        port = bare.servers[0].sockets[0].getsockname()[1]
        print(url_of(listener), f"http://127.0.0.1:{port}", flush=True)

    def end() -> None:
        sys.stdin.read()
        bare.should_exit = True
        signal.raise_signal(signal.SIGTERM)

    threading.Thread(target=bare.run, daemon=True).start()
    threading.Thread(target=end, daemon=True).start()
    serve(app, listener, 1, greet)


if __name__ == "__main__":
    _serve()
