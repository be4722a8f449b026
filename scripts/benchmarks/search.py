"""How well and how fast `sigil_query`'s ranker finds: public evaluation sets, and made-up registries of growing size.

Quality wants a folder with `metatool/` and `seal-tools/`, each with `capabilities.jsonl` (name, description, tags and
parameters where the set has them) and `queries.jsonl` (query, gold: names). Speed wants nothing."""

from __future__ import annotations

import json
import math
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from scripts.benchmarks.rows import Row
from sigil.search import Document, Index

QUALITY: Final = {
    "metatool": {"hit@1": 0.46, "recall@5": 0.65, "NDCG@10": 0.585},
    "seal-tools": {"hit@1": 0.955, "recall@5": 0.89, "NDCG@10": 0.915},
}
SPEED: Final = {1_000: (1.0, None), 10_000: (None, None), 100_000: (20.0, 80.0)}
"""Documents → most milliseconds of CPU a query, median and 95th percentile."""
QUERIES: Final = 300
VOCABULARY: Final = 20_000
SYLLABLES: Final = "ba co di fen gra hul jo ker lim mo nat or pel qui ras sto tur vex wi zan".split()


def run(data: Path | None, sizes: Iterable[int] = tuple(SPEED)) -> Iterator[Row]:
    """Quality on the sets in `data`, then speed."""
    if data:
        yield from quality(data)
    yield from speed(sizes)


def quality(path: Path) -> Iterator[Row]:
    for name, targets in QUALITY.items():
        index = Index()
        for capability in _lines(path / name / "capabilities.jsonl"):
            index.add(_document(capability))
        queries = list(_lines(path / name / "queries.jsonl"))
        results = [([hit.ref for hit in index.search(query["query"], 10)], set(query["gold"])) for query in queries]
        for measure, of in MEASURES.items():
            yield Row(f"search {name} {measure}", statistics.fmean(of(found, gold) for found, gold in results), "", targets[measure], True)


def speed(sizes: Iterable[int]) -> Iterator[Row]:
    for size in sizes:
        index, queries, spent = Index(), [], 0.0
        for document, query in made_up(size):
            started = time.process_time()
            index.add(document)
            spent += time.process_time() - started
            queries.append(query)
        yield Row(f"search add, {size:,} documents", spent / size * 1e6, "µs")
        times = sorted(_milliseconds(index, query) for query in random.Random(2).sample(queries, min(QUERIES, size)))
        median, slowest = SPEED.get(size, (None, None))
        yield Row(f"search query p50, {size:,} documents", statistics.median(times), "ms", median)
        yield Row(f"search query p95, {size:,} documents", times[int(len(times) * 0.95)], "ms", slowest)


def hit_at_1(found: Sequence[str], gold: set[str]) -> float:
    return float(bool(found) and found[0] in gold)


def recall_at_5(found: Sequence[str], gold: set[str]) -> float:
    return len(gold.intersection(found[:5])) / len(gold)


def ndcg_at_10(found: Sequence[str], gold: set[str]) -> float:
    gained = sum(1 / math.log2(place + 2) for place, name in enumerate(found[:10]) if name in gold)
    return gained / sum(1 / math.log2(place + 2) for place in range(min(10, len(gold))))


MEASURES: Final[dict[str, Callable[[Sequence[str], set[str]], float]]] = {"hit@1": hit_at_1, "recall@5": recall_at_5, "NDCG@10": ndcg_at_10}


def _milliseconds(index: Index, query: str) -> float:
    started = time.process_time()
    index.search(query, 3)
    return (time.process_time() - started) * 1e3


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _document(capability: dict[str, Any]) -> Document:
    return Document(
        ref=capability["name"],
        name=capability["name"],
        description=capability["description"],
        tags=tuple(capability.get("tags", ())),
        parameters=capability.get("parameters", {}),
    )


def made_up(size: int) -> Iterator[tuple[Document, str]]:
    """Documents of about 40 words that are as common as words are (Zipf, Mandelbrot), and for each a query of six of them:
    three of its own, three that anybody says, every tenth with a typing error."""
    chance = random.Random(1)
    words = _vocabulary(chance)
    weights = list(accumulate(1 / (rank + 10) for rank in range(len(words))))

    def say(count: int) -> list[str]:
        return chance.choices(words, cum_weights=weights, k=count)

    named: set[tuple[str, ...]] = set()
    while len(named) < size:
        name, description = say(3), say(10)
        if tuple(name) in named:
            continue
        named.add(tuple(name))
        parameters = {"_".join(say(1)): " ".join(say(7)) for _ in range(3)}
        document = Document("-".join(name), " ".join(description), str(len(named)), tags=tuple(say(2)), parameters=parameters)
        asked = [*chance.sample(name + description, 3), *say(3)]
        if len(named) % 10 == 0:
            asked[0] = asked[0][:2] + asked[0][3:]
        yield document, " ".join(asked)


def _vocabulary(chance: random.Random) -> list[str]:
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        words["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4)))] = None
    return list(words)
