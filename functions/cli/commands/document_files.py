"""Files that people add to the knowledge base: Markdown, text and HTML, single or in folders."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from functions.agent.knowledge.page import PageText, is_page, read_page
from sigil.errors import UsageError
from sigil.network.page_text import to_utf8
from sigil.protocol import Caller, Registry

TEXTS: Final = frozenset((".md", ".markdown", ".txt", ".text", ".rst"))
FILE_BYTES: Final = 8 << 20
STDIN: Final = "-"
_COMMON: Final = range(0xA1, 0xD8)
_SECOND: Final = range(0xA1, 0xFF)


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
            is_known = file.suffix.lower() in TEXTS or is_page(file.name)
            if is_known and not is_hidden and file.is_file() and not file.is_symlink():
                yield file.as_posix()


def list_links(paths: Sequence[str]) -> list[str]:
    """Return the links in folders that `list_files` leaves out: to folders, and to documents."""
    found = []
    for path in paths:
        if path == STDIN or not Path(path).is_dir():
            continue
        for file in sorted(Path(path).rglob("*")):
            is_hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
            is_known = file.suffix.lower() in TEXTS or is_page(file.name) or file.is_dir()
            if file.is_symlink() and is_known and not is_hidden:
                found.append(file.as_posix())
    return found


def read_file(path: str, registry: Registry, caller: Caller) -> PageText:
    """Return the text of a file; `UsageError` for one that is no text."""
    data = _read_bytes(path)
    if is_page(path):
        html = to_utf8(data, (), FILE_BYTES).body.decode()
        return read_page(path, html, registry, caller)
    if b"\0" in data[:8_000] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UsageError(
            "EINVAL", f"{path} is no text", suggestion="add Markdown, plain text or HTML"
        )
    text = _decode_chinese(data) or to_utf8(data, (), FILE_BYTES).body.decode()
    title = ""
    for line in text.splitlines():
        if line.startswith("# "):
            title = line.removeprefix("# ").strip(" #")
            break
    return PageText(title, text)


def _decode_chinese(data: bytes) -> str:
    """Return a text in GB 18030 (GBK, GB 2312), as Windows writes Chinese; empty for others.

    Pairs of letters with accents (`größer`) can be read as signs, too, but as rare ones. So three
    of four signs have to be common ones, which begin with a byte from A1 to D7.
    """
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return ""
    try:
        text = data.decode("gb18030")
    except UnicodeDecodeError:
        return ""
    signs = [sign.encode("gb18030") for sign in text if not sign.isascii()]
    common = [sign for sign in signs if sign[0] in _COMMON and sign[1] in _SECOND]
    return text if len(common) * 4 >= len(signs) * 3 else ""


def _read_bytes(path: str) -> bytes:
    try:
        if path != STDIN and not Path(path).is_file():
            raise UsageError(
                "ENOENT",
                f"there is no file {path}",
                suggestion="name a file, a folder, or - for standard input",
            )
        with sys.stdin.buffer if path == STDIN else Path(path).open("rb") as stream:
            data = stream.read(FILE_BYTES + 1)
    except OSError as problem:
        raise UsageError("EINVAL", f"{path} cannot be read: {problem.strerror}") from None
    if len(data) > FILE_BYTES:
        raise UsageError(
            "ETOOBIG", f"{path} is larger than {FILE_BYTES >> 20} MiB", suggestion="split it"
        )
    return data
