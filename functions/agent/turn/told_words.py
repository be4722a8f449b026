"""The words of an answer, told to who watches a turn while the model writes them.

They are shown and kept nowhere; the answer itself leaves with the turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from functions.agent.app import TurnStep, Watch
from functions.agent.model.base import Tell

ANEW: Final = TurnStep("words", facts={"anew": True})
"""Takes back the words of an answer."""


def open_tell(watch: Watch, redact: Callable[[str], str]) -> Tell:
    """Return what tells the words of the next answer to who watches, without the secrets that
    `redact` takes out of a text.
    """
    watch(TurnStep("ask"))

    def tell(words: str | None) -> None:
        watch(ANEW if words is None else TurnStep("words", text=redact(words)))

    return tell
