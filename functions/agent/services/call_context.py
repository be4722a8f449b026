"""Where a service is asked: the agent, the session, on whose behalf, and in which call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from functions.agent.app import App
from functions.agent.memory.things import Things
from sigil.errors import Refused, UsageError
from sigil.protocol import Json, tool_of

Arguments = Mapping[str, Json]
FAILED = '{"error"'
"""How the result of a call begins that failed."""


@dataclass(frozen=True, slots=True)
class Place:
    """`session`: S of the keys. `owner`: an owner asks, in a chat of their own. `by`: the id of
    whoever's turn it is. `call`: unique to a call, and the same when it is run again after a crash.
    """

    app: App
    session: str
    owner: bool = False
    by: str = ""
    call: str = ""

    @property
    def things(self) -> Things:
        """What this chat remembers."""
        return Things(self.app.kv, self.session, self.app.aids.terms)

    @property
    def shared(self) -> Things:
        """What every chat of the agent recalls."""
        return Things(self.app.kv, self.app.documents.agent, self.app.aids.terms)

    def demand_owner(self) -> None:
        """`Refused` EPERM unless an owner asks in a chat of their own."""
        if not self.owner:
            hint = "leave shared out, or let an owner say so in their own chat"
            raise Refused(
                "EPERM",
                "only an owner, in a private chat, changes what all chats share",
                suggestion=hint,
            )

    def demand_called(self, name: str) -> None:
        """`UsageError` EINVAL unless a capability of this name answered a call in this chat, as far
        as its history reaches.
        """
        messages = self.app.sessions.open(self.session).document.messages
        ids = {
            call.id for message in messages for call in message.calls if call.name == tool_of(name)
        }
        if not any(
            message.role == "tool"
            and message.call_id in ids
            and not message.content.startswith(FAILED)
            for message in messages
        ):
            hint = (
                "user for what a person said, the capability that was called here before, or the"
                " address of the page"
            )
            raise UsageError(
                "EINVAL", f"source: {name} has answered no call in this chat", suggestion=hint
            )


def text(given: Arguments, name: str) -> str:
    """A text, empty when it is missing; `UsageError` EINVAL when it is something else."""
    value = given.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UsageError("EINVAL", f"{name} is a text")
    return value.strip()


def flag(given: Arguments, name: str) -> bool:
    """Whether it is true."""
    value = given.get(name, False)
    if not isinstance(value, bool):
        raise UsageError("EINVAL", f"{name} is true or false")
    return value


def number(given: Arguments, name: str, usual: int, most: int) -> int:
    """A whole number from 1 to `most`, `usual` when it is missing."""
    value = given.get(name, usual)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise UsageError("EINVAL", f"{name} is a whole number from 1 to {most:,}")
    return value


def share(given: Arguments, name: str, usual: float) -> float:
    """A number from 0 to 1."""
    value = given.get(name, usual)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise UsageError("EINVAL", f"{name} is a number from 0 to 1")
    return float(value)
