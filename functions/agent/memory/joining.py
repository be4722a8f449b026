"""Joining makes one memory of two, so that nothing of either is lost; copying parts them again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from functions.agent.memory.documents import CAPS, OF_CHATS, Documents
from functions.agent.memory.helpers import Terms
from functions.agent.memory.history import Removal, RemovedStatements
from functions.agent.memory.thing import fold
from functions.agent.memory.things import Things
from sigil.storage.kv import KV
from sigil.storage.kv.update import retry_conflicts

BY: Final = "link"
"""The author of a document that was made of two."""


class Memories:
    """The memories of an agent's chats, each named by its scope."""

    def __init__(self, kv: KV, documents: Documents, terms: Terms) -> None:
        self._kv = kv
        self._documents = documents
        self._terms = terms

    def join(self, source: str, target: str, session: str, sequence: int, at: float) -> int:
        """Take the memory `source` over into `target`, and return how many things are new there.

        `source` has no things afterwards. Lines of its documents for which there is no room are
        kept as statements of the `session` (S of the keys) below the number `sequence`, where a
        search finds them. The documents themselves with all their versions stay in the session's
        own memory. Doing it again goes on where a crash ended it. Raises `Refused` EQUOTA, and
        changes nothing, when both memories together are too large.
        """
        theirs = Things(self._kv, source, self._terms)
        new, joined = Things(self._kv, target, self._terms).join(theirs, session)
        left: list[str] = []
        for name in OF_CHATS:
            left += retry_conflicts(partial(self._join_document, source, target, name))
        RemovedStatements(self._kv, session).save(Removal(sequence, at, tuple(left)))
        theirs.forget_joined(joined)
        if source != session:
            for name in OF_CHATS:
                retry_conflicts(partial(self._documents.move_versions, source, session, name))
        return new

    def prepare_move(self, source: str, target: str) -> None:
        """Copy the memory `source` with all versions into the new memory `target`."""
        Things(self._kv, target, self._terms).join(Things(self._kv, source, self._terms), "")
        for name in OF_CHATS:
            retry_conflicts(partial(self._documents.copy_versions, source, target, name))

    def move(self, source: str, target: str) -> None:
        """Move the memory `source` with all versions to `target`; nothing of it is left there.

        Doing it again goes on where a crash ended it.
        """
        theirs = Things(self._kv, source, self._terms)
        joined = Things(self._kv, target, self._terms).join(theirs, "")[1]
        theirs.forget_joined(joined)
        for name in OF_CHATS:
            retry_conflicts(partial(self._documents.move_versions, source, target, name))

    def copy(self, source: str, target: str) -> None:
        """Make the memory `target` what `source` is now; doing it again changes nothing."""
        Things(self._kv, target, self._terms).join(Things(self._kv, source, self._terms), "")
        for name in OF_CHATS:
            text = self._documents.read(source, name).text
            if text != self._documents.read(target, name).text:
                self._documents.write(target, name, text, by=BY, why="a copy")

    def _join_document(self, source: str, target: str, name: str) -> Sequence[str]:
        """Add to a document what only the other one says, and return the lines without room."""
        before = self._documents.read(target, name)
        theirs = self._documents.read(source, name).text
        if not theirs:
            return ()
        known = {_fold_line(line) for line in before.text.split("\n")}
        lines = [line for line in theirs.split("\n") if _fold_line(line) not in known]
        text = before.text
        left = []
        for line in lines:
            longer = f"{text}\n{line}".strip()
            if len(longer) <= CAPS[name]:
                text = longer
            else:
                left.append(line)
        if text != before.text:
            self._documents.write(
                target, name, text, by=BY, why="two chats are one memory", expect=before.version
            )
        return left


def _fold_line(line: str) -> str:
    """Return a line as lines are compared: what only looks alike is no reason to lose it."""
    return fold(line.lstrip("-*+• "))
