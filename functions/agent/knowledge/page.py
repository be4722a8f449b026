"""A page of HTML becomes Markdown in the sandbox, by the capability that reads pages of the web."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

import orjson

from sigil.errors import SigilError, UsageError
from sigil.json_fields import as_mapping, as_string
from sigil.protocol import LIBRARY, Caller, Registry

READER: Final = "read-page"
ADDRESS: Final = "https://localhost/"
"""What is given as the page's address: nothing is fetched from there."""
HTML_CHARACTERS: Final = 700_000
"""The reader takes a page of at most so many characters."""
_SUFFIXES: Final = frozenset((".html", ".htm", ".xhtml"))


@dataclass(frozen=True, slots=True)
class PageText:
    """What a page says: its title, empty where it names none, and its text."""

    title: str
    text: str


def is_page(path: str) -> bool:
    """Return whether a file is HTML, by its name."""
    return PurePosixPath(path).suffix.lower() in _SUFFIXES


def read_page(path: str, html: str, registry: Registry, caller: Caller) -> PageText:
    """Return the text of a page; `UsageError` when it cannot be read."""
    if len(html) > HTML_CHARACTERS:
        raise UsageError(
            "ETOOBIG",
            f"{path} has {len(html):,} characters of HTML",
            suggestion=f"at most {HTML_CHARACTERS:,}: save it as Markdown or plain text",
        )
    try:
        row = as_mapping(registry.inspect(READER, caller))
        if row.get("namespace") != LIBRARY:
            # a namesake, which somebody made in the chat, may do anything with it
            raise UsageError("ENOENT", f"the library has no {READER}")
        reader = f"{READER}@{as_string(row.get('digest'))}"
        ran = registry.run(reader, {"url": ADDRESS, "html": html}, caller)
    except SigilError as problem:
        raise UsageError(
            problem.code,
            f"{path} cannot be read as HTML: {problem.message}",
            suggestion="save it as Markdown or plain text",
        ) from None
    page = as_mapping(orjson.loads(ran.output))
    return PageText(as_string(page.get("title")), as_string(page.get("text")))
