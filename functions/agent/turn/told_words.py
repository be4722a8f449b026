"""The words of an answer, told to who watches a turn while the model writes them.

They are shown and kept nowhere; the answer itself leaves with the turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from functions.agent.app import TurnStep, Watch
from functions.agent.conversation.named_files import WordFilter
from functions.agent.safety.breakers import Breakers

ANEW: Final = TurnStep("words", facts={"anew": True})
"""Takes back the words of an answer."""


def share_words(watch: Watch, breakers: Breakers, event: str, head: str | None) -> None:
    """Let a watch that `SharesWords` share the next answer with pages of other processes."""
    share = getattr(watch, "share_words", None)
    if share is not None:
        share(breakers.find_watcher, event, head or "")


class WordTeller:
    """Tells the words of the next answer to who watches, without the secrets that `redact` takes
    out of a text; of a file that the answer names, the words for it.
    """

    def __init__(self, watch: Watch, redact: Callable[[str], str]) -> None:
        self._watch = watch
        self._redact = redact
        self._filter = WordFilter()
        watch(TurnStep("ask"))

    def __call__(self, words: str | None) -> None:
        """Tell the next words; None takes back those before."""
        if words is None:
            self._filter = WordFilter()
            self._watch(ANEW)
        else:
            self._show(self._filter.add(self._redact(words)))

    def end(self) -> None:
        """Tell what was held back: the answer is over."""
        self._show(self._filter.end())

    def _show(self, words: str) -> None:
        if words:
            self._watch(TurnStep("words", text=words))
