"""Send commands to a Redis server or a cluster, by connections that threads share, with retries.

redis-py's own silent retries are off: every command sent here may be repeated, because it reads, or
is a script that recognises its own repetition.
"""

from __future__ import annotations

import os
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
from sigil.storage.backoff import jitter
from sigil.storage.kv.redis_failures import is_passing, make_backend_error
from sigil.storage.kv.redis_scripts import Script
from sigil.storage.kv.redis_url import RedisAddress

PAUSES: Final = (0.02, 0.1, 0.4)
"""Seconds before each retry, give or take a half."""
RETRY_SECONDS: Final = 6.0
"""Seconds after which no retry begins: with the timeouts below a command to one server ends within
13 s.
"""
IDLE_SECONDS: Final = 60.0
"""A connection that was idle for longer is not used again: routers drop such ones silently."""
T = TypeVar("T")
_PROBLEMS = (redis.RedisError, redis.exceptions.RedisClusterException)


class _Connection(Protocol):
    """The part of redis-py's connections that is used here; redis-py leaves them untyped."""

    def send_packed_command(self, command: Sequence[bytes], check_health: bool) -> None: ...

    def read_response(self) -> Any: ...

    def disconnect(self) -> None: ...


class _Server(Protocol):
    """A server or a cluster, which runs each command once; it raises redis-py's errors."""

    def send(self, words: Sequence[bytes]) -> Any: ...

    def send_all(self, commands: Sequence[Sequence[bytes]]) -> list[Any]: ...

    def read_info(self) -> Mapping[str, str]: ...

    def find_keys(self, pattern: bytes) -> Iterator[bytes]: ...

    def drop_connections(self) -> None: ...


class RedisClient:
    """A client of the server or cluster at an address.

    It is safe for threads, and for processes that fork. Failures are `BackendError`.
    """

    def __init__(self, address: RedisAddress) -> None:
        self._name = address.name
        self._server: _Server
        if address.cluster:
            self._server = _ClusterServer(address)
        else:
            self._server = _SingleServer(address)
        self._closed = False

    def send(self, *words: bytes) -> bytes | None:
        """Return the answer to a command that reads one value."""
        answer: bytes | None = self._with_retries(lambda: self._server.send(words))
        return answer

    def send_all(self, commands: Sequence[Sequence[bytes]]) -> list[bytes | None]:
        """Return the answers to commands that read one value each, sent at once."""
        if not commands:
            return []
        return self._with_retries(lambda: self._server.send_all(commands))

    def run(self, script: Script, keys: Sequence[bytes], *arguments: bytes) -> Any:
        """Return a script's result; a server that does not know the script gets its source."""
        words = (b"%d" % len(keys), *keys, *arguments)

        def run_once() -> Any:
            try:
                return self._server.send((b"EVALSHA", script.sha, *words))
            except redis.exceptions.NoScriptError:
                return self._server.send((b"EVAL", script.source, *words))

        return self._with_retries(run_once)

    def read_info(self) -> Mapping[str, str]:
        """Return the server's `INFO`; nothing when this user may not read it."""

        def read_once() -> Mapping[str, str]:
            try:
                return self._server.read_info()
            except redis.exceptions.NoPermissionError:
                return {}

        return self._with_retries(read_once)

    def find_keys(self, pattern: bytes) -> list[bytes]:
        """Return the keys that match `pattern`, without stopping the server meanwhile."""
        return self._with_retries(lambda: list(self._server.find_keys(pattern)))

    def close(self) -> None:
        """Close the connections; each further command raises `BackendError`."""
        self._closed = True
        self._server.drop_connections()

    def _with_retries(self, run_once: Callable[[], T]) -> T:
        deadline = time.monotonic() + RETRY_SECONDS
        for pause in (*PAUSES, None):
            if self._closed:
                raise BackendError("EUNAVAILABLE", f"the store {self._name} is closed")
            try:
                answer = run_once()
            except _PROBLEMS as problem:
                if pause is None or time.monotonic() > deadline or not is_passing(problem):
                    raise make_backend_error(self._name, problem) from None
            else:
                self._drop_if_closed()
                return answer
            self._server.drop_connections()
            time.sleep(jitter(pause))
        raise AssertionError("the last try returns or raises")

    def _drop_if_closed(self) -> None:
        """Drop the connection of a command that was under way when the client was closed."""
        if self._closed:
            self._server.drop_connections()


