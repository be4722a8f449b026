"""Somebody to ask: a Redis server or a cluster of them, by connections that threads borrow, with
repeats that end.

redis-py's own silent repeats are off: whatever is asked here may be repeated, because it reads, or
is a script that knows itself again.
"""

from __future__ import annotations

import os
import random
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol, TypeVar

import redis
from redis.backoff import NoBackoff
from redis.cluster import RedisCluster
from redis.retry import Retry

from sigil.errors import BackendError
from sigil.storage.kv.redis_failures import failure, is_passing
from sigil.storage.kv.redis_scripts import Script
from sigil.storage.kv.redis_url import RedisAddress

PAUSES: Final = (0.02, 0.1, 0.4)
"""Seconds before each repeat, give or take a half."""
PATIENCE: Final = 6.0
"""Seconds after which no repeat begins: with the timeouts below an ask of one server ends within 13
s.
"""
IDLE_SECONDS: Final = 60.0
"""A connection that nobody used for longer is not trusted any more: what lies between drops such
ones without a word.
"""
T = TypeVar("T")
_PROBLEMS = (redis.RedisError, redis.exceptions.RedisClusterException)


class _Connection(Protocol):
    """What is used of redis-py's connections, which it leaves untyped."""

    def send_packed_command(self, command: Sequence[bytes], check_health: bool) -> None: ...

    def read_response(self) -> Any: ...

    def disconnect(self) -> None: ...


class _Server(Protocol):
    """Answers one command, once; redis-py's errors."""

    def ask(self, words: Sequence[bytes]) -> Any: ...

    def ask_all(self, commands: Sequence[Sequence[bytes]]) -> list[Any]: ...

    def facts(self) -> Mapping[str, str]: ...

    def keys(self, pattern: bytes) -> Iterator[bytes]: ...

    def renew(self) -> None: ...


class RedisLink:
    """The server at an address. Safe for threads, and for processes that fork. Failures are
    `BackendError`.
    """

    def __init__(self, address: RedisAddress) -> None:
        self._name = address.name
        self._server: _Server = _Cluster(address) if address.cluster else _Single(address)
        self._closed = False

    def ask(self, *words: bytes) -> Any:
        """What the server answers to a command that only reads."""
        return self._tried(lambda: self._server.ask(words))

    def ask_all(self, commands: Sequence[Sequence[bytes]]) -> list[Any]:
        """Return the server's answers to commands that only read, sent at once."""
        return self._tried(lambda: self._server.ask_all(commands)) if commands else []

    def run(self, script: Script, keys: Sequence[bytes], *arguments: bytes) -> Any:
        """What a script returns; the server is handed its source when it does not know it."""
        words = (b"%d" % len(keys), *keys, *arguments)

        def once() -> Any:
            try:
                return self._server.ask((b"EVALSHA", script.sha, *words))
            except redis.exceptions.NoScriptError:
                return self._server.ask((b"EVAL", script.source, *words))

        return self._tried(once)

    def facts(self) -> Mapping[str, str]:
        """What the server says of itself; nothing when this user may not ask."""

        def once() -> Mapping[str, str]:
            try:
                return self._server.facts()
            except redis.exceptions.NoPermissionError:
                return {}

        return self._tried(once)

    def keys(self, pattern: bytes) -> list[bytes]:
        """Its keys that look like `pattern`, without stopping it meanwhile."""
        return self._tried(lambda: list(self._server.keys(pattern)))

    def close(self) -> None:
        """Close the connections; nothing is asked any more."""
        self._closed = True
        self._server.renew()

    def _tried(self, once: Callable[[], T]) -> T:
        deadline = time.monotonic() + PATIENCE
        for pause in (*PAUSES, None):
            if self._closed:
                raise BackendError("EUNAVAILABLE", f"the store {self._name} is closed")
            try:
                return self._kept(once())
            except _PROBLEMS as problem:
                if pause is None or time.monotonic() > deadline or not is_passing(problem):
                    raise failure(self._name, problem) from None
            self._server.renew()
            time.sleep(pause * random.uniform(0.5, 1.5))
        raise AssertionError  # the last round returns or raises

    def _kept(self, answer: T) -> T:
        if self._closed:  # while it was on its way: its connection is the last
            self._server.renew()
        return answer


