"""What travels through SQS: an event as the text of a message, its group and its name; and a
message as SQS or Lambda hands it out.
"""

from __future__ import annotations

import binascii
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from functions.events import Event, decode, encode
from functions.queues.waiting_events import group_of
from sigil.errors import UsageError

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
"""What SQS refuses in a body: everything that XML 1.0 does not know."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message in flight. `handle` answers for it this time, `receives` counts how often it was
    handed out, this time too.
    """

    id: str
    handle: str
    body: str
    group: str
    receives: int


def group_id(event: Event) -> str:
    """The message group: one for each session, and one for its control events."""
    return sha256(group_of(event).encode()).hexdigest()


def deduplication_id(event: Event) -> str:
    """The name by which SQS knows the event again for 5 minutes. Agents that share a queue share no
    names.
    """
    return sha256(f"{group_of(event)}\n{event.id}".encode(errors="replace")).hexdigest()


def pack(event: Event) -> str:
    """The event as a body: JSON, or `zlib:` and base64 of it; `UsageError` when it is too big."""
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
    """The event that `pack` wrote; `UsageError` when it is none."""
    if not body.startswith(_PACKED):
        return decode(body.encode(errors="replace"))
    try:
        squeezed = zlib.decompressobj()
        plain = squeezed.decompress(
            b64decode(body.removeprefix(_PACKED), validate=True), EVENT_MOST
        )
        if not squeezed.eof:
            raise ValueError
    except (binascii.Error, zlib.error, ValueError) as problem:
        raise UsageError("EEVENT", f"not an event: {type(problem).__name__}") from None
    return decode(plain)


def received(fields: Mapping[str, Any]) -> Message:
    """A message as ReceiveMessage hands it out."""
    attributes = fields.get("Attributes", {})
    return _message(fields["MessageId"], fields["ReceiptHandle"], fields["Body"], attributes)


def recorded(fields: Mapping[str, Any]) -> Message:
    """A message as a record of Lambda's event source; `UsageError` when it is none."""
    try:
        return _message(
            fields["messageId"], fields["receiptHandle"], fields["body"], fields["attributes"]
        )
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        raise UsageError(
            "ERECORD", f"not a record of SQS: {type(problem).__name__}", source="queue"
        ) from None


def _message(name: str, handle: str, body: str, attributes: Mapping[str, str]) -> Message:
    return Message(
        name,
        handle,
        body,
        attributes.get("MessageGroupId", ""),
        int(attributes.get("ApproximateReceiveCount", "1")),
    )
