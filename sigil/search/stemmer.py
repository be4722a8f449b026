"""English word stems (Snowball's Porter 2), remembered for the words seen last."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Final, cast

REMEMBERED: Final = 32_768
ALIAS: Final = "sigil.search._snowball"


def stemmer() -> Callable[[str], str]:
    """A function from a casefolded word to its stem; safe to share between threads."""
    english = _english()

    @lru_cache(maxsize=REMEMBERED)
    def stem(word: str) -> str:
        # a stemmer keeps the word that it works on in itself, so that two threads cannot share one
        return cast("str", english().stemWord(word))

    return stem


def _english() -> type:
    # `import snowballstemmer` loads 33 languages (120 ms); its modules import each other
    # relatively, so the one that is needed loads (8 ms) under a package of another name
    found = find_spec("snowballstemmer")
    if found is None or found.submodule_search_locations is None:
        raise ModuleNotFoundError("snowballstemmer is not installed", name="snowballstemmer")
    package = ModuleType(ALIAS)
    package.__path__ = list(found.submodule_search_locations)
    sys.modules.setdefault(ALIAS, package)
    return cast("type", import_module(f"{ALIAS}.english_stemmer").EnglishStemmer)
