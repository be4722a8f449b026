"""The files of a message, recorded to be fetched later; nothing is downloaded here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from functions.channels.telegram.fields import integer, mapping, sequence, string
from sigil.errors import one_line

_KINDS = ("animation", "document", "audio", "video", "voice", "video_note", "sticker")
_FILE_ID = re.compile(r"[A-Za-z0-9_-]{1,256}")
_MIME = re.compile(r"[A-Za-z0-9.+-]{1,64}/[A-Za-z0-9.+-]{1,64}")


def attachments(message: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return `{"kind", "file_id", "name", "size", "mime"}` of each file; size in bytes, 0 when
    unknown; other unknown fields are empty.
    """
    files = [_file("photo", _largest(message.get("photo")), "image/jpeg")]
    files += [_file(kind, mapping(message.get(kind))) for kind in _KINDS]
    found: dict[str, Mapping[str, Any]] = {}
    for file in files:
        if file:
            found.setdefault(
                file["file_id"], file
            )  # an animation comes a second time, as a document
    return tuple(found.values())


def _largest(sizes: object) -> Mapping[str, Any]:
    return max(
        map(mapping, sequence(sizes)),
        key=lambda size: integer(size.get("width"), 0) or 0,
        default={},
    )


def _file(kind: str, fields: Mapping[str, Any], mime: str = "") -> dict[str, Any] | None:
    file_id = string(fields.get("file_id"))
    if not _FILE_ID.fullmatch(file_id):
        return None
    told = string(fields.get("mime_type"))
    return {
        "kind": kind,
        "file_id": file_id,
        "name": one_line(string(fields.get("file_name")), 200),
        "size": integer(fields.get("file_size"), 0) or 0,
        "mime": told if _MIME.fullmatch(told) else mime,
    }
