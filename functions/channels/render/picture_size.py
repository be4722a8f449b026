"""The type of a picture, by its first bytes, and its size: platforms take some as pictures alone.
Nothing is decoded.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""The markers of JPEG behind which the size stands."""
_SEGMENTS_MOST: Final = 500


@dataclass(frozen=True, slots=True)
class PictureSize:
    """A picture's type, such as `image/png`, and its width and height in pixels."""

    type: str
    width: int
    height: int


def read_picture_size(body: bytes) -> PictureSize | None:
    """Return the type and the size of a PNG, a JPEG or a WebP; None for anything else."""
    try:
        if body.startswith(_PNG) and body[12:16] == b"IHDR":
            return PictureSize("image/png", *struct.unpack_from(">II", body, 16))
        if body.startswith(b"\xff\xd8\xff"):
            return _read_jpeg(body)
        if body.startswith(b"RIFF") and body[8:12] == b"WEBP":
            return _read_webp(body)
    except struct.error:
        return None
    return None


def _read_jpeg(body: bytes) -> PictureSize | None:
    place = 2
    for _ in range(_SEGMENTS_MOST):
        start, marker, length = struct.unpack_from(">BBH", body, place)
        if start != 0xFF:
            return None
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", body, place + 5)
            return PictureSize("image/jpeg", width, height)
        place += 2 + length
    return None


def _read_webp(body: bytes) -> PictureSize | None:
    kind = body[12:16]
    if kind == b"VP8X":
        width, height = (int.from_bytes(body[at : at + 3], "little") + 1 for at in (24, 27))
    elif kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", body, 21)
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    elif kind == b"VP8 ":
        width, height = (side & 0x3FFF for side in struct.unpack_from("<HH", body, 26))
    else:
        return None
    return PictureSize("image/webp", width, height)
