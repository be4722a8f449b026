"""Documents: what an agent, or one chat with it, keeps in words. Versioned, written by
compare-and-set, read anew every turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from functions.agent.sanitize import clean, unseen
from sigil.errors import BackendError, Conflict, UsageError, one_line
from sigil.storage.kv import ABSENT, KV, Item, Key, keys
from sigil.storage.kv.base import get_many
from sigil.storage.stored import Shape, Stored, dumps

CAPS: Final = {
    "role": 8_000,
    "self": 8_000,
    "agents": 8_000,
    "soul": 8_000,
    "user": 8_000,
    "tools": 8_000,
    "memory": 12_000,
}
"""The documents, in the order of the prompt, and how many characters each may have."""
OF_CHATS: Final = ("user", "memory")
"""Those that a chat has of its own, beside the agent's."""
FIRST_SOUL: Final = """\
# Soul

## Personality
Helpful, calm and to the point.

## Values
Accuracy before speed. The user's privacy. Saying plainly what is not known.

## Communication Style
Brief and concrete, in the user's language."""
"""What `soul` is until somebody writes it."""
PAGE = 100
DAMAGED: Final = "damaged"
"""Who wrote a version that cannot be read."""


@dataclass(frozen=True, slots=True)
class Doc(Stored):
    """One version of a document. `scope` is the agent's escaped name or a session's S; `at` seconds
    since 1970; `by` and `why`: who wrote it and for what; version 0 was never written: it is empty,
    but for the soul.
    """

    scope: str
    name: str
    version: int = 0
    text: str = ""
    at: float = 0.0
    by: str = ""
    why: str = ""


class Documents:
    """The documents of one agent and of its chats. `now`: seconds since 1970."""

    def __init__(self, kv: KV, agent: str, now: Callable[[], float]) -> None:
        self._kv = kv
        self._now = now
        self.agent = keys.escape(agent)

    def read(self, scope: str, name: str) -> Doc:
        """The document as it stands; `UsageError` when there is none of this name, or none that a
        chat has of its own.
        """
        return self._head(scope, self._checked_name(scope, name))[0]

    def of(self, session: str) -> tuple[Doc, ...]:
        """What stands in the prompt of a session (S of the keys): the agent's documents, then the
        chat's own, without empty ones.
        """
        return self.take(session, get_many(self._kv, self.list_keys(session)))

    def list_keys(self, session: str) -> list[Key]:
        """Return the keys of what may stand in the prompt of a session, as `take` takes them."""
        agent = [keys.doc(self.agent, name) for name in CAPS]
        return [*agent, *(keys.doc(session, name) for name in OF_CHATS)]

    def take(self, session: str, items: Sequence[Item | None]) -> tuple[Doc, ...]:
        """Return what `of` does, from what was just read at `list_keys`."""
        agent = self._read_all(self.agent, zip(CAPS, items, strict=False))
        chat = self._read_all(session, zip(OF_CHATS, items[len(CAPS) :], strict=True))
        first = {"soul": self._unwritten(self.agent, "soul")}
        agent = first | {name: doc for name, doc in agent.items() if doc.text}
        found = [agent.get(name) for name in CAPS] + [chat.get(name) for name in OF_CHATS]
        return tuple(doc for doc in found if doc and doc.text)

    def write(
        self, scope: str, name: str, text: str, *, by: str, why: str = "", expect: int | None = None
    ) -> Doc:
        """Write the next version. `expect`: the version that it was made from; `Conflict` when
        somebody wrote since.

        The text has to be clean and within its cap: `UsageError` else.
        """
        before, version = self._head(scope, self._checked_name(scope, name))
        if expect is not None and expect != before.version:
            raise Conflict(f"{name} was changed meanwhile: it is at version {before.version}")
        if before.version and before.by != DAMAGED and before.text == checked(name, text):
            return before
        after = replace(
            before,
            version=before.version + 1,
            text=checked(name, text),
            at=self._now(),
            by=one_line(by, 80),
            why=one_line(why, 200),
        )
        if before.version:
            self._kv.put(keys.doc_version(scope, name, before.version), _encoded(before))
        self._kv.put(keys.doc(scope, name), _encoded(after), expect=version or ABSENT)
        return after

    def roll_back(self, scope: str, name: str, version: int, by: str) -> Doc:
        """Write an earlier version's text again, as a new version."""
        return self.write(
            scope,
            name,
            self.version(scope, name, version).text,
            by=by,
            why=f"rolled back to version {version}",
        )

    def version(self, scope: str, name: str, version: int) -> Doc:
        """One version; `UsageError` when there was none of this number, `BackendError` EDAMAGED
        when it cannot be read.
        """
        head = self._head(scope, checked_name(name))[0]
        first = self._unwritten(scope, name)
        if version == head.version and version and head.by != DAMAGED:
            return head
        if version == 0 and first.text:
            return first
        if not 0 < version <= head.version:
            known = f"{0 if first.text else 1} to {head.version}" if head.version else "none"
            raise UsageError(
                "ENOENT", f"{name} has no version {version}", suggestion=f"its versions: {known}"
            )
        item = self._kv.get(keys.doc_version(scope, name, version))
        doc = _decoded(scope, name, item.value) if item else None
        if doc is None:
            hint = "take another one, or write it again"
            raise BackendError(
                "EDAMAGED", f"version {version} of {name} cannot be read", suggestion=hint
            )
        return doc

    def versions(self, scope: str, name: str) -> Iterator[Doc]:
        """All versions that can be read, the newest first."""
        head = self.read(scope, name)
        if head.version:
            yield head
        for number in range(head.version - 1, 0, -1):
            item = self._kv.get(keys.doc_version(scope, name, number))
            if item and (doc := _decoded(scope, name, item.value)):
                yield doc

    def _head(self, scope: str, name: str) -> tuple[Doc, str]:
        item = self._kv.get(keys.doc(scope, name))
        return (
            (self._readable(scope, name, item.value), item.version)
            if item
            else (self._unwritten(scope, name), "")
        )

    def _unwritten(self, scope: str, name: str) -> Doc:
        """What a document is until somebody writes it."""
        return Doc(scope, name, text=FIRST_SOUL if (scope, name) == (self.agent, "soul") else "")

    def _checked_name(self, scope: str, name: str) -> str:
        if scope != self.agent and checked_name(name) not in OF_CHATS:
            raise UsageError(
                "EINVAL",
                f"{name} is no document of a chat's own",
                suggestion=f"those are {' and '.join(OF_CHATS)}",
            )
        return checked_name(name)

    def _readable(self, scope: str, name: str, data: bytes) -> Doc:
        """The document; when it is damaged, the text of the last version that is not stands in for
        it.
        """
        doc = _decoded(scope, name, data)
        if doc:
            return doc
        row = keys.doc_version(scope, name, 0)
        last, written, after = self._unwritten(scope, name), 0, ""
        while page := self._kv.scan(row.partition, f"{name}#", after, PAGE):
            written, after = int(page[-1][0].rpartition("#")[2]), page[-1][0]
            last = next(
                (doc for _, item in reversed(page) if (doc := _decoded(scope, name, item.value))),
                last,
            )
        why = (
            f"cannot be read; version {last.version} stands in for it"
            if last.version or last.text
            else "cannot be read"
        )
        return replace(last, version=written + 1, by=DAMAGED, why=why)

    def _read_all(self, scope: str, items: Iterable[tuple[str, Item | None]]) -> dict[str, Doc]:
        return {name: self._readable(scope, name, item.value) for name, item in items if item}


