"""Calls every function of the template in a container, with the event files of the tests, and
prints what each answered.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from scripts.docker import image
from scripts.docker.cloud import Cloud, Platform, cloud, platform
from scripts.docker.daemon import Docker, programs, started
from scripts.docker.shell import ROOT, run, size, tool

EVENTS = ROOT / "tests" / "events" / "lambda"
CALLS: tuple[tuple[str, str, object], ...] = (
    ("Webhook", "webhook", 200),
    ("Webhook", "webhook_forged", 401),
    ("Webhook", "webhook_base64", 200),
    ("Worker", "worker", {"batchItemFailures": []}),
    ("Scheduler", "scheduler", {"swept": 0}),
    ("Registry", "registry_health", 200),
    ("Registry", "registry_query", 200),
    ("Registry", "registry_run", 200),
    ("Registry", "registry_unsigned", 401),
)
"""Which function gets which event file, and what it answers: an HTTP status, or the whole."""
REPLY = "aGVsbG8gd29ybGQ="
"""What the worker's event asks for."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A built template and everything that its functions need."""

    docker: Docker
    folder: Path
    cloud: Cloud
    platform: Platform

    def invoke(self, function: str, event: str) -> tuple[Any, float]:
        """`sam local invoke`: what the function returned, and after how many seconds."""
        begun = time.monotonic()
        command = (
            "local",
            "invoke",
            function,
            "--template",
            self.folder / "build" / "template.yaml",
            "--event",
            EVENTS / f"{event}.json",
        )
        how = (
            "--invoke-image",
            image.IMAGE,
            "--skip-pull-image",
            "--env-vars",
            self.folder / "environment.json",
        )
        answer = sam(self.docker.environment, self.folder, *command, *how)
        return json.loads(answer.splitlines()[-1]), time.monotonic() - begun


def sam(environment: dict[str, str], folder: Path, *arguments: str | Path) -> str:
    """Run SAM and return what it prints. It gets no credentials: with some it asks AWS whose they
    are.
    """
    own = {
        "PATH": f"{tool('sam')}:{environment['PATH']}",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "SAM_CLI_TELEMETRY": "0",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    return run(tool("sam") / "sam", *arguments, environment={**environment, **own})


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupted)
    folder = Path(tempfile.mkdtemp(prefix="lambda-check-"))
    try:
        with ExitStack() as stack:
            check(stack, folder)
    except KeyboardInterrupt:
        sys.exit("interrupted: the daemon, its bridge and its folder are gone")
    finally:
        shutil.rmtree(folder)


def check(stack: ExitStack, folder: Path) -> None:
    begun = time.monotonic()

    def tell(what: str) -> None:
        print(f"{time.monotonic() - begun:6.1f} s  {what}", flush=True)

    path = programs(folder)
    tell(f"Docker and mmdebstrap are unpacked: {size(folder)}")
    base = image.rootfs(folder, path)
    tell(f"Debian with Python 3.11: {base.stat().st_size / 1e6:.0f} MB")
    docker = stack.enter_context(started(folder, path))
    tell(f"the image is built: {image.build(docker, folder, base)}")
    base.unlink()
    stage = Stage(
        docker, folder, stack.enter_context(cloud(folder)), stack.enter_context(platform())
    )
    sam(
        docker.environment,
        folder,
        "build",
        "--build-dir",
        folder / "build",
        "--template",
        ROOT / "template.yaml",
    )
    tell(f"sam build: {size(folder / 'build')}")
    (folder / "environment.json").write_text(json.dumps({"Parameters": settings(stage)}))
    wrong = [
        event
        for function, event, expected in CALLS
        if not _met(stage, (function, event), expected, tell)
    ]
    tell(
        f"waiting in the queue: {stage.cloud.waiting()}; items in the table: {stage.cloud.items()}"
    )
    tell(f"the platform got: {stage.platform.texts}")
    if wrong or [text.split()[0] for text in stage.platform.texts] != [REPLY]:
        sys.exit(f"error: not as expected: {', '.join(wrong) or 'the reply'}")


def _met(
    stage: Stage, call: tuple[str, str], expected: object, tell: Callable[[str], None]
) -> bool:
    """Call a function, tell what it answered, and say whether that was expected."""
    answer, seconds = stage.invoke(*call)
    status = answer.get("statusCode")
    shown = f"{status} {answer['body'][:150]}" if status else json.dumps(answer)[:300]
    tell(f"{call[0]} < {call[1]}.json > {shown}  ({seconds:.1f} s)")
    return bool((status or answer) == expected)


def settings(stage: Stage) -> dict[str, str]:
    """The functions' settings: those of the event files, and where everything is."""
    secret = json.loads((EVENTS / "webhook.json").read_text())["headers"][
        "x-telegram-bot-api-secret-token"
    ]
    token = json.loads((EVENTS / "registry_query.json").read_text())["headers"][
        "authorization"
    ].removeprefix("Bearer ")
    bot = json.loads(json.loads((EVENTS / "worker.json").read_text())["Records"][0]["body"])[
        "id"
    ].split(":")[1]
    people = {
        "UNCAGED_ACCESS": "open",
        "UNCAGED_TOKEN": token,
        "UNCAGED_LLM_KEY": "",
        "UNCAGED_LLM_URL": "",
    }
    telegram = {
        "TELEGRAM_TOKEN": f"{bot}:token",
        "TELEGRAM_BOT": bot,
        "TELEGRAM_SECRET": secret,
        "TELEGRAM_API": stage.platform.url,
    }
    return {**stage.cloud.settings, **people, **telegram}


def _interrupted(*_: object) -> NoReturn:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # nothing hinders the cleaning up
    raise KeyboardInterrupt


if __name__ == "__main__":
    os.umask(0o022)
    main()
