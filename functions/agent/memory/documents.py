"""Documents are what an agent, or one chat with it, keeps in words.

They are versioned, written by compare-and-set, and read anew every turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from functions.agent.behaviours.behaviour import PREFIX, is_behaviour_document, parse_behaviour
from functions.agent.behaviours.built_in import BUILT_IN
from functions.agent.sanitize import clean_text, find_unseen
from functions.events import ID_CHARACTERS
from sigil.errors import BackendError, Conflict, UsageError, one_line
from sigil.storage.kv import ABSENT, KV, Item, Key, keys
from sigil.storage.kv.base import get_many
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import Shape, Stored, dumps, later

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
BEHAVIOUR_CHARACTERS: Final = 8_000
"""A document that holds a behaviour may have so many."""
OF_CHATS: Final = ("user", "memory")
"""The documents that a chat has of its own, beside the agent's."""
FIRST_SOUL: Final = """\
# Soul

## Personality
Helpful, calm and to the point.

## Values
Accuracy before speed. The user's privacy. Saying plainly what is not known.

## Communication Style
Brief and concrete, in the user's language."""
"""The document `soul` until somebody writes it."""
FIRST: Final[Mapping[str, str]] = {"soul": FIRST_SOUL}
"""What the documents of an agent say that nobody has written."""
PAGE = 100
DAMAGED: Final = "damaged"
"""The author of a version that cannot be read."""


@dataclass(frozen=True, slots=True)
class DocFile(Stored):
    """A file beside a document's text: its path, its SHA-256 and its size in bytes."""

    path: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class Doc(Stored):
    """One version of a document.

    `scope` is the agent's escaped name or a session's S; `at` is seconds since 1970; `by` and `why`
    say who wrote it and for what. `files` are those that this version has beside its text, which
    skills alone have. Version 0 was never written: it is empty, but for the soul and the built-in
    behaviours.
    """

    scope: str
    name: str
    version: int = 0
    text: str = ""
    at: float = 0.0
    by: str = ""
    why: str = ""
    files: tuple[DocFile, ...] = later(())


