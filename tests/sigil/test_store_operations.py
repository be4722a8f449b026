"""A deploy and a run ask the store for each thing once, on every back-end alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sigil.protocol import Caller
from sigil.registry import LocalRegistry
from sigil.sandbox.pool import Sandbox
from sigil.storage.artifacts import FolderArtifacts
from sigil.storage.kv import KV, Expect, Item, Key, keys
from sigil.storage.kv.memory import MemoryKV
from tests.sigil.registries import GUEST, MODEL, PERSON, spec
from tests.sigil.stores import EMULATED, Place, place, pytest_generate_tests

__all__ = ["place", "pytest_generate_tests"]

TOKEN = Caller("main", token="0123456789ab")
GOLDEN = [{"input": {}, "output": "one"}]
FIRST = "return 'one'"
SECOND = "return 'on' + 'e'"
THIRD = "return 'o' + 'ne'"
FOURTH = "return `one`"


class CountingKV:
    """A store that notes every operation with its key, in order."""

    def __init__(self, kv: KV) -> None:
        self._kv = kv
        self.operations: list[str] = []

    def get(self, key: Key) -> Item | None:
        self.operations.append(f"get {key.partition} / {key.sort}")
        return self._kv.get(key)

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        self.operations.append(f"put {key.partition} / {key.sort}")
        return self._kv.put(key, value, expect=expect, ttl=ttl)

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        self.operations.append(f"delete {key.partition} / {key.sort}")
        self._kv.delete(key, expect=expect)

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        self.operations.append(f"scan {partition} / {prefix}* after {after!r}")
        return self._kv.scan(partition, prefix, after, limit)

    def during(self, act: Callable[[], Any]) -> list[str]:
        """Return the operations that `act` needs."""
        self.operations.clear()
        act()
        return list(self.operations)


Open = Callable[[KV], LocalRegistry]


@pytest.fixture
def open_registry(tmp_path: Path, sandbox: Sandbox) -> Open:
    """Opens registries without a pause between deploys of a token, each as a process of its own."""

    def opened(kv: KV) -> LocalRegistry:
        return LocalRegistry(kv, FolderArtifacts(tmp_path / "artifacts"), sandbox)

    return opened


def deploy(
    registry: LocalRegistry, execute: str, caller: Caller = PERSON, **more: Any
) -> Callable[[], object]:
    wanted = spec(**{"name": "shout", "execute": execute, "tests": GOLDEN, **more})
    return lambda: registry.deploy(wanted, caller)


# the suite's one run of a whole registry on each back-end
@pytest.mark.parametrize("place", ["memory", "sqlite", *EMULATED], indirect=True)
def test_a_deploy_a_redeploy_and_a_run_stay_within_their_operations(
    place: Place, open_registry: Open
) -> None:
    kv = CountingKV(place.open())
    registry = open_registry(kv)

    counts = [
        len(kv.during(deploy(registry, FIRST))),
        len(kv.during(deploy(registry, SECOND))),
        len(kv.during(deploy(registry, SECOND))),
        len(kv.during(deploy(registry, FIRST, TOKEN, name="by-token"))),
    ]
    # the first deploy of a name asks whether the library has it
    assert counts == [17, 17, 2, 18]

    registry.run("shout", {}, PERSON)
    # its health is read again after a second
    assert len(kv.during(lambda: registry.run("shout", {}, PERSON))) <= 2


@pytest.fixture
def kv() -> CountingKV:
    return CountingKV(MemoryKV())


@pytest.mark.parametrize(("caller", "most"), [(MODEL, 21), (GUEST, 23)])
def test_a_models_deploy_also_looks_where_the_name_may_be_taken(
    kv: CountingKV, open_registry: Open, caller: Caller, most: int
) -> None:
    registry = open_registry(kv)
    registry.deploy(spec("other"), caller)
    assert len(kv.during(deploy(registry, FIRST, caller))) == most


def test_a_deploy_reads_no_item_twice(kv: CountingKV, open_registry: Open) -> None:
    registry = open_registry(kv)
    other = Caller("main", token="ba9876543210")
    for caller, execute in ((PERSON, FIRST), (TOKEN, SECOND), (PERSON, THIRD), (other, FOURTH)):
        operations = kv.during(deploy(registry, execute, caller))
        reads = [each for each in operations if not each.startswith("put")]
        assert len(set(reads)) == len(reads), "\n".join(operations)


def test_what_a_capability_calls_is_read_once(kv: CountingKV, open_registry: Open) -> None:
    registry = open_registry(kv)
    deploy(registry, FIRST)()
    calls = {"name": "whole", "requires": ["shout"]}
    for execute in (
        "return await env.call('shout', {})",
        "return `${await env.call('shout', {})}`",
    ):
        operations = kv.during(deploy(registry, execute, **calls))
        assert operations.count("get capability#main / shout") == 1, "\n".join(operations)
        assert len(operations) <= 20


@pytest.mark.parametrize("public", [False, True])
def test_no_number_of_chats_adds_an_operation(
    kv: CountingKV, open_registry: Open, public: bool
) -> None:
    registry = open_registry(kv)

    def count(number: int) -> int:
        act = deploy(registry, f"return 'o' + 'ne' // {number}", public=public)
        return len(kv.during(act))

    def add_chats(first: int) -> None:
        for number in range(first, first + 600):
            log = keys.generation(f"main~telegram:{number}")
            kv.put(log, b'{"epoch":"e","number":1,"recent":["x"],"open":{}}')

    deploy(registry, FIRST, public=public)()
    add_chats(0)
    count(0)
    before = count(1)
    add_chats(600)
    assert count(2) == before


def test_another_process_begins_where_the_one_before_it_left_off(
    kv: CountingKV, open_registry: Open
) -> None:
    first = open_registry(kv)
    for execute in (FIRST, SECOND):
        deploy(first, execute)()
    other = open_registry(kv)
    deploy(other, FIRST, name="second")()
    deploy(first, FIRST, name="third")()

    looked_at = kv.during(deploy(other, FIRST, name="fourth"))
    assert [each for each in looked_at if each.startswith("scan version#")] == [
        "scan version#main / third#* after ''"
    ]


def test_several_queries_at_once_look_once_for_what_has_changed(
    kv: CountingKV, open_registry: Open
) -> None:
    registry = open_registry(kv)
    deploy(registry, FIRST)()
    deploy(registry, SECOND, name="whisper")()
    texts = ["shout", "whisper", "nothing like them"]
    alone = [registry.query(text, PERSON) for text in texts]
    for_one = kv.during(lambda: registry.query("shout", PERSON))
    assert registry.query_each(texts, PERSON) == alone
    assert kv.during(lambda: registry.query_each(texts, PERSON)) == for_one
