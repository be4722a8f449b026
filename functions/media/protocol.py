"""What passes between this process and a child that opens a file: one order on its standard input,
one answer on its standard output.

Both are a header in JSON and then bytes, each with its length before it. The child imports this
module while it starts, so it uses next to nothing.
"""

from __future__ import annotations

import json
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_LENGTHS = struct.Struct("!II")


class BrokenFrame(Exception):
    """The other side does not keep to the protocol."""


class Unreadable(Exception):
    """The child cannot open the file: `reason` is one of the words of `Reason`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def pack(header: Mapping[str, object], body: bytes = b"") -> bytes:
    """Return an order or an answer as it is sent."""
    head = json.dumps(header, ensure_ascii=False).encode("utf-8", "replace")
    return b"".join((_LENGTHS.pack(len(head), len(body)), head, body))


def unpack(frame: bytes) -> tuple[bytes, bytes]:
    """Return the header, in JSON that was not read yet, and the bytes; `BrokenFrame` when the
    lengths do not add up.
    """
    try:
        head, body = _LENGTHS.unpack_from(frame)
    except struct.error:
        raise BrokenFrame("no frame") from None
    begin = _LENGTHS.size + head
    if len(frame) != begin + body:
        raise BrokenFrame("a frame that does not add up")
    return frame[_LENGTHS.size : begin], frame[begin:]
