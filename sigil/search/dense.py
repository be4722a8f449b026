"""What a text means, as a vector, and how near documents come to it: for those who chose the dense
ranker.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from typing import Any, Final, Protocol

LEVELS: Final = 127
"""A vector's numbers are kept as whole ones, this many to each side: a quarter of the room, and
cosines to two digits.
"""
NEAREST: Final = 50
LIKENESS: Final = 25.0
"""What a cosine of 1 counts beside points of words, which are divided by the root of the logarithm
of the number of documents. Measured on MetaTool and Seal-Tools.
"""
ALIKE: Final = 0.3
"""The cosine from which on a document is an answer, whatever its words."""
BESIDE: Final = 0.2
"""The share of the best document's points in all that any other needs."""
CHUNK: Final = 4_096


class Encoder(Protocol):
    """From texts to vectors of length 1."""

    @property
    def name(self) -> str:
        """Model and version: vectors of another one mean nothing beside its own."""

    @property
    def size(self) -> int:
        """Numbers a vector."""

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """A vector for each text."""


class Vectors(Protocol):
    """Documents with vectors."""

    def vectors(self) -> tuple[Sequence[int], Any]:
        """The documents' numbers, and their vectors one after the other."""


class Meaning:
    """A query's vector."""

    beside = BESIDE

    def __init__(self, vector: Sequence[float]) -> None:
        self._numpy = import_module("numpy")
        self._vector = self._numpy.asarray(vector, dtype="float32")

    def near(self, part: Vectors, wanted: Collection[int]) -> Mapping[int, float]:
        """Document → cosine, of those that are wanted and of the nearest."""
        numbers, body = part.vectors()
        if not len(numbers):
            return {}
        cosines = self._cosines(body)
        nearest = self._numpy.argsort(-cosines, kind="stable")[:NEAREST]
        likeness = {int(numbers[place]): float(cosines[place]) for place in nearest}
        places = {number: place for place, number in enumerate(numbers)} if wanted else {}
        return likeness | {
            number: float(cosines[places[number]]) for number in wanted if number in places
        }

    def passes(self, likeness: float) -> bool:
        return likeness >= ALIKE

    def fused(self, points: float, likeness: float, documents: int) -> float:
        """Both in one: the words' points grow with the logarithm of the number of documents, a
        cosine does not.
        """
        return points / math.sqrt(math.log(2 + documents)) + LIKENESS * likeness

    def _cosines(self, body: Any) -> Any:
        rows = self._numpy.frombuffer(body, dtype="int8").reshape(-1, len(self._vector))
        chunks = (
            rows[start : start + CHUNK].astype("float32") for start in range(0, len(rows), CHUNK)
        )
        return self._numpy.concatenate([chunk @ self._vector for chunk in chunks]) / LEVELS


def kept(vector: Sequence[float]) -> bytes:
    """A vector as it is kept."""
    return bytes(round(max(min(number, 1.0), -1.0) * LEVELS) & 0xFF for number in vector)
