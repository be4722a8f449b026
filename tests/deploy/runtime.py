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
from tests.deploy.requests import BOT, SECRET, TOKEN
from tests.deploy.template import handler_of
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel
from tests.machine import within
from tests.servers.lambda_runtime import ROOT, LambdaFunction
from tests.servers.ministack import Ministack, unique


@dataclass(slots=True)
class Deployment:
    """The functions of one test, each started at its first use out of its package. `folder` is all
    that they may write.
    """

    folder: Path
    store: dict[str, str]
    stages: Path
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
        return LambdaFunction(
            handler_of(name),
            {**self.settings, "UNCAGED_DATA": f"{folder}/data", **settings},
            folder,
            timeout=timeout,
            sources=(self.stages / name,),
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

    def waiting(self, queue: str = "UNCAGED_QUEUE") -> list[Event]:
        """The events in a queue; they stay there."""
        answer = aws.client("sqs").receive_message(
            QueueUrl=self.store[queue].removeprefix("sqs://"),
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
