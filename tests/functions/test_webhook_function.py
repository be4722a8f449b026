"""The webhook as a function: everything is loaded while it starts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import orjson

from tests.functions.people import update
from tests.functions.queues.invoked import Source, make_queue
from tests.servers.ministack import Ministack

REQUEST = Path(__file__).parents[1] / "events" / "lambda" / "webhook.json"
_PROGRAM = """
import json, sys
from functions.webhook_function import handler
class Context:
    def get_remaining_time_in_millis(self): return 9000
before = set(sys.modules)
status = handler(json.loads(sys.argv[1]), Context())["statusCode"]
ours = {"functions", "sigil", "boto3", "botocore", "urllib3", "msgspec", "orjson", "ssl"}
late = {name for name in set(sys.modules) - before if name.partition(".")[0] in ours}
print(status, *sorted(late))
"""


def test_nothing_heavy_is_loaded_while_a_platform_waits(aws_here: Ministack) -> None:
    source = Source(make_queue(aws_here), aws_here.url)
    body = json.dumps(update(1, "hello"))
    event = orjson.loads(REQUEST.read_bytes())
    event["body"] = body
    event["rawPath"] = event["requestContext"]["http"]["path"] = "/prod/webhook/telegram"
    event["headers"] |= {
        "x-telegram-bot-api-secret-token": "s",
        "content-length": str(len(body.encode())),
    }
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, json.dumps(event)],
        env={
            "PATH": "/usr/bin:/bin",
            "UNCAGED_DATA": "/nonexistent",
            "UNCAGED_QUEUE": f"sqs://{source.url}",
            "TELEGRAM_BOT": "123456",
            "TELEGRAM_SECRET": "s",
            # another bot that is badly set stops no other
            "DISCORD_PUBLIC_KEY": "zz",
            "AWS_ACCESS_KEY_ID": "a",
            "AWS_SECRET_ACCESS_KEY": "b",
            "AWS_DEFAULT_REGION": "us-east-1",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["200"]
    assert len(source.receive()["Records"]) == 1
