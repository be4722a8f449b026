"""The meter holds the values of all metrics of this process since its start."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from functions.metrics import instruments as known
from functions.metrics.instruments import Instrument
from functions.metrics.turn_numbers import TurnNumbers
from sigil.errors import one_line

VALUES_MOST: Final = 50
"""A label has so many values; what comes beyond is `other`."""
SERIES_MOST: Final = 500
"""A metric has so many combinations of labels; what comes beyond is `other` in each."""
VALUE_CHARACTERS: Final = 64
OTHER: Final = "other"
NONE: Final = "none"
Labels = tuple[str, ...]


@dataclass(slots=True)
class Histogram:
    """How many values there were up to each bound of an instrument, the last beyond all of them."""

    counts: list[int]
    sum: float = 0.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All values of a moment."""

    values: dict[Instrument, dict[Labels, float]]
    histograms: dict[Instrument, dict[Labels, Histogram]]


@dataclass(slots=True)
class _Held:
    values: defaultdict[Instrument, dict[Labels, float]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    histograms: defaultdict[Instrument, dict[Labels, Histogram]] = field(
        default_factory=lambda: defaultdict(dict)
    )


class Meter:
    """Counts, sets and observes, from any thread.

    Its memory is bounded, whatever names come: a name that is new when a label has enough of them
    counts as `other`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held = _Held()
        self._names: dict[str, set[str]] = {}

    def bound(self, label: str, value: str) -> str:
        """Return the value of a label as it is shown: one short line, and not one of too many."""
        name = one_line(value, VALUE_CHARACTERS) or NONE
        with self._lock:
            names = self._names.setdefault(label, set())
            if name in names:
                return name
            if len(names) >= VALUES_MOST:
                return OTHER
            names.add(name)
            return name

    def add(self, instrument: Instrument, labels: Labels = (), value: float = 1) -> None:
        """Add to a counter."""
        with self._lock:
            series = self._held.values[instrument]
            labels = _bound_series(labels, series)
            series[labels] = series.get(labels, 0) + value

    def set(self, instrument: Instrument, labels: Labels, value: float) -> None:
        """Set a gauge."""
        with self._lock:
            series = self._held.values[instrument]
            series[_bound_series(labels, series)] = value

    def observe(self, instrument: Instrument, labels: Labels, value: float) -> None:
        """Add a value to a histogram."""
        with self._lock:
            series = self._held.histograms[instrument]
            labels = _bound_series(labels, series)
            found = series.get(labels)
            if found is None:
                found = series[labels] = Histogram([0] * (len(instrument.bounds) + 1))
            found.counts[bisect_left(instrument.bounds, value)] += 1
            found.sum += value

    def read(self) -> Snapshot:
        """Return all values of this moment."""
        with self._lock:
            return Snapshot(
                {each: dict(series) for each, series in self._held.values.items()},
                {
                    each: {
                        labels: Histogram([*found.counts], found.sum)
                        for labels, found in series.items()
                    }
                    for each, series in self._held.histograms.items()
                },
            )


def _bound_series(labels: Labels, series: object) -> Labels:
    assert isinstance(series, dict)
    if labels in series or len(series) < SERIES_MOST:
        return labels
    return (OTHER,) * len(labels)


def count_turn(meter: Meter, numbers: TurnNumbers) -> None:
    """Count a turn, whose labels are bounded already."""
    here = (numbers.agent, numbers.platform)
    asked = (*here, numbers.model)
    meter.add(known.TURNS, (*here, numbers.outcome))
    meter.observe(known.TURN_SECONDS, here, numbers.seconds)
    counts = (
        (known.REQUESTS, asked, numbers.requests),
        (known.PROMPT, asked, numbers.prompt_tokens),
        (known.COMPLETION, asked, numbers.completion_tokens),
        (known.CACHED, asked, numbers.cached_tokens),
        (known.COST, asked, numbers.cost),
        (known.CALLS, (*here, "done"), numbers.tool_calls - numbers.failed_calls),
        (known.CALLS, (*here, "failed"), numbers.failed_calls),
        (known.FAULTS, here, numbers.tool_faults),
        (known.EVICTED_TOOLS, here, numbers.evicted_tools),
        (known.EVICTED_MESSAGES, here, numbers.evicted_messages),
    )
    for instrument, labels, value in counts:
        if value > 0:
            meter.add(instrument, labels, value)
    if numbers.window_tokens:
        meter.set(known.RESIDENT, here, numbers.resident_tools)
        meter.set(known.RESIDENT_TOKENS, here, numbers.resident_tokens)
        meter.set(known.WINDOW, here, numbers.window_tokens)
