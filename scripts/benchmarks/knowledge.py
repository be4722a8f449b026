"""Measures the knowledge base on SQLite: how long a megabyte takes to come in, and a search of as
many chunks as it has room for. With a folder of evaluation sets, how well it finds their tools as
documents.
"""

from __future__ import annotations

import json
import math
import random
import statistics
import time
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from functions.agent.knowledge.knowledge_base import CHUNKS_MOST, KnowledgeBase
from functions.agent.knowledge.record import make_draft
from functions.wiring import make_helpers
from scripts.benchmarks.rows import Row
from sigil.storage.kv import KV, Expect, Key
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.kv.sqlite import SqliteKV

MEGABYTE: Final = 1_000_000
FILLING: Final = 900_000
SEARCHES: Final = 200
WORDS: Final = 30_000
SEARCH_MS: Final = 30.0
INGEST_SECONDS: Final = 5.0
INGEST_WRITES: Final = 1_300
SETS: Final[Mapping[str, tuple[float, float, float]]] = {
    "metatool": (0.449, 0.644, 0.574),
    "seal-tools": (0.923, 0.839, 0.876),
}
"""The sets, with what full-text search in SQLite (FTS5) reaches: hit@1, recall@5 and NDCG@10."""


class CountingKV(SqliteKV):
    """Counts what is written."""

    writes = 0

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        self.writes += 1
        return super().put(key, value, expect=expect, ttl=ttl)


class Author:
    """Writes texts whose words are as unevenly common as those of a language, always the same."""

    def __init__(self) -> None:
        self._chance = random.Random(1)
        self._words = [self._make_word() for _ in range(WORDS)]
        self._weights = list(accumulate(1 / (rank + 1) for rank in range(WORDS)))

    def write_text(self, characters: int) -> str:
        """Return sentences of so many characters at least."""
        parts: list[str] = []
        size = 0
        while size < characters:
            end = "\n\n" if self._chance.random() < 0.2 else " "
            parts.append(f"{self.write_words(14).capitalize()}.{end}")
            size += len(parts[-1])
        return "".join(parts)

    def write_words(self, count: int) -> str:
        """Return so many words."""
        return " ".join(self._chance.choices(self._words, cum_weights=self._weights, k=count))

    def _make_word(self) -> str:
        pairs = range(self._chance.randint(2, 4))
        choose = self._chance.choice
        return "".join(choose("bcdfghjklmnpqrstvwxyz") + choose("aeiou") for _ in pairs)


def run(data: Path | None) -> Iterator[Row]:
    """Measure one megabyte, a full knowledge base, and the sets in `data`."""
    author = Author()
    with TemporaryDirectory() as folder:
        kv = CountingKV(f"{folder}/store.db")
        base = _open_base(kv)
        began = time.perf_counter()
        _add(base, "first", author.write_text(MEGABYTE))
        seconds = time.perf_counter() - began
        yield Row("a text of 1 MB comes in", seconds, "s", target=INGEST_SECONDS)
        yield Row("  writes to the store", kv.writes, "", target=INGEST_WRITES)
        number = 0
        while base.count_chunks() < CHUNKS_MOST - 1_000:
            number += 1
            _add(base, f"document {number}", author.write_text(FILLING))
        times = []
        for _ in range(SEARCHES):
            question = f"what about {author.write_words(6)}"
            started = time.process_time()
            base.find(question, 5)
            times.append((time.process_time() - started) * 1e3)
        name = f"a search of {base.count_chunks():,} chunks, CPU"
        yield Row(name, statistics.median(times), "ms", target=SEARCH_MS)
        yield Row("  p95", sorted(times)[int(SEARCHES * 0.95)], "ms", target=SEARCH_MS)
        kv.close()
    if data and data.is_dir():
        for found in SETS:
            if (data / found).is_dir():
                yield from _measure_set(data / found)


def _measure_set(folder: Path) -> Iterator[Row]:
    base = _open_base(MemoryKV())
    for line in (folder / "capabilities.jsonl").read_text(encoding="utf-8").splitlines():
        tool = json.loads(line)
        parameters = [f"{name}: {text}" for name, text in (tool.get("parameters") or {}).items()]
        _add(base, tool["name"], "\n".join([tool["description"], *parameters]))
    hits: list[float] = []
    recalls: list[float] = []
    gains: list[float] = []
    for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        query = json.loads(line)
        gold = set(query["gold"])
        found = [each.record.title for each in base.find(query["query"], 10)]
        hits.append(float(bool(found) and found[0] in gold))
        recalls.append(len(gold & set(found[:5])) / len(gold))
        gain = sum(1 / math.log2(at + 2) for at, name in enumerate(found) if name in gold)
        gains.append(gain / sum(1 / math.log2(at + 2) for at in range(min(len(gold), 10))))
    measured = zip(("hit@1", "recall@5", "NDCG@10"), (hits, recalls, gains), strict=True)
    for (name, values), least in zip(measured, SETS[folder.name], strict=True):
        row = f"{folder.name}: {name}, least: FTS5"
        yield Row(row, statistics.mean(values), "", target=least, at_least=True)


def _open_base(kv: KV) -> KnowledgeBase:
    return KnowledgeBase(kv, "main", make_helpers().ranker, time.time)


def _add(base: KnowledgeBase, title: str, text: str) -> None:
    draft = make_draft(title=title, source=f"benchmark: {title}", text=text, by="", time=0.0)
    base.add(draft, may_replace=False)
