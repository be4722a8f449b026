"""A store with capabilities and the searches of several processes over it, without a sandbox:
records are written as a deploy does.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sigil.catalog.catalog import Catalog
from sigil.catalog.heads import Activation
from sigil.catalog.records import Record
from sigil.manifest.model import Manifest
from sigil.protocol import LIBRARY, Caller
from sigil.search import Encoder
from sigil.search.catalog_search import CatalogSearch
from sigil.storage.artifacts import Artifacts, MemoryArtifacts
from sigil.storage.kv import KV, Expect, Item, Key

MAIN = Caller("main", owner=True)
CROPS = (
    "tomato",
    "pumpkin",
    "carrot",
    "radish",
    "spinach",
    "cabbage",
    "turnip",
    "parsnip",
    "celery",
    "fennel",
)
CHORES = ("plant", "water", "harvest", "weed", "prune", "fertilize")


class Counting:
    """A store that counts what is asked of it."""

    def __init__(self, kv: KV) -> None:
        self._kv = kv
        self.asked: Counter[str] = Counter()

    def get(self, key: Key) -> Item | None:
        self.asked["get"] += 1
        return self._kv.get(key)

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        self.asked["put"] += 1
        return self._kv.put(key, value, expect=expect, ttl=ttl)

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        self.asked["delete"] += 1
        self._kv.delete(key, expect=expect)

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        self.asked["scan"] += 1
        return self._kv.scan(partition, prefix, after, limit)


class Garden:
    """Capabilities of a namespace over a store."""

    def __init__(
        self, kv: KV, clock: Callable[[], float] = time.time, artifacts: Artifacts | None = None
    ) -> None:
        self.kv = kv
        self.clock = clock
        self.artifacts = artifacts or MemoryArtifacts()
        self.catalog = Catalog(kv, clock)

    def finder(self, kv: KV | None = None, encoder: Encoder | None = None) -> CatalogSearch:
        """The search of one more process."""
        return CatalogSearch(kv or self.kv, self.artifacts, self.clock, encoder=encoder)

    def deploy(
        self,
        name: str,
        description: str = "",
        namespace: str = "main",
        ttl: float | None = None,
        **more: Any,
    ) -> Record:
        manifest = Manifest(
            name=name,
            description=description or name.replace("-", " "),
            input={"type": "object"},
            **more,
        )
        return self.save(manifest, namespace, self.clock() + ttl if ttl else None)

    def save(self, manifest: Manifest, namespace: str, ends: float | None = None) -> Record:
        """Write the next version of a capability."""
        head = self.catalog.load_head(namespace, manifest.name)
        number = head.latest + 1 if head else 1
        digest = f"sha256:{number:064x}"
        record = Record(
            namespace,
            manifest.name,
            number,
            digest,
            "js",
            "0" * 64,
            "0" * 64,
            manifest,
            "person",
            "",
            self.clock(),
            ends,
        )
        self.catalog.save_version(
            record, head, Activation(number, self.clock(), "person", "deploy")
        )
        return record

    def stock(self, count: int = 40, namespace: str = LIBRARY) -> None:
        """`plant-tomato`, `plant-pumpkin`, …"""
        for chore, crop in [(chore, crop) for chore in CHORES for crop in CROPS][:count]:
            self.deploy(f"{chore}-{crop}", f"Tell how to {chore} a {crop}.", namespace)

    def remove(self, name: str, namespace: str = "main") -> None:
        head = self.catalog.load_head(namespace, name)
        if head and not head.removed:
            self.catalog.remove(head)

    def idle(self, name: str, namespace: str = "main") -> None:
        """What the sweeper does with what nobody used."""
        head = self.catalog.load_head(namespace, name)
        if head and not head.removed:
            self.catalog.save_head(head.record, replace(head.state, inactive=True), head)

    def yank(self, name: str, namespace: str = "main") -> None:
        """Withdraw the version that runs."""
        head = self.catalog.load_head(namespace, name)
        if head and not head.removed:
            self.catalog.save_head(head.record, head.state.yank(head.record.version), head)


def found(
    finder: CatalogSearch, text: str, caller: Caller = MAIN, limit: int = 10
) -> list[tuple[str, int]]:
    """Names and versions."""
    return [(hit.offer.name, hit.offer.version) for hit in finder.find(text, caller, limit).hits]


def names(finder: CatalogSearch, text: str, caller: Caller = MAIN, limit: int = 10) -> list[str]:
    return [name for name, _ in found(finder, text, caller, limit)]
