"""A capability's own store: values come back, quotas hold, writers do not lose count."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sigil.errors import Refused, ToolError
from sigil.run.host_calls import kv_service
from sigil.run.host_calls.kv_service import KvService
from sigil.storage.kv import keys
from sigil.storage.kv.memory import MemoryKV
from tests.selection import examples
from tests.sigil.run.host_calls.test_kv_quota import read_usage
from tests.tables import each_row

OWNER = ("main", "main", "notes")


def ask(store: KvService, operation: str, **argument: Any) -> Any:
    return store.answer(f"kv.{operation}", argument)


def test_what_is_put_is_got_listed_and_deleted() -> None:
    store = KvService(MemoryKV(), OWNER)
    assert ask(store, "get", key="a") == {"value": None}
    for key in ("b", "a", "c/1", "c/2", "ü"):
        assert ask(store, "put", key=key, value=f"value of {key}") is None
    assert ask(store, "get", key="ü") == {"value": "value of ü"}
    assert ask(store, "list") == {
        "keys": [{"name": name} for name in ("a", "b", "c/1", "c/2", "ü")],
        "cursor": None,
    }
    first = ask(store, "list", limit=2, prefix="")
    assert [row["name"] for row in first["keys"]] == ["a", "b"]
    assert [row["name"] for row in ask(store, "list", cursor=first["cursor"])["keys"]] == [
        "c/1",
        "c/2",
        "ü",
    ]
    assert ask(store, "list", prefix="c/", limit=2) == {
        "keys": [{"name": "c/1"}, {"name": "c/2"}],
        "cursor": None,
    }
    assert ask(store, "delete", key="a") is None
    assert ask(store, "delete", key="a") is None
    assert ask(store, "get", key="a") == {"value": None}


def test_two_capabilities_namespaces_and_homes_share_nothing() -> None:
    kv = MemoryKV()
    owners = [
        ("main", "main", "notes"),
        ("main", "main", "other"),
        ("main", "library", "notes"),
        ("bob", "library", "notes"),
        ("main~x", "main~x", "notes"),
    ]
    for number, owner in enumerate(owners):
        ask(KvService(kv, owner), "put", key="k", value=str(number))
    assert [ask(KvService(kv, owner), "get", key="k")["value"] for owner in owners] == [
        "0",
        "1",
        "2",
        "3",
        "4",
    ]
    KvService(kv, owners[0]).clear()
    assert [ask(KvService(kv, owner), "get", key="k")["value"] for owner in owners] == [
        None,
        "1",
        "2",
        "3",
        "4",
    ]


@each_row(
    ("operation", "argument"),
    [
        ("get", {}), ("get", {"key": ""}), ("get", {"key": 7}), ("get", {"key": "x" * 513}), ("get", {"key": "ü" * 257}),
        ("put", {"key": "a"}),
        ("put", {"key": "a", "value": 7}), ("put", {"key": "a", "value": "x" * 65_537}), ("put", {"key": "a", "value": "", "ttl": 0}),
        ("put", {"key": "a", "value": "", "ttl": True}), ("put", {"key": "a", "value": "", "ttl": "60"}),
        ("put", {"key": "a", "value": "", "ttl": 1e300}),
        ("list", {"limit": 0}), ("list", {"limit": 1001}), ("list", {"limit": "7"}), ("list", {"limit": True}), ("list", {"prefix": 7}),
        ("list", {"cursor": "ÿ"}), ("list", {"cursor": 7}), ("list", {"cursor": "_w=="}), ("drop", {"key": "a"}),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(operation: str, argument: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match="EINVAL"):
        KvService(MemoryKV(), OWNER).answer(f"kv.{operation}", argument)


def test_a_value_goes_when_its_time_is_over_and_its_room_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kv_service, "KEYS_MOST", 2)
    now = [1000.0]
    store = KvService(MemoryKV(lambda: now[0]), OWNER)
    ask(store, "put", key="a", value="1", ttl=60)
    ask(store, "put", key="b", value="1")
    with pytest.raises(Refused, match="EQUOTA"):
        ask(store, "put", key="c", value="1")
    now[0] += 61
    ask(store, "put", key="c", value="1")
    assert ask(store, "get", key="a") == {"value": None}
    with pytest.raises(Refused, match="EQUOTA"):
        ask(store, "put", key="a", value="1")


def test_a_store_of_a_capability_that_ends_ends_with_it() -> None:
    now = [1000.0]
    store = KvService(MemoryKV(lambda: now[0]), OWNER, life=30.0)
    ask(store, "put", key="a", value="1", ttl=3600)
    now[0] += 31
    assert ask(store, "get", key="a") == {"value": None}


def test_a_store_takes_a_mebibyte_and_not_more() -> None:
    store = KvService(MemoryKV(), OWNER)
    for number in range(15):
        ask(store, "put", key=str(number), value="x" * 65_536)
    with pytest.raises(Refused, match="EQUOTA"):
        ask(store, "put", key="15", value="x" * 65_536)
    ask(store, "delete", key="0")
    ask(store, "put", key="again", value="x" * 60_000)
    ask(store, "put", key="1", value="")  # smaller is always fine
    ask(store, "put", key="more", value="x" * 60_000)


def test_many_writers_at_once_keep_within_the_quota_and_count_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kv_service, "KEYS_MOST", 10)
    monkeypatch.setattr(kv_service, "RACES", 1000)
    kv = MemoryKV()
    refused: list[int] = []

    def write(start: int) -> None:
        for number in range(start, start + 8):
            try:
                ask(KvService(kv, OWNER), "put", key=str(number % 20), value="x" * number)
            except Refused:
                refused.append(number)

    threads = [threading.Thread(target=write, args=(start,)) for start in range(0, 32, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = KvService(kv, OWNER)
    names = [row["name"] for row in ask(store, "list")["keys"]]
    assert refused
    assert len(names) == 10
    for name in names:
        ask(store, "delete", key=name)
    assert store._usage.count_stored() == (0, 0)
    item = kv.get(keys.stored_usage(*OWNER))
    assert item is not None
    assert item.value.startswith(b"[0,0,")


class AsADictionary(RuleBasedStateMachine):
    """The store against a dictionary with the same quota."""

    def __init__(self) -> None:
        super().__init__()
        self.store = KvService(MemoryKV(), OWNER)
        self.model: dict[str, str] = {}

    @rule(key=st.sampled_from("abcdé"), size=st.sampled_from([0, 1, 30_000, 65_000]))
    def put(self, key: str, size: int) -> None:
        ask(self.store, "put", key=key, value="x" * size)
        self.model[key] = "x" * size

    @rule(key=st.sampled_from("abcdé"))
    def delete(self, key: str) -> None:
        ask(self.store, "delete", key=key)
        self.model.pop(key, None)

    @invariant()
    def it_holds_the_same_and_counts_it(self) -> None:
        names = [row["name"] for row in ask(self.store, "list")["keys"]]
        assert names == sorted(self.model)
        assert {name: ask(self.store, "get", key=name)["value"] for name in names} == self.model
        used = read_usage(self.store)
        size = sum(len(name.encode()) + len(value) for name, value in self.model.items())
        assert (used.keys, used.size, used.marks) == (len(self.model), size, ())


TestAsADictionary = AsADictionary.TestCase
TestAsADictionary.settings = settings(
    max_examples=examples(30), stateful_step_count=20, deadline=None
)
