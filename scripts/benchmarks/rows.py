"""The rows of a benchmark: each is one measured number beside its floor, the cost of the same work
without us in the same run.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One measured number and its targets.

    `target` is the most that it may be, or the least when `at_least`; `floor` is the cost of the
    same work without us, in the same unit; `ratio_target` is the most times the floor.
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
        ratio = self.ratio
        if self.ratio_target is not None and ratio is not None and ratio > self.ratio_target:
            return False
        if self.target is None:
            return True
        return self.value >= self.target if self.at_least else self.value <= self.target

    @property
    def target_text(self) -> str:
        """Return the targets as a person reads them."""
        texts = []
        if self.target is not None:
            texts.append(f"{'≥' if self.at_least else '≤'} {self.target:g}")
        if self.ratio_target is not None:
            texts.append(f"≤ {self.ratio_target:g}x")
        return " and ".join(texts)

    def __str__(self) -> str:
        floor = "" if self.floor is None else f"{self.floor:.3f}"
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}x"
        verdict = ""
        if self.target_text:
            verdict = "ok" if self.met else "MISSED"
        return (
            f"{self.name:<54}{self.value:>12.3f} {self.unit:<5}{floor:>11}{ratio:>9} "
            f" {self.target_text:<18}{verdict}".rstrip()
        )


HEAD = f"{'':<54}{'value':>12} {'':<5}{'floor':>11}{'ratio':>9}  target"
