"""Lambda's side of a queue of SQS: what its poller receives, in the form in which a function gets
it.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sigil.storage import aws
from tests.servers.ministack import Ministack, unique


def make_queue(server: Ministack, visibility: int = 30) -> str:
    """The address of a new FIFO queue."""
    attributes = {"FifoQueue": "true", "VisibilityTimeout": str(visibility)}
    made = aws.client("sqs", endpoint=server.url).create_queue(
        QueueName=f"{unique('events')}.fifo", Attributes=attributes
    )
    return str(made["QueueUrl"])


@dataclass(frozen=True, slots=True)
class Source:
    """An event source mapping, one step at a time."""

    url: str
    endpoint: str

    def receive(self, visibility: int = 30) -> dict[str, Any]:
        """The event of one invocation, with what can be had at once."""
        answer = self._client.receive_message(
            QueueUrl=self.url,
            MaxNumberOfMessages=10,
            VisibilityTimeout=visibility,
            MessageSystemAttributeNames=["All"],
        )
        name = self.url.rpartition("/")[2]
        return {"Records": [record(message, name) for message in answer.get("Messages", [])]}

    def delete(self, event: dict[str, Any], keep: Collection[str] = ()) -> None:
        """Delete messages as the mapping does after the function has answered: all but those that were
        reported.
        """
        for each in event["Records"]:
            if each["messageId"] not in keep:
                self._client.delete_message(QueueUrl=self.url, ReceiptHandle=each["receiptHandle"])

    def put_raw(self, body: str, group: str) -> None:
        """A message that the product did not write."""
        self._client.send_message(
            QueueUrl=self.url,
            MessageBody=body,
            MessageGroupId=group,
            MessageDeduplicationId=uuid.uuid4().hex,
        )

    @property
    def _client(self) -> Any:
        return aws.client("sqs", endpoint=self.endpoint)


def record(message: dict[str, Any], queue: str) -> dict[str, Any]:
    """A received message of a queue as https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html shows it."""
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
        "messageAttributes": {},
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:us-east-1:000000000000:{queue}",
        "awsRegion": "us-east-1",
    }
