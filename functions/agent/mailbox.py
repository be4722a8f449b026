"""A mailbox holds what other agents and people's edits have to say to an agent, until it reads it.

Each mail is an item of its own. Before each request of a session that reads a mailbox, the mails
that are there become one message of its history, and their ids stand in the session's document in
the same write; only then are the items deleted. So a crash loses no mail and shows none twice. The
event `mail` only wakes the session: what there is to read is what the mailbox holds.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta

from functions.agent.conversation.messages import OPENING, Message, make_inbox
from functions.agent.sanitize import sanitize_text
from functions.events import Event
from functions.queues.dead_letters import keep_undecodable
from sigil.errors import Conflict, one_line
from sigil.storage.kv import ABSENT, KV, Item, Key, keys
from sigil.storage.stored import Shape, Stored, dumps

if TYPE_CHECKING:
    from functions.agent.shares import Holder

MAILS_MOST: Final = 1_000
"""A mailbox holds so many mails."""
FREED: Final = (
    "there is room when its agent has read some; owners enable or stop one with `/agents`, and stop"
    " a teammate with `/team stop NAME`"
)
"""How room for a mail is made."""
SHOWN_MOST: Final = 64
"""So many mails become one message."""
SHOWN_CHARACTERS: Final = 16_000
"""The characters of the mails in one message; a longer one is shown alone, and cut."""
TEXT_LEAST: Final = 200
OPENED_CHARACTERS: Final = 5
"""So many more characters an `OPENING` takes in the message than in the mail."""
NAME_CHARACTERS: Final = 100
_ASKED: Final = re.compile(r"[a-z][a-z0-9-]{0,31} [^(\n]{1,40}\(([0-9a-f]{8})\)[:：] ?", re.ASCII)
"""How what a teammate asks begins in a chat, in each language: its name, and the question's id."""


@dataclass(frozen=True, slots=True)
class Mail(Stored):
    """A mail: its sender's name, its text, and when it was sent (seconds since 1970).

    `id` is the same for every repeat of the call that sent it. `type` is what its sender means by
    it, such as `message` or `broadcast`, and `by` the person on whose behalf it was sent.
    """

    id: str
    sender: str
    text: str
    at: Annotated[float, Meta(ge=0, lt=1e11)]
    type: str = "message"
    by: str = ""


_MAIL: Final = Shape[Mail](Mail)


def scope_of(event: Event) -> str:
    """Return whose mailbox a session reads: the agent's in its own work, else the chat's own."""
    if event.is_own_work:
        return keys.escape(event.agent)
    return keys.session_of(event.agent, event.session)


def find_answered(event: Event) -> str:
    """Return the id of the teammate's question that a message of a chat replies to, empty for any
    other message.
    """
    if event.kind != "message" or not event.quotes or event.attachments or not event.text.strip():
        return ""
    found = [
        asked[1]
        for quote in event.quotes
        if quote.ours and quote.relation == "reply" and (asked := _ASKED.match(quote.text))
    ]
    return found[0] if found else ""


def make_mail(event: Event) -> Mail:
    """Return the mail that an event brings along because it came over a hook."""
    kind = str(event.data.get("type") or "post")
    return Mail(event.id, event.sender.id, event.text, event.at, kind, event.by)


class Mailbox:
    """The mailbox of one agent, or of one chat (`scope_of`)."""

    def __init__(self, kv: KV, scope: str) -> None:
        self._kv = kv
        self._scope = scope

    def deliver(self, mail: Mail, holder: Holder | None = None) -> None:
        """Keep a mail until it is read; the same one again changes nothing.

        The `holder` has it sent; without one an owner on the machine, or the runtime. `PlacesTaken`
        when there is no place for it.
        """
        from functions.agent.shares import Places, require_place

        key = keys.mail(self._scope, mail.at, mail.id)
        waiting = self._kv.scan(key.partition, limit=MAILS_MOST)
        if all(sort != key.sort for sort, _ in waiting):
            places = Places("mails that nobody has read", MAILS_MOST, FREED)
            require_place(places, Counter(_read_sender(item) for _, item in waiting), holder)
        with suppress(Conflict):
            self._kv.put(key, dumps(mail), expect=ABSENT)

    def read(
        self, taken: Collection[str] = (), most: int = SHOWN_CHARACTERS
    ) -> tuple[list[tuple[str, Mail]], list[str]]:
        """Return the oldest mails that were not `taken`, each with the name of its item, and the
        names of those that were and are still there.

        They have `most` characters together, or are one. What is no mail becomes a dead letter, and
        counts as taken.
        """
        found = self._kv.scan(keys.mail(self._scope, 0.0, "").partition, limit=MAILS_MOST)
        fresh: list[tuple[str, Mail]] = []
        left = []
        for name, item in found:
            if name in taken:
                left.append(name)
                continue
            try:
                fresh.append((name, _MAIL.read(item.value)))
            except ValueError:
                key = Key(keys.mail(self._scope, 0.0, "").partition, name)
                digest = sha256(f"{key.partition}\0{name}".encode() + item.value).hexdigest()[:32]
                keep_undecodable(self._kv, digest, key, item.value, reason="not a mail")
                left.append(name)
        return take_fitting(fresh, most), left

    def remove(self, names: Collection[str]) -> None:
        """Delete items, by their names."""
        partition = keys.mail(self._scope, 0.0, "").partition
        for name in names:
            self._kv.delete(Key(partition, name))


def _read_sender(item: Item) -> str:
    """Return the person on whose behalf a mail was sent, empty for what is no mail."""
    try:
        return _MAIL.read(item.value).by
    except ValueError:
        return ""


def take_fitting(mails: Sequence[tuple[str, Mail]], most: int) -> list[tuple[str, Mail]]:
    """Return the first mails that fit into one message of `most` characters, at least one."""
    first: list[tuple[str, Mail]] = []
    room = min(most, SHOWN_CHARACTERS)
    for name, mail in mails[:SHOWN_MOST]:
        room -= len(mail.text) + OPENED_CHARACTERS * mail.text.count(OPENING)
        if first and room < 0:
            break
        first.append((name, mail))
    return first


def format_mails(mails: Sequence[Mail], now: float, most: int = SHOWN_CHARACTERS) -> Message:
    """Return the message with which mails enter a history: JSON between `<inbox>` and `</inbox>`,
    which nothing inside can close. For `most` see `describe_mails`.
    """
    by = " ".join(sorted({mail.by for mail in mails if mail.by}))
    return make_inbox(describe_mails(mails, most), now, by)


def describe_mails(mails: Sequence[Mail], most: int = SHOWN_CHARACTERS) -> list[dict[str, str]]:
    """Return mails as rows. At least 200 and at most `most` characters of each are shown."""
    most = max(min(most, SHOWN_CHARACTERS), TEXT_LEAST)
    rows = []
    for mail in mails:
        text = sanitize_text(mail.text)
        row = {
            "from": one_line(sanitize_text(mail.sender), NAME_CHARACTERS),
            "at": datetime.fromtimestamp(mail.at, UTC).isoformat(timespec="seconds"),
            "type": one_line(sanitize_text(mail.type), NAME_CHARACTERS),
            "content": _cut(text, most),
        }
        if len(row["content"]) < len(text):
            row["cut"] = f"the first {len(row['content']):,} of {len(text):,} characters"
        rows.append(row)
    return rows


def _cut(text: str, most: int) -> str:
    """Return as much of a text as takes `most` characters in the message."""
    first = text[:most]
    ends = accumulate(1 + OPENED_CHARACTERS * (letter == OPENING) for letter in first)
    return first[: bisect_right(list(ends), most)]
