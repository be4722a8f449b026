"""A runtime behind a real uvicorn server on loopback, in a thread of the test."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn

from functions import local
from functions.ingress.poller import PolledBot
from functions.ingress.socket_listener import ListenedBot
from functions.wiring import AgentRuntime
from tests.machine import within

TOKEN = "admin-token-of-the-tests"


@dataclass(frozen=True, slots=True)
class Served:
    """The address of a server, and a client that carries the admin token."""

    url: str
    client: httpx.Client
    runtime: AgentRuntime

    def post(self, path: str, **given: object) -> httpx.Response:
        return self.client.post(path, **given)  # type: ignore[arg-type]


@contextmanager
def serving(
    runtime: AgentRuntime,
    polled: Sequence[PolledBot] = (),
    listened: Sequence[ListenedBot] = (),
    **given: Any,
) -> Iterator[Served]:
    """Serve `runtime` until the block ends; running turns end first. `given` as `build_app` takes
    it.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    ready = threading.Event()
    app = local.build_app(runtime, TOKEN, ready.set, polled, listened, **given)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        assert ready.wait(within(20)), "the server did not start"
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with httpx.Client(
            base_url=url, headers={"authorization": f"Bearer {TOKEN}"}, timeout=within(40)
        ) as client:
            yield Served(url, client, runtime)
    finally:
        server.should_exit = True
        app.state.end_streams()  # as a signal does
        thread.join()
        listener.close()
