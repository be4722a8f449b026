"""How fast `sigil_query` is over a registry on SQLite, beside the ranking alone."""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

from scripts.benchmarks.rows import Row
from scripts.benchmarks.search import made_up
from sigil.manifest import Manifest
from sigil.package import Package
from sigil.protocol import LIBRARY, Caller
from sigil.registry import LocalRegistry
from sigil.search import Document, Index
from sigil.settings import Settings
from sigil.wiring import local_registry, open_stores

SIZE: Final = 1_000
QUERIES: Final = 300
LIMIT: Final = 3


def run(data: Path | None) -> Iterator[Row]:
    """Milliseconds a query."""
    documents, queries = zip(*made_up(SIZE), strict=True)
    asked = random.Random(3).sample(queries, QUERIES)
    index = Index()
    for document in documents:
        index.add(document)
    with tempfile.TemporaryDirectory() as folder:
        settings = replace(Settings(), data=folder, library="none")
        stores = open_stores(settings)
        with closing(local_registry(settings, stores)) as registry:
            caller, spent = Caller("main", session="s", author="model"), _stock(registry, documents)
            yield Row(f"deploy of the library, {SIZE:,} capabilities", spent / SIZE * 1e3, "ms")
            started = time.process_time()
            registry.query(asked[0], caller)
            yield Row(f"first query of a process, {SIZE:,} capabilities", (time.process_time() - started) * 1e3, "ms")
            ours = _each(lambda text: registry.query(text, caller, limit=LIMIT), asked)
            floor = _each(lambda text: index.search(text, LIMIT), asked)
            yield Row("query, CPU p50", _median(ours, 0), "ms", 2.0, floor=_median(floor, 0))
            yield Row("query, wall p50", _median(ours, 1), "ms", floor=_median(floor, 1))
        stores.kv.close()  # type: ignore[attr-defined]


def _stock(registry: LocalRegistry, documents: Sequence[Document]) -> float:
    started = time.process_time()
    for document in documents:
        registry.deploy_package(_package(document), Caller(LIBRARY, author="library"))
    return time.process_time() - started


def _package(document: Document) -> Package:
    properties = {name: {"type": "string", "description": text} for name, text in document.parameters.items()}
    schema = {"type": "object", "properties": properties}
    manifest = Manifest(name=document.name, description=document.description, tags=document.tags, input=schema)
    return Package(manifest, b"return input")


def _each(ask: Callable[[str], object], queries: Sequence[str]) -> list[tuple[float, float]]:
    """CPU and wall time of each query, in ms."""
    times = []
    for text in queries:
        cpu, wall = time.process_time(), time.perf_counter()
        ask(text)
        times.append(((time.process_time() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3))
    return times


def _median(times: Sequence[tuple[float, float]], which: int) -> float:
    return statistics.median(pair[which] for pair in times)
