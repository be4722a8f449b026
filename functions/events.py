"""An event is one thing that enters an agent, whatever the platform."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, Literal, get_args

import orjson

from sigil.errors import UsageError
from sigil.json_fields import Json
from sigil.storage.stored import NewerFormat, Shape, Stored, WrittenOften, dumps, later

Kind = Literal["message", "mail", "task", "wakeup", "say", "continue"]
KINDS = get_args(Kind)
BACKGROUND_KINDS: Final = ("mail", "task", "wakeup", "say")
"""The kinds that the runtime itself makes. What comes from outside is a `message`, but for what is
posted to a hook: that is a `mail` to a session of the agent's own.
"""
OWN: Final = "own"
"""The platform of the sessions in which an agent works by itself. No channel has this name."""
WEB: Final = "web"
"""The platform of the chats on the page: `web:PERSON:NAME`. No channel has this name."""
WEB_CHAT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
"""The name of such a chat."""
_CONTROL = re.compile(
    r"/(?:stop|halt)(?:@[A-Za-z0-9_]+)?(?:\s.*)?|/unlock(?:@[A-Za-z0-9_]+)?(?:\s+(?:here|all))?|admin:unlock",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
"""A stop or a halt counts whatever follows it; an unlock only when nothing does but `here`
or `all`.
"""
_INQUIRY = re.compile(
    r"/(?:status|help|whoami|usage|spent|tools|recall|kb|context|history|files)(?:@[A-Za-z0-9_]+)?(?:\s.*)?"
    r"|/tasks(?:@[A-Za-z0-9_]+)?\s*",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
"""The commands that only read. No command that changes a chat may be here: they are answered
without waiting for the chat's turns.
"""
PRESSED: Final = re.compile(
    r"/(?:approve|deny) [0-9a-f]{6,12}|/done [0-9a-f]{12}|/snooze [0-9a-f]{12} (?:10m|1h|tomorrow)",
    re.ASCII,
)
"""The commands that a button below a message may send; a press counts as that command."""
PRESS: Final = "press"
"""The name in the `data` of a press by which its platform is told that it came."""
CAME: Final = "came"
"""The name in the `data` of an event that only says that its sender has come into a chat."""
ENCRYPTED: Final = "encrypted"
"""The name in the `data` of an event that cannot be read, of a chat that was not told so yet."""
ALBUM: Final = "album"
"""The name in the `data` of a message of the album that it is a part of, as its platform calls it.
"""
EDITED: Final = "edited"
"""The name in the `data` of an event that says that its sender has changed a message: the id of
that message's event. The event has the message as it is now.
"""
EDIT: Final = "edit:"
"""The id of such an event begins so, before the id that the changed message has from then on."""
WRITTEN: Final = "written"
"""The name in its `data` of when that message was written (seconds since 1970)."""
DELETED: Final = "deleted"
"""The name in the `data` of an event that says that messages were deleted: the ids of their
events.
"""
CONSOLIDATION: Final = "consolidate:"
"""The ids of the events that let memory hear of what left a history begin so."""
HOOK_SENDER: Final = "hook:"
"""The ids of the senders of what is posted to hooks begin so."""
LOCAL_SENDERS: Final = frozenset({"terminal:local", "http:admin"})
"""Senders that only the machine's own user and the bearer of the admin token can be."""
HOPS_MOST: Final = 16
"""So often may one agent set off another in a chain of events. Circles end there."""
NOBODY = ("",)
"""The `addressed` of what people of a group say to each other."""
ID_CHARACTERS: Final = 300
"""Characters of a person's id, with its platform; Matrix' are the longest."""
TEXT_LIMIT = 100_000
"""Characters of an event's text; platforms allow far less."""
QUOTE_LIMIT = 2_000
"""Characters of a quote that are kept."""


