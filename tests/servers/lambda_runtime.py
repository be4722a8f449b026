"""Functions under the Lambda runtime interface: the runtime API and AWS's Python client of it,
without a container.

`with LambdaFunction("functions.worker.handler", environment, folder) as worker:
worker.invoke(event).payload`. A function is called one call at a time, as an instance on Lambda is.
The API is our own (tests/servers/runtime_api.py); where everything runs, it is AWS's emulator, which
comes along with SAM: 200 MB that nobody else needs.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from scripts.staging.interpreter import NAME, find_interpreter
from scripts.staging.packages import install_tool
from tests.machine import within
from tests.selection import in_full
from tests.servers.runtime_api import RuntimeApi, children

ROOT = Path(__file__).parents[2]
NOWHERE = "/dev/null"
"""A home that nobody can make, whoever runs the tests."""
_PATIENCE = within(20.0)
_STARTS = 3
_PATH = "/2015-03-31/functions/function/invocations"
_WARDEN = Path(__file__).with_name("warden.py")


@dataclass(frozen=True, slots=True)
class Invoked:
    """How a call ended: `payload` is what the handler returned or the report of its failure,
    `failed` is that failure's type.
    """

    payload: Any
    failed: str
    seconds: float

    @property
    def status(self) -> int:
        """The HTTP status in the answer to an API Gateway event."""
        return int(self.payload["statusCode"])

    @property
    def body(self) -> Any:
        """The JSON body in the answer to an API Gateway event."""
        return json.loads(self.payload["body"])


@cache
def tool(name: str) -> Path:
    """The folder of a tool's programs; the first use makes its environment."""
    made = subprocess.run(
        [ROOT / "scripts" / "tool", name], capture_output=True, text=True, check=True
    )
    return Path(made.stdout.strip())


@cache
def emulator() -> Path:
    """AWS's runtime interface emulator, which SAM brings along for its containers."""
    return next(
        tool("sam").parent.glob(
            "lib/python3*/site-packages/samcli/local/rapid/aws-lambda-rie-x86_64"
        )
    )


@cache
def packages(name: str) -> Path:
    """The folder of a tool's packages for the functions' version of Python: of `ric`, AWS's client of
    the runtime API.
    """
    pins = (ROOT / "scripts" / "tools" / f"{name}.txt").read_bytes()
    folder = ROOT / "build" / f"{name}-{sha256(NAME.encode() + pins).hexdigest()[:12]}"
    if not folder.is_dir():
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{name}-") as temporary:
            install_tool(ROOT, name, Path(temporary) / name)
            with suppress(OSError):  # another process was faster
                (Path(temporary) / name).rename(folder)
    return folder


class LambdaFunction:
    """One function. `sources`: the folders of its code, the first of them is its task root;
    `folder`: the only one that it may write.
    """

    def __init__(
        self,
        handler: str,
        environment: Mapping[str, str],
        folder: Path,
        *,
        timeout: int = 30,
        memory: int = 512,
        sources: tuple[Path, ...],
    ) -> None:
        self.log = folder / f"{handler}.log"
        self._lock = threading.Lock()
        all_of_it = given(handler, timeout, memory, sources, folder)
        if in_full():  # as Lambda does it: AWS's emulator, and the functions' own version of Python
            api: type[AwsEmulator | RuntimeApi] = AwsEmulator
            python = find_interpreter()
            all_of_it["PYTHONPATH"] = os.pathsep.join(
                [all_of_it["PYTHONPATH"], str(packages("ric"))]
            )
        else:
            api = RuntimeApi
            python = (str(tool("ric") / "python"),)
        command = [*python, "-m", "awslambdaric", handler]
        self._api = api(command, {**all_of_it, **environment}, sources[0], self.log, timeout)

    def invoke(self, event: object) -> Invoked:
        """Call the function, after those calls that are on their way."""
        with self._lock:
            begun = time.monotonic()
            status, answer = self._api.post(json.dumps(event).encode())
            seconds = time.monotonic() - begun
        if answer.startswith(b"Task timed out"):
            return Invoked(answer.decode(), "Timeout", seconds)
        payload = json.loads(answer)
        failure = payload.get("errorType", "") if isinstance(payload, dict) else ""
        return Invoked(payload, failure or ("" if status == 200 else f"HTTP {status}"), seconds)

    def process(self) -> int:
        """The process id of the runtime; 0 before the first call and after a kill."""
        return self._api.process()

    def expire(self) -> None:
        """Let the time of the call that is under way be over; AWS's emulator waits for its end."""
        if isinstance(self._api, RuntimeApi):
            self._api.expire()

    def said(self) -> str:
        """What the function and the emulator have written so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def __enter__(self) -> Self:
        self._api.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the function with everything that it started."""
        self._api.stop()


class AwsEmulator:
    """AWS's own emulator of the runtime API, which starts `command` at the first call."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        log: Path,
        timeout: float,
    ) -> None:
        self._command, self._environment = list(command), dict(environment)
        self._folder, self._log, self._timeout = folder, log, timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    def start(self) -> None:
        for _ in range(_STARTS):
            self._start()
            if self._listens():
                return
            self.stop()
        raise AssertionError(f"the emulator does not listen: {self._log.read_text()}")

    def post(self, body: bytes) -> tuple[int, bytes]:
        """Return the status and the body of the answer to an event."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self._port, timeout=self._timeout + _PATIENCE
        )
        try:
            connection.request("POST", _PATH, body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def process(self) -> int:
        assert self._process is not None
        emulators = children(self._process.pid)
        return next(iter(children(emulators[0])), 0) if emulators else 0

    def stop(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(_PATIENCE)

    def _start(self) -> None:
        self._port, runtime = free_ports(2)
        addresses = (
            f"--runtime-interface-emulator-address=127.0.0.1:{self._port}",
            f"--runtime-api-address=127.0.0.1:{runtime}",
        )
        warden = [sys.executable, "-I", "-S", str(_WARDEN)]
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(
                [*warden, str(emulator()), *addresses, "--log-level=INFO", *self._command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=self._environment,
                cwd=self._folder,
            )

    def _listens(self) -> bool:
        """Whether the emulator got its port: somebody else may have been faster."""
        assert self._process is not None
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self._port), 1).close()
            except OSError:
                time.sleep(0.01)
            else:
                return True
        return False


def given(
    handler: str, timeout: int, memory: int, sources: tuple[Path, ...], folder: Path
) -> dict[str, str]:
    """The environment that Lambda itself gives a function: nothing of this process's is in it."""
    name = handler.split(".")[-2]
    return {
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{NAME}",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(memory),
        "AWS_LAMBDA_FUNCTION_NAME": name,
        "AWS_LAMBDA_FUNCTION_TIMEOUT": str(timeout),
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "HOME": NOWHERE,
        "LAMBDA_RUNTIME_DIR": "/var/runtime",
        "LAMBDA_TASK_ROOT": str(sources[0]),
        "LANG": "en_US.UTF-8",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",  # the task root cannot be written there
        "PYTHONPATH": os.pathsep.join(map(str, sources[1:])),
        "TMPDIR": str(folder),
        "TZ": ":UTC",
    }


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [opened.getsockname()[1] for opened in sockets]
    for opened in sockets:
        opened.close()
    return ports
