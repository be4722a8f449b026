"""A store that measures how long its verbs take, and sees the rows of runs as they are written.

So nothing of a turn knows that it is measured, and a process that measures nothing has no part of
this.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from threading import Lock
from time import perf_counter
from typing import Final, TypeVar

from functions.agent.runs.run import RUN, Run
from functions.metrics import instruments as known
from functions.metrics.emf import LoggedNumbers
from functions.metrics.meter import Meter, count_turn
from functions.metrics.turn_numbers import TurnNumbers, read_numbers
from functions.settings import Settings
from sigil.errors import BackendError, UsageError
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.base import (
    Expect,
    ScannedItem,
    get_many,
    list_partitions,
    scan_everything,
)
from sigil.wiring import Stores

_T = TypeVar("_T")
RUNS: Final = keys.run("", "", "").partition
"""The partitions of runs begin so."""
REMEMBERED: Final = 1_000
"""So many runs are remembered, so that one which is written twice is counted once."""
Take = Callable[[Run], None]


class RunCounter:
    """Counts each run once, and hands it on."""

    def __init__(self, meter: Meter, logged: LoggedNumbers | None, export: Take | None) -> None:
        self._meter = meter
        self._logged = logged
        self._export = export
        self._seen: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._lock = Lock()

    def take(self, value: bytes) -> None:
        """Take the row of a run that was just written."""
        try:
            run = RUN.read(value)
        except ValueError:  # of another version
            return
        name = (run.agent, run.id)
        with self._lock:
            if name in self._seen:
                return
            self._seen[name] = None
            if len(self._seen) > REMEMBERED:
                self._seen.popitem(last=False)
        numbers = self._bound(read_numbers(run))
        count_turn(self._meter, numbers)
        if self._logged:
            self._logged.add(run.id, numbers)
        if self._export:
            self._export(run)

    def _bound(self, numbers: TurnNumbers) -> TurnNumbers:
        bound = self._meter.bound
        return replace(
            numbers,
            agent=bound("agent", numbers.agent),
            platform=bound("platform", numbers.platform),
            outcome=bound("outcome", numbers.outcome),
            model=bound("model", numbers.model),
        )


class MeasuredStore:
    """A `KV` over another one. It is closed with everything that measures."""

    def __init__(
        self,
        store: KV,
        meter: Meter,
        runs: RunCounter,
        closing: Sequence[Callable[[], None]] = (),
    ) -> None:
        self.meter = meter
        self._store = store
        self._runs = runs
        self._closing = closing

    def get(self, key: Key) -> Item | None:
        return self._measure("get", lambda: self._store.get(key))

    def get_many(self, keys: Sequence[Key]) -> list[Item | None]:
        return self._measure("get_many", lambda: get_many(self._store, keys))

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        version = self._measure("put", lambda: self._store.put(key, value, expect=expect, ttl=ttl))
        if key.partition.startswith(RUNS):
            self._runs.take(value)
        return version

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        self._measure("delete", lambda: self._store.delete(key, expect=expect))

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        return self._measure("scan", lambda: self._store.scan(partition, prefix, after, limit))

    def list_partitions(self, prefix: str = "") -> Iterator[str]:
        return list_partitions(self._store, prefix)

    def scan_everything(self) -> Iterator[ScannedItem]:
        return scan_everything(self._store)

    def sweep(self) -> int:
        """Remove what has expired, where the store needs that; return the count."""
        sweep: Callable[[], int] = getattr(self._store, "sweep", lambda: 0)
        return sweep()

    def close(self) -> None:
        """End what measures, and close the store."""
        for close in self._closing:
            close()
        close_store: Callable[[], None] = getattr(self._store, "close", lambda: None)
        close_store()

    def _measure(self, verb: str, act: Callable[[], _T]) -> _T:
        began = perf_counter()
        try:
            return act()
        except BackendError:
            self.meter.add(known.STORE_FAILURES, (verb,))
            raise
        finally:
            self.meter.observe(known.STORE_SECONDS, (verb,), perf_counter() - began)


def measure_stores(settings: Settings, stores: Stores, redact: Callable[[str], str]) -> Stores:
    """Return the stores of a process with what the settings want to be measured. `redact` takes the
    secrets of the settings out of a text.

    `UsageError` ESETTING where that cannot be.
    """
    meter = Meter()
    logged = LoggedNumbers() if settings.metrics == "emf" else None
    closing: list[Callable[[], None]] = []
    if logged:
        closing.append(logged.close)
    export: Take | None = None
    if settings.otel_url:
        try:
            # it needs packages that are an extra
            from functions.metrics.otlp import open_exporter
        except ImportError:
            raise UsageError(
                "ESETTING",
                "UNCAGED_OTEL_URL is set, and the packages that send traces are not there",
                suggestion="install the extra uncaged[otel]; docs/observe.md shows how",
            ) from None
        exporter = open_exporter(settings, stores, redact, meter)
        export = exporter.put
        closing.append(exporter.close)
    runs = RunCounter(meter, logged, export)
    return replace(stores, kv=MeasuredStore(stores.kv, meter, runs, closing))


def find_meter(kv: KV) -> Meter:
    """Return the meter of a measured store; a new one for any other."""
    return kv.meter if isinstance(kv, MeasuredStore) else Meter()
