"""The whole stack: deployed by SAM, a capability deployed by the CLI, and a Telegram update that
uses it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from functions.cli.app import cli
from functions.events import CONSOLIDATION
from functions.queues.sqs import SqsQueue
from scripts.staging.interpreter import find_interpreter
from sigil.protocol import LIBRARY
from sigil.storage import aws
from sigil.storage.kv import keys
from sigil.storage.kv.dynamodb import DynamoKV
from tests.deploy.requests import BOT, SECRET, TOKEN, happened, update
from tests.deploy.stack import Stack, deploy
from tests.fakes import slack as fake
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, call, offered, say
from tests.fakes.slack import SlackWorkspace
from tests.functions.media.files import make_picture
from tests.machine import until, within
from tests.servers.lambda_runtime import ROOT, packages
from tests.servers.ministack import Ministack

pytestmark = pytest.mark.thorough
PATIENCE = within(30.0)
OWNER = "telegram:77001"
ALLOWED = (
    ("sqs:SendMessage", "Events"),
    ("sqs:ReceiveMessage", "Events"),
    ("sqs:SendMessage", "Work"),
    ("sqs:ReceiveMessage", "Work"),
    ("dynamodb:PutItem", "Store"),
    ("s3:PutObject", "Artifacts"),
    ("lambda:InvokeFunction", "Media"),
)
"""What not everybody may do, and to what."""
RIGHTS = {
    "Webhook": "y-y----",
    "Worker": "yyyyyyy",
    "Media": "-------",
    "Scheduler": "y-y-y--",
    "Admin": "y-y-yy-",
    "Registry": "----yy-",
}
"""Who may do which of these."""
PLACE = "/uncaged/channels-of-a-test"


@pytest.fixture
def platform() -> Iterator[BotApi]:
    with BotApi(f"{BOT}:a-token") as api:
        yield api


@pytest.fixture
def workspace() -> Iterator[SlackWorkspace]:
    with SlackWorkspace() as made:
        yield made


@pytest.fixture
def stack(
    platform: BotApi,
    workspace: SlackWorkspace,
    model: ScriptedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Stack]:
    """The template as it is, with a platform and a model on loopback; each function may do what its
    role allows.
    """
    # it runs functions with its own Python, which has to be theirs
    command = (*find_interpreter(), "-c", "from ministack.app import main; main()")
    packaged = {"PYTHONPATH": str(packages("ministack"))}
    with Ministack({"AUTH": "true", **packaged}, command) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        topic = aws.client("sns").create_topic(Name="alerts")["TopicArn"]
        given = {
            "TelegramApi": platform.url,
            "LlmUrl": model.url,
            "Owners": OWNER,
            "Alerts": f"sns:{topic}",
            "Channels": "slack",
            "ChannelSecrets": PLACE,
        }
        with monkeypatch.context() as owner:
            owner.setenv("SLACK_TOKEN", workspace.token)
            owner.setenv("SLACK_SECRET", fake.SECRET)
            owner.setenv("SLACK_API", workspace.api)
            done = CliRunner().invoke(cli, ["channel", "store", "slack", "--place", PLACE, "--aws"])
            assert done.exit_code == 0, done.output
        yield deploy(server, tmp_path, **given)


def test_a_capability_that_the_cli_deployed_answers_a_message_to_the_deployed_stack(
    stack: Stack, platform: BotApi, workspace: SlackWorkspace, model: ScriptedModel
) -> None:
    """Telegram → HTTP API → webhook → SQS FIFO → worker → DynamoDB and S3 → Telegram, the registry
    behind the same API.

    Every request of a function is checked against the policies of its role. What ministack does not
    do as AWS does: it reads no routes from an OpenAPI body (`stack._routed` makes them), runs
    functions as processes of its own Python, which is theirs here, without Lambda's file system,
    knows no TLS here and not every function of a condition (`stack._built`).
    """
    assert library(stack) > 50  # it stands before anybody asked for anything
    shout = (
        "--name",
        "shout",
        "--description",
        "Writes in capital letters.",
        "--execute",
        "return input.text.toUpperCase() + '!'",
    )
    schema = '{"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}'
    sigil(stack, "deploy", *shout, "--schema", schema)
    model.then(
        call(("sigil_query", {"query": "shout in capital letters"})),
        call(("cap_shout", {"text": "hello"})),
        say("Here it is: HELLO!"),
    )

    answers = [post_update(stack, update(1, "shout hello")) for _ in range(2)]
    with platform.changed:
        assert platform.changed.wait_for(lambda: platform.messages, PATIENCE)

    assert answers == [200, 200]
    assert post_update(stack, update(2, "forged"), secret="wrong") == 401
    assert "cap_shout" in offered(model.bodies[1])
    assert "HELLO!" in model.bodies[2]["messages"][-1]["content"]
    assert [message["text"] for message in platform.messages] == ["Here it is: HELLO!"]
    assert sigil(stack, "run", "shout", "-a", "text=hello") == "HELLO!\n"
    until(stack.idle, "the queue is empty")
    for function, rights in RIGHTS.items():
        may = "".join("y" if stack.may(function, *what) else "-" for what in ALLOWED)
        assert (function, may) == (function, rights)
    send_photo(stack, platform, model)
    write_in_slack(stack, workspace)
    do_background_work(stack)
    switch(stack)
    assert alert_of(stack, model) == ("EMERGENCY_HALT", OWNER, "cascade")


def send_photo(stack: Stack, platform: BotApi, model: ScriptedModel) -> None:
    """An owner sends a photo, which the worker lets the function `Media` open."""
    platform.sent_files["photo"] = make_picture("PNG")
    happened = update(8, "")
    photo = {"file_id": "photo", "file_unique_id": "photo", "width": 60, "height": 40}
    happened["message"] |= {"photo": [photo], "caption": "what is this?"}
    model.then(say("a red picture"))
    assert post_update(stack, happened) == 200
    until(stack.idle, "the queue is empty")
    assert platform.messages[-1]["text"] == "a red picture"
    (picture,) = [
        part for part in model.chats[-1]["messages"][-1]["content"] if "image_url" in part
    ]
    assert picture["image_url"]["url"].startswith("data:image/jpeg;base64,/9j/")


def write_in_slack(stack: Stack, workspace: SlackWorkspace) -> None:
    """A stranger writes on a platform whose settings are in the Parameter Store, and is answered."""
    headers, body = fake.json_request(fake.event_payload(fake.message("hi", "1780000000.000001")))
    url = f"{stack.url}/webhook/slack"
    forged = httpx.post(url, content=body + b" ", headers=headers, timeout=PATIENCE)
    taken = httpx.post(url, content=body, headers=headers, timeout=PATIENCE)
    with workspace.changed:
        assert workspace.changed.wait_for(lambda: workspace.messages, PATIENCE)
    assert (forged.status_code, taken.status_code) == (401, 200)
    assert f"slack:{fake.TEAM}.{fake.ADA}" in workspace.messages[0]["seen"]


def do_background_work(stack: Stack) -> None:
    """Enqueue background work, which the worker takes from the second queue."""
    url, work_url = (stack.outputs[name] for name in ("QueueUrl", "WorkQueueUrl"))
    hear = replace(happened(1, ""), kind="continue", id=f"{CONSOLIDATION}1")
    queue = SqsQueue(url, work_url=work_url)
    queue.put(hear)
    until(stack.idle, "the queues are empty")


def switch(stack: Stack) -> None:
    """Halt a chat, look at it and unlock it, over HTTP."""
    with httpx.Client(
        base_url=stack.url, headers={"authorization": f"Bearer {TOKEN}"}, timeout=PATIENCE
    ) as owner:
        chat = {"session": "telegram:5"}
        assert owner.post("/halt", json=chat).json() == {"halted": "telegram:5"}
        assert owner.get("/status", params=chat).json()["state"] == "SAFETY_LOCKOUT"
        assert owner.post("/unlock", json=chat).json() == {"unlocked": "telegram:5"}
        assert owner.get("/status", params=chat).json()["state"] == "WAITING_FOR_EVENT"
    assert httpx.post(f"{stack.url}/halt", json=chat, timeout=PATIENCE).status_code == 401


def alert_of(stack: Stack, model: ScriptedModel) -> tuple[str, str, str]:
    """What whoever subscribed to the topic of the alerts hears when eight calls failed."""
    topics = [each["TopicArn"] for each in aws.client("sns").list_topics()["Topics"]]
    (topic,) = (arn for arn in topics if arn.endswith(":alerts"))
    arn = topic.replace(":sns:", ":sqs:").replace(":alerts", ":heard")
    taken = {
        "Effect": "Allow",
        "Principal": {"Service": "sns.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": arn,
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [taken]})
    queue = aws.client("sqs").create_queue(QueueName="heard", Attributes={"Policy": policy})[
        "QueueUrl"
    ]
    aws.client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
    model.then(*[call(("no_such_tool", {"n": number})) for number in range(8)])
    for number in (3, 4):
        post_update(stack, update(number, "go on"))
        until(stack.idle, "the queue is empty")
    (heard,) = aws.client("sqs").receive_message(QueueUrl=queue, WaitTimeSeconds=5)["Messages"]
    alert = json.loads(json.loads(heard["Body"])["Message"])
    return alert["event"], alert["session"], alert["reason"]


def library(stack: Stack) -> int:
    """How many capabilities of the library stand in the table."""
    rows = DynamoKV(stack.outputs["TableName"]).scan(keys.capability(LIBRARY, "").partition)
    return len([sort for sort, _ in rows if "#" not in sort])


def post_update(stack: Stack, happened: dict[str, object], secret: str = SECRET) -> int:
    """Deliver an update as Telegram does."""
    headers = {"x-telegram-bot-api-secret-token": secret}
    return httpx.post(
        f"{stack.url}/webhook/telegram", json=happened, headers=headers, timeout=PATIENCE
    ).status_code


def sigil(stack: Stack, *arguments: str) -> str:
    """What `sigil --url …` prints."""
    command = [sys.executable, "-m", "sigil.cli", "--url", stack.url, *arguments]
    environment = {"PATH": os.defpath, "SIGIL_TOKEN": TOKEN}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
