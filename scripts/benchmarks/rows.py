"""A benchmark's rows: one measured number each, beside the floor that the same work costs in the
same run.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One measured number and what it should be.

    `target` is the most it may be, or the least when `at_least`; `floor` is the same work without
    us, in the same unit; `ratio_target` is the most times the floor.
    """

    name: str
    value: float
    unit: str = ""
    target: float | None = None
    at_least: bool = False
    floor: float | None = None
    ratio_target: float | None = None

    @property
    def ratio(self) -> float | None:
        """Return how many times the floor the number is."""
        return self.value / self.floor if self.floor else None

    @property
    def met(self) -> bool:
        """Return whether every target holds; a row without one always does."""
        enough = self.target is None or (
            self.value >= self.target if self.at_least else self.value <= self.target
        )
        near = self.ratio_target is None or self.ratio is None or self.ratio <= self.ratio_target
        return enough and near

    @property
    def wanted(self) -> str:
        """The targets as a person reads them."""
        value = "" if self.target is None else f"{'≥' if self.at_least else '≤'} {self.target:g}"
        ratio = "" if self.ratio_target is None else f"≤ {self.ratio_target:g}x"
        return " and ".join(filter(None, (value, ratio)))

    def __str__(self) -> str:
        floor = "" if self.floor is None else f"{self.floor:.3f}"
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}x"
        verdict = "" if not self.wanted else "ok" if self.met else "MISSED"
        return (
            f"{self.name:<54}{self.value:>12.3f} {self.unit:<5}{floor:>11}{ratio:>9} "
            f" {self.wanted:<18}{verdict}".rstrip()
        )


HEAD = f"{'':<54}{'value':>12} {'':<5}{'floor':>11}{'ratio':>9}  target"
