"""Servers under test as processes: started, killed, stopped and told apart by name."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import httpx
import orjson

from tests.machine import within
from tests.servers.programs import ProgramForker, command_of
from tests.stories.switch import Order

PATIENCE = within(60.0)
"""Seconds after which something that had to happen counts as forgotten. They are found before the
tests put their own load on the machine, so there are many of them.
"""
SECRET = "a-secret-of-the-webhook"
ROOT = Path(__file__).parents[2]
AWS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
}
"""Credentials that an emulator takes."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: `log` is the file of its log lines."""

    name: str
    pid: int
    port: int
    log: Path

    def post_update(self, update: dict[str, Any]) -> bool:
        """Deliver an update as the platform does; whether it was taken with a 200."""
        try:
            headers = {"x-telegram-bot-api-secret-token": SECRET}
            return httpx.post(
                f"http://127.0.0.1:{self.port}/webhook/telegram",
                json=update,
                headers=headers,
                timeout=PATIENCE,
            ).is_success
        except httpx.HTTPError:
            return False

    def signal(self, number: int) -> None:
        """Send the process a signal."""
        os.kill(self.pid, number)

    def describe(self) -> str:
        """Return the end of its log, and the stacks of its threads while it lives."""
        lines = [f"{self.name}:", *self.log.read_text().splitlines()[-15:]]
        with suppress(ProcessLookupError):
            self.signal(signal.SIGUSR1)
            # nothing tells that the stacks are written; only a test that has failed waits here
            time.sleep(0.5)
        stacks = self.log.with_suffix(".stacks")
        if stacks.exists():
            lines.append(stacks.read_text())
        return "\n".join(lines)

    def steps(self) -> list[dict[str, Any]]:
        """The lines of its log so far."""
        return [
            orjson.loads(line)
            for line in self.log.read_bytes().splitlines(keepends=True)
            if line.endswith(b"\n")
        ]


class ServerForker:
    """Starts servers and knows which of them live. A context manager.

    It is itself a program that `forker` forks: most of what it needs is imported there.
    """

    def __init__(self, forker: ProgramForker) -> None:
        self._changed = threading.Condition()
        self._told: list[dict[str, Any]] = []
        self._has_ended = False
        self._started = 0
        environment = {
            **AWS,
            **forker.environment,
            **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        }
        self._program = subprocess.Popen(
            command_of("tests.stories.server_forker"),
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self._reader = threading.Thread(target=self._listen, daemon=True)

    def start(self, settings: dict[str, Any], order: Order) -> Server:
        """A server that listens, or has ended before it did (its port is 0), under a name that is no
        other's.
        """
        with self._changed:
            self._started += 1
            name = f"server-{self._started}"
            addresses = {
                field: f"{settings[field]}/{name}" for field in ("llm_url", "telegram_api")
            }
            line = (
                orjson.dumps(
                    {"name": name, "settings": {**settings, **addresses}, "order": asdict(order)}
                )
                + b"\n"
            )
            assert len(line) < pipe_size()
            assert self._program.stdin is not None
            self._program.stdin.write(line)
        facts = self._wait(lambda: self._find_start(name), name)
        return Server(name, facts["pid"], facts.get("port", 0), Path(order.folder, f"{name}.log"))

    def ended(self, server: Server) -> None:
        """Wait until the server is gone."""
        self._wait(lambda: self._find_end(server.name), server.name)

    def lives(self, server: Server) -> bool:
        """Whether the server is still there."""
        with self._changed:
            return not self._find_end(server.name)

    def kill(self, *servers: Server) -> None:
        """End what still lives, at once."""
        for server in servers:
            if self.lives(server):
                with suppress(ProcessLookupError):
                    server.signal(signal.SIGKILL)
            self.ended(server)

    def _find_start(self, name: str) -> dict[str, Any] | None:
        """Return the facts of a server that listens or has ended, None while it does neither."""
        forked = None
        for facts in self._told:
            if facts["name"] == name and "pid" in facts:
                forked = facts
                if "port" in facts:
                    return facts
        return forked if forked and self._find_end(name) else None

    def _find_end(self, name: str) -> dict[str, Any] | None:
        return next(
            (facts for facts in self._told if facts["name"] == name and "ended" in facts), None
        )

    def _wait(self, find: Callable[[], dict[str, Any] | None], name: str) -> dict[str, Any]:
        with self._changed:
            self._changed.wait_for(lambda: self._has_ended or find() is not None, PATIENCE)
            found = find()
        assert found or not self._has_ended, "what starts the servers has ended: see its errors"
        assert found is not None, f"nothing is heard of {name}"
        return found

    def _listen(self) -> None:
        assert self._program.stdout is not None
        for line in self._program.stdout:
            with self._changed:
                self._told.append(orjson.loads(line))
                self._changed.notify_all()
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._program.stdin is not None
        self._program.stdin.close()
        self._program.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert self._program.stdout is not None
        self._program.stdout.close()


def pipe_size() -> int:
    """Bytes of a write that a pipe keeps whole."""
    return os.pathconf("/", "PC_PIPE_BUF")
