"""The requests to SQS, and the meaning of its refusals."""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from functions.events import Event
from functions.queues.sqs_message import (
    SqsMessage,
    deduplication_id,
    group_id,
    pack,
    parse_received,
)
from sigil.errors import BackendError, one_line
from sigil.storage import aws

POLL_SECONDS = 20.0
"""SQS lets no request wait longer, and long requests cost least."""
BATCH_MOST = 10
"""Entries of a batch request, by SQS's rules."""
BATCH_BYTES = 1 << 20
"""Bytes that the messages of a batch request may have together."""
ATTRIBUTES_MOST = 1024
"""Bytes that the attributes of a message have at most, which count as well."""
_STALE = {"ReceiptHandleIsInvalid", "MessageNotInflight", "InvalidParameterValue"}
"""SQS answers so for a message that is not ours any more: FIFO queues refuse the handle once its
visibility has ended.
"""


class SqsClient:
    """One queue's requests; `BackendError` in plain words when SQS cannot be used."""

    def __init__(self, url: str, endpoint: str = "") -> None:
        """`endpoint`: where SQS is; by default where `url` says, and for AWS's own addresses what
        the environment says.
        """
        address = urlsplit(url)
        ours = (address.hostname or "").endswith((".amazonaws.com", ".amazonaws.com.cn"))
        self._url = url
        self._endpoint = endpoint or ("" if ours else f"{address.scheme}://{address.netloc}")
        self.name = address.path.rpartition("/")[2]
        self._what = f"queue {self.name}"

    def connect(self) -> None:
        """Load botocore and its description of SQS; nothing is requested."""
        self._client()

    def send(self, event: Event) -> None:
        """Store the event; the same one again within 5 minutes changes nothing, so the client may
        repeat itself.
        """
        with aws.explain_errors(self._what):
            self._client().send_message(QueueUrl=self._url, **_make_message(event))

    def send_all(self, events: Sequence[Event]) -> None:
        """Store the events in their order, in as few requests as SQS allows; as `send`."""
        batch: list[dict[str, Any]] = []
        size = 0
        for event in events:
            message = _make_message(event)
            length = len(message["MessageBody"].encode()) + ATTRIBUTES_MOST
            if batch and (len(batch) == BATCH_MOST or size + length > BATCH_BYTES):
                self._send_batch(batch)
                batch = []
                size = 0
            batch.append({"Id": str(len(batch)), **message})
            size += length
        if batch:
            self._send_batch(batch)

    def _send_batch(self, batch: Sequence[Mapping[str, Any]]) -> None:
        with aws.explain_errors(self._what):
            answer = self._client().send_message_batch(QueueUrl=self._url, Entries=batch)
        failed = answer.get("Failed", [])
        if failed:
            reason = one_line(str(failed[0].get("Message") or failed[0].get("Code", "")), 200)
            raise BackendError(
                "EUNAVAILABLE",
                f"{self._what} did not take {len(failed)} of {len(batch)} events: {reason}",
            )

    def receive(self, wait: float, visibility: float) -> SqsMessage | None:
        """Return the next message of a group that no worker works on, hidden for `visibility`
        seconds; None after `wait` seconds without one.

        One at a time: SQS fills a larger answer with messages of one group. The attempt's id brings
        the same message again when the answer is lost and the client repeats the request.
        """
        with aws.explain_errors(self._what):
            answer = self._client(wait).receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=1,
                WaitTimeSeconds=int(min(wait, POLL_SECONDS)),
                VisibilityTimeout=math.ceil(visibility),
                MessageSystemAttributeNames=["ApproximateReceiveCount", "MessageGroupId"],
                ReceiveRequestAttemptId=uuid.uuid4().hex,
            )
        messages = answer.get("Messages", [])
        return parse_received(messages[0]) if messages else None

    def delete(self, handle: str) -> bool:
        """Delete the message; False when it is not ours any more."""
        return self._unless_stale("delete_message", ReceiptHandle=handle)

    def hide(self, handle: str, seconds: float) -> bool:
        """Hide the message, and with it those behind it in its group, for so many seconds; False
        when it is not ours any more.
        """
        return self._unless_stale(
            "change_message_visibility", ReceiptHandle=handle, VisibilityTimeout=math.ceil(seconds)
        )

    def hide_all(self, handles: Sequence[str], seconds: float) -> set[str]:
        """Hide at most 10 messages, and return the handles of those that are not ours any more."""
        timeout = math.ceil(seconds)
        entries = [
            {"Id": str(number), "ReceiptHandle": handle, "VisibilityTimeout": timeout}
            for number, handle in enumerate(handles)
        ]
        with aws.explain_errors(self._what):
            answer = self._client().change_message_visibility_batch(
                QueueUrl=self._url, Entries=entries
            )
        return {
            handles[int(failed["Id"])]
            for failed in answer.get("Failed", [])
            if _is_stale(failed["Code"])
        }

    def count_messages(self) -> int:
        """Return about how many messages the queue holds, those in flight included."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        with aws.explain_errors(self._what):
            answer = self._client().get_queue_attributes(QueueUrl=self._url, AttributeNames=names)
        return sum(int(answer["Attributes"][name]) for name in names)

    def _unless_stale(self, verb: str, **fields: object) -> bool:
        from botocore.exceptions import ClientError  # type: ignore[import-untyped]

        with aws.explain_errors(self._what):
            try:
                getattr(self._client(), verb)(QueueUrl=self._url, **fields)
            except ClientError as problem:
                if not _is_stale(aws.code_of(problem)):
                    raise
                return False
        return True

    def _client(self, wait: float = 0.0) -> Any:
        if wait < 1.0:
            return aws.client("sqs", endpoint=self._endpoint)
        return aws.client(
            "sqs", endpoint=self._endpoint, read_seconds=POLL_SECONDS + aws.READ_SECONDS
        )


def _make_message(event: Event) -> dict[str, Any]:
    return {
        "MessageBody": pack(event),
        "MessageGroupId": group_id(event),
        "MessageDeduplicationId": deduplication_id(event),
        "MessageAttributes": {"kind": {"DataType": "String", "StringValue": event.kind}},
    }


def _is_stale(code: str) -> bool:
    return code.rpartition(".")[2] in _STALE