def find_web_person(session: str) -> str:
    """Return the id of the person whose chat on the page a session is (`telegram:42` of
    `web:telegram:42:main`); empty for every other session.
    """
    begin, _, name = session.rpartition(":")
    if not begin.startswith(f"{WEB}:") or not WEB_CHAT.fullmatch(name):
        return ""
    return begin.removeprefix(f"{WEB}:")


@dataclass(frozen=True, slots=True)
class Sender(WrittenOften):
    """The person who wrote; `id` is the platform's user id with its platform (`telegram:42`)."""

    id: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Button(Stored):
    """A button below a message of ours: its label, and the command that a press of it sends."""

    label: str
    command: str


@dataclass(frozen=True, slots=True)
class Quote(Stored):
    """A thing that a message points at or holds, and that its sender did not write there.

    `relation`: `reply` (the message that is answered), `passage` (the part of it that the sender
    marked), `forward`, `bot` (written through another bot), or what the message holds: `location`,
    `venue`, `contact`, `poll`, `checklist`, `dice`, `sticker`. `author` is the name that its writer
    uses, `by` their id with its platform, each empty when it is not known; `ours` says that we
    wrote it. `text` has its first `QUOTE_LIMIT` characters, `length` counts all of them. `files`
    are those of a message that is answered, as in an event's `attachments`.
    """

    relation: str
    text: str
    author: str = ""
    by: str = ""
    ours: bool = False
    length: int = 0
    files: tuple[Mapping[str, object], ...] = later((), hash=False)


@dataclass(frozen=True, slots=True)
class Event(WrittenOften):
    """One thing that happened to a session.

    `id`: platform, bot and the platform's own update id. `order`: sorts a session's events by the
    platform's own time (ms, 15 digits) and update id (20 digits), never by arrival. `at`: seconds
    since the epoch, the platform's own time. `addressed`: whom a group message names (`@bot`),
    empty when it is surely for us, `NOBODY` when nobody should answer it. `private`: only the
    sender writes into the session. `quotes`: what the message points at, and what it holds beside
    its text. `joined`: the sender has taken us into this group; `addressed` then has the name that
    they see.
    `language` is that of the sender's app, as the platform tells it (`zh-hans`), empty when it does
    not.

    What the runtime makes says where it came from: `cause` is the id of the event that made it,
    `root` that of the first in the chain, and `hops` counts how often one agent set off another.
    `by` is the person on whose behalf it is (`telegram:42`), who decides what it may do. `task`
    names the piece of work that it belongs to, and `data` has what its kind needs.
    """

    id: str
    kind: Kind
    agent: str
    session: str
    sender: Sender
    text: str
    at: float
    order: str
    attachments: tuple[Mapping[str, object], ...] = ()
    reply_to: str = field(default="", repr=False)
    addressed: tuple[str, ...] = ()
    private: bool = False
    quotes: tuple[Quote, ...] = later(())
    joined: bool = later(False)
    language: str = later("")
    cause: str = later("")
    root: str = later("")
    hops: int = later(0)
    by: str = later("")
    task: str = later("")
    data: Mapping[str, Json] = later(default_factory=dict, hash=False)

    @property
    def platform(self) -> str:
        """Return the name of the channel, such as `telegram`, or `telegram-shop` where a platform
        has several.
        """
        return self.session.partition(":")[0]

    @property
    def is_own_work(self) -> bool:
        """Return whether it belongs to a session in which the agent works by itself."""
        return self.platform == OWN

    @property
    def behalf(self) -> str:
        """Return the person on whose behalf it is handled: `by`, or else its sender."""
        return self.by or self.sender.id

    @property
    def has_principal(self) -> bool:
        """Return whether `behalf` says what it may, and it has no rights of its own: work that
        nobody typed, and what such work leaves for memory.
        """
        return self.kind in BACKGROUND_KINDS or (self.is_consolidation and bool(self.by))

    @property
    def hook(self) -> str:
        """Return the name of the hook that set off this work, empty for all other work."""
        name = self.data.get("hook")
        return name if isinstance(name, str) and self.kind in ("mail", "wakeup") else ""

    @property
    def is_posted(self) -> bool:
        """Return whether it came over a hook, so that it brings its mail along in its text."""
        return self.kind == "mail" and bool(self.hook)

    @property
    def is_overheard(self) -> bool:
        """Return whether it only says what people of a group said to each other."""
        return self.addressed == NOBODY

    @property
    def _is_command(self) -> bool:
        return self.kind == "message" and not self.is_overheard

    @property
    def quoted_files(self) -> tuple[Mapping[str, object], ...]:
        """Return the files of the messages that it answers."""
        return tuple(file for quote in self.quotes for file in quote.files)

    @property
    def looks_like_command(self) -> bool:
        """Return whether its text begins with a slash, behind invisible characters as well."""
        visible = (letter for letter in self.text if letter.isprintable() and not letter.isspace())
        return next(visible, "") in ("/", "\uff0f")

    @property
    def is_control(self) -> bool:
        """Return whether it stops, halts or unlocks, and so must not wait for the turn that it is
        about.
        """
        return self._is_command and _CONTROL.fullmatch(self.text.strip()) is not None

    @property
    def is_inquiry(self) -> bool:
        """Return whether it only asks to read something (`/status`, `/help`, …), and so need not
        wait for a turn.
        """
        return self._is_command and _INQUIRY.fullmatch(self.text.strip()) is not None

    @property
    def is_change(self) -> bool:
        """Return whether it only says that a message before it was changed or deleted."""
        return EDITED in self.data or DELETED in self.data

    @property
    def is_consolidation(self) -> bool:
        """Return whether it lets memory hear of what left the history, beside the turns."""
        return self.kind == "continue" and self.id.startswith(CONSOLIDATION)

    @property
    def is_background(self) -> bool:
        """Return whether no person waits for it, so that it may not delay a chat."""
        return self.is_own_work or self.is_consolidation

    @property
    def skips_queue(self) -> bool:
        """Return whether it waits for no turn of its session."""
        return self.is_control or self.is_inquiry or self.is_change


