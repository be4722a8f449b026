"""A registry over a real store and the real sandbox, with a clock that tests set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from sigil.catalog.quotas import Quotas
from sigil.protocol import Caller
from sigil.registry import LocalRegistry, RegistryRules
from sigil.sandbox.pool import Sandbox
from sigil.storage.artifacts import FolderArtifacts
from sigil.storage.kv.sqlite import SqliteKV
from tests.fakes.clock import Clock

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


@pytest.fixture
def kv(tmp_path: Path, clock: Clock) -> Iterator[SqliteKV]:
    made = SqliteKV(tmp_path / "store.db", clock)
    yield made
    made.close()


@pytest.fixture
def opened(tmp_path: Path, kv: SqliteKV, sandbox: Sandbox, clock: Clock) -> Iterator[Open]:
    """Opens registries: each call is another process's view of the same store. `opened(kv,
    room=Quotas(…), pause=5.0)`.
    """
    with ExitStack() as stack:

        def made(store: Any = None, **rules: Any) -> LocalRegistry:
            if store is None:
                store = SqliteKV(tmp_path / "store.db", clock)
                stack.callback(store.close)
            return LocalRegistry(
                store,
                FolderArtifacts(tmp_path / "artifacts"),
                sandbox,
                clock,
                rules=RegistryRules(**rules),
            )

        yield made


@pytest.fixture
def registry(opened: Open, kv: SqliteKV) -> LocalRegistry:
    return opened(kv)


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


def small(**room: int) -> Quotas:
    return Quotas(
        **{"capabilities": 100, "bytes": 1 << 20, "session": 100, "ephemeral": 100, **room}
    )
