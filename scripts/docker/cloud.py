"""Runs the services that the containers talk to, at the bridge's gateway alone: an emulated AWS with a
table, a queue and a bucket, and an emulated chat platform.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import botocore.session  # type: ignore[import-untyped]

from scripts.docker.shell import find_tool, run, run_daemon

PORT = 4566
TABLE, QUEUE, BUCKET = "uncaged", "uncaged.fifo", "uncaged-artifacts"
WORK_QUEUE = "uncaged-work.fifo"
_PATIENCE = 30.0
KEY = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@dataclass(frozen=True, slots=True)
class Cloud:
    """The address of the emulated cloud, and the settings of a function that uses it."""

    url: str
    queue: str

    @property
    def settings(self) -> dict[str, str]:
        """Return the addresses, in place of those that the template makes."""
        return {
            "UNCAGED_STORE": f"dynamodb://{TABLE}?endpoint={self.url}",
            "UNCAGED_QUEUE": f"sqs://{self.url}/{self.queue}",
            "UNCAGED_WORK_QUEUE": f"sqs://{self.url}/000000000000/{WORK_QUEUE}",
            "UNCAGED_ARTIFACTS": f"s3://{BUCKET}/artifacts?endpoint={self.url}",
        }

    def count_messages(self) -> int:
        """Return the number of messages in the queue."""
        answer = self.open_client("sqs").get_queue_attributes(
            QueueUrl=f"{self.url}/{self.queue}", AttributeNames=["ApproximateNumberOfMessages"]
        )
        return int(answer["Attributes"]["ApproximateNumberOfMessages"])

    def count_items(self) -> int:
        """Return the number of items in the table."""
        return int(self.open_client("dynamodb").scan(TableName=TABLE, Select="COUNT")["Count"])

    def add_reminder(self) -> None:
        """Store a reminder that is due."""
        run(sys.executable, "-m", "scripts.invocation.reminder", TABLE, self.url, environment=KEY)

    def open_client(self, service: str) -> Any:
        """Return AWS's own client for one of its services."""
        key = {name.lower(): value for name, value in KEY.items() if "KEY" in name}
        return botocore.session.Session().create_client(
            service, region_name=KEY["AWS_DEFAULT_REGION"], endpoint_url=self.url, **key
        )


@contextmanager
def run_cloud(folder: Path, gateway: str) -> Iterator[Cloud]:
    """Run an emulated AWS at the gateway, with the table, the queue and the bucket of the template."""
    programs = find_tool("ministack")
    environment = {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(folder),
        "BIND_HOST": gateway,
        "GATEWAY_PORT": str(PORT),
        "STATE_DIR": str(folder / "state"),
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "DOCKER_HOST": "unix:///nowhere",
        "LOG_LEVEL": "WARNING",
    }
    log = folder / "ministack.log"
    with run_daemon([programs / "ministack"], {**environment, **KEY}, log):
        cloud = Cloud(f"http://{gateway}:{PORT}", f"000000000000/{QUEUE}")
        _wait_until_healthy(gateway, log)
        create_table = (sys.executable, "-m", "sigil.storage.kv.dynamodb_table")
        run(*create_table, TABLE, cloud.url, environment=KEY)
        for name in (QUEUE, WORK_QUEUE):
            cloud.open_client("sqs").create_queue(
                QueueName=name, Attributes={"FifoQueue": "true", "VisibilityTimeout": "180"}
            )
        cloud.open_client("s3").create_bucket(Bucket=BUCKET)
        yield cloud


def _wait_until_healthy(gateway: str, log: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        connection = HTTPConnection(gateway, PORT, timeout=2)
        try:
            connection.request("GET", "/_ministack/health")
            if connection.getresponse().status == 200:
                return
        except (OSError, HTTPException):
            time.sleep(0.2)
        finally:
            connection.close()
    sys.exit(f"error: ministack does not answer\n{log.read_text(errors='replace')[-4000:]}")


@dataclass(slots=True)
class Platform:
    """A Bot API that takes every message."""

    url: str = ""
    texts: list[str] = field(default_factory=list)


@contextmanager
def run_platform(gateway: str) -> Iterator[Platform]:
    """Run a Bot API at the gateway."""
    platform = Platform()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            request = json.loads(self.rfile.read(length) or "{}")
            if self.path.endswith("/sendMessage"):
                platform.texts.append(request["text"])
            result = {"message_id": 1, "username": "sigil_bot"}
            answer = json.dumps({"ok": True, "result": result}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer((gateway, 0), Handler)
    platform.url = f"http://{gateway}:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield platform
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
