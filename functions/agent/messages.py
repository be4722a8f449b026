"""Messages are what a history consists of: a person's, the model's, and the results of tools.

The origin of a person's message says where it came from: the name in it is its sender's word, all
else is the runtime's. It is stored as `telegram` for a private chat and as
`telegram 42 member · Alice` for a group: the platform, the end of the sender's id and their role
stand before the first separator, where no name reaches.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Final, Literal, get_args

from msgspec import Meta

from functions.agent.access import roles
from functions.agent.sanitize import clean_text, escape_delimiters
from functions.events import Event
from sigil.errors import one_line
from sigil.protocol import Json, Offer
from sigil.storage.stored import Shape, Stored

Role = Literal["system", "user", "assistant", "tool"]
MOST: Final = 10**12
"""More than is ever counted, and later than any time that a clock shows."""
Count = Annotated[int, Meta(ge=0, lt=MOST)]
Number = Annotated[float, Meta(ge=0, lt=MOST)]
"""A stored count, and a stored amount or time in seconds since the epoch."""
RUNTIME_MARK: Final = "[runtime]"
"""How a message of the runtime's own begins; a person's always begins with its stamp."""
RUNTIME_ORIGIN: Final = "runtime"
"""The origin of a kept message that the runtime wrote; a person's names a platform."""

SCHEDULED_KINDS: Final = ("task", "wakeup")
"""The events of scheduled work: nobody waits for an answer, so none is sent when there is nothing
to say.
"""
SILENT: Final = "[SILENT]"
"""The whole answer of a model that has nothing to say."""
SCHEDULED_NOTE: Final = (
    f"{RUNTIME_MARK} This is scheduled work: nobody waits for an answer, and whatever you answer"
    f" interrupts somebody. When there is nothing that they need to know, answer {SILENT} and"
    " nothing else."
)
_ADORNMENT: Final = " \t\n.*_`'\"“”"
"""Characters around `SILENT` that do not make it another answer."""

SEPARATOR: Final = " · "
NAME_CHARACTERS: Final = 60
FILE_CHARACTERS: Final = 200
"""The most characters of a file's name that the model reads."""
ID_CHARACTERS: Final = 12
"""A longer id is shown by its last `ID_TAIL` characters."""
ID_TAIL: Final = 8
_ROLES: Final = frozenset(get_args(roles.Role))
_DOTS: Final = "·•‧∙⋅・･᛫⸱⸳ꞏᐧ\u0387●◦⦁⚫⏺∘⸰🞄"
_QUOTES: Final = '"“”„‟″‶＂«»〝〞〟❝❞ˮʺ🙶🙷🙸'
_BRACKETS: Final = {"Ps": "(", "Pe": ")"}
"""The replacements of opening and closing brackets, by their Unicode categories."""
_NOT_OF_AN_ID: Final = re.compile(r"[^A-Za-z0-9@._+-]")


@dataclass(frozen=True, slots=True)
class ToolCall(Stored):
    """A call that the model makes; `arguments` is its JSON text, unparsed."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Usage(Stored):
    """The tokens of one or more requests; `estimated` when the provider did not count them."""

    prompt: Count = 0
    completion: Count = 0
    cached: Count = 0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return replace(
            self,
            prompt=self.prompt + other.prompt,
            completion=self.completion + other.completion,
            cached=self.cached + other.cached,
            estimated=self.estimated or other.estimated,
        )

    def __sub__(self, before: Usage) -> Usage:
        """Return what was used since `before`."""
        return Usage(
            self.prompt - before.prompt,
            self.completion - before.completion,
            self.cached - before.cached,
            self.estimated,
        )

    @property
    def total(self) -> int:
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class Message(Stored):
    """One message of the history.

    `seq` numbers a session's messages from 1 and never repeats; `at` is seconds since the epoch.
    `calls` belong to the assistant, `call_id` and `loads` to tools: `loads` is written by
    `sigil_query` and `sigil_deploy` alone and is the only thing that makes a tool. `origin` says
    where a user message came from (platform, name); `cut` counts characters that were left out.
    `tokens` is the estimate of its size, made when it joins a history.
    """

    role: Role
    content: str
    seq: Count = 0
    at: Number = 0.0
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    loads: tuple[Offer, ...] = ()
    origin: str = ""
    reasoning: str = ""
    cut: Count = 0
    tokens: Number = 0.0


MESSAGES: Final = Shape[tuple[Message, ...]](tuple[Message, ...])
"""The shape of the messages of an archive."""


def find_unanswered(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Return the calls of the last assistant message that no tool message answers, in order."""
    answered: set[str] = set()
    for message in reversed(messages):
        if message.role == "assistant":
            return tuple(call for call in message.calls if call.id not in answered)
        if message.role == "user":
            break
        answered.add(message.call_id)
    return ()


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a tool call.

    `content` is for the model, `loads` are the offers that it paged in, `error` and `why` the code
    and the message of its failure. `listed` is the result that names what was paged in, a row for
    each, and `content` its text. `ran` says that the call began at all.
    """

    call: ToolCall
    content: str
    loads: tuple[Offer, ...] = ()
    error: str = ""
    ms: float = 0.0
    cut: int = 0
    why: str = ""
    ran: bool = True
    listed: Mapping[str, Json] | None = None


def user_message(event: Event, role: roles.Role) -> Message:
    """Return the message with which an event enters the history; `role` is its sender's."""
    text = describe_event(event)
    if event.kind in SCHEDULED_KINDS:
        text = f"{text}\n{SCHEDULED_NOTE}"
    return Message("user", text, at=event.at, origin=origin_of(event, role))


