"""Posts are events that a turn makes: a service asks for one, and the runtime stamps it.

They leave a turn as its replies do: they are written into the session's document together with the
results of the calls that asked for them, put into the queue after that, and taken out of the
document by the next write. Whatever crashes in between, the same posts come again under the same
ids, and every queue and every session knows an event that it has had.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from functions.agent.ledger.entry import Entry
from functions.agent.sanitize import cut_text
from functions.events import HOPS_MOST, TEXT_LIMIT, Event, Kind, Sender, order_of
from sigil.errors import ToolError
from sigil.protocol import Json
from sigil.storage.stored import dumps

POSTS_MOST: Final = 32
"""A turn posts so many events at most."""
AGENTS_MOST: Final = 8
"""A turn makes so many agents at most."""
NOTES_MOST: Final = 3
"""A turn notes so many things at most that it did."""
PLACE_CHARACTERS: Final = 256
"""The characters of each name that says where a post goes."""
DATA_BYTES: Final = 16 * 1024
"""The bytes of a post's `data` as JSON. What every queue takes leaves room for it and the text."""
LOOK: Final = "look"
"""The field of a task's data by which a teammate looks for work that it may do."""
ASKS: Final = "asks"
"""The field of what is said in a chat with the id of what the buttons below it decide on."""
MAILED: Final = "mailed"
"""The field of what is said in a chat whose next turn reads the same as mail."""
OWN_WORDS: Final = "own_words"
"""The field of a post by which a chat hears what the model of its sender wrote itself."""
CHAIN, CHAIN_HOPS, CHAIN_MAILS = "chain", "chain-hops", "chain-mails"
"""The limits of a chain of events: the tokens of all its turns, how often one agent sets off
another, and how much mail one agent sends.
"""
REFUSED: Final = "refused"
"""How a limit shows that lets a turn go on, but set off nothing more."""
NAME_CHARACTERS: Final = 80
"""A longer id of the event that makes a post is replaced by its hash in the post's own id."""


