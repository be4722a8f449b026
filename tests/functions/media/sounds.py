"""Sounds of every kind, as short as their formats allow: silence, and as long as they claim."""

from __future__ import annotations

import struct
from typing import Final

SECOND: Final = 48_000


def make_ogg(seconds: float = 12.0) -> bytes:
    """A voice note as Telegram, WhatsApp and Matrix send it: Opus in Ogg."""
    head = b"OpusHead\x01\x01" + struct.pack("<HIhB", 312, SECOND, 0, 0)
    last = int(seconds * SECOND) + 312
    return _page(head, 0) + _page(b"OpusTags" + bytes(8), 0) + _page(bytes(40), last)


def make_vorbis(seconds: float) -> bytes:
    head = b"\x01vorbis" + struct.pack("<IBI", 0, 1, 16_000) + bytes(12)
    return _page(head, 0) + _page(bytes(40), int(seconds * 16_000))


def _page(body: bytes, granule: int) -> bytes:
    segments = bytes([len(body)])
    return b"OggS\0\0" + struct.pack("<qIIIB", granule, 7, 0, 0, 1) + segments + body


def make_wav(seconds: float) -> bytes:
    body = bytes(int(seconds * 16_000))
    format = struct.pack("<HHIIHH", 1, 1, 8_000, 16_000, 2, 16)
    chunks = b"WAVEfmt " + struct.pack("<I", 16) + format + b"data" + struct.pack("<I", len(body))
    return b"RIFF" + struct.pack("<I", len(chunks) + len(body)) + chunks + body


def make_flac(seconds: float) -> bytes:
    packed = (44_100 << 44) | (1 << 36) | int(seconds * 44_100)
    return b"fLaC\x80\0\0\x22" + bytes(10) + packed.to_bytes(8) + bytes(16)


def make_m4a(seconds: float, brand: bytes = b"M4A ") -> bytes:
    """A recording of an iPhone, of Slack or LINE."""
    movie = b"mvhd" + struct.pack(">IIIII", 0, 0, 0, 1_000, int(seconds * 1_000))
    return struct.pack(">I", 16) + b"ftyp" + brand + bytes(4) + struct.pack(">I", 32) + movie


def make_mp3(seconds: float) -> bytes:
    """MPEG 1 layer 3 with 64 kbit/s, behind a tag."""
    body = b"\xff\xfb\x50\xc0" + bytes(int(seconds * 8_000) - 4)
    return b"ID3\x04\0\0\0\0\0\x0a" + bytes(10) + body


def make_webm(seconds: float) -> bytes:
    """A recording of a browser; most tell no length."""
    duration = b"\x44\x89\x88" + struct.pack(">d", seconds * 1_000) if seconds else b""
    return b"\x1a\x45\xdf\xa3\x9f\x42\x82\x84webm" + b"\x2a\xd7\xb1\x83\x0f\x42\x40" + duration


AMR: Final = b"#!AMR\n" + bytes(40)
SILK: Final = b"\x02#!SILK_V3" + bytes(40)
AAC: Final = b"\xff\xf1\x50\x80" + bytes(40)
