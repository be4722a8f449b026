"""The text format in which Prometheus reads metrics, version 0.0.4.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from functions.metrics.instruments import ALL, Instrument
from functions.metrics.meter import Histogram, Labels, Snapshot

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def format_metrics(snapshot: Snapshot) -> str:
    """Return all values as text, those of a metric together. A counter without labels that has
    counted nothing is 0.
    """
    return "".join(line for instrument in ALL for line in _format_metric(instrument, snapshot))


def _format_metric(instrument: Instrument, snapshot: Snapshot) -> Iterator[str]:
    values = snapshot.values.get(instrument, {})
    histograms = snapshot.histograms.get(instrument, {})
    if not values and not histograms:
        return
    yield f"# HELP {instrument.name} {instrument.help}\n"
    yield f"# TYPE {instrument.name} {instrument.kind}\n"
    for labels, value in sorted(values.items()):
        yield _format_sample(instrument.name, instrument.labels, labels, value)
    for labels, histogram in sorted(histograms.items()):
        yield from _format_histogram(instrument, labels, histogram)


def _format_histogram(
    instrument: Instrument, labels: Labels, histogram: Histogram
) -> Iterator[str]:
    names = (*instrument.labels, "le")
    bounds = [*map(_format_number, instrument.bounds), "+Inf"]
    sums = list(accumulate(histogram.counts))
    for bound, count in zip(bounds, sums, strict=True):
        yield _format_sample(f"{instrument.name}_bucket", names, (*labels, bound), count)
    yield _format_sample(f"{instrument.name}_sum", instrument.labels, labels, histogram.sum)
    yield _format_sample(f"{instrument.name}_count", instrument.labels, labels, sums[-1])


def _format_sample(name: str, names: Sequence[str], labels: Sequence[str], value: float) -> str:
    pairs = ",".join(
        f'{label}="{text.translate(_ESCAPES)}"' for label, text in zip(names, labels, strict=True)
    )
    return (
        f"{name}{{{pairs}}} {_format_number(value)}\n"
        if pairs
        else f"{name} {_format_number(value)}\n"
    )


def _format_number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
