"""The context in which a service is called: the agent, the session, on whose behalf, which call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from functions.agent.access.roles import Role
from functions.agent.app import App
from functions.agent.behaviours.behaviour import Behaviour
from functions.agent.memory.memory_lines import remove_lines
from functions.agent.memory.thing import Thing
from functions.agent.memory.things import Recalled, Things
from functions.agent.policy.gate import Gate
from functions.agent.posts import NoteAllowance, PostAllowance
from functions.events import Event
from functions.texts.en import TEXTS as ENGLISH
from functions.texts.en import Texts
from functions.time.time_zone import DEFAULT
from sigil.errors import Refused, UsageError
from sigil.protocol import Json, tool_of

if TYPE_CHECKING:
    from functions.agent.shares import Holder

Arguments = Mapping[str, Json]
FAILED = '{"error"'
"""The result of a call that failed begins like this."""


@dataclass(frozen=True, slots=True)
class OwnWork:
    """The work of the agent's own that a turn does: its event, the piece of work that it belongs
    to, and the behaviour that it runs.
    """

    event: Event
    task: str
    behaviour: Behaviour


@dataclass(frozen=True, slots=True)
class CallContext:
    """The context of one call of a service.

    `session` is the S of the keys. `memory` is the scope of the chat's memory, empty when that is
    its own. `owner` says that an owner asks, in a chat of their own. `by` is
    the id of the person whose turn it is. `call` is unique to a call, and the same when it is run
    again after a crash. `zone` is the chat's time zone, in which dates without one are read.
    `posts` is how many events the turn may still make, `notes` how many notes, and `work` what it
    does by itself, None in a person's turn. `gate` lets through what the policy allows. `task` is
    the piece of work that the turn belongs to.

    `role` is that of the person, and `private` says that nobody else writes in the chat. `home` is
    the chat as the channels know it, for work of the agent's own the one that it belongs to; empty
    for none. `asked_at` is when the turn was set off, in seconds since 1970. `texts` are those for
    the people of that chat.
    """

    app: App
    session: str
    owner: bool = False
    by: str = ""
    call: str = ""
    memory: str = ""
    zone: str = DEFAULT
    posts: PostAllowance = field(default_factory=lambda: PostAllowance(0))
    role: Role = "guest"
    private: bool = False
    home: str = ""
    asked_at: float = 0.0
    gate: Gate = Gate()
    work: OwnWork | None = None
    task: str = ""
    notes: NoteAllowance = field(default_factory=NoteAllowance)
    texts: Texts = ENGLISH

    @property
    def things(self) -> Things:
        """The things that this chat remembers."""
        return Things(self.app.kv, self.memory or self.session, self.app.helpers.terms)

    @property
    def shared(self) -> Things:
        """The things that every chat of the agent recalls."""
        return Things(self.app.kv, self.app.documents.agent, self.app.helpers.terms)

    def forget_in_memory(self, things: Sequence[Thing]) -> str:
        """Take the lines that say these things out of the chat's memory document.

        Returns a line that still mentions one of them, empty when none does.
        """
        scope = self.memory or self.session
        return remove_lines(self.app.documents, scope, things, self.by)

    def count_uses(self, found: Sequence[tuple[Recalled, bool]]) -> None:
        """Note that these things were recalled, each with whether all chats share it."""
        now = self.app.clock.now()
        for shared, things in ((False, self.things), (True, self.shared)):
            ids = [each.thing.id for each, is_shared in found if is_shared == shared]
            things.count_uses(ids, now)

    def redact(self, value: Json) -> Json:
        """Return a value that leaves the chat, to knowledge, to what all chats share or to another
        agent, without what the policy's patterns fit in its texts.
        """
        if isinstance(value, str):
            return self.gate.redact(value)
        if isinstance(value, list):
            return [self.redact(each) for each in value]
        if isinstance(value, dict):
            return {self.gate.redact(name): self.redact(each) for name, each in value.items()}
        return value

    def find_holder(self) -> Holder:
        """Return for whom the call takes a place that everybody uses."""
        from functions.agent.shares import Holder, find_holder

        if self.work:
            return find_holder(self.work.event, self.role, self.app.people)
        return Holder(self.by, self.role, self.app.people)

    def find_holder_here(self) -> Holder | None:
        """Return for whom the call takes room that all people of its chat use; None where the chat
        is somebody's own.
        """
        is_own = self.private
        if self.work:
            is_own = not self.home or self.app.private_chats.is_private(self.home)
        return None if is_own else self.find_holder()

    def require_owner(self) -> None:
        """Raise `Refused` EPERM unless an owner asks in a chat of their own."""
        if not self.owner:
            hint = "leave shared out, or let an owner say so in their own chat"
            raise Refused(
                "EPERM",
                "only an owner, in a private chat, changes what all chats share",
                suggestion=hint,
                reason="owner-only",
            )

    def require_called(self, name: str) -> None:
        """Raise `UsageError` EINVAL unless a capability of this name answered a call in this chat.

        Only the calls that the chat's history still has count.
        """
        tool = tool_of(name)
        messages = self.app.sessions.open(self.session).document.messages
        ids = {call.id for message in messages for call in message.calls if call.name == tool}
        for message in messages:
            answered = message.role == "tool" and message.call_id in ids
            if answered and not message.content.startswith(FAILED):
                return
        hint = (
            "user for what a person said, the capability that was called here before, or the"
            " address of the page"
        )
        raise UsageError(
            "EINVAL", f"source: {name} has answered no call in this chat", suggestion=hint
        )


def read_text(arguments: Arguments, name: str) -> str:
    """Return a text, empty when it is missing; raise `UsageError` EINVAL for anything else."""
    value = arguments.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UsageError("EINVAL", f"{name} is a text")
    return value.strip()


def read_flag(arguments: Arguments, name: str) -> bool:
    """Return a true or false value, false when it is missing."""
    value = arguments.get(name, False)
    if not isinstance(value, bool):
        raise UsageError("EINVAL", f"{name} is true or false")
    return value


def read_number(arguments: Arguments, name: str, usual: int, most: int) -> int:
    """Return a whole number from 1 to `most`, `usual` when it is missing."""
    value = arguments.get(name, usual)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise UsageError("EINVAL", f"{name} is a whole number from 1 to {most:,}")
    return value


def read_share(arguments: Arguments, name: str, usual: float) -> float:
    """Return a number from 0 to 1, `usual` when it is missing."""
    value = arguments.get(name, usual)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise UsageError("EINVAL", f"{name} is a number from 0 to 1")
    return float(value)
