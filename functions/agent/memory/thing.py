"""A thing that is remembered: a value under a key, a fact, or an event, each with where it is from
and how sure that is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final, Literal
from urllib.parse import urlsplit

import orjson

from functions.agent.sanitize import clean
from sigil.errors import BackendError, UsageError, one_line
from sigil.protocol import Json, is_full_name, is_name
from sigil.storage.stored import Stored, require_format, unknown

Kind = Literal["kv", "fact", "event"]
FIELDS: Final[Mapping[Kind, tuple[str, ...]]] = {
    "kv": ("key", "value"),
    "fact": ("subject", "predicate", "object"),
    "event": ("type", "payload"),
}
"""What each kind says; the first tells what it is about, the last is the text itself."""
WHEN: Final[Mapping[Kind, str]] = {"kv": "updated_at", "fact": "updated_at", "event": "ts"}
IDENTITY: Final[Mapping[Kind, int]] = {"kv": 1, "fact": 3, "event": 2}
"""So many of its fields make it the same thing."""
USER: Final = "user"
NAME_CHARACTERS, TEXT_CHARACTERS, SOURCE_CHARACTERS = 200, 2_000, 500
_ID = re.compile(r"[0-9a-f]{16}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Thing(Stored):
    """`texts`: its fields in the order of `FIELDS`. `source`: `user`, a capability's name or a URL;
    `confidence`: 0 to 1. `at`: when it was written, or when an event happened, in seconds since
    1970. `by`: in whose turn, as the runtime knows it. `mark` tells events apart that say the same;
    of a value it is the source that says so, where a surer one says something else.
    """

    kind: Kind
    texts: tuple[str, ...]
    source: str
    confidence: float
    at: float
    by: str = ""
    mark: str = ""

    @property
    def about(self) -> str:
        return self.texts[0]

    @property
    def id(self) -> str:
        """16 hexadecimal digits: the same for what is the same thing."""
        return id_of(self.kind, *self.texts[: IDENTITY[self.kind]], self.mark)

    @property
    def size(self) -> int:
        """Its characters."""
        return sum(map(len, self.texts))

    @property
    def told(self) -> str:
        """In words: `birthday: 3 May`, `Ada is allergic to nuts`."""
        return " ".join(self.texts) if self.kind == "fact" else ": ".join(self.texts)

    @property
    def disputed(self) -> bool:
        """Whether it is a value that was not sure enough to take the place of the one under its
        key.
        """
        return self.kind == "kv" and self.mark != ""

    def row(self) -> dict[str, Json]:
        """As it is stored, and as people and the model see it."""
        told = dict(zip(FIELDS[self.kind], self.texts, strict=True))
        return {
            "kind": self.kind,
            **told,
            WHEN[self.kind]: self.at,
            "source": self.source,
            "confidence": self.confidence,
            "by": self.by,
        }


def id_of(kind: Kind, *texts: str) -> str:
    """The id of the thing that these fields name, in whatever letters."""
    return sha256("\0".join((kind, *map(folded, texts))).encode()).hexdigest()[:16]


def is_id(text: str) -> bool:
    """Whether it can be a thing's id."""
    return _ID.fullmatch(text) is not None


def folded(text: str) -> str:
    """The text as it is compared: casefolded, with single spaces."""
    return " ".join(text.casefold().split())


def same_words(one: Thing, other: Thing) -> bool:
    """Whether both say the same, in whatever letters."""
    return list(map(folded, one.texts)) == list(map(folded, other.texts))


def surer(thing: Thing, before: Thing) -> Thing:
    """The thing; when it says what was said before, with the confidence of the surer of the two,
    and where that is from.
    """
    if not same_words(thing, before) or before.confidence <= thing.confidence:
        return thing
    return replace(thing, source=before.source, confidence=before.confidence, by=before.by)


def outranks(thing: Thing, before: Thing) -> bool:
    """Whether a value may take the place of another one: it is surer, or as sure and newer. What a
    person said only a person says anew.
    """
    if thing.confidence != before.confidence:
        return thing.confidence > before.confidence
    return thing.source == USER or before.source != USER


def checked(thing: Thing) -> Thing:
    """The thing, its texts clean; `UsageError` EINVAL when one is empty, too long, or nobody says
    where it is from.
    """
    *names, text = thing.texts
    fields = FIELDS[thing.kind]
    said = (
        *(_name(field, name) for field, name in zip(fields, names, strict=False)),
        _text(fields[-1], text),
    )
    by, confidence = one_line(thing.by, NAME_CHARACTERS), round(thing.confidence, 3)
    return replace(
        thing, texts=said, source=checked_source(thing.source), confidence=confidence, by=by
    )


def checked_source(source: str) -> str:
    """`source` when it says where something is from; `UsageError` EINVAL otherwise."""
    said = one_line(source, SOURCE_CHARACTERS + 1)
    if (
        said == USER
        or is_name(said)
        or is_full_name(said)
        or (len(said) <= SOURCE_CHARACTERS and is_address(said))
    ):
        return said
    hint = (
        "user for what a person said here, else the name of the capability that it came from, or"
        " its URL"
    )
    raise UsageError("EINVAL", "source has to say where it is from", suggestion=hint)


def decoded(id: str, data: bytes) -> Thing:
    """The thing that is stored; `BackendError` when it is damaged."""
    try:
        row = orjson.loads(data)
        require_format(row)
        kind: Kind = row["kind"]
        texts, at = tuple(str(row[field]) for field in FIELDS[kind]), float(row[WHEN[kind]])
        known = ("kind", *FIELDS[kind], WHEN[kind], "source", "confidence", "by", "mark")
        source, confidence, by, mark = (
            str(row["source"]),
            float(row["confidence"]),
            str(row["by"]),
            str(row["mark"]),
        )
        return Thing(
            kind, texts, source, confidence, at, by, mark, _rest=unknown(row, known) or None
        )
    except (ValueError, TypeError, KeyError):
        raise BackendError(
            "EDAMAGED", f"the thing {id} is damaged", suggestion="forget it by its id"
        ) from None


def encoded(thing: Thing) -> bytes:
    """The thing as it is stored."""
    return orjson.dumps({**thing.row(), "mark": thing.mark, **(thing._rest or {})})


def _name(field: str, text: str) -> str:
    said = one_line(text, NAME_CHARACTERS + 1)
    return _sized(field, said, NAME_CHARACTERS)


def _text(field: str, text: str) -> str:
    return _sized(field, clean(text).strip(), TEXT_CHARACTERS)


def _sized(field: str, text: str, most: int) -> str:
    if not text:
        raise UsageError("EINVAL", f"{field} is empty", suggestion="say it in words")
    if len(text) > most:
        raise UsageError(
            "EINVAL",
            f"{field} has {len(text):,} characters",
            suggestion=f"at most {most:,}: keep what matters",
        )
    return text


def is_address(text: str) -> bool:
    """Whether it is the address of a page."""
    try:
        parts = urlsplit(text)
        return (
            parts.scheme in ("http", "https")
            and bool((parts.hostname or "").strip("."))
            and " " not in text
        )
    except ValueError:
        return False