class _SingleServer:
    """One server. Each connection is used by one thread at a time and kept for the next."""

    def __init__(self, address: RedisAddress) -> None:
        kinds: dict[str, Callable[..., _Connection]] = {
            "redis": redis.Connection,
            "rediss": redis.SSLConnection,
            "unix": redis.UnixDomainSocketConnection,
        }
        self._open = kinds[address.kind]
        self._options = {**_connection_options(address), **address.options}
        self._idle: deque[tuple[_Connection, float]] = deque()
        self._process = os.getpid()

    def send(self, words: Sequence[bytes]) -> Any:
        return self.send_all((words,))[0]

    def send_all(self, commands: Sequence[Sequence[bytes]]) -> list[Any]:
        connection = self._take_connection()
        unread = len(commands)
        answers: list[Any] = []
        try:
            packed = [_encode_command(words) for words in commands]
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

    def read_info(self) -> Mapping[str, str]:
        lines = bytes(self.send((b"INFO",))).decode(errors="replace").splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def find_keys(self, pattern: bytes) -> Iterator[bytes]:
        cursor = b"0"
        while True:
            cursor, found = self.send((b"SCAN", cursor, b"MATCH", pattern, b"COUNT", b"1000"))
            yield from found
            if cursor == b"0":
                return

    def drop_connections(self) -> None:
        while self._idle:
            with suppress(IndexError):  # another thread took the last one
                self._idle.pop()[0].disconnect()

    def _take_connection(self) -> _Connection:
        if os.getpid() != self._process:
            # two processes on one connection would read each other's answers
            self._idle = deque()
            self._process = os.getpid()
        try:
            connection, since = self._idle.pop()
        except IndexError:
            return self._open(**self._options)
        if time.monotonic() - since < IDLE_SECONDS:
            return connection
        connection.disconnect()
        self.drop_connections()  # the others have been idle for longer
        return connection


class _ClusterServer:
    """A cluster of servers; redis-py knows which of them has which key, and follows one that has
    moved.
    """

    def __init__(self, address: RedisAddress) -> None:
        # one retry of redis-py's own, after it has asked again which server has which slot
        self._options = {
            **_connection_options(address, retries=1),
            **address.options,
            "ssl": address.kind == "rediss",
        }
        self._lock = threading.Lock()
        self._client: RedisCluster | None = None
        self._process = os.getpid()

    def send(self, words: Sequence[bytes]) -> Any:
        run: Callable[..., Any] = self._open_client().execute_command
        return run(words[0].decode(), *words[1:])

    def send_all(self, commands: Sequence[Sequence[bytes]]) -> list[Any]:
        client: Any = self._open_client()  # redis-py leaves this untyped
        pipeline = client.pipeline()  # sends each server the commands for its own keys
        for words in commands:
            pipeline.execute_command(words[0].decode(), *words[1:])
        return list(pipeline.execute())

    def read_info(self) -> Mapping[str, str]:
        return {str(name): str(value) for name, value in self.send((b"INFO",)).items()}

    def find_keys(self, pattern: bytes) -> Iterator[bytes]:
        yield from self._open_client().scan_iter(match=pattern, count=1000)

    def drop_connections(self) -> None:
        # not closed: other threads may be using it; it goes with the last of them
        self._client = None

    def _open_client(self) -> RedisCluster:
        if os.getpid() != self._process:
            # the lock too may have been held in the parent
            self._lock = threading.Lock()
            self._client = None
            self._process = os.getpid()
        with self._lock:
            if self._client is None:
                self._client = RedisCluster(**self._options)
            return self._client


def _connection_options(address: RedisAddress, retries: int = 0) -> dict[str, Any]:
    options: dict[str, Any] = {
        "protocol": 2,
        "retry": Retry(NoBackoff(), retries),
        "socket_connect_timeout": 2.0,
        "socket_timeout": 5.0,
    }
    if address.kind != "unix":
        keepalive: dict[int, int] = {}
        for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 3)):
            if hasattr(socket, name):  # not every system has them all
                keepalive[getattr(socket, name)] = value
        options["socket_keepalive"] = True
        options["socket_keepalive_options"] = keepalive
    return options


def _encode_command(words: Sequence[bytes]) -> bytes:
    return b"".join(
        (b"*%d\r\n" % len(words), *(b"$%d\r\n%b\r\n" % (len(word), word) for word in words))
    )
