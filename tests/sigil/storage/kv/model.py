"""A dict with the verbs of a store, to compare stores with."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st

from sigil.errors import Conflict
from sigil.storage.kv import ABSENT, KV, Item, Key
from tests.fakes.clock import Clock

PARTITIONS = (f"model-{number}" for number in itertools.count())


@dataclass
class Model:
    """One partition as a dict, with the same verbs."""

    clock: Clock
    entries: dict[str, tuple[bytes, str, float | None]] = field(default_factory=dict)

    def get(self, sort: str) -> Item | None:
        value, version, expires = self.entries.get(sort, (b"", "", 0.0))
        return Item(value, version) if expires is None or expires > self.clock.now else None

    def allows(self, sort: str, expect: Any) -> bool:
        item = self.get(sort)
        return expect is None or (
            item is None if expect is ABSENT else item is not None and item.version == expect
        )

    def scan(self, prefix: str, after: str, limit: int) -> list[tuple[str, Item]]:
        names = sorted(
            (sort for sort in self.entries if sort.startswith(prefix) and sort > after),
            key=str.encode,
        )
        return [(sort, item) for sort in names if (item := self.get(sort))][:limit]


SORTS = st.sampled_from(
    ["a", "a#", "a%", "a%b", "a_", "ab", "b", "é", "語", "\U0001f98a", "\uffff"]
)
EXPECTS = st.sampled_from(["none", "absent", "current", "stale"])
STEPS = st.one_of(
    st.tuples(
        st.just("put"),
        SORTS,
        EXPECTS,
        st.sampled_from([None, None, 5.0, 50.0]),
        st.binary(max_size=8),
    ),
    st.tuples(st.just("delete"), SORTS, EXPECTS),
    st.tuples(st.just("get"), SORTS),
    st.tuples(st.just("advance"), st.sampled_from([1.0, 5.0, 50.0])),
    st.tuples(
        st.just("scan"),
        st.sampled_from(["", "a", "a%", "a_", "é", "z", "\U0001f98a"]),
        SORTS | st.just(""),
        st.integers(0, 12),
    ),
)


class Comparison:
    """Does each step to the store and to the model, and compares."""

    def __init__(self, kv: KV, clock: Clock) -> None:
        self.kv, self.clock, self.model, self.partition = kv, clock, Model(clock), next(PARTITIONS)
        self.stale: dict[str, str] = {}

    def key(self, sort: str) -> Key:
        return Key(self.partition, sort)

    def expect(self, sort: str, kind: str) -> Any:
        item = self.model.get(sort)
        current = item.version if item else self.stale.get(sort, "never")
        return {
            "none": None,
            "absent": ABSENT,
            "current": current,
            "stale": self.stale.get(sort, "never"),
        }[kind]

    def put(self, sort: str, kind: str, ttl: float | None, value: bytes) -> None:
        expect = self.expect(sort, kind)
        if not self.model.allows(sort, expect):
            with pytest.raises(Conflict):
                self.kv.put(self.key(sort), value, expect=expect, ttl=ttl)
            return
        self.leave(sort)
        version = self.kv.put(self.key(sort), value, expect=expect, ttl=ttl)
        self.model.entries[sort] = (value, version, None if ttl is None else self.clock.now + ttl)

    def delete(self, sort: str, kind: str) -> None:
        expect = self.expect(sort, kind)
        if not self.model.allows(sort, expect):
            with pytest.raises(Conflict):
                self.kv.delete(self.key(sort), expect=expect)
            return
        self.leave(sort)
        self.kv.delete(self.key(sort), expect=expect)
        self.model.entries.pop(sort, None)

    def leave(self, sort: str) -> None:
        if sort in self.model.entries:
            self.stale[sort] = self.model.entries[sort][1]

    def get(self, sort: str) -> None:
        assert self.kv.get(self.key(sort)) == self.model.get(sort)

    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def scan(self, prefix: str, after: str, limit: int) -> None:
        assert self.kv.scan(self.partition, prefix, after, limit) == self.model.scan(
            prefix, after, limit
        )
