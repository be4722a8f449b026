"""Callers and small capabilities for the tests of a registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sigil.catalog.quotas import Quotas
from sigil.protocol import Caller
from sigil.registry import LocalRegistry

PERSON = Caller("main", owner=True)
MODEL = Caller("main", "telegram:1", owner=True, author="model")
GUEST = Caller("main", "telegram:9", author="model")
OTHER = Caller("main", "telegram:8", author="model")

WAYS = """switch (input.way) {
  case "throw": throw new Error("a mistake");
  case "type": return undefined.field;
  case "spin": for (;;);
  case "deep": return (function again() { return again() + 1; })();
  case "input": throw Object.assign(new Error("no such way"), { code: "EINVAL" });
  case "own": throw Object.assign(new Error("not today"), { code: "ECLOSED" });
}
return "well";"""
"""A capability that fails in the way that it is asked to."""


Open = Callable[..., LocalRegistry]


def spec(name: str = "shout", execute: str = "return 'one'", **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"The capability {name} that shouts a text.",
        "schema": {},
        "execute": execute,
        **more,
    }


def text(
    registry: LocalRegistry, ref: str = "shout", caller: Caller = PERSON, **arguments: Any
) -> str:
    """What a capability answers, without its quotes."""
    return registry.run(ref, arguments, caller).output.decode().strip('"')


def small(**limits: int) -> Quotas:
    return Quotas(
        **{"capabilities": 100, "bytes": 1 << 20, "session": 100, "ephemeral": 100, **limits}
    )
