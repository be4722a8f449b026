"""The frames of the long connection, in the encoding of Protocol Buffers
(https://protobuf.dev/programming-guides/encoding/): nine fields, read and written by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

CONTROL: Final = 0
DATA: Final = 1
HEADERS_MOST: Final = 100
_SEQUENCE, _LOG, _SERVICE, _METHOD, _HEADER = 1, 2, 3, 4, 5
_PAYLOAD: Final = 8
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_VARINT_BYTES: Final = 10


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame. `others` are the text fields that only go back as they came, by number."""

    method: int = DATA
    service: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    payload: bytes = b""
    sequence: int = 0
    log: int = 0
    others: tuple[tuple[int, bytes], ...] = ()


def read_frame(data: bytes) -> Frame:
    """Return the frame in `data`; `ValueError` when there is none."""
    numbers = {_SEQUENCE: 0, _LOG: 0, _SERVICE: 0, _METHOD: 0}
    headers: dict[str, str] = {}
    payload = b""
    others: list[tuple[int, bytes]] = []
    for number, value in _read_fields(data):
        if isinstance(value, int):
            if number in numbers:
                numbers[number] = value
        elif number == _HEADER:
            fields = {key: text for key, text in _read_fields(value) if isinstance(text, bytes)}
            if len(headers) < HEADERS_MOST:
                headers[fields.get(1, b"").decode()] = fields.get(2, b"").decode()
        elif number == _PAYLOAD:
            payload = value
        else:
            others.append((number, value))
    return Frame(
        numbers[_METHOD],
        numbers[_SERVICE],
        headers,
        payload,
        numbers[_SEQUENCE],
        numbers[_LOG],
        tuple(sorted(others, key=lambda each: each[0])),  # as they are written
    )


def write_frame(frame: Frame) -> bytes:
    """Return a frame as `read_frame` reads it."""
    numbers = (
        (_SEQUENCE, frame.sequence),
        (_LOG, frame.log),
        (_SERVICE, frame.service),
        (_METHOD, frame.method),
    )
    written = bytearray()
    for number, value in numbers:
        written += _write_varint(number << 3 | _VARINT) + _write_varint(value)
    for key, text in frame.headers.items():
        written += _write_bytes(
            _HEADER, _write_bytes(1, key.encode()) + _write_bytes(2, text.encode())
        )
    payload = [(_PAYLOAD, frame.payload)] if frame.payload else []
    for number, content in sorted([*frame.others, *payload], key=lambda each: each[0]):
        written += _write_bytes(number, content)
    return bytes(written)


def _read_fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the value of each field."""
    place = 0
    while place < len(data):
        tag, place = _read_varint(data, place)
        kind = tag & 7
        value: int | bytes
        if kind == _VARINT:
            value, place = _read_varint(data, place)
        else:
            size = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}.get(kind, -1)
            if kind == _BYTES:
                size, place = _read_varint(data, place)
            if size < 0 or place + size > len(data):
                raise ValueError("a field ends behind the frame")
            value = data[place : place + size]
            place += size
        yield tag >> 3, value


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    """Return the number at a place, and the place behind it."""
    value = 0
    for count, byte in enumerate(data[place : place + _VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            return value & (1 << 64) - 1, place + count + 1
    raise ValueError("a number does not end")


def _write_varint(value: int) -> bytes:
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def _write_bytes(number: int, value: bytes) -> bytes:
    return _write_varint(number << 3 | _BYTES) + _write_varint(len(value)) + value