@dataclass(frozen=True, slots=True)
class Post:
    """An event that a service asks for.

    `agent` and `session` say where it goes, `task` to which piece of work it belongs (empty: to
    that of the turn which makes it), `data` what its kind needs. `ToolError` for one that a queue
    may refuse: it would be in the way of its session for good.
    """

    kind: Kind
    agent: str
    session: str
    text: str = ""
    task: str = ""
    data: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            size = len(dumps(self.data))
            dumps([self.text, self.agent, self.session, self.task])
        except TypeError:
            raise ToolError("EINVAL", "what is posted is no text: a lone surrogate") from None
        if len(self.text) > TEXT_LIMIT or size > DATA_BYTES:
            raise ToolError(
                "ETOOBIG",
                f"a text of {len(self.text):,} characters with {size:,} bytes of data is too long",
                suggestion=f"send at most {TEXT_LIMIT:,} characters",
            )
        if max(map(len, (self.agent, self.session, self.task))) > PLACE_CHARACTERS:
            raise ToolError("ETOOBIG", f"a name has at most {PLACE_CHARACTERS} characters")


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a run of the agent's own that a service asks for.

    `behaviour` is the one that goes on after it, empty when none does. With `if_all_well` the run
    goes on where another call of the round has failed.
    """

    behaviour: str = ""
    if_all_well: bool = False


@dataclass(frozen=True, slots=True)
class ServiceAnswer:
    """The answer of a service that makes something happen: its result, what it posts, and what the
    ledger has of it beside the call. The turn ends after the round where it has an `ending`. The
    turn's run keeps the `note`. `taken` are the mails that the result has, by their items.
    """

    result: Json
    posts: tuple[Post, ...] = ()
    entries: tuple[Entry, ...] = ()
    ending: Ending | None = None
    note: str = ""
    taken: tuple[str, ...] = ()


class NoteAllowance:
    """The number of notes that a turn may still make; calls of one round share it."""

    def __init__(self, left: int = NOTES_MOST) -> None:
        self._left = left
        self._lock = threading.Lock()

    def take(self) -> None:
        """Reserve a note for a call. `ToolError` ELIMIT when the turn may make none any more."""
        with self._lock:
            if self._left <= 0:
                raise ToolError(
                    "ELIMIT",
                    f"a turn notes at most {NOTES_MOST} things",
                    suggestion="go on without it",
                    reason="turn",
                )
            self._left -= 1


def allow_any() -> None:
    """Raise nothing: the chain has room."""


class PostAllowance:
    """The number of events that a turn may still post; calls of one round share it.

    `refused` names the limits of its chain that a post has met.
    """

    def __init__(
        self,
        left: int,
        agent: str = "",
        hops: int = 0,
        require_room: Callable[[], None] = allow_any,
        count_mail: Callable[[], None] = allow_any,
    ) -> None:
        """`agent` is the one whose turn it is, and `hops` how often one has set off another before
        it. `require_room` raises `ToolError` ELIMIT when its chain has used up its tokens, and
        `count_mail` when the agent has sent as much mail in it as one may.
        """
        self._left = left
        self._agent = agent
        self._hops = hops
        self._require_room = require_room
        self._count_mail = count_mail
        self._lock = threading.Lock()
        self._agents_left = AGENTS_MOST
        self.refused: set[str] = set()

    def take(self, count: int, *, to: str = "") -> None:
        """Reserve `count` posts for a call, before it changes anything. `to` is the agent that they
        are for; empty for the turn's own, and for what is only said.

        `ToolError` ELIMIT when the turn has not so many left, or when its chain may set off no
        other agent any more.
        """
        self.require_reach(to)
        with self._lock:
            if count > self._left:
                raise ToolError(
                    "ELIMIT",
                    f"a turn sets off at most {POSTS_MOST} pieces of work or messages",
                    suggestion="finish this turn, and go on in the next one",
                    reason="turn",
                )
            self._left -= count

    def take_mail(self) -> None:
        """Reserve a mail for a call. `ToolError` ELIMIT when its sender may send none any more."""
        try:
            self._count_mail()
        except ToolError:
            self.refused.add(CHAIN_MAILS)
            raise

    def take_agent(self) -> None:
        """Reserve an agent that a call makes. `ToolError` ELIMIT when the turn has made so many."""
        with self._lock:
            if self._agents_left <= 0:
                raise ToolError(
                    "ELIMIT",
                    f"a turn makes at most {AGENTS_MOST} agents",
                    suggestion="wait for the reports of those, and make others in another turn",
                    reason="turn",
                )
            self._agents_left -= 1

    def require_reach(self, agent: str) -> None:
        """Raise `ToolError` ELIMIT when the chain may not set off this agent any more; the turn's
        own goes on within it.
        """
        if agent in ("", self._agent):
            return
        if self._hops >= HOPS_MOST:
            self.refused.add(CHAIN_HOPS)
            raise ToolError(
                "ELIMIT",
                f"agents have set each other off {HOPS_MOST} times for this, and no other one may"
                " follow",
                suggestion="finish it here, or tell the person what is left to do",
                reason="hops",
            )
        try:
            self._require_room()
        except ToolError:
            self.refused.add(CHAIN)
            raise


def sets_off_other(post: Post, agent: str) -> bool:
    """Return whether a post of an agent sets off another one. What is only said does not, and no
    call to look for work: whoever has nothing to do looks, and who set it off has no say in it.
    """
    return post.kind != "say" and post.agent != agent and post.data.get(LOOK) is not True


def name_receiver(post: Post) -> str:
    """Return who gets a post, for the record of the turn: a chat's platform, which names nobody, or
    an agent.
    """
    return post.session.partition(":")[0] if post.kind == "say" else post.agent


def stamp_posts(
    posts: Sequence[Post], cause: Event, place: str, at: float, first: int = 0
) -> tuple[Event, ...]:
    """Return the events that the turn of `cause` posts.

    `place` names the call within the turn that asked for them, `SEQ:POSITION`. With the ids of
    `make_post_id` a repeat of the same call posts the same events. `at`: seconds since the epoch.
    `first` counts the posts of the turn before these, so that one session gets them in order.
    """
    events = []
    for number, post in enumerate(posts):
        event = Event(
            id=make_post_id(post.kind, cause.id, f"{place}:{number}"),
            kind=post.kind,
            agent=post.agent,
            session=post.session,
            sender=Sender(f"agent:{cause.agent}"),
            text=post.text,
            at=at,
            order=order_of(at, first + number),
            private=True,
            language=cause.language,
            cause=cause.id,
            root=cause.root or cause.id,
            hops=cause.hops + sets_off_other(post, cause.agent),
            by=cause.behalf,
            task=post.task or cause.task,
            data=post.data,
        )
        events.append(event)
    return tuple(events)


def make_post_id(kind: Kind, cause: str, place: str) -> str:
    """Return the id of a post, the same for every repeat: `KIND:CAUSE:PLACE`."""
    if len(cause) > NAME_CHARACTERS:
        cause = sha256(cause.encode(errors="replace")).hexdigest()[:32]
    return f"{kind}:{cause}:{place}"


def report_home(
    event: Event, text: str, now: float, *, place: str = "end", first: int = 0
) -> tuple[Event, ...]:
    """Return the event that says in a chat what came of the agent's own work.

    `event` names the chat in `data`: `home`, and `home_agent` where it is not the root agent's.
    Work that belongs to no chat is not reported. `place` and `first` are as in `stamp_posts`.
    """
    home = event.data.get("home")
    if not isinstance(home, str) or not home:
        return ()
    agent = str(event.data.get("home_agent") or event.agent.partition(".")[0])
    data: dict[str, Json] = {OWN_WORDS: True}
    if event.data.get("from"):
        data["from"] = event.data["from"]
    try:
        post = Post("say", agent, home, cut_text(text, TEXT_LIMIT), data=data)
    except ToolError:  # no service names such a chat, and the turn has to end all the same
        return ()
    return stamp_posts([post], event, place, now, first)
