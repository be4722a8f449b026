"""How fast and how tightly the sandbox works: `SIGIL_SANDBOX` asks, the machine answers."""

from __future__ import annotations

from typing import NamedTuple

from sigil.errors import UsageError

WAYS = ("auto", "fast", "plain")


class Means(NamedTuple):
    """What a runner uses: a pool of memories, a filter of system calls, memory images of loaded
    sources.
    """

    pooling: bool
    sealing: bool
    images: bool


PLAIN = Means(pooling=False, sealing=False, images=False)
FAST = Means(pooling=True, sealing=True, images=True)


def wanted(way: str) -> Means:
    """What to try for; `UsageError` when there is no such way."""
    if way not in WAYS:
        raise UsageError(
            "ESETTING", f"SIGIL_SANDBOX={way!r} is none of {', '.join(WAYS)}", suggestion="use auto"
        )
    return PLAIN if way == "plain" else FAST


def told(way: str, means: Means) -> str:
    """One line for a person: which path runs, and why."""
    if way == "plain":
        return "plain, as SIGIL_SANDBOX says: no pooled memory, no seccomp, no memory images"
    missing = [reason for has, reason in zip(means, _MISSING, strict=True) if not has]
    return (
        f"fast: {', '.join(name for has, name in zip(means, _NAMES, strict=True) if has)}"
        + "".join(f"; {each}" for each in missing)
    )


_NAMES = ("pooled memory", "seccomp", "memory images")
_MISSING = (
    "no pooled memory: the address space is too small for it",
    "no seccomp: this kernel or processor has no filter for it",
    "no memory images",
)
