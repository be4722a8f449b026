"""Deployed functions as a test needs them: under the real runtime interface, with a platform and a
model on loopback.
"""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from functions.events import Event, decode
from functions.settings import Settings
from functions.wiring import AgentRuntime, open_runtime
from sigil.storage import aws
from sigil.storage.kv.dynamodb_table import create_table
from tests.deploy.linked import link_package
from tests.deploy.requests import BOT, SECRET, TOKEN
from tests.deploy.template import handler_of
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel
from tests.machine import within
from tests.selection import in_full
from tests.servers.lambda_runtime import ROOT, LambdaFunction
from tests.servers.ministack import Ministack, unique


@dataclass(frozen=True, slots=True)
class Packages:
    """The packages of the functions: where everything runs, as they are deployed, else made of links
    in `folder`. Linked ones bring no native code: what they compile is kept in `compiled`.
    """

    folder: Path
    compiled: Path

    def find(self, name: str) -> Path:
        """Return the folder of a function's package."""
        if in_full():
            return stages() / name
        if not (self.folder / name).exists():
            link_package(name, self.folder / name)
        return self.folder / name

    def lend_compiled(self, data: Path) -> None:
        """Let a function with this data folder find what was compiled before."""
        if not in_full() and not (data / "compiled").exists():
            self.compiled.mkdir(exist_ok=True)
            data.mkdir(exist_ok=True)
            (data / "compiled").symlink_to(self.compiled, target_is_directory=True)


@dataclass(slots=True)
class Deployment:
    """The functions of one test, each started at its first use out of its package. `folder` is all
    that they may write.
    """

    folder: Path
    store: dict[str, str]
    packages: Packages
    stack: ExitStack
    platform: BotApi = field(default_factory=lambda: BotApi(f"{BOT}:a-token"))
    model: ScriptedModel = field(default_factory=ScriptedModel)
    started: dict[str, LambdaFunction] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, str]:
        """What the template sets."""
        people = {
            "UNCAGED_ACCESS": "open",
            "UNCAGED_TOKEN": TOKEN,
            "UNCAGED_DATA": f"{self.folder}/data",
        }
        telegram = {
            "TELEGRAM_TOKEN": self.platform.token,
            "TELEGRAM_SECRET": SECRET,
            "TELEGRAM_API": self.platform.url,
        }
        return {**people, **telegram, "SIGIL_RUNNERS": "1", **self.store}

    def function(self, name: str, timeout: int | None = None, **settings: str) -> LambdaFunction:
        """The function of this name in the template, in lower case; `timeout` in seconds."""
        if name not in self.started:
            made = self.another_function(
                name, self.folder, timeout or round(within(30)), **settings
            )
            self.started[name] = self.stack.enter_context(made)
        return self.started[name]

    def another_function(
        self, name: str, folder: Path, timeout: int, **settings: str
    ) -> LambdaFunction:
        """One more instance of a function, not yet started, that may write `folder` alone."""
        self.packages.lend_compiled(folder / "data")
        return LambdaFunction(
            handler_of(name),
            {**self.settings, "UNCAGED_DATA": f"{folder}/data", **settings},
            folder,
            timeout=timeout,
            sources=(self.packages.find(name),),
        )

    def with_model(self) -> dict[str, str]:
        """The settings of a function that asks the scripted model."""
        return {"UNCAGED_LLM_URL": self.model.url, "UNCAGED_LIBRARY": "none"}

    def runtime(self) -> AgentRuntime:
        """What the functions stored, seen from here."""
        runtime = open_runtime(
            Settings.read({**self.settings, "UNCAGED_LIBRARY": "none"}, self.folder)
        )
        self.stack.callback(runtime.close)
        return runtime

    def queue(self, name: str = "UNCAGED_QUEUE") -> str:
        """The address of a queue."""
        return self.store[name].removeprefix("sqs://")

    def waiting(self, queue: str = "UNCAGED_QUEUE") -> list[Event]:
        """The events in a queue; they stay there."""
        answer = aws.client("sqs").receive_message(
            QueueUrl=self.queue(queue),
            VisibilityTimeout=0,
            MaxNumberOfMessages=10,
        )
        return [decode(message["Body"].encode()) for message in answer.get("Messages", [])]

    def texts(self, *chats: int) -> list[str]:
        """What the platform got for these chats, or for all, without the offline model's signature."""
        return [
            message["text"].partition("\n\n—")[0]
            for message in self.platform.messages
            if not chats or message["chat_id"] in chats
        ]


@cache
def stages() -> Path:
    """The folder of the functions' packages, as they are deployed; made again when something in
    them has changed.
    """
    made = ROOT / "build" / "lambda"
    subprocess.run(
        [ROOT / "scripts" / "package", "--lambda", made], check=True, capture_output=True
    )
    return made


def cloud(server: Ministack) -> dict[str, str]:
    """The settings of a new table, queue and bucket; this process's environment points at the
    server.
    """
    table, queue, bucket = unique("table"), unique("queue"), unique("bucket")
    create_table(table)
    chats, work = (
        aws.client("sqs").create_queue(
            QueueName=f"{queue}{lane}.fifo",
            Attributes={"FifoQueue": "true", "VisibilityTimeout": "60"},
        )
        for lane in ("", "-work")
    )
    aws.client("s3").create_bucket(Bucket=bucket)
    places = {
        "UNCAGED_STORE": f"dynamodb://{table}",
        "UNCAGED_QUEUE": f"sqs://{chats['QueueUrl']}",
        "UNCAGED_WORK_QUEUE": f"sqs://{work['QueueUrl']}",
        "UNCAGED_ARTIFACTS": f"s3://{bucket}/artifacts",
    }
    return {**server.environment, **places}