class _Single:
    """One server. Each connection is used by one thread at a time and kept for the next."""

    def __init__(self, address: RedisAddress) -> None:
        kinds: dict[str, Callable[..., _Connection]] = {
            "redis": redis.Connection,
            "rediss": redis.SSLConnection,
            "unix": redis.UnixDomainSocketConnection,
        }
        self._kind, self._options = kinds[address.kind], {**_timeouts(address), **address.options}
        self._idle: deque[tuple[_Connection, float]] = deque()
        self._process = os.getpid()

    def ask(self, words: Sequence[bytes]) -> Any:
        return self.ask_all((words,))[0]

    def ask_all(self, commands: Sequence[Sequence[bytes]]) -> list[Any]:
        connection = self._borrow()
        unread = len(commands)
        answers: list[Any] = []
        try:
            packed = [_packed(words) for words in commands]
            connection.send_packed_command(packed, check_health=False)
            while unread:
                unread -= 1
                answers.append(connection.read_response())
        except redis.ResponseError:  # an answer like any other
            if unread:
                connection.disconnect()
            else:
                self._idle.append((connection, time.monotonic()))
            raise
        except BaseException:  # an answer may be on its way that the next one must not read
            connection.disconnect()
            raise
        self._idle.append((connection, time.monotonic()))
        return answers

    def facts(self) -> Mapping[str, str]:
        lines = bytes(self.ask((b"INFO",))).decode(errors="replace").splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def keys(self, pattern: bytes) -> Iterator[bytes]:
        cursor = b"0"
        while True:
            cursor, found = self.ask((b"SCAN", cursor, b"MATCH", pattern, b"COUNT", b"1000"))
            yield from found
            if cursor == b"0":
                return

    def renew(self) -> None:
        while self._idle:
            with suppress(IndexError):  # another thread took the last one
                self._idle.pop()[0].disconnect()

    def _borrow(self) -> _Connection:
        if (
            os.getpid() != self._process
        ):  # two processes on one connection would read each other's answers
            self._idle, self._process = deque(), os.getpid()
        try:
            connection, since = self._idle.pop()
        except IndexError:
            return self._kind(**self._options)
        if time.monotonic() - since < IDLE_SECONDS:
            return connection
        connection.disconnect()
        self.renew()  # the others have waited longer
        return connection


class _Cluster:
    """Many servers; redis-py knows which of them has which key, and asks again where one has
    moved.
    """

    def __init__(self, address: RedisAddress) -> None:
        # one repeat of redis-py's own: after it has asked again who has which slot
        self._options = {
            **_timeouts(address, repeats=1),
            **address.options,
            "ssl": address.kind == "rediss",
        }
        self._lock = threading.Lock()
        self._client: RedisCluster | None = None
        self._process = os.getpid()

    def ask(self, words: Sequence[bytes]) -> Any:
        run: Callable[..., Any] = self._ready().execute_command
        return run(words[0].decode(), *words[1:])

    def ask_all(self, commands: Sequence[Sequence[bytes]]) -> list[Any]:
        client: Any = self._ready()  # redis-py leaves this untyped
        pipeline = client.pipeline()  # sends each server the commands for its own keys
        for words in commands:
            pipeline.execute_command(words[0].decode(), *words[1:])
        return list(pipeline.execute())

    def facts(self) -> Mapping[str, str]:
        return {str(name): str(value) for name, value in self.ask((b"INFO",)).items()}

    def keys(self, pattern: bytes) -> Iterator[bytes]:
        yield from self._ready().scan_iter(match=pattern, count=1000)

    def renew(self) -> None:
        self._client = (
            None  # not closed: other threads may be using it; it goes with the last of them
        )

    def _ready(self) -> RedisCluster:
        if os.getpid() != self._process:  # the lock too may have been held in the parent
            self._lock, self._client, self._process = threading.Lock(), None, os.getpid()
        with self._lock:
            if self._client is None:
                self._client = RedisCluster(**self._options)
            return self._client


def _timeouts(address: RedisAddress, repeats: int = 0) -> dict[str, Any]:
    options: dict[str, Any] = {
        "protocol": 2,
        "retry": Retry(NoBackoff(), repeats),
        "socket_connect_timeout": 2.0,
        "socket_timeout": 5.0,
    }
    if address.kind != "unix":
        wanted = {
            "TCP_KEEPIDLE": 60,
            "TCP_KEEPINTVL": 15,
            "TCP_KEEPCNT": 3,
        }  # not every system has them all
        kept = {
            getattr(socket, name): value for name, value in wanted.items() if hasattr(socket, name)
        }
        options |= {"socket_keepalive": True, "socket_keepalive_options": kept}
    return options


def _packed(words: Sequence[bytes]) -> bytes:
    return b"".join(
        (b"*%d\r\n" % len(words), *(b"$%d\r\n%b\r\n" % (len(word), word) for word in words))
    )