def order_of(at: float, tie: int | str) -> str:
    """Return the sort key of an event: `at` in seconds, `tie` the platform's own counter, or a name
    that it gave the event, which is only told from others of the same millisecond.

    Both are clamped to their digits.
    """
    milliseconds = min(max(int(at * 1000), 0), 10**15 - 1)
    if isinstance(tie, str):
        tie = int.from_bytes(sha256(tie.encode(errors="replace")).digest()[:8])
    number = min(max(tie, 0), 10**20 - 1)
    return f"{milliseconds:015d}-{number:020d}"


EVENT: Final = Shape[Event](Event)


def encode(event: Event) -> bytes:
    """Return the event as JSON; `UsageError` when its text is no Unicode."""
    try:
        return dumps(event)
    except TypeError:
        raise UsageError("EEVENT", "not an event: a lone surrogate") from None


def decode(data: bytes) -> Event:
    """Return the event that `encode` wrote.

    `UsageError` EEVENT when it is none, EFORMAT when only a newer version can read it.
    """
    try:
        raw = orjson.loads(data)
    except ValueError as problem:
        raise UsageError("EEVENT", f"not an event: {type(problem).__name__}") from None
    return convert(raw)


def convert(raw: object) -> Event:
    """Return the event whose JSON was parsed to `raw`; errors as `decode`."""
    try:
        require_known(raw)
        return EVENT.convert(raw)
    except NewerFormat as problem:
        raise UsageError(problem.code, problem.message, suggestion=problem.suggestion) from None
    except ValueError as problem:
        raise UsageError("EEVENT", f"not an event: {type(problem).__name__}") from None


def require_known(raw: object) -> None:
    """Raise `NewerFormat` for an event of a kind that came after this version."""
    kind = raw.get("kind") if isinstance(raw, dict) else None
    if isinstance(kind, str) and kind not in KINDS:
        raise NewerFormat(f"event {kind}")
