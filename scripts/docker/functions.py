"""Calls every function of the template in a container, with the event files of the tests."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.docker import lambda_image
from scripts.docker.cloud import Cloud, Platform, run_cloud, run_platform
from scripts.docker.daemon import Docker
from scripts.docker.shell import ROOT, Progress, find_tool, measure_folder, run
from scripts.invocation.calls import CALLS, EVENTS, Call, find_faults
from scripts.staging.interpreter import NAME


@dataclass(frozen=True, slots=True)
class BuiltTemplate:
    """A built template and the services that its functions need."""

    docker: Docker
    folder: Path
    cloud: Cloud
    platform: Platform

    def invoke(self, call: Call) -> tuple[Any, float]:
        """Run `sam local invoke`; return the function's answer, and the seconds that it took."""
        begun = time.monotonic()
        answer = run_sam(
            self.docker.environment,
            self.folder,
            "local",
            "invoke",
            call.function,
            f"--template={self.folder / 'build' / 'template.yaml'}",
            f"--event={call.path}",
            f"--invoke-image={lambda_image.IMAGE}",
            "--skip-pull-image",
            f"--env-vars={self.folder / 'environment.json'}",
        )
        return json.loads(answer.splitlines()[-1]), time.monotonic() - begun


def check_functions(docker: Docker, folder: Path, progress: Progress) -> str:
    """Build the template and make all calls; return what was not as expected, empty when all was."""
    with progress.step(f"making Debian's image with {NAME}"):
        size = lambda_image.build_image(docker, folder)
    progress.report(f"Lambda's image is {size}")
    with progress.step("packaging the functions: sam build"):
        run_sam(
            docker.environment,
            folder,
            "build",
            f"--build-dir={folder / 'build'}",
            f"--template={ROOT / 'template.yaml'}",
        )
    progress.report(f"sam build: {measure_folder(folder / 'build')}")
    with ExitStack() as stack:
        with progress.step("starting an emulated AWS"):
            cloud = stack.enter_context(run_cloud(folder, docker.gateway))
            platform = stack.enter_context(run_platform(docker.gateway))
            template = BuiltTemplate(docker, folder, cloud, platform)
            settings = json.dumps({"Parameters": make_settings(template)})
            (folder / "environment.json").write_text(settings)
            cloud.add_reminder()
        wrong = []
        for call in CALLS:
            answer, seconds = template.invoke(call)
            progress.report(call.describe(answer, seconds))
            if not call.accepts(answer):
                wrong.append(call.event)
        counts = f"{cloud.count_messages()}; items in the table: {cloud.count_items()}"
        progress.report(f"waiting in the queue: {counts}")
        progress.report(f"the platform got: {platform.texts}")
        return find_faults(wrong, platform.texts)


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
