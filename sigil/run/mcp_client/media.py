"""Files in the answers of MCP servers: pictures, sounds and documents, known by their first bytes.

What a server calls them counts for nothing. A type that a browser or a viewer would run (HTML, SVG,
archives, programs) is not among them.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote, urlsplit

from sigil.protocol import Json
from sigil.storage.kept_files import FileContent

FILE_BYTES: Final = 3 << 20
FILES_MOST: Final = 8
"""The most of one file, and the most files of one call."""
UNKNOWN: Final = "application/octet-stream"
NAME_CHARACTERS: Final = 60
_ENDINGS: Final[Mapping[str, str]] = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "audio/mpeg": "mp3",
    "audio/wav": "wav",
    "audio/ogg": "ogg",
    "audio/flac": "flac",
    "application/pdf": "pdf",
}
_SIGNATURES: Final = (
    ("image/png", re.compile(rb"\x89PNG\r\n\x1a\n.{4}IHDR", re.DOTALL)),
    ("image/jpeg", re.compile(rb"\xff\xd8\xff[\xc0-\xfe]")),
    ("image/gif", re.compile(rb"GIF8[79]a")),
    ("image/webp", re.compile(rb"RIFF.{4}WEBPVP8[ LX]", re.DOTALL)),
    ("audio/wav", re.compile(rb"RIFF.{4}WAVE", re.DOTALL)),
    ("audio/mpeg", re.compile(rb"ID3[\x02-\x04]|\xff[\xe2-\xe7\xf2-\xff][\x10-\xef]")),
    ("audio/ogg", re.compile(rb"OggS\x00")),
    ("audio/flac", re.compile(rb"fLaC\x00")),
    ("application/pdf", re.compile(rb"%PDF-[12]\.[0-9]")),
)
_SPACE: Final = str.maketrans("", "", " \t\r\n")
_NOT_OF_A_NAME: Final = re.compile(r"[^\w.-]+")


class UnusableFileError(Exception):
    """The data of an answer is no file that is kept; it says why."""


def read_file(data: Json, kind: str, uri: Json) -> FileContent:
    """Return the file that base64 `data` holds; raise `UnusableFileError` unless it is kept.

    `kind` is what it is called where its address says no name.
    """
    if not isinstance(data, str) or not data:
        raise UnusableFileError("it holds no data")
    if len(data) > FILE_BYTES * 3 // 2:
        raise UnusableFileError(f"more than {FILE_BYTES:,} bytes")
    try:
        body = base64.b64decode(data.translate(_SPACE), validate=True)
    except (binascii.Error, ValueError):
        raise UnusableFileError("its data is not base64") from None
    if len(body) > FILE_BYTES:
        raise UnusableFileError(f"more than {FILE_BYTES:,} bytes")
    type, ending = recognize(body)
    if type == UNKNOWN:
        raise UnusableFileError("none of the types that are kept")
    return FileContent(_choose_name(kind, uri, ending), type, body)


def recognize(body: bytes) -> tuple[str, str]:
    """Return the type of a file by its first bytes, and the ending of its name."""
    for type, signature in _SIGNATURES:
        if signature.match(body):
            return type, _ENDINGS[type]
    return UNKNOWN, "bin"


def _choose_name(kind: str, uri: Json, ending: str) -> str:
    """Return a file's name: the last part of its address, with the ending of what it really is."""
    stem = ""
    if isinstance(uri, str) and len(uri) <= 2_000:
        try:
            stem = unquote(urlsplit(uri).path.rpartition("/")[2])
        except ValueError:
            stem = ""
    stem = re.sub(r"\.\w{1,5}$", "", stem)
    stem = _NOT_OF_A_NAME.sub("-", stem).strip("-._")[:NAME_CHARACTERS]
    return f"{stem or kind}.{ending}"
