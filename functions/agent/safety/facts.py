"""What happened, and nothing about what it means: one record for each call of a tool."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from functions.agent.messages import ToolCall
from functions.agent.safety.codes import Kind, code_of
from functions.agent.sanitize import clean, inert
from sigil.errors import one_line
from sigil.protocol import Json
from sigil.storage.stored import Stored

TARGETS = ("path", "file", "url", "host", "name", "key", "id", "query")
"""Arguments that say what a call was about, the first that is there."""
TARGET_CHARACTERS = 80
FINGERPRINT = 16


@dataclass(frozen=True, slots=True)
class Fact(Stored):
    """One call and its outcome. `code` is empty when it went well.

    `fingerprint`: the first 16 hex digits of SHA-256 over `TOOL:ARGUMENTS`, the arguments as
    canonical JSON, so that their order makes no difference. `result`: likewise of what came back.
    `target`: what the call was about, one clean line, perhaps empty.
    """

    source: str
    fingerprint: str
    code: str = ""
    message: str = ""
    target: str = ""
    result: str = ""
    ran: bool = True

    @property
    def failed(self) -> bool:
        """Whether it failed in a way that counts."""
        return bool(self.code) and self.counts

    @property
    def counts(self) -> bool:
        """Whether it is an operation at all: a page fault, or a call that never began, is none."""
        return self.ran and (not self.code or code_of(self.code).counts)

    @property
    def kind(self) -> Kind:
        return code_of(self.code).kind

    @property
    def line(self) -> str:
        """`Tool "fs.write" failed with EPERM at /etc/passwd.`"""
        place = f" at {self.target}" if self.target else ""
        return f'Tool "{self.source}" failed with {self.code}{place}.'

    @property
    def phrase(self) -> str:
        """`EPERM (Permission Denied)`"""
        return f"{self.code} ({code_of(self.code).phrase})"


def fact_of(call: ToolCall, code: str, message: str, content: str, ran: bool = True) -> Fact:
    """The fact of a call that was answered with `content`, and with `code` and `message` when it
    failed.
    """
    return Fact(
        source=one_line(call.name, 64),
        fingerprint=fingerprint(call.name, call.arguments),
        code=code,
        message=inert(clean(one_line(message))),
        target=inert(target(call.arguments)),
        result=_hash(content),
        ran=ran,
    )


def fingerprint(tool: str, arguments: str) -> str:
    """What makes two calls the same one. Arguments that are no JSON stand for themselves."""
    return _hash(f"{tool}:{_canonical(arguments)}")


def target(arguments: str) -> str:
    """What a call's arguments are about."""
    given = _parsed(arguments)
    found = next((given[name] for name in TARGETS if isinstance(given.get(name), str)), "")
    return one_line(found, TARGET_CHARACTERS)


def _canonical(arguments: str) -> str:
    try:
        return orjson.dumps(orjson.loads(arguments or "{}"), option=orjson.OPT_SORT_KEYS).decode()
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return arguments


def _parsed(arguments: str) -> Mapping[str, Json]:
    try:
        given = orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError:
        return {}
    return given if isinstance(given, dict) else {}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:FINGERPRINT]