def describe_event(event: Event) -> str:
    """Return an event's text, without what its writer does not see, and a line for each file."""
    text = clean_text(event.text)
    lines = [text] if text else []
    for attachment in event.attachments:
        kind = one_line(str(attachment.get("kind") or "file"), 40)
        name = str(attachment.get("name") or "")
        label = quote_name(name, FILE_CHARACTERS) if name else "unnamed"
        lines.append(f"[{kind}: {label}]")
    return "\n".join(lines)


def remove_silence(event: Event, answer: str) -> str:
    """Return the part of a turn's answer that is sent.

    Scheduled work that has nothing to say sends nothing; where `SILENT` comes with words, the
    words are sent. Whoever asked gets all of the answer.
    """
    if event.kind not in SCHEDULED_KINDS:
        return answer
    lines = [line for line in answer.split("\n") if line.strip(_ADORNMENT).upper() != SILENT]
    return "\n".join(lines).strip()


def origin_of(event: Event, role: roles.Role) -> str:
    """Return the origin of an event's message, as it is stored."""
    if event.private:
        return event.platform
    # the part of an id that tells people of one chat apart
    sender = event.sender.id.partition(":")[2] or event.sender.id
    sender = _NOT_OF_AN_ID.sub("_", sender)
    if len(sender) > ID_CHARACTERS:
        sender = f"…{sender[-ID_TAIL:]}"
    head = " ".join(filter(None, (event.platform, sender, role)))
    name = clean_name(event.sender.name)
    return f"{head}{SEPARATOR}{name}" if name else head


def format_origin(origin: str) -> str:
    """Return a stored origin as the model reads it: `telegram · "Alice" · 42 · member`."""
    head, _, name = origin.partition(SEPARATOR)
    parts = head.split(" ")
    if len(parts) == len(("platform", "id", "role")) and parts[-1] in _ROLES:
        platform = parts[0]
        sender = parts[1:]
    else:
        platform = clean_name(head)
        sender = []
    quoted = quote_name(name) if name else ""
    return SEPARATOR.join(filter(None, (platform, quoted, *sender)))


@lru_cache(maxsize=4096)
def sender_name(origin: str) -> str:
    """Return the name that the sender of a group message uses, empty where nobody is named."""
    return clean_name(origin.partition(SEPARATOR)[2])


def quote_name(name: str, most: int = NAME_CHARACTERS) -> str:
    """Return a name that somebody chose, in quotes that it cannot close."""
    return f'"{clean_name(name, most)}"'


def clean_name(name: str, most: int = NAME_CHARACTERS) -> str:
    """Return a name that somebody chose as one line of at most `most` characters.

    The characters that structure a line of the runtime's (separators, brackets, double quotes) are
    replaced, so that no name can imitate one.
    """
    harmless = []
    for character in clean_text(escape_delimiters(name)):
        if character in _DOTS:
            harmless.append(" ")
        elif character in _QUOTES:
            harmless.append("'")
        else:
            harmless.append(_BRACKETS.get(unicodedata.category(character), character))
    return one_line(" ".join("".join(harmless).split()), most)