class Documents:
    """The documents of one agent and of its chats. `now` returns seconds since 1970."""

    def __init__(
        self,
        kv: KV,
        agent: str,
        now: Callable[[], float],
        caps: Mapping[str, int] = CAPS,
        first: Mapping[str, str] = FIRST,
    ) -> None:
        """`caps`: which documents these are, and how many characters each may have. `first`: what
        those of the agent say until somebody writes them.
        """
        self._kv = kv
        self._now = now
        self._caps = caps
        self._first = first
        self.agent = keys.escape(agent)

    def read(self, scope: str, name: str) -> Doc:
        """Return the newest version of a document.

        Raises `UsageError` when there is none of this name, or none that a chat has of its own.
        """
        return self._read_head(scope, self._require_name(scope, name))[0]

    def list_for_prompt(self, session: str) -> tuple[Doc, ...]:
        """Return the documents in the prompt of a session (S of the keys), without empty ones.

        The agent's come first, then the chat's own.
        """
        return self.decode_for_prompt(session, get_many(self._kv, self.list_keys(session)))

    def list_keys(self, session: str) -> list[Key]:
        """Return the keys of what may be in a session's prompt, for `decode_for_prompt`."""
        agent = [keys.document(self.agent, name) for name in CAPS]
        return [*agent, *(keys.document(session, name) for name in OF_CHATS)]

    def decode_for_prompt(self, session: str, items: Sequence[Item | None]) -> tuple[Doc, ...]:
        """Return what `list_for_prompt` does, from what was just read at `list_keys`."""
        written = self._read_all(self.agent, zip(CAPS, items, strict=False))
        agent = {name: doc for name, doc in written.items() if doc.text}
        agent = _make_first_versions(self.agent, tuple(self._first.items())) | agent
        chat = self._read_all(session, zip(OF_CHATS, items[len(CAPS) :], strict=True))
        docs = [agent.get(name) for name in CAPS] + [chat.get(name) for name in OF_CHATS]
        return tuple(doc for doc in docs if doc and doc.text)

    def write(
        self,
        scope: str,
        name: str,
        text: str,
        *,
        by: str,
        why: str = "",
        expect: int | None = None,
        files: tuple[DocFile, ...] = (),
    ) -> Doc:
        """Write the next version and return it; the same text and files again write nothing.

        `expect` is the version that it was made from. Raises `Conflict` when somebody wrote since,
        and `UsageError` when the text is not clean or over its cap.
        """
        before, version = self._read_head(scope, self._require_name(scope, name))
        if expect is not None and expect != before.version:
            raise Conflict(f"{name} was changed meanwhile: it is at version {before.version}")
        text = check_document_text(name, text, self._caps.get(name, BEHAVIOUR_CHARACTERS))
        is_same = before.text == text and before.files == files
        if before.version and before.by != DAMAGED and is_same:
            return before
        after = replace(
            before,
            version=before.version + 1,
            text=text,
            at=self._now(),
            by=one_line(by, ID_CHARACTERS),
            why=one_line(why, 200),
            files=files,
        )
        if before.version:
            self._kv.put(
                keys.document_version(scope, name, before.version), _encode_version(before)
            )
        self._kv.put(keys.document(scope, name), _encode_version(after), expect=version or ABSENT)
        return after

    def copy_versions(self, source: str, target: str, name: str) -> str:
        """Add all versions of a document behind those that another scope has of it.

        Returns the store's version of what was copied, empty when there is nothing. Doing it again
        changes nothing. Raises `Conflict` when somebody wrote there meanwhile.
        """
        copied = self._read_head(source, self._require_name(source, name))[1]
        versions = [doc for doc in self.list_versions(source, name) if doc.by != DAMAGED]
        before, expect = self._read_head(target, self._require_name(target, name))
        if not versions or _is_same_writing(before, versions[0]):
            return copied
        shift = 0
        if before.version:
            shift = before.version + 1 - versions[-1].version
            key = keys.document_version(target, name, before.version)
            self._kv.put(key, _encode_version(before))
        newest, *older = [replace(doc, version=doc.version + shift) for doc in versions]
        for doc in reversed(older):
            self._kv.put(keys.document_version(target, name, doc.version), _encode_version(doc))
        self._kv.put(keys.document(target, name), _encode_version(newest), expect=expect or ABSENT)
        return copied

    def move_versions(self, source: str, target: str, name: str) -> None:
        """Do as `copy_versions` does, and leave nothing of the document where it was."""
        copied = self.copy_versions(source, target, name)
        partition = keys.document_version(source, name, 0).partition
        for sort, _ in list(scan_all(self._kv, partition, f"{name}#", page=PAGE)):
            self._kv.delete(Key(partition, sort))
        if copied:
            self._kv.delete(keys.document(source, name), expect=copied)

    def roll_back(self, scope: str, name: str, version: int, by: str) -> Doc:
        """Write an earlier version's text again, as a new version."""
        before = self.read_version(scope, name, version)
        why = f"rolled back to version {version}"
        return self.write(scope, name, before.text, by=by, why=why, files=before.files)

    def read_version(self, scope: str, name: str, version: int) -> Doc:
        """Return one version.

        Raises `UsageError` ENOENT when there was none of this number, `BackendError` EDAMAGED when
        it cannot be read.
        """
        head = self._read_head(scope, require_document_name(name, self._caps))[0]
        first = self._make_unwritten(scope, name)
        if version == head.version and version and head.by != DAMAGED:
            return head
        if version == 0 and first.text:
            return first
        if not 0 < version <= head.version:
            known = f"{0 if first.text else 1} to {head.version}" if head.version else "none"
            raise UsageError(
                "ENOENT", f"{name} has no version {version}", suggestion=f"its versions: {known}"
            )
        item = self._kv.get(keys.document_version(scope, name, version))
        doc = decode_version(scope, name, item.value) if item else None
        if doc is None:
            hint = "take another one, or write it again"
            raise BackendError(
                "EDAMAGED", f"version {version} of {name} cannot be read", suggestion=hint
            )
        return doc

    def decode_behaviour(self, name: str, item: Item) -> Doc:
        """Return the document of one of the agent's behaviours from what was just read of it."""
        return self._decode_or_replace(self.agent, name, item.value)

    def list_behaviours(self) -> list[Doc]:
        """Return the agent's behaviours that were ever written, by name."""
        partition = keys.document(self.agent, PREFIX).partition
        return [
            self.decode_behaviour(name, item)
            for name, item in scan_all(self._kv, partition, PREFIX, page=PAGE)
            if is_behaviour_document(name)
        ]

    def list_versions(self, scope: str, name: str) -> Iterator[Doc]:
        """Yield all versions that can be read, the newest first."""
        head = self.read(scope, name)
        if head.version:
            yield head
        for number in range(head.version - 1, 0, -1):
            item = self._kv.get(keys.document_version(scope, name, number))
            doc = decode_version(scope, name, item.value) if item else None
            if doc:
                yield doc

    def read_stored(self, scope: str, name: str) -> Item | None:
        """Return the newest version as it is stored, None when there is none."""
        return self._kv.get(keys.document(scope, self._require_name(scope, name)))

    def _read_head(self, scope: str, name: str) -> tuple[Doc, str]:
        """Return the newest version of a document and the store's version, empty without one."""
        item = self._kv.get(keys.document(scope, name))
        if item is None:
            return self._make_unwritten(scope, name), ""
        return self._decode_or_replace(scope, name, item.value), item.version

    def _make_unwritten(self, scope: str, name: str) -> Doc:
        """Return a document as it is until somebody writes it."""
        text = ""
        if scope == self.agent:
            text = self._first.get(name, "") or BUILT_IN.get(name.removeprefix(PREFIX), "")
        return Doc(scope, name, text=text)

    def _require_name(self, scope: str, name: str) -> str:
        if scope != self.agent and require_document_name(name, self._caps) not in OF_CHATS:
            raise UsageError(
                "EINVAL",
                f"{name} is no document of a chat's own",
                suggestion=f"those are {' and '.join(OF_CHATS)}",
            )
        return require_document_name(name, self._caps)

    def _decode_or_replace(self, scope: str, name: str, data: bytes) -> Doc:
        """Return the stored document; when it is damaged, the last version that is not."""
        doc = decode_version(scope, name, data)
        if doc:
            return doc
        last = self._make_unwritten(scope, name)
        written = 0
        partition = keys.document_version(scope, name, 0).partition
        for sort, item in scan_all(self._kv, partition, f"{name}#", page=PAGE):
            written = int(sort.rpartition("#")[2])
            last = decode_version(scope, name, item.value) or last
        why = "cannot be read"
        if last.version or last.text:
            why += f"; version {last.version} stands in for it"
        return replace(last, version=written + 1, by=DAMAGED, why=why)

    def _read_all(self, scope: str, items: Iterable[tuple[str, Item | None]]) -> dict[str, Doc]:
        return {
            name: self._decode_or_replace(scope, name, item.value) for name, item in items if item
        }


