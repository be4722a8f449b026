"""The WebAssembly binary format, both ways, as far as the engine and the capabilities that we write
need it.
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
    """LEB128 of a number that is not negative."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def signed(number: int) -> bytes:
    """LEB128 of a number in two's complement, as constants are written."""
    out = bytearray()
    while not -64 <= number < 64:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number & 0x7F)
    return bytes(out)


def block(content: bytes) -> bytes:
    """Bytes behind their length: a name, a function body, a data segment."""
    return unsigned(len(content)) + content


def vector(items: Sequence[bytes]) -> bytes:
    """Items behind their count."""
    return unsigned(len(items)) + b"".join(items)


def section(kind: int, content: bytes) -> bytes:
    """One section of a module."""
    return bytes([kind]) + block(content)


def custom(name: str, content: bytes) -> bytes:
    """A custom section, which engines skip."""
    return section(CUSTOM, block(name.encode()) + content)


def module(sections: Iterable[bytes]) -> bytes:
    """A module of these sections."""
    return MAGIC + b"".join(sections)


@dataclass(slots=True)
class Reader:
    """Walks over bytes. ValueError when they end too early or a number is too long."""

    data: bytes
    at: int = 0

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        if count > len(self.data) - self.at:
            raise ValueError("the module ends too early")
        self.at += count
        return self.data[self.at - count : self.at]

    def byte(self) -> int:
        """The next byte."""
        return self.take(1)[0]

    def unsigned(self) -> int:
        """A LEB128 number of at most 32 bits."""
        number = 0
        for shift in range(0, 35, 7):
            byte = self.byte()
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
        raise ValueError("a number is too long")

    def block(self) -> bytes:
        """Bytes that stand behind their length."""
        return self.take(self.unsigned())

    def more(self) -> bool:
        """Whether bytes are left."""
        return self.at < len(self.data)


def sections(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(kind, content) of each section in order. ValueError when the bytes are no module."""
    if not data.startswith(MAGIC):
        raise ValueError("no WebAssembly module of version 1")
    reader = Reader(data, len(MAGIC))
    while reader.more():
        yield reader.byte(), reader.block()


def custom_section(data: bytes, name: str) -> bytes | None:
    """What the first custom section of that name holds. ValueError when the bytes are no module."""
    for kind, content in sections(data):
        if kind == CUSTOM:
            reader = Reader(content)
            if reader.block() == name.encode():
                return content[reader.at :]
    return None
