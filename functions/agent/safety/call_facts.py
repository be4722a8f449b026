"""A fact records what one tool call did, and nothing about what it means."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import orjson

from functions.agent.conversation.messages import ToolCall
from functions.agent.safety.failure_codes import Kind, code_of
from functions.agent.sanitize import sanitize_text
from sigil.errors import one_line
from sigil.storage.stored import Stored, later

TARGETS = ("path", "file", "url", "host", "name", "key", "id", "query")
"""Arguments that say what a call was about; the first that is present counts."""
TARGET_CHARACTERS = 80
FINGERPRINT = 16


@dataclass(frozen=True, slots=True)
class Fact(Stored):
    """One call and its outcome; `code` is empty when it succeeded.

    `fingerprint` is the first 16 hex digits of SHA-256 over `TOOL:ARGUMENTS`, the arguments as
    canonical JSON, so that their order makes no difference; `result` is the same of the result.
    `target` is what the call was about, one clean line, perhaps empty. `reason` says which of the
    failures with this code it is, where the code alone does not.
    """

    source: str
    fingerprint: str
    code: str = ""
    message: str = ""
    target: str = ""
    result: str = ""
    ran: bool = True
    reason: str = later("")

    @property
    def failed(self) -> bool:
        """Return whether it failed in a way that counts."""
        return bool(self.code) and self.counts

    @property
    def counts(self) -> bool:
        """Return whether it is an operation: a page fault, or a call that never began, is none."""
        return self.ran and (not self.code or code_of(self.code).counts)

    @property
    def kind(self) -> Kind:
        return code_of(self.code).kind

    @property
    def line(self) -> str:
        """Return `Tool "fs.write" failed with EPERM at /etc/passwd.`"""
        place = f" at {self.target}" if self.target else ""
        return f'Tool "{self.source}" failed with {self.code}{place}.'

    @property
    def phrase(self) -> str:
        """Return `EPERM (Permission Denied)`."""
        return f"{self.code} ({code_of(self.code).phrase})"


def make_fact(
    call: ToolCall, code: str, message: str, content: str, *, ran: bool = True, reason: str = ""
) -> Fact:
    """Return the fact of a call.

    `content` is its answer; `code` and `message` are empty unless it failed.
    """
    return Fact(
        source=one_line(call.name, 64),
        fingerprint=fingerprint(call.name, call.arguments),
        code=code,
        message=sanitize_text(one_line(message)),
        target=sanitize_text(find_target(call.arguments)),
        result=_hash_text(content),
        ran=ran,
        reason=reason,
    )


def fingerprint(tool: str, arguments: str) -> str:
    """Return the hash that two calls share when they are the same.

    Arguments that are no JSON are hashed as they are.
    """
    try:
        parsed = orjson.loads(arguments or "{}")
        arguments = orjson.dumps(parsed, option=orjson.OPT_SORT_KEYS).decode()
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        pass
    return _hash_text(f"{tool}:{arguments}")


def find_target(arguments: str) -> str:
    """Return what a call's arguments are about, empty when none of `TARGETS` says it."""
    try:
        parsed = orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError:
        return ""
    if not isinstance(parsed, dict):
        return ""
    for name in TARGETS:
        if isinstance(parsed.get(name), str):
            return one_line(parsed[name], TARGET_CHARACTERS)
    return ""


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:FINGERPRINT]
