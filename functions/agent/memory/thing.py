"""A thing is what the agent remembers: a value under a key, a fact, or an event.

Each says where it is from and how sure that is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final, Literal
from urllib.parse import urlsplit

import orjson

from functions.agent.sanitize import clean_text
from functions.events import ID_CHARACTERS
from sigil.errors import BackendError, UsageError, one_line
from sigil.protocol import Json, is_full_name, is_name
from sigil.storage.stored import Stored, require_format, unknown

Kind = Literal["kv", "fact", "event"]
FIELDS: Final[Mapping[Kind, tuple[str, ...]]] = {
    "kv": ("key", "value"),
    "fact": ("subject", "predicate", "object"),
    "event": ("type", "payload"),
}
"""The fields of each kind; the first says what it is about, the last is the text itself."""
WHEN: Final[Mapping[Kind, str]] = {"kv": "updated_at", "fact": "updated_at", "event": "ts"}
IDENTITY: Final[Mapping[Kind, int]] = {"kv": 1, "fact": 3, "event": 2}
"""Two things are the same when so many of their fields are."""
USER: Final = "user"
NAME_CHARACTERS, TEXT_CHARACTERS, SOURCE_CHARACTERS = 200, 2_000, 500
_ID = re.compile(r"[0-9a-f]{16}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Thing(Stored):
    """One thing.

    `texts` are its fields in the order of `FIELDS`. `source` is `user`, a capability's name or a
    URL; `confidence` is 0 to 1. `at` is when it was written, or when an event happened, in seconds
    since 1970. `by` is the person in whose turn, as the runtime knows it. `mark` tells events apart
    that say the same; of a value or a fact that a surer one contradicts, it is the source. `ended`
    is when it ceased to hold, 0 while it holds. `instead` is the id of the thing that holds in its
    place, or that a fact contradicts.
    """

    kind: Kind
    texts: tuple[str, ...]
    source: str
    confidence: float
    at: float
    by: str = ""
    mark: str = ""
    ended: float = 0.0
    instead: str = ""

    @property
    def about(self) -> str:
        """The key, subject or type: what it is about."""
        return self.texts[0]

    @property
    def id(self) -> str:
        """16 hexadecimal digits, the same for the same thing."""
        return id_of(self.kind, *self.texts[: IDENTITY[self.kind]], self.mark)

    @property
    def size(self) -> int:
        """The number of its characters."""
        return sum(map(len, self.texts))

    @property
    def in_words(self) -> str:
        """The thing in words: `birthday: 3 May`, `Ada is allergic to nuts`."""
        return " ".join(self.texts) if self.kind == "fact" else ": ".join(self.texts)

    @property
    def disputed(self) -> bool:
        """Return whether it is a value or a fact that contradicts a surer one."""
        return self.kind != "event" and self.mark != ""

    @property
    def changed_at(self) -> float:
        """Return when it was written, or ended after that."""
        return max(self.at, self.ended)

    def row(self) -> dict[str, Json]:
        """Return its fields as they are stored, and as people and the model see them."""
        row: dict[str, Json] = {
            "kind": self.kind,
            **dict(zip(FIELDS[self.kind], self.texts, strict=True)),
            WHEN[self.kind]: self.at,
            "source": self.source,
            "confidence": self.confidence,
            "by": self.by,
        }
        # version 0.1.0 does not know these, so they are written only where they say something
        if self.ended:
            row["ended"] = self.ended
        if self.instead:
            row["instead"] = self.instead
        return row


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is remembered of what a query asks for.

    `things` say what it asks for; `near` ones speak of something like it, and leave some of it
    open. `others` are all other things in a few words each, where the query is a question; `is_own`
    says that it is about the person who asks.
    """

    things: Sequence[Mapping[str, Json]] = ()
    near: Sequence[Mapping[str, Json]] = ()
    others: str = ""
    is_own: bool = False