@lru_cache(maxsize=256)
def _make_first_versions(scope: str, texts: tuple[tuple[str, str], ...]) -> dict[str, Doc]:
    """Return the documents that every prompt has until somebody writes them."""
    return {name: Doc(scope, name, text=text) for name, text in texts}


def require_document_name(name: str, caps: Mapping[str, int] = CAPS) -> str:
    """Return `name` when it is a document's; raise `UsageError` ENOENT otherwise."""
    if name not in caps and not (caps is CAPS and is_behaviour_document(name)):
        hint = f"the documents: {', '.join(caps)}"
        if caps is CAPS:
            hint += f", and {PREFIX}NAME such as {PREFIX}on_wakeup"
        if name == "history":
            hint = "what happened in a chat: `uncaged agent history`"
        raise UsageError("ENOENT", f"there is no document {one_line(name, 40)!r}", suggestion=hint)
    return name


def check_document_text(name: str, text: str, most: int = 0) -> str:
    """Return `text`, cleaned, when it may be this document; raise `UsageError` otherwise.

    `most`: how many characters it may have; those of `CAPS` for 0. A behaviour must be readable.
    """
    most = most or CAPS.get(name, BEHAVIOUR_CHARACTERS)
    place = find_unseen(text)
    if place is not None:
        line = text.count("\n", 0, place) + 1
        raise UsageError(
            "EINVAL",
            f"{name} has an invisible character in line {line}",
            suggestion="take control characters out",
        )
    text = clean_text(text).strip()
    if len(text) > most:
        raise UsageError(
            "ETOOBIG", f"{name} has {len(text):,} characters", suggestion=f"at most {most:,}"
        )
    if text and is_behaviour_document(name):
        parse_behaviour(name.removeprefix(PREFIX), text)
    return text


def _is_same_writing(doc: Doc, other: Doc) -> bool:
    return (doc.text, doc.at, doc.by, doc.why) == (other.text, other.at, other.by, other.why)


@dataclass(frozen=True, slots=True)
class _Version(Stored):
    """A version as it is stored; its key has the scope and the name."""

    version: int
    text: str
    at: float
    by: str
    why: str
    files: tuple[DocFile, ...] = later(())


_VERSION: Final = Shape[_Version](_Version)


def _encode_version(doc: Doc) -> bytes:
    return dumps(
        _Version(doc.version, doc.text, doc.at, doc.by, doc.why, doc.files, _rest=doc._rest)
    )


def decode_version(scope: str, name: str, data: bytes) -> Doc | None:
    """Return the stored version; None when it is damaged."""
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
        stored.files,
        _rest=stored._rest,
    )
