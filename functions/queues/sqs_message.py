"""Messages of SQS: an event as a message's body, its group and its name; and a message as SQS or
Lambda hands it out.
"""

from __future__ import annotations

import binascii
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from functions.events import Event, decode, encode
from functions.queues.waiting_events import group_of
from sigil.errors import UsageError
from sigil.json_fields import as_string

PACK_BYTES = 200_000
"""A larger event travels compressed."""
BODY_MOST = (1 << 20) - 1024
"""Bytes of a body: SQS takes 1 MiB with the attributes,
https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
"""
EVENT_MOST = 32 << 20
"""Bytes that a packed event may unpack to."""
_PACKED = "zlib:"
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""SQS refuses these in a body: everything that XML 1.0 does not know."""


@dataclass(frozen=True, slots=True)
class SqsMessage:
    """A message in flight.

    `handle` answers for it this time, `receives` counts how often it was handed out, this time
    included.
    """

    id: str
    handle: str
    body: str
    group: str
    receives: int


def group_id(event: Event) -> str:
    """Return the message group: each session has one, and one more for its control events."""
    return sha256(group_of(event).encode()).hexdigest()


def deduplication_id(event: Event) -> str:
    """Return the name by which SQS knows the event again for 5 minutes; agents that share a queue
    share no names.
    """
    return sha256(f"{group_of(event)}\n{event.id}".encode(errors="replace")).hexdigest()


def pack(event: Event) -> str:
    """Return the event as a body: JSON, or `zlib:` and base64 of it; `UsageError` when it is too
    big.
    """
    plain = encode(event)
    body = plain.decode()
    if len(plain) > PACK_BYTES or _FORBIDDEN.search(body):
        body = _PACKED + b64encode(zlib.compress(plain)).decode()
    if len(body.encode()) > BODY_MOST:
        raise UsageError(
            "ETOOBIG",
            f"an event of {len(plain):,} bytes does not fit into a message of SQS",
            source="queue",
        )
    return body


def unpack(body: str) -> Event:
    """Return the event that `pack` wrote; `UsageError` when the body holds none."""
    if not body.startswith(_PACKED):
        return decode(body.encode(errors="replace"))
    try:
        compressed = b64decode(body.removeprefix(_PACKED), validate=True)
        decompressor = zlib.decompressobj()
        plain = decompressor.decompress(compressed, EVENT_MOST)
        if not decompressor.eof:
            raise ValueError
    except (binascii.Error, zlib.error, ValueError) as problem:
        raise UsageError("EEVENT", f"not an event: {type(problem).__name__}") from None
    return decode(plain)


def parse_received(fields: Mapping[str, object]) -> SqsMessage:
    """Return a message as ReceiveMessage hands it out."""
    attributes = fields.get("Attributes", {})
    return _make_message(fields["MessageId"], fields["ReceiptHandle"], fields["Body"], attributes)


def parse_record(fields: Mapping[str, object]) -> SqsMessage:
    """Return the message in a record of Lambda's event source; `UsageError` when it holds none."""
    try:
        return _make_message(
            fields["messageId"], fields["receiptHandle"], fields["body"], fields["attributes"]
        )
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        raise UsageError(
            "ERECORD", f"not a record of SQS: {type(problem).__name__}", source="queue"
        ) from None


def _make_message(name: object, handle: object, body: object, attributes: object) -> SqsMessage:
    if not (isinstance(name, str) and isinstance(handle, str) and isinstance(body, str)):
        raise TypeError("a part of it is no text")
    if not isinstance(attributes, Mapping):
        raise TypeError("its attributes are no mapping")
    return SqsMessage(
        id=name,
        handle=handle,
        body=body,
        group=as_string(attributes.get("MessageGroupId")),
        receives=int(attributes.get("ApproximateReceiveCount", "1")),
    )
