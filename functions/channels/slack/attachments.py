"""The files of a message (https://docs.slack.dev/reference/objects/file-object)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from functions.channels.base import Attachment
from sigil.errors import one_line
from sigil.json_fields import as_integer, as_mapping, as_sequence, as_string
from sigil.protocol import Json

FILE_ID = re.compile(r"F[A-Z0-9]{1,30}", re.ASCII)
FILES_MOST = 20
_MIME = re.compile(r"[A-Za-z0-9.+-]{1,64}/[A-Za-z0-9.+-]{1,64}")
INFO_MOST = 6
"""So many files of one message are asked for that came without a word about them."""
_GONE = ("tombstone", "hidden_by_limit")
"""Files that were deleted, or that a free workspace shows no longer."""


def list_attachments(event: Mapping[str, Json]) -> tuple[Attachment, ...]:
    """Return the files of a message, to be fetched later; nothing is downloaded here."""
    found: dict[str, Attachment] = {}
    for file in map(as_mapping, as_sequence(event.get("files"))[:FILES_MOST]):
        id = as_string(file.get("id"))
        if FILE_ID.fullmatch(id) and file.get("mode") not in _GONE:
            found[id] = read_file(file, id)
    return tuple(found.values())


def read_file(file: Mapping[str, Json], id: str) -> Attachment:
    """Return a file as an event carries it."""
    declared = as_string(file.get("mimetype"))
    mime = declared if _MIME.fullmatch(declared) else ""
    name = as_string(file.get("name")) or as_string(file.get("title"))
    return {
        "kind": _find_kind(file, mime),
        "file_id": id,
        "name": one_line(name, 200),
        "size": as_integer(file.get("size"), 0) or 0,
        "mime": mime,
    }


def is_untold(attachment: Mapping[str, object]) -> bool:
    """Return whether Slack told nothing of a file but its id, as of those of another workspace
    (https://docs.slack.dev/apis/slack-connect/using-slack-connect-api#files).
    """
    return not (attachment["name"] or attachment["mime"] or attachment["size"])


def _find_kind(file: Mapping[str, Json], mime: str) -> str:
    if file.get("subtype") == "slack_audio":
        return "voice"
    main = mime.partition("/")[0]
    return {"image": "photo", "video": "video", "audio": "audio"}.get(main, "document")
