"""Which of many chats somebody sees, for lists; `reach` says how much of a single one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from functions.page.access.reach import Reach, find_reach
from functions.page.frame import PageRequest
from functions.page.words.run_words import RunWords, load_words


@dataclass(frozen=True, slots=True)
class SeenChats:
    """How much of each chat the viewer of one request sees; each is found out once."""

    page: PageRequest
    known: dict[str, Reach] = field(default_factory=dict)

    def find(self, chat: str) -> Reach:
        """Return how much of a chat the viewer sees."""
        if chat not in self.known:
            self.known[chat] = find_reach(self.page.deps.app, self.page.viewer, chat)
        return self.known[chat]

    def has(self, chat: str) -> bool:
        """Return whether the viewer sees that there is something of a chat."""
        return self.find(chat) != "nothing"


def words_of(page: PageRequest) -> RunWords:
    """Return the words of these pages in the viewer's language."""
    return load_words(page.language)


def take_page_parameters(page: PageRequest) -> Mapping[str, str]:
    """Return the parameters of a request without those that say how its answer looks."""
    return {name: text for name, text in page.query.items() if name != "as"}
