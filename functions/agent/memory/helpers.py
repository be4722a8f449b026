"""Helpers are what the wiring lends to the agent's memory and services: functions of Sigil, and the
reader of files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, Protocol

from sigil.errors import ToolError
from sigil.protocol import Json

Accept = Callable[[Mapping[str, Json], Mapping[str, Json]], dict[str, Json]]
"""(schema, arguments) → arguments with defaults that fit the schema; `UsageError` EINVAL if not."""
Terms = Callable[[str], Collection[str]]
"""A text → its terms, each once, without those that are in every text."""
FindEntries = Callable[[Collection[str]], Mapping[str, Sequence[int]]]
"""Terms → the entries of postings of those that something has."""


class Ranker(Protocol):
    """Reads the terms of chunks of documents, and ranks chunks."""

    def list_strengths(
        self, title: str, headings: Sequence[str], tags: Sequence[str], text: str
    ) -> Mapping[str, int]:
        """Return term → its strength in a chunk, in 16 bits."""

    def rank(
        self, question: str, chunks: int, find: FindEntries, count: int
    ) -> Sequence[tuple[int, float]]:
        """Return the numbers of at most `count` of so many `chunks`, the best first, each with its
        score from 0 to 1. An entry has the number, and behind it 16 bits for the strength.
        """


class NoRanker:
    """Finds nothing: no search of Sigil is lent."""

    def list_strengths(
        self, title: str, headings: Sequence[str], tags: Sequence[str], text: str
    ) -> Mapping[str, int]:
        """See `Ranker.list_strengths`."""
        return {}

    def rank(
        self, question: str, chunks: int, find: FindEntries, count: int
    ) -> Sequence[tuple[int, float]]:
        """See `Ranker.rank`."""
        return ()


class Picture(Protocol):
    """A picture as it may go to a model: small enough, upright, without what says where it was
    taken. Its size is in pixels.
    """

    @property
    def data(self) -> bytes: ...

    @property
    def type(self) -> str: ...

    @property
    def width(self) -> int: ...

    @property
    def height(self) -> int: ...


class Heading(Protocol):
    """A line of an outline, and the page on which its part begins."""

    @property
    def title(self) -> str: ...

    @property
    def page(self) -> int: ...


class Page(Protocol):
    """The text of a page. A scan has a picture and next to no text; what is cut has more text than
    can be read.
    """

    @property
    def number(self) -> int: ...

    @property
    def text(self) -> str: ...

    @property
    def is_scan(self) -> bool: ...

    @property
    def is_cut(self) -> bool: ...


class OpenedDocument(Protocol):
    """Pages of a document, and what is known of all of it. `notes` say what was left out."""

    @property
    def type(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def page_count(self) -> int: ...

    @property
    def outline(self) -> Sequence[Heading]: ...

    @property
    def pages(self) -> Sequence[Page]: ...

    @property
    def notes(self) -> Sequence[str]: ...


class FileReader(Protocol):
    """Opens files that people send, by what is in them: the agent itself parses none.

    What is not opened is a `ToolError` with a key of the texts' `file_problems` as its `reason`;
    `BackendError` says that it cannot be opened now.
    """

    def find_type(self, data: bytes) -> str:
        """Return the type of a file, such as `pdf`; empty for one that is not known."""

    def scale(self, data: bytes) -> Picture:
        """Return a picture as it may go to a model."""

    def read(self, data: bytes, first: int = 1, count: int = 1) -> OpenedDocument:
        """Return `count` pages of a document from the page `first` on; fewer where they have a lot
        of text or take long, but one at least.
        """

    def look(self, data: bytes, page: int = 1) -> Picture:
        """Return a page of a document as a picture."""

    def draw(self, svg: str) -> Picture:
        """Return an SVG document that only draws as a PNG."""

    def fit(self, data: bytes, width: int, height: int, *, sixel: bool = False) -> bytes:
        """Return a picture for a terminal, of at most so many pixels: a PNG, or sixels."""


NO_READER: Final = "no_reader"
"""The reason why `NoReader` opens nothing, a key of the texts' `file_problems`."""


class Transcript(Protocol):
    """What was said in a sound: its words, its length in seconds (0 where it tells none), and what
    it cost in the currency of the prices.
    """

    @property
    def text(self) -> str: ...

    @property
    def seconds(self) -> float: ...

    @property
    def cost(self) -> float: ...


class Transcriber(Protocol):
    """Turns speech into text.

    What is not heard is a `ToolError` with a key of the texts' `file_problems` as its `reason`.
    """

    @property
    def is_open(self) -> bool:
        """Return whether anything can be heard."""

    def hears(self, data: bytes, *, spoken: bool) -> bool:
        """Return whether a file is a sound; `spoken`: it came as one, so that it is no video."""

    def measure(self, data: bytes) -> float:
        """Return the length of a sound in seconds; 0 where it tells none."""

    def transcribe(self, data: bytes, language: str = "") -> Transcript:
        """Return what is said in a sound. `language` is its ISO 639-1 code, empty where nobody
        knows.
        """


class NoTranscriber:
    """Hears nothing: no endpoint is lent."""

    is_open = False

    def hears(self, data: bytes, *, spoken: bool) -> bool:
        return False

    def measure(self, data: bytes) -> float:
        return 0.0

    def transcribe(self, data: bytes, language: str = "") -> Transcript:
        raise ToolError("EFILE", "nothing here hears", reason="no_speech")


class NoReader:
    """Opens nothing, and knows a text when it sees one: no reader is lent."""

    def find_type(self, data: bytes) -> str:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return ""
        return "text" if text and "\0" not in text else ""

    def scale(self, data: bytes) -> Picture:
        raise _cannot_open()

    def read(self, data: bytes, first: int = 1, count: int = 1) -> OpenedDocument:
        raise _cannot_open()

    def look(self, data: bytes, page: int = 1) -> Picture:
        raise _cannot_open()

    def draw(self, svg: str) -> Picture:
        raise _cannot_open()

    def fit(self, data: bytes, width: int, height: int, *, sixel: bool = False) -> bytes:
        raise _cannot_open()


def _cannot_open() -> ToolError:
    return ToolError("EFILE", "nothing here opens files but texts", reason=NO_READER)


def copy_arguments(schema: Mapping[str, Json], arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Return the arguments unchecked: services check what they use all the same."""
    return dict(arguments)


def split_words(text: str) -> frozenset[str]:
    """Return the words of a text in small letters."""
    return frozenset(text.casefold().split())


@dataclass(frozen=True, slots=True)
class ServiceHelpers:
    """The helpers of one agent. `reader` opens files that people send, and `transcriber` hears
    their voice messages.

    The calls of a round run side by side; those that write memory take `lock`.
    """

    accept: Accept = copy_arguments
    terms: Terms = split_words
    ranker: Ranker = field(default_factory=NoRanker)
    lock: Lock = field(default_factory=Lock)
    reader: FileReader = field(default_factory=NoReader)
    transcriber: Transcriber = field(default_factory=NoTranscriber)
