"""AWS on this machine: DynamoDB, SQS, S3, SSM, Lambda and the rest, emulated by ministack on one
port of 127.0.0.1.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Self

import pytest

from sigil.storage import aws
from tests.machine import within
from tests.servers.process import free_port

ROOT = Path(__file__).parents[2]
REGION = "us-east-1"
START_SECONDS = 30.0
_WARDEN = Path(__file__).with_name("warden.py")


class Ministack:
    """A running emulator; `with Ministack() as aws: aws.url`. State is in memory: give tables and
    queues names of their own (`unique`).
    """

    def __init__(
        self, environment: Mapping[str, str] | None = None, command: Sequence[str] | None = None
    ) -> None:
        """`environment` is added to the server's own; the functions that it runs get it too.
        `command` starts it, and so decides on the Python of these functions.
        """
        self._command = command or (str(programs() / "ministack"),)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder = Path(tempfile.mkdtemp(prefix="ministack-"))
        own = {
            "PATH": f"{programs()}:/usr/bin:/bin",
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "STATE_DIR": str(self.folder / "state"),
            "S3_DATA_DIR": str(self.folder / "s3"),
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(self.port),
            "IOT_MTLS_ENABLED": "0",  # these two would listen on every interface
            "SFTP_ENABLED": "0",
            "DOCKER_HOST": "unix:///nowhere",
            "LOG_LEVEL": "WARNING",
        }
        self._start({**own, **self.environment, **(environment or {})})

    @property
    def environment(self) -> dict[str, str]:
        """What a client's environment needs: test credentials, a region, this endpoint."""
        return {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": self.url,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    @property
    def output(self) -> str:
        """What the server has logged."""
        return os.pread(self._output.fileno(), 1 << 20, 0).decode(errors="replace")

    @property
    def pid(self) -> int:
        """The server's own process, which a warden started."""
        return int(
            Path(f"/proc/{self._shell.pid}/task/{self._shell.pid}/children").read_text().split()[0]
        )

    def stop(self) -> None:
        """End the server and everything that it runs, at once."""
        if self._shell.stdin:
            self._shell.stdin.close()
        self._shell.wait(within(60.0))
        self._output.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self, environment: Mapping[str, str]) -> None:
        warden = [sys.executable, "-I", "-S", str(_WARDEN), *self._command]
        command = [
            "sh",
            "-c",
            'folder=$1; shift; "$@"; rm -rf -- "$folder"',
            "sh",
            str(self.folder),
            *warden,
        ]
        self._output = (self.folder / "output").open("w+b")
        self._shell = subprocess.Popen(
            command,
            env=environment,
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=self._output,
            start_new_session=True,  # Ctrl-C is for the test run, which then ends this
        )
        deadline = time.monotonic() + within(START_SECONDS)
        while not self._answers():
            if self._shell.poll() is not None or time.monotonic() > deadline:
                said = self.output
                self.stop()
                raise AssertionError(f"ministack did not start: {said[-4000:]}")
            time.sleep(0.02)

    def _answers(self) -> bool:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/_ministack/health")
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()


def unique(name: str) -> str:
    """`name` with an ending that no other test has."""
    return f"{name}-{uuid.uuid4().hex[:12]}"


@cache
def programs() -> Path:
    """The folder of ministack's programs; the first use makes its environment."""
    done = subprocess.run(
        ["scripts/tool", "ministack"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return Path(done.stdout.splitlines()[-1])


@pytest.fixture(scope="session")
def ministack() -> Iterator[Ministack]:
    """One server a test process, started when the first test asks for it."""
    with Ministack() as server:
        yield server


@contextmanager
def pointed_at(server: Ministack) -> Iterator[Ministack]:
    """The server, with this process's environment pointing at it."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        aws._make_client.cache_clear()  # made in another environment
        yield server
        aws._make_client.cache_clear()


@pytest.fixture
def aws_here(ministack: Ministack) -> Iterator[Ministack]:
    """The server, with this process's environment pointing at it for the test."""
    with pointed_at(ministack):
        yield ministack
