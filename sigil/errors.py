"""Define what can go wrong, by who must act.

SigilError
├── ToolError      the author of the call or of the capability can correct it (mostly the model)
├── Refused        policy says no: a permission, a limit, a failed test, somebody else's name
├── Halt           safety or budget ends the turn politely
├── BackendError   a store, a model or a platform failed: retry or queue
│   └── Conflict   somebody else wrote first: reload and decide again
└── UsageError     the caller's input is wrong
"""

from __future__ import annotations

import re

_SELECTORS = r"\ufe00-\ufe0f"
_IGNORABLE = (
    r"\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufff8"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""The characters that Unicode calls default ignorable (DerivedCoreProperties).

Nobody sees them, and whole texts are hidden in them. One of `_SELECTORS` may follow a visible
character: many emoji are written so.
"""
_CONTROL = rf"\x00-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffb\ud800-\udfff{_IGNORABLE}"
_UNSEEN = re.compile(
    rf"(?:[{_CONTROL}]|(?<![^\s{_SELECTORS}])[{_SELECTORS}])[{_CONTROL}{_SELECTORS}]*"
)
MESSAGE_LIMIT = 300


def one_line(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """Return `text` on one line of at most `limit` characters, without control, bidi, invisible and
    lone surrogate characters.
    """
    line = _UNSEEN.sub(" ", text).strip()
    return line if len(line) <= limit else line[: limit - 1] + "…"


class SigilError(Exception):
    """A failure that people, programs and the model can all read.

    `code` is an upper-case word (`EINVAL`), `message` one line, `source` the capability, tool or
    part that failed, `suggestion` what helps. All four are part of replies, so nothing secret
    belongs in them. `reason` is a word for which of the failures with this code it is, empty where
    its code says enough; it stays in the process. `retry_after` has the seconds until it makes
    sense to try again, 0 when nobody knows; over HTTP it is the header `Retry-After`. `logs` has
    the lines that a run logged before it failed; for owners alone.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        source: str = "",
        suggestion: str = "",
        reason: str = "",
        retry_after: float = 0.0,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.source = source
        self.suggestion = suggestion
        self.reason = reason
        self.retry_after = retry_after
        self.logs: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, str]:
        """Return `{"source", "code", "message", "suggestion"}`, each one clean line."""
        fields = {
            "source": self.source,
            "code": self.code,
            "message": self.message,
            "suggestion": self.suggestion,
        }
        return {name: one_line(text) for name, text in fields.items()}


class ToolError(SigilError):
    """The call failed in a way that its author can correct."""


class Refused(SigilError):
    """Policy does not allow it."""


class Halt(SigilError):
    """Safety or budget ends the turn."""


class BackendError(SigilError):
    """Something that we depend on failed; trying again later may help."""


class Conflict(BackendError):
    """The item changed since it was read."""

    def __init__(self, message: str = "the item changed since it was read") -> None:
        super().__init__("ECONFLICT", message)


class UsageError(SigilError):
    """The caller's input is wrong."""
