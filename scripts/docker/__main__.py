"""Builds the product's image and runs it; then calls every function of the template in a container,
with the event files of the tests, and prints the answers.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from scripts.docker import image, product
from scripts.docker.cloud import Cloud, Platform, run_cloud, run_platform
from scripts.docker.daemon import Docker, run_docker, unpack_programs
from scripts.docker.shell import ROOT, find_tool, measure_folder, run
from scripts.staging.interpreter import NAME

EVENTS = ROOT / "tests" / "events" / "lambda"
CALLS: tuple[tuple[str, str, object], ...] = (
    ("Webhook", "webhook", 200),
    ("Webhook", "webhook_forged", 401),
    ("Webhook", "webhook_base64", 200),
    ("Worker", "worker", {"batchItemFailures": []}),
    ("Scheduler", "scheduler", {"swept": 0, "queued": 1}),
    ("Admin", "admin_status", 200),
    ("Admin", "admin_halt", 200),
    ("Admin", "admin_unlock", 200),
    ("Admin", "admin_unsigned", 401),
    ("Registry", "registry_health", 200),
    ("Registry", "registry_query", 200),
    ("Registry", "registry_run", 200),
    ("Registry", "registry_unsigned", 401),
)
"""The calls: a function, an event file, and the expected answer, as an HTTP status or as a whole."""
REPLY = "aGVsbG8gd29ybGQ="
"""The text that the worker's event asks for."""


@dataclass(frozen=True, slots=True)
class BuiltTemplate:
    """A built template and the services that its functions need."""

    docker: Docker
    folder: Path
    cloud: Cloud
    platform: Platform

    def invoke(self, function: str, event: str) -> tuple[Any, float]:
        """Run `sam local invoke`; return the function's answer, and the seconds that it took."""
        begun = time.monotonic()
        answer = run_sam(
            self.docker.environment,
            self.folder,
            "local",
            "invoke",
            function,
            f"--template={self.folder / 'build' / 'template.yaml'}",
            f"--event={EVENTS / f'{event}.json'}",
            f"--invoke-image={image.IMAGE}",
            "--skip-pull-image",
            f"--env-vars={self.folder / 'environment.json'}",
        )
        return json.loads(answer.splitlines()[-1]), time.monotonic() - begun


def run_sam(environment: dict[str, str], folder: Path, *arguments: str) -> str:
    """Run SAM and return its output. It gets no credentials: with some, it would ask AWS whose they
    are.
    """
    own = {
        "PATH": f"{find_tool('sam')}:{environment['PATH']}",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "SAM_CLI_TELEMETRY": "0",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    program = find_tool("sam") / "sam"
    return run(program, *arguments, environment={**environment, **own})


def main() -> None:
    """Check the functions in a new folder, which is removed at the end."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    folder = Path(tempfile.mkdtemp(prefix="lambda-check-"))
    try:
        with ExitStack() as stack:
            check_functions(stack, folder)
    except KeyboardInterrupt:
        sys.exit("interrupted: the daemon, its bridge and its folder are gone")
    finally:
        shutil.rmtree(folder)


def check_functions(stack: ExitStack, folder: Path) -> None:
    """Build everything in `folder`, make the calls, and exit with an error if one is not as expected."""
    begun = time.monotonic()

    def report(line: str) -> None:
        print(f"{time.monotonic() - begun:6.1f} s  {line}", flush=True)

    path = unpack_programs(folder)
    report(f"Docker and mmdebstrap are unpacked: {measure_folder(folder)}")
    base = image.make_root_filesystem(folder, path)
    report(f"Debian with {NAME}: {base.stat().st_size / 1e6:.0f} MB")
    docker = stack.enter_context(run_docker(folder, path))
    report(f"the image is built: {image.build_image(docker, folder, base)}")
    base.unlink()
    report(
        f"the product's image is built from the wheel: {product.build_product(docker, folder, path)}"
    )
    report(f"it is {product.check_product(docker)}")
    report(f"as a service of setup it is {product.check_setup(docker, folder)}")
    cloud = stack.enter_context(run_cloud(folder, docker.gateway))
    platform = stack.enter_context(run_platform(docker.gateway))
    template = BuiltTemplate(docker, folder, cloud, platform)
    run_sam(
        docker.environment,
        folder,
        "build",
        f"--build-dir={folder / 'build'}",
        f"--template={ROOT / 'template.yaml'}",
    )
    report(f"sam build: {measure_folder(folder / 'build')}")
    (folder / "environment.json").write_text(json.dumps({"Parameters": make_settings(template)}))
    cloud.add_reminder()
    wrong = []
    for function, event, expected in CALLS:
        answer, seconds = template.invoke(function, event)
        status = answer.get("statusCode")
        text = f"{status} {answer['body'][:150]}" if status else json.dumps(answer)[:300]
        report(f"{function} < {event}.json > {text}  ({seconds:.1f} s)")
        if (status or answer) != expected:
            wrong.append(event)
    report(
        f"waiting in the queue: {cloud.count_messages()}; items in the table: {cloud.count_items()}"
    )
    report(f"the platform got: {platform.texts}")
    if wrong or [text.split()[0] for text in platform.texts] != [REPLY]:
        sys.exit(f"error: not as expected: {', '.join(wrong) or 'the reply'}")


def make_settings(template: BuiltTemplate) -> dict[str, str]:
    """Return the functions' settings: those that the event files expect, and the addresses."""
    webhook = json.loads((EVENTS / "webhook.json").read_text())
    secret = webhook["headers"]["x-telegram-bot-api-secret-token"]
    query = json.loads((EVENTS / "registry_query.json").read_text())
    token = query["headers"]["authorization"].removeprefix("Bearer ")
    worker = json.loads((EVENTS / "worker.json").read_text())
    bot = json.loads(worker["Records"][0]["body"])["id"].split(":")[1]
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
        "TELEGRAM_API": template.platform.url,
    }
    return {**template.cloud.settings, **people, **telegram}


def _interrupt(*_: object) -> NoReturn:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # a second signal must not disturb the cleaning up
    raise KeyboardInterrupt


if __name__ == "__main__":
    os.umask(0o022)
    main()
