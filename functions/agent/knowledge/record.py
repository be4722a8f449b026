"""The records of a knowledge base: documents with where they are from, and their chunks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Annotated, Final
from unicodedata import normalize

from msgspec import Meta

from functions.agent.memory.thing import fold
from functions.agent.sanitize import clean_text
from functions.events import ID_CHARACTERS, LOCAL_SENDERS
from sigil.errors import UsageError, one_line
from sigil.storage.stored import Shape, Stored, later

TITLE_CHARACTERS: Final = 200
SOURCE_CHARACTERS: Final = 500
AUTHOR_CHARACTERS: Final = 200
TAG_CHARACTERS: Final = 40
TAGS_MOST: Final = 20
WHY_CHARACTERS: Final = 200
TEXT_CHARACTERS: Final = 2_000_000
"""A document has at most so many characters."""
TIME_MOST: Final = 1e11
SURE: Final = 1.0
"""The confidence in a document of which nobody says how sure it is."""
HEARSAY: Final = 0.5
"""The confidence in what was added in a turn is at most this: a model says it, or repeats it."""
_ID: Final = re.compile(r"[0-9a-f]{16}", re.ASCII)
_TAG: Final = re.compile(r"[^\W_](?:[\w.:-]*\w)?")

Serial = Annotated[int, Meta(ge=0, lt=1 << 32)]


@dataclass(frozen=True, slots=True)
class Draft:
    """A document as somebody wants it kept. `time` is when its source said so, in seconds since
    1970; `by` is who adds it, and `why` for what. `is_hearsay` says that it comes from a turn,
    whoever's that is, and `is_stated` that an owner states author and confidence on the page.
    """

    title: str
    source: str
    text: str
    by: str
    time: float
    author: str = ""
    confidence: float = SURE
    tags: tuple[str, ...] = ()
    is_hearsay: bool = False
    is_stated: bool = False
    why: str = ""

    @property
    def id(self) -> str:
        """16 hexadecimal digits, the same for the same title of the same source."""
        return sha256("\0".join((fold(self.source), fold(self.title))).encode()).hexdigest()[:16]

    @property
    def digest(self) -> str:
        """A hash of the text."""
        return sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class KnowledgeDocument(Stored):
    """A document: what it is called, and its provenance.

    `author` wrote it, `time` is when (seconds since 1970), and `confidence` how sure it is, 0 to 1.
    `by` has added it, `at`, and said `why`. Only an owner at the shell, over HTTP or on the page
    says who wrote it and how sure it is, and `stated` marks that; earlier versions of this software
    stored what anybody said. `version` counts its texts from 1. `serial` is where the chunks of the
    version are, 0 while the first one is being written, and `writing` that of the version which is
    being written, 0 for none.
    """

    title: str
    source: str
    author: str
    time: float
    confidence: float
    by: str
    at: float
    digest: str
    characters: int
    chunks: int
    tags: tuple[str, ...] = ()
    serial: Serial = 0
    writing: Serial = 0
    version: Annotated[int, Meta(ge=1)] = later(1)
    why: str = later("")
    stated: bool = later(False)

    @property
    def is_there(self) -> bool:
        """Return whether a version of it can be found."""
        return self.serial > 0

    @property
    def is_stated(self) -> bool:
        """Return whether an owner has stated its author and its confidence."""
        return self.stated or self.by in LOCAL_SENDERS

    @property
    def stated_author(self) -> str:
        """The author as an owner has stated it, empty where none has."""
        return self.author if self.is_stated else ""

    @property
    def known_author(self) -> str:
        """The author whom an owner has stated, else whoever has added the document."""
        return self.stated_author or self.by

    @property
    def known_confidence(self) -> float:
        """The confidence that an owner has stated; that of anybody else is at most hearsay."""
        if self.is_stated:
            return self.confidence
        return min(self.confidence, HEARSAY)


@dataclass(frozen=True, slots=True)
class Chunk(Stored):
    """A part of a document, the headings above it, and its first and last line."""

    text: str
    headings: tuple[str, ...]
    first: int
    last: int

    @property
    def place(self) -> str:
        """The place in words: `Refunds > Opened goods, lines 12-18`."""
        lines = f"line {self.first}"
        if self.last > self.first:
            lines = f"lines {self.first}-{self.last}"
        return ", ".join(filter(None, (" > ".join(self.headings), lines)))


@dataclass(frozen=True, slots=True)
class ChunkGroup(Stored):
    """Some chunks of one version of the document `id`, whose title and tags their terms have too.
    `start` is the number of the first of them.
    """

    id: str
    title: str
    tags: tuple[str, ...]
    start: int
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class Pending(Stored):
    """A change of a document that has begun, `at` (seconds since 1970), and has not ended.

    `chunks` has for each version of the document that may have to go how many chunks it has; `by`
    makes the change.
    """

    id: str
    at: float
    chunks: Mapping[str, int]
    by: str = later("")


@dataclass(frozen=True, slots=True)
class KnowledgeTotals(Stored):
    """How many chunks a knowledge base has, the serial of its next version, and what has begun."""

    chunks: Annotated[int, Meta(ge=0)] = 0
    next: Serial = 1
    pending: Mapping[str, Pending] = field(default_factory=dict)


DOCUMENT: Final = Shape[KnowledgeDocument](KnowledgeDocument)
GROUP: Final = Shape[ChunkGroup](ChunkGroup)
TOTALS: Final = Shape[KnowledgeTotals](KnowledgeTotals, required=("chunks", "next"))


def is_id(text: str) -> bool:
    """Return whether the text can be a document's id."""
    return _ID.fullmatch(text) is not None


