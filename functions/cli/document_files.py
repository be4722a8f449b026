"""Files that people add to the knowledge base: Markdown, text and HTML, single or in folders."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from sigil.errors import SigilError, UsageError
from sigil.json_fields import as_mapping, as_string
from sigil.network.page_text import to_utf8
from sigil.protocol import Caller, Registry

TEXTS: Final = frozenset((".md", ".markdown", ".txt", ".text", ".rst"))
PAGES: Final = frozenset((".html", ".htm", ".xhtml"))
FILE_BYTES: Final = 8 << 20
STDIN: Final = "-"
READER: Final = "read-page"
"""The capability that makes Markdown of HTML, in the sandbox."""


@dataclass(frozen=True, slots=True)
class FileText:
    """What a file says: its title, empty where it names none, and its text."""

    title: str
    text: str


def list_files(paths: Sequence[str]) -> Iterator[str]:
    """Yield the files that are named, and those in folders that can be read, in order.

    In a folder hidden ones are left out, and links are not followed.
    """
    for path in paths:
        if path == STDIN or not Path(path).is_dir():
            yield path
            continue
        for file in sorted(Path(path).rglob("*")):
            inside = file.relative_to(path).parts
            is_hidden = any(part.startswith(".") for part in inside)
            is_known = file.suffix.lower() in TEXTS | PAGES
            if is_known and not is_hidden and file.is_file() and not file.is_symlink():
                yield file.as_posix()


def read_file(path: str, registry: Registry, caller: Caller) -> FileText:
    """Return the text of a file; `UsageError` for one that is no text."""
    data = _read_bytes(path)
    suffix = Path(path).suffix.lower()
    if suffix in PAGES:
        return _read_page(path, data, registry, caller)
    if b"\0" in data[:8_000] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UsageError(
            "EINVAL", f"{path} is no text", suggestion="add Markdown, plain text or HTML"
        )
    text = to_utf8(data, (), FILE_BYTES).body.decode()
    title = ""
    for line in text.splitlines():
        if line.startswith("# "):
            title = line.removeprefix("# ").strip(" #")
            break
    return FileText(title, text)


def _read_bytes(path: str) -> bytes:
    try:
        if path != STDIN and not Path(path).is_file():
            raise UsageError("ENOENT", f"there is no file {path}")
        with sys.stdin.buffer if path == STDIN else Path(path).open("rb") as stream:
            data = stream.read(FILE_BYTES + 1)
    except OSError as problem:
        raise UsageError("EINVAL", f"{path} cannot be read: {problem.strerror}") from None
    if len(data) > FILE_BYTES:
        raise UsageError(
            "ETOOBIG", f"{path} is larger than {FILE_BYTES >> 20} MiB", suggestion="split it"
        )
    return data


def _read_page(path: str, data: bytes, registry: Registry, caller: Caller) -> FileText:
    html = to_utf8(data, (), FILE_BYTES).body.decode()
    given = {"url": "https://localhost/", "html": html}
    try:
        page = as_mapping(orjson.loads(registry.run(READER, given, caller).output))
    except SigilError as problem:
        raise UsageError(
            problem.code,
            f"{path} cannot be read as HTML: {problem.message}",
            suggestion="save it as Markdown or plain text",
        ) from None
    return FileText(as_string(page.get("title")), as_string(page.get("text")))
