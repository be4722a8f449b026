"""Reads and writes the WebAssembly binary format, as far as the engine and the capabilities that we
make need it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

MAGIC = b"\0asm\1\0\0\0"
(
    CUSTOM,
    TYPE,
    IMPORT,
    FUNCTION,
    TABLE,
    MEMORY,
    GLOBAL,
    EXPORT,
    START,
    ELEMENT,
    CODE,
    DATA,
    DATA_COUNT,
) = range(13)
I32 = 0x7F


def unsigned(number: int) -> bytes:
    """Encode a number that is not negative as LEB128."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def signed(number: int) -> bytes:
    """Encode a number in two's complement as LEB128, as constants are written."""
    out = bytearray()
    while not -64 <= number < 64:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number & 0x7F)
    return bytes(out)


def block(content: bytes) -> bytes:
    """Return bytes behind their length: a name, a function body, a data segment."""
    return unsigned(len(content)) + content


def vector(items: Sequence[bytes]) -> bytes:
    """Return items behind their count."""
    return unsigned(len(items)) + b"".join(items)


def section(kind: int, content: bytes) -> bytes:
    """Return one section of a module."""
    return bytes([kind]) + block(content)


def custom(name: str, content: bytes) -> bytes:
    """Return a custom section, which engines skip."""
    return section(CUSTOM, block(name.encode()) + content)


def module(sections: Iterable[bytes]) -> bytes:
    """Return the module of these sections."""
    return MAGIC + b"".join(sections)


@dataclass(slots=True)
class Reader:
    """A cursor over bytes. `ValueError` when they end too early or a number is too long."""

    data: bytes
    at: int = 0

    def take(self, count: int) -> bytes:
        """Read the next `count` bytes."""
        if count > len(self.data) - self.at:
            raise ValueError("the module ends too early")
        self.at += count
        return self.data[self.at - count : self.at]

    def byte(self) -> int:
        """Read the next byte."""
        return self.take(1)[0]

    def unsigned(self) -> int:
        """Read a LEB128 number of at most 32 bits."""
        number = 0
        for shift in range(0, 35, 7):
            byte = self.byte()
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
        raise ValueError("a number is too long")

    def block(self) -> bytes:
        """Read a length and so many bytes."""
        return self.take(self.unsigned())

    def has_more(self) -> bool:
        """Return whether bytes are left."""
        return self.at < len(self.data)


def sections(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (kind, content) of each section in order. `ValueError` when the bytes are no module."""
    if not data.startswith(MAGIC):
        raise ValueError("no WebAssembly module of version 1")
    reader = Reader(data, len(MAGIC))
    while reader.has_more():
        yield reader.byte(), reader.block()


def custom_section(data: bytes, name: str) -> bytes | None:
    """Return the content of the first custom section of that name; None when there is none.
    `ValueError` when the bytes are no module.
    """
    for kind, content in sections(data):
        if kind == CUSTOM:
            reader = Reader(content)
            if reader.block() == name.encode():
                return content[reader.at :]
    return None
