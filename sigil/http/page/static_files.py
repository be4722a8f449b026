"""The style, the script and the pictures of the pages, each under an address with its digest.

What has a digest in its address never changes, so browsers keep it. Style sheets are one file, but
for that of all pages and those of a page of its own, so that no page waits for another one's.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.responses import Response

ALONE: Final = frozenset(("page.css", "chat.css"))
"""The style of all pages, and that of a page which needs no other one's."""
LISTS: Final = "lists.css"
"""All other style sheets."""
TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml; charset=utf-8",
    ".png": "image/png",
}
SQUEEZED: Final = (".css", ".js")
_BLANKS: Final = re.compile(rb"\s*([{};,])\s*")
_COMMENT: Final = re.compile(rb"/\*.*?\*/|(?:^|[ \t])[ \t]*//[^\n]*$", re.DOTALL | re.MULTILINE)
_BREAK: Final = re.compile(rb"([;{,(])\n")
"""The end of a line of a script that its sign tells as well."""
DIGEST_CHARACTERS: Final = 12
KEPT: Final = "max-age=31536000, immutable"
CHANGING: Final = "no-cache"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file as it is sent: its type, its bytes, the same compressed with gzip (empty where that
    gains nothing), and its digest.
    """

    type: str
    body: bytes
    compressed: bytes
    digest: str


class StaticFiles:
    """The static files of some folders, read at the start. Of two of one name the last one counts;
    of the style sheets that do not stand alone all do, in the order of the folders and names.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        bodies: dict[str, bytes] = {}
        lists: list[bytes] = []
        for folder in folders:
            for path in sorted(folder.iterdir()) if folder.is_dir() else ():
                if path.suffix == ".css" and path.name not in ALONE:
                    lists.append(path.read_bytes())
                elif path.suffix in TYPES:
                    bodies[path.name] = path.read_bytes()
        bodies[LISTS] = b"\n".join(lists)
        self._files = {name: _make_file(name, body) for name, body in bodies.items()}

    def find_path(self, name: str) -> str:
        """Return the address of a file below the pages' own; empty when there is none."""
        file = self._files.get(name)
        return f"/static/{name}?v={file.digest}" if file else ""

    def respond(self, name: str, version: str, *, accepts_gzip: bool) -> Response | None:
        """Return the answer with a file, None when there is none. Under the address of another
        version browsers do not keep it.
        """
        file = self._files.get(name)
        if file is None:
            return None
        headers = {
            "Content-Type": file.type,
            "Cache-Control": KEPT if version == file.digest else CHANGING,
        }
        body = file.body
        if file.compressed:
            headers["Vary"] = "Accept-Encoding"
            if accepts_gzip:
                headers["Content-Encoding"] = "gzip"
                body = file.compressed
        return Response(body, headers=headers)


def squeeze(body: bytes, *, is_style: bool = False) -> bytes:
    """Return a script or a style sheet of ours without its comments, and without the blanks and
    breaks that it does not need: they are a fifth of what is sent. None of ours has such signs in a
    text.
    """
    lines = _COMMENT.sub(b"", body).split(b"\n")
    squeezed = b"\n".join(filter(None, map(bytes.strip, lines)))
    if not is_style:
        return _BREAK.sub(rb"\1", squeezed)
    return _BLANKS.sub(rb"\1", squeezed).replace(b": ", b":").replace(b";}", b"}")


def _make_file(name: str, body: bytes) -> StaticFile:
    type = TYPES[Path(name).suffix]
    if name.endswith(SQUEEZED):
        body = squeeze(body, is_style=name.endswith(".css"))
    compressed = b"" if type == TYPES[".png"] else gzip.compress(body, 9, mtime=0)
    if len(compressed) >= len(body):
        compressed = b""
    return StaticFile(type, body, compressed, hashlib.sha256(body).hexdigest()[:DIGEST_CHARACTERS])