def id_of(kind: Kind, *texts: str) -> str:
    """Return the id of the thing that these fields name, in whatever letters."""
    return sha256("\0".join((kind, *map(fold, texts))).encode()).hexdigest()[:16]


def is_id(text: str) -> bool:
    """Return whether the text can be a thing's id."""
    return _ID.fullmatch(text) is not None


def fold(text: str) -> str:
    """Return the text as it is compared: casefolded, with single spaces."""
    return " ".join(text.casefold().split())


def is_same_text(one: Thing, other: Thing) -> bool:
    """Return whether both say the same, in whatever letters."""
    return list(map(fold, one.texts)) == list(map(fold, other.texts))


def keep_surer_source(thing: Thing, before: Thing) -> Thing:
    """Return the thing, with the earlier source and confidence when those are surer.

    They are kept only when both things say the same, and the earlier one still holds.
    """
    if not is_same_text(thing, before) or before.confidence <= thing.confidence or before.ended:
        return thing
    return replace(thing, source=before.source, confidence=before.confidence, by=before.by)


def outranks(thing: Thing, before: Thing) -> bool:
    """Return whether a value may replace another one: it is surer, or as sure and newer.

    What a person said is replaced, at the same confidence, only by what a person says.
    """
    if thing.confidence != before.confidence:
        return thing.confidence > before.confidence
    return thing.source == USER or before.source != USER


def check_thing(thing: Thing) -> Thing:
    """Return the thing with clean texts.

    Raises `UsageError` EINVAL when one is empty or too long, or nobody says where it is from.
    """
    *name_fields, text_field = FIELDS[thing.kind]
    *names, text = thing.texts
    texts: list[str] = []
    for field, name in zip(name_fields, names, strict=True):
        line = one_line(name, NAME_CHARACTERS + 1)
        texts.append(_check_length(field, line, NAME_CHARACTERS))
    texts.append(_check_length(text_field, clean_text(text).strip(), TEXT_CHARACTERS))
    return replace(
        thing,
        texts=tuple(texts),
        source=check_source(thing.source),
        confidence=round(thing.confidence, 3),
        by=one_line(thing.by, ID_CHARACTERS),
    )


def check_source(source: str) -> str:
    """Return `source` when it says where something is from; raise `UsageError` EINVAL otherwise."""
    line = one_line(source, SOURCE_CHARACTERS + 1)
    if line == USER or is_name(line) or is_full_name(line):
        return line
    if len(line) <= SOURCE_CHARACTERS and is_address(line):
        return line
    hint = (
        "user for what a person said here, else the name of the capability that it came from, or"
        " its URL"
    )
    raise UsageError("EINVAL", "source has to say where it is from", suggestion=hint)


def decode_thing(id: str, data: bytes) -> Thing:
    """Return the stored thing; raise `BackendError` EDAMAGED when it is damaged."""
    try:
        row = orjson.loads(data)
        require_format(row)
        kind: Kind = row["kind"]
        known = ("kind", *FIELDS[kind], WHEN[kind], "source", "confidence", "by", "mark")
        known += ("ended", "instead")
        return Thing(
            kind,
            tuple(str(row[field]) for field in FIELDS[kind]),
            str(row["source"]),
            float(row["confidence"]),
            float(row[WHEN[kind]]),
            str(row["by"]),
            str(row["mark"]),
            float(row.get("ended", 0.0)),
            str(row.get("instead", "")),
            _rest=unknown(row, known) or None,
        )
    except (ValueError, TypeError, KeyError):
        raise BackendError(
            "EDAMAGED", f"the thing {id} is damaged", suggestion="forget it by its id"
        ) from None


def encode_thing(thing: Thing) -> bytes:
    """Return the thing as it is stored."""
    return orjson.dumps({**thing.row(), "mark": thing.mark, **(thing._rest or {})})


def _check_length(field: str, text: str, most: int) -> str:
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
    """Return whether the text is the address of a page."""
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(host.strip(".")) and " " not in text
