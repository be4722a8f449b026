"""A stand-in for the cloud that the containers talk to, at the bridge's gateway alone: an emulated
AWS with a table, a queue and a bucket, and a platform.
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

from scripts.docker.daemon import GATEWAY
from scripts.docker.shell import daemon, run, tool

PORT = 4566
TABLE, QUEUE, BUCKET = "uncaged", "uncaged.fifo", "uncaged-artifacts"
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
        """The addresses, in place of those that the template makes."""
        return {
            "UNCAGED_STORE": f"dynamodb://{TABLE}?endpoint={self.url}",
            "UNCAGED_QUEUE": f"sqs://{self.url}/{self.queue}",
            "UNCAGED_ARTIFACTS": f"s3://{BUCKET}/artifacts?endpoint={self.url}",
        }

    def waiting(self) -> int:
        """Return how many messages the queue holds."""
        asked = self.client("sqs").get_queue_attributes(
            QueueUrl=f"{self.url}/{self.queue}", AttributeNames=["ApproximateNumberOfMessages"]
        )
        return int(asked["Attributes"]["ApproximateNumberOfMessages"])

    def items(self) -> int:
        """Return how many items the table holds."""
        return int(self.client("dynamodb").scan(TableName=TABLE, Select="COUNT")["Count"])

    def client(self, service: str) -> Any:
        """AWS's own client for a service of it."""
        key = {name.lower(): value for name, value in KEY.items() if "KEY" in name}
        return botocore.session.Session().create_client(
            service, region_name=KEY["AWS_DEFAULT_REGION"], endpoint_url=self.url, **key
        )


@contextmanager
def cloud(folder: Path) -> Iterator[Cloud]:
    """An emulated AWS with what the template would make."""
    programs = tool("ministack")
    own = {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(folder),
        "BIND_HOST": GATEWAY,
        "GATEWAY_PORT": str(PORT),
    }
    own["STATE_DIR"] = str(folder / "state")
    off = {
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "DOCKER_HOST": "unix:///nowhere",
        "LOG_LEVEL": "WARNING",
    }
    with daemon([programs / "ministack"], {**own, **off, **KEY}, folder / "ministack.log"):
        made = Cloud(f"http://{GATEWAY}:{PORT}", f"000000000000/{QUEUE}")
        _await(folder / "ministack.log")
        run(
            sys.executable,
            "-m",
            "sigil.storage.kv.dynamodb_table",
            TABLE,
            made.url,
            environment=KEY,
        )
        made.client("sqs").create_queue(
            QueueName=QUEUE, Attributes={"FifoQueue": "true", "VisibilityTimeout": "180"}
        )
        made.client("s3").create_bucket(Bucket=BUCKET)
        yield made


def _await(log: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        connection = HTTPConnection(GATEWAY, PORT, timeout=2)
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
def platform() -> Iterator[Platform]:
    """A Bot API at the gateway."""
    made = Platform()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(
                self.rfile.read(int(self.headers.get("content-length") or 0)) or "{}"
            )
            if self.path.endswith("/sendMessage"):
                made.texts.append(asked["text"])
            answer = json.dumps(
                {"ok": True, "result": {"message_id": 1, "username": "sigil_bot"}}
            ).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer((GATEWAY, 0), Handler)
    made.url = f"http://{GATEWAY}:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
