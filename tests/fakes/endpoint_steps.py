"""What a scripted model endpoint is asked and says, whichever API it is asked by."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """One answer: a text, the thought before it, and calls as (name, arguments).

    Arguments that are a text go out as they are. `finish` replaces the usual reason of the end.
    """

    text: str = ""
    calls: tuple[tuple[str, Any], ...] = ()
    thought: str | None = None
    finish: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as a script reads it.

    `said` are the texts of the user's messages and `results` those of the tools, in order. `tools`
    are the names of the offered ones, and `forced` is the one that has to be called, if any.
    """

    model: str
    system: str
    said: tuple[str, ...]
    results: tuple[str, ...]
    tools: tuple[str, ...]
    forced: str
    body: Mapping[str, Any]

    @property
    def is_chat(self) -> bool:
        """Whether an answer in a chat is asked for, and not a side request."""
        return self.system.startswith("<<IDENTITY>>")

    @property
    def may_call(self) -> bool:
        """Whether the answer may be a call."""
        return bool(self.tools) and self.body.get("tool_choice") not in ("none", {"type": "none"})


@dataclass(frozen=True, slots=True)
class Counts:
    """The tokens of a request: those of the prompt, and of them what a cache had or has kept."""

    prompt: int
    cached: int = 0
    kept: int = 0


ANSWER_TOKENS = 9
THOUGHT_TOKENS = 4


def say(text: str, thought: str | None = None) -> Step:
    """A step that ends a turn."""
    return Step(text, thought=thought)


def call(*calls: tuple[str, Any], text: str = "", thought: str | None = None) -> Step:
    """A step that calls tools."""
    return Step(text, calls, thought)


def digits_of(*parts: object) -> str:
    """Return 32 hexadecimal digits, the same for the same parts."""
    return sha256(repr(parts).encode()).hexdigest()[:32]


def sign(family: str, text: str) -> str:
    """Return the family's signature of a thought; the text itself cannot be read from it."""
    return base64.b64encode(f"{family}:{digits_of(family, text)}".encode()).decode()


def is_signed(family: str, signature: object) -> bool:
    """Return whether a signature is one of the family's, whatever it signs."""
    if not isinstance(signature, str):
        return False
    try:
        plain = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return False
    return plain.startswith(f"{family}:".encode()) and len(plain) == len(family) + 33


def text_of(content: object) -> str:
    """Return the text of a content that is a text or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))
