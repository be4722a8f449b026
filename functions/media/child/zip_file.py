"""Opens a zip file, of which neither what it says of its sizes nor its contents can be trusted."""

from __future__ import annotations

import zipfile
import zlib
from io import BytesIO

from functions.media.limits import (
    FREE_INFLATED_BYTES,
    MAX_INFLATED_BYTES,
    MAX_INFLATION,
    MAX_ZIP_ENTRIES,
)
from functions.media.protocol import Unreadable

_CHUNK = 256 << 10
_IS_ENCRYPTED = 1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Whatever else there is can inflate to any size at once, and no office program writes it."""


def open_zip(data: bytes) -> zipfile.ZipFile:
    """Return the file after all that is in it was inflated and counted once; `Unreadable` where it
    is too much, encrypted or damaged.
    """
    try:
        archive = zipfile.ZipFile(BytesIO(data))
        entries = archive.infolist()
        if len(entries) > MAX_ZIP_ENTRIES:
            raise Unreadable("too_large")
        if any(entry.flag_bits & _IS_ENCRYPTED for entry in entries):
            raise Unreadable("encrypted")
        if any(entry.compress_type not in _METHODS for entry in entries):
            raise Unreadable("broken")
        most = min(MAX_INFLATED_BYTES, max(FREE_INFLATED_BYTES, len(data) * MAX_INFLATION))
        inflated = 0
        for entry in entries:
            with archive.open(entry) as stream:
                while chunk := stream.read(_CHUNK):
                    inflated += len(chunk)
                    if inflated > most:
                        raise Unreadable("too_large")
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, ValueError):
        raise Unreadable("broken") from None
    return archive