def checked_name(name: str) -> str:
    """`name` when it is a document's; else `UsageError` with those that are."""
    if name not in CAPS:
        hint = (
            "what happened in a chat: `uncaged agent history`"
            if name == "history"
            else f"the documents: {', '.join(CAPS)}"
        )
        raise UsageError("ENOENT", f"there is no document {one_line(name, 40)!r}", suggestion=hint)
    return name


def checked(name: str, text: str) -> str:
    """`text` when it may be this document; else `UsageError` says what is wrong with it."""
    place = unseen(text)
    if place is not None:
        line = text.count("\n", 0, place) + 1
        raise UsageError(
            "EINVAL",
            f"{name} holds a character that nobody sees (line {line})",
            suggestion="take control characters out",
        )
    text = clean(text).strip()
    if len(text) > CAPS[name]:
        raise UsageError(
            "ETOOBIG", f"{name} has {len(text):,} characters", suggestion=f"at most {CAPS[name]:,}"
        )
    return text


@dataclass(frozen=True, slots=True)
class _Version(Stored):
    """A version as it is stored: its key says the scope and the name."""

    version: int
    text: str
    at: float
    by: str
    why: str


_VERSION: Final = Shape[_Version](_Version)


def _encoded(doc: Doc) -> bytes:
    return dumps(_Version(doc.version, doc.text, doc.at, doc.by, doc.why, _rest=doc._rest))


def _decoded(scope: str, name: str, data: bytes) -> Doc | None:
    """None when it is damaged."""
    try:
        stored = _VERSION.read(data)
    except ValueError:
        return None
    return Doc(
        scope,
        name,
        stored.version,
        stored.text,
        stored.at,
        stored.by,
        stored.why,
        _rest=stored._rest,
    )
