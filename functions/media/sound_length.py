"""How long a sound is, as its own head says: nothing is decoded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import error as StructError
from struct import unpack_from
from typing import Final

from functions.media.file_types import FileType

_OPUS_RATE: Final = 48_000
_MP3_KILOBITS: Final = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
"""Of MPEG 1, layer 3."""
_MP3_LOW_KILOBITS: Final = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
"""Of MPEG 2 and 2.5, layer 3."""
_MP3_RATES: Final = (44_100, 48_000, 32_000)
_MILLISECOND: Final = 1_000_000
"""In nanoseconds, the scale of most WebM."""


def measure_seconds(data: bytes, type: FileType) -> float:
    """Return how many seconds a sound says that it has; 0 where it does not say, or is damaged."""
    measure = _MEASURES.get(type)
    try:
        seconds = measure(data) if measure else 0.0
    except (StructError, IndexError, ZeroDivisionError):
        return 0.0
    return seconds if 0.0 < seconds < float("inf") else 0.0


def _measure_ogg(data: bytes) -> float:
    """The last page has the number of the last sample."""
    (last,) = unpack_from("<q", data, data.rindex(b"OggS") + 6)
    opus = data.find(b"OpusHead", 0, 200)
    if opus >= 0:
        (skipped,) = unpack_from("<H", data, opus + 10)
        return float((last - skipped) / _OPUS_RATE)
    vorbis = data.find(b"\x01vorbis", 0, 200)
    (rate,) = unpack_from("<I", data, vorbis + 12) if vorbis >= 0 else (0,)
    return float(last / rate)


def _measure_wav(data: bytes) -> float:
    place = data.find(b"fmt ", 0, 4_096)
    (rate,) = unpack_from("<I", data, place + 16) if place >= 0 else (0,)
    return float((len(data) - place) / rate)


def _measure_flac(data: bytes) -> float:
    (packed,) = unpack_from(">Q", data, 18)
    return float((packed & ((1 << 36) - 1)) / (packed >> 44))


def _measure_mp4(data: bytes) -> float:
    place = data.find(b"mvhd")
    if place < 0:
        return 0.0
    form = ">IQ" if data[place + 4] else ">II"
    scale, length = unpack_from(form, data, place + (24 if data[place + 4] else 16))
    return float(length / scale)


def _measure_mp3(data: bytes) -> float:
    """The first frame has the bit rate of all, or, where that varies, how many frames follow."""
    place = 0
    if data.startswith(b"ID3"):
        size = 0
        for byte in data[6:10]:
            size = size << 7 | byte & 0x7F
        place = 10 + size
    (head,) = unpack_from(">I", data, place)
    if head >> 21 != 0x7FF:
        return 0.0
    is_first = head >> 19 & 3 == 3
    rates = _MP3_KILOBITS if is_first else _MP3_LOW_KILOBITS
    rate = _MP3_RATES[head >> 10 & 3] // (1 if is_first else 2 if head >> 19 & 3 == 2 else 4)
    varying = max(data.find(name, place, place + 200) for name in (b"Xing", b"Info"))
    if varying >= 0:
        flags, frames = unpack_from(">II", data, varying + 4)
        if flags & 1:
            return float(frames * (1_152 if is_first else 576) / rate)
    return (len(data) - place) / (rates[head >> 12 & 15] * 125)


def _measure_webm(data: bytes) -> float:
    head = data[:4_096]
    scale = _MILLISECOND
    place = head.find(b"\x2a\xd7\xb1\x83")
    if place >= 0:
        scale = int.from_bytes(head[place + 4 : place + 7])
    for mark, form in ((b"\x44\x89\x88", ">d"), (b"\x44\x89\x84", ">f")):
        place = head.find(mark)
        if place >= 0:
            (length,) = unpack_from(form, head, place + 3)
            return float(length * scale / 1e9)
    return 0.0


_MEASURES: Final[Mapping[FileType, Callable[[bytes], float]]] = {
    FileType.OGG: _measure_ogg,
    FileType.WAV: _measure_wav,
    FileType.FLAC: _measure_flac,
    FileType.M4A: _measure_mp4,
    FileType.MP4: _measure_mp4,
    FileType.MP3: _measure_mp3,
    FileType.WEBM: _measure_webm,
}
