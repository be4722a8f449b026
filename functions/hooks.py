"""A hook lets a program outside hand something to an agent: it has a name and a token of its own,
of which only the SHA-256 is kept.

Some senders can show no token and sign what they send instead, as GitHub does. Whoever checks
such a signature needs the secret itself: it is the SHA-256 of a token that nobody ever sees.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Annotated, Final

from msgspec import Meta

from functions.events import OWN
from sigil.errors import Refused, UsageError, one_line
from sigil.storage.kv import ABSENT, KV, Item, Key, keys
from sigil.storage.kv.update import Change, scan_all, update_item
from sigil.storage.stored import NewerFormat, Shape, Stored, damaged, dumps, later

HOOKS_MOST: Final = 64
TEXT_CHARACTERS: Final = 4_000
NAME_CHARACTERS: Final = 60
TOKEN_BYTES: Final = 32
PREFIX: Final = "hook_"
DROPPED: Final = "dropped"
NOBODY: Final = "nobody may"
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", re.ASCII)
Count = Annotated[int, Meta(ge=0, lt=10**15)]
Time = Annotated[float, Meta(ge=0, lt=1e12)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook(Stored):
    """A hook of the agent with the full name `agent`.

    `digest` is the SHA-256 of its token in hexadecimal digits; where it is `signed`, what comes has
    a signature made with that, and no token. `text` says what the agent shall do
    when something comes, and `session` is the chat in which it tells of it, empty for none; `by` is
    the person on whose behalf it works. `paused` says why nothing is taken, empty when something
    is.

    `runs` counts the turns that it set off, `last` is the event of the last of them, which ended at
    `ended` (seconds since 1970) with this `outcome` and used so many `tokens`.
    """

    id: str
    name: str
    agent: str
    digest: str
    by: str
    since: Time
    session: str = ""
    text: str = ""
    language: str = ""
    paused: str = ""
    signed: bool = False
    runs: Count = 0
    last: str = later("")
    ended: Time = later(0.0)
    outcome: str = later("")
    tokens: Count = later(0)

    @property
    def own_session(self) -> str:
        """Return the session in which the agent works on what comes."""
        return f"{OWN}:h-{self.id}"

    @property
    def is_dropped(self) -> bool:
        """Return whether only its session is left of it."""
        return self.paused == DROPPED


HOOK: Final = Shape[Hook](Hook)


@dataclass(frozen=True, slots=True)
class HookRun:
    """What became of work that a post set off with this event; `reason` says why it was not done.

    `ended` is in seconds since 1970.
    """

    event: str
    outcome: str
    reason: str
    tokens: int
    ended: float


def require_name(name: str) -> str:
    """Return the name of a hook; `UsageError` for what can be none."""
    if len(name) > NAME_CHARACTERS or not _NAME.fullmatch(name):
        raise UsageError(
            "EINVAL",
            f"{one_line(name, NAME_CHARACTERS)!r} is no name of a hook",
            source="hook",
            suggestion="use lower-case letters and digits, with hyphens between them",
        )
    return name


def make_token() -> tuple[str, str]:
    """Return a new token and its digest."""
    token = PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    return token, digest_token(token)


def digest_token(token: str) -> str:
    """Return what is stored of a token."""
    return sha256(token.encode(errors="replace")).hexdigest()


class Hooks:
    """The hooks of a root and the agents below it, by name."""

    def __init__(self, kv: KV, root: str) -> None:
        self._kv = kv
        self._root = root

    def find(self, name: str) -> Hook | None:
        """Return the hook of a name, None when there is none."""
        if len(name) > NAME_CHARACTERS or not _NAME.fullmatch(name):
            return None
        item = self._kv.get(keys.hook(self._root, name))
        return _read(item) if item else None

    def scan(self) -> Iterator[tuple[Key, Hook]]:
        """Yield all hooks that this version can read with their keys, the dropped ones as well."""
        partition = keys.hook(self._root, "").partition
        for sort, item in scan_all(self._kv, partition):
            with suppress(ValueError, NewerFormat):
                yield Key(partition, sort), HOOK.read(item.value)

    def list_all(self) -> list[Hook]:
        """Return those that are not dropped, by name."""
        return [hook for _, hook in self.scan() if not hook.is_dropped]

    def add(self, hook: Hook) -> None:
        """Store a new hook. `Refused` EEXIST when its name is taken, EQUOTA when there are too
        many; `UsageError` for a text that is too long.
        """
        require_name(hook.name)
        if len(hook.text) > TEXT_CHARACTERS:
            raise UsageError(
                "EINVAL",
                f"the text of a hook has at most {TEXT_CHARACTERS:,} characters",
                source="hook",
            )
        key = keys.hook(self._root, hook.name)
        if self._kv.get(key):
            raise Refused(
                "EEXIST",
                f"there is a hook {hook.name} already",
                source="hook",
                suggestion=f"drop it, or take a new token: uncaged hook rotate {hook.name}",
            )
        if len(self.list_all()) >= HOOKS_MOST:
            raise Refused(
                "EQUOTA", f"there are {HOOKS_MOST} hooks already", suggestion="drop one of them"
            )
        self._kv.put(key, dumps(hook), expect=ABSENT)

    def drop(self, name: str) -> Hook | None:
        """Delete a hook and return it; None when there is none."""
        known = self.find(name)
        if not known:
            return None
        # it tells whose the session is in which the work was done
        grave = keys.hook(self._root, f"{name}~{known.id}")
        self._kv.put(grave, dumps(replace(known, paused=DROPPED, digest="", text="")))
        self._kv.delete(keys.hook(self._root, name))
        return known

    def rotate(self, name: str, digest: str) -> Hook | None:
        """Give a hook another token, and let it take something again; None when there is none."""
        return self._change(name, lambda known: replace(known, digest=digest, paused=""))

    def pause(self, name: str, why: str) -> Hook | None:
        """Let a hook take nothing more; None when there is none."""
        return self._change(name, lambda known: replace(known, paused=why))

    def note_run(self, name: str, session: str, run: HookRun) -> None:
        """Write down what became of work in the session of a hook; the same again changes nothing.

        When nobody may have such work done any more, the hook is paused.
        """

        def end(known: Hook) -> Hook:
            if known.last == run.event or known.own_session != session:
                return known
            return replace(
                known,
                paused=NOBODY if run.reason == NOBODY else known.paused,
                runs=known.runs + 1,
                last=run.event,
                ended=run.ended,
                outcome=run.outcome,
                tokens=run.tokens,
            )

        self._change(name, end)

    def _change(self, name: str, change: Callable[[Hook], Hook]) -> Hook | None:
        def decide(item: Item | None) -> tuple[Change, Hook | None]:
            if item is None:
                return None, None
            known = _read(item)
            changed = change(known)
            return (dumps(changed) if changed != known else None), changed

        if not _NAME.fullmatch(name):
            return None
        return update_item(self._kv, keys.hook(self._root, name), decide).answer


def _read(item: Item) -> Hook:
    try:
        return HOOK.read(item.value)
    except ValueError:
        raise damaged("the record of a hook cannot be read", source="hook") from None
