"""The format of an index file: a magic line, a header of JSON, and sections of plain numbers, which
are checked before any is used.

A file names the rules by which its documents became terms and strengths: one that was written by
others ranks differently.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Mapping
from typing import Any, Final, Union
from zlib import crc32

import orjson

from sigil.search import document
from sigil.search.postings import UNIT
from sigil.search.words import Tokenizer

MAGIC: Final = b"sigil index 1\r\n\0"
MOST_BYTES: Final = 1 << 30
HEADER_BYTES: Final = 16_384
ALIGNED: Final = 8
SIZES: Final = {"B": 1, "H": 2, "I": 4, "Q": 8, "d": 8}
"""The kinds of numbers, as `array` calls them, and their bytes here and everywhere."""

Section = Union["array[int]", "array[float]", bytes]


class DamagedIndexError(ValueError):
    """Bytes are no index of ours, or one that is not consistent.

    It is made again from the documents.
    """


def pack(header: Mapping[str, object], sections: Mapping[str, Section]) -> bytes:
    """Return the file: equal sections are equal bytes."""
    table = []
    for name, section in sections.items():
        kind = "B" if isinstance(section, bytes) else section.typecode
        table.append([name, kind, len(section)])
    head = orjson.dumps({**header, "order": sys.byteorder, "sections": table})
    parts = [MAGIC, len(head).to_bytes(8, "little"), _pad(head)]
    parts += [
        _pad(section if isinstance(section, bytes) else section.tobytes())
        for section in sections.values()
    ]
    return b"".join(parts)


def unpack(
    body: bytes, kinds: Mapping[str, str]
) -> tuple[dict[str, object], dict[str, memoryview]]:
    """Return header and sections, nothing copied.

    `kinds`: the sections that there are, and which kinds of number each may hold.

    `DamagedIndexError` unless the file is exactly that and every byte of it is accounted for.
    """
    if len(body) > MOST_BYTES or not body.startswith(MAGIC):
        raise DamagedIndexError("not an index")
    size = int.from_bytes(body[len(MAGIC) : len(MAGIC) + 8], "little")
    start = len(MAGIC) + 8
    if size > HEADER_BYTES:
        raise DamagedIndexError("not an index")
    try:
        header = orjson.loads(body[start : start + size])
    except orjson.JSONDecodeError:
        raise DamagedIndexError("not an index") from None
    if not isinstance(header, dict):
        raise DamagedIndexError("not an index")
    if header.pop("order", None) != sys.byteorder:
        raise DamagedIndexError("an index of another machine")
    table = header.pop("sections", None)
    view = memoryview(body)
    end = start + _round_up(size)
    sections: dict[str, memoryview] = {}
    for row in table if isinstance(table, list) else ():
        match row:
            case [str(name), str(kind), int(count)] if (
                kind in kinds.get(name, "").split() and count >= 0 and name not in sections
            ):
                length = count * SIZES[kind]
                part = view[end : end + length] if end + length <= len(body) else view[:0]
                cast: Any = part.cast  # its type knows only kinds that are written out
                sections[name] = cast(kind)
                end += _round_up(length)
            case _:
                raise DamagedIndexError("sections of another kind")
    if sections.keys() != kinds.keys() or end != len(body):
        raise DamagedIndexError("sections are missing or cut short")
    return header, sections


def narrow(values: array[int], most: int) -> array[int]:
    """Return the same numbers in the smallest kind that holds every number up to `most`."""
    return array("H" if most < 1 << 16 else "I", values)


def _pad(data: bytes) -> bytes:
    return data + bytes(_round_up(len(data)) - len(data))


def _round_up(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


RULES: Final = 4
"""Raise it with every change of how text becomes terms, where the sample below does not show it."""
SAMPLE: Final = (
    "parseHTTPResponse SHA-256 café naïve generously university universal organization organisation"
    " skies dying communication evening news inning herring provable 查询匯率 ﬁle １２ data_types"
    " e-mail 2^10 + 5*3"
)


def rules_version(tokenizer: Tokenizer) -> str:
    """Return a version that is equal where equal texts become equal terms of equal strength."""
    fields = [value for value in vars(document).values() if isinstance(value, document.Field)]
    rules = repr((fields, document.FIELD_LIMIT, document.SATURATION, UNIT, tokenizer.terms(SAMPLE)))
    return f"{RULES}-{crc32(rules.encode('utf-8', 'replace')):08x}"