def describe_document(id: str, record: KnowledgeDocument, scope: str) -> dict[str, object]:
    """Return a document as programs see it, with times in seconds since 1970."""
    return {
        "id": id,
        "scope": scope,
        "title": record.title,
        "source": record.source,
        "author": record.known_author,
        "stated_by_owner": bool(record.stated_author),
        "time": record.time,
        "confidence": record.known_confidence,
        "tags": list(record.tags),
        "by": record.by,
        "at": record.at,
        "characters": record.characters,
        "chunks": record.chunks,
        "digest": record.digest,
        "version": record.version,
        "why": record.why,
    }


def make_draft(
    *,
    title: str,
    source: str,
    text: str,
    by: str,
    time: float,
    author: str = "",
    confidence: float = SURE,
    tags: Sequence[str] = (),
    is_hearsay: bool = False,
    is_stated: bool = False,
    why: str = "",
) -> Draft:
    """Return a document in clean texts; `UsageError` EINVAL or ETOOBIG for one that is none.

    A document without a source is refused: nobody could tell what it is worth. Hearsay has no
    author but whoever adds it.
    """
    if is_hearsay:
        author = ""
        confidence = min(confidence, HEARSAY)
    cleaned = clean_text(text)
    if not cleaned.strip():
        raise _refuse("text is empty", "give the document's own words")
    if len(cleaned) > TEXT_CHARACTERS:
        raise UsageError(
            "ETOOBIG",
            f"text has {len(cleaned):,} characters",
            source="knowledge",
            suggestion=f"at most {TEXT_CHARACTERS:,}: add it in parts with titles of their own",
        )
    if not 0 <= confidence <= 1:
        raise _refuse("confidence is a number from 0 to 1", "leave it out for 1")
    if not 0 <= time < TIME_MOST:
        raise _refuse("time is no time of a calendar", "leave it out for now")
    return Draft(
        title=_check_line("title", title, TITLE_CHARACTERS, "say what the document is called"),
        source=_check_line(
            "source",
            source,
            SOURCE_CHARACTERS,
            "say where it is from: an address, a file, or who said it",
        ),
        text=cleaned,
        by=one_line(by, ID_CHARACTERS),
        time=time,
        author=one_line(clean_text(author), AUTHOR_CHARACTERS),
        confidence=round(confidence, 3),
        tags=check_tags(tags),
        is_hearsay=is_hearsay,
        is_stated=is_stated,
        why=one_line(clean_text(why), WHY_CHARACTERS),
    )


def check_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Return tags in small letters, each once; `UsageError` EINVAL for what is none."""
    found = tuple(dict.fromkeys(clean_text(tag).strip().casefold() for tag in tags))
    for tag in found:
        if len(tag) > TAG_CHARACTERS or not _TAG.fullmatch(tag):
            hint = f"a word of at most {TAG_CHARACTERS} characters, such as refunds"
            raise _refuse(f"{one_line(tag, TAG_CHARACTERS)!r} is no tag", hint)
    if len(found) > TAGS_MOST:
        raise _refuse(f"a document has at most {TAGS_MOST} tags", "keep those that people ask for")
    return found


def _check_line(name: str, text: str, most: int, hint: str) -> str:
    # some systems write é of a file's name as two characters: it is the same name
    line = one_line(normalize("NFC", clean_text(text)), most + 1)
    if not line:
        raise _refuse(f"{name} is missing", hint)
    if len(line) > most:
        raise _refuse(f"{name} has over {most} characters", hint)
    return line


def _refuse(message: str, suggestion: str) -> UsageError:
    return UsageError("EINVAL", message, source="knowledge", suggestion=suggestion)
