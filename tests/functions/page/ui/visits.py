"""Where the browser goes: every page without a parameter by itself, and those with one by a line of
`EXAMPLES`. What is filled in before stands in `FILLERS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from functions.page import pages
from functions.page.viewer import VIEWERS
from tests.functions.page.ui.hostile import HOSTILE
from tests.functions.serving import Served


@dataclass(frozen=True)
class Filled:
    """A served agent in which something has happened, and what was written into it."""

    server: Served
    texts: tuple[str, ...]

    def read(self, path: str) -> dict[str, object]:
        """Return what the owner's door answers."""
        return dict(self.server.client.get(path).json())


EXAMPLES: Mapping[str, Callable[[Filled], str]] = {}
"""The address of an example, by the path of its route: `"/runs/{id:path}": find_run`."""


def chat(server: Served, texts: tuple[str, ...]) -> None:
    for number, text in enumerate(texts):
        server.post("/chat", json={"session": f"chat-{number % 3}", "text": text})


def add_tasks(server: Served, texts: tuple[str, ...]) -> None:
    for text in texts:
        server.post("/board/main/tasks", json={"title": " ".join(text.split())[:80] or "x"})


def let_people_in(server: Served, texts: tuple[str, ...]) -> None:
    for number, text in enumerate(texts[:20]):
        server.runtime.app.people.let_in(f"telegram:{900 + number}", "member", text, "test")


FILLERS: tuple[Callable[[Served, tuple[str, ...]], None], ...] = (chat, add_tasks, let_people_in)
"""Each writes texts into everything of a kind that people, programs or models write."""
PLAIN = ("encode hello world in base64", "what is 15% of 240", "roll two dice", "/tools")


def fill(server: Served, *, hostile: bool) -> Filled:
    """Let something happen, with plain words or with what breaks pages."""
    texts = HOSTILE if hostile else PLAIN
    for filler in FILLERS:
        filler(server, texts)
    return Filled(server, texts)


def list_visits(filled: Filled) -> list[str]:
    """Return the addresses of all pages for those who have signed in; fails for one that nobody
    gave an example of.
    """
    found = ["/no-such-page"]
    for route in pages.ROUTES:
        if route.method != "GET" or not route.roles & VIEWERS or "/live" in route.path:
            continue
        if "{" not in route.path:
            found.append(route.path)
            continue
        assert route.path in EXAMPLES, f"say in {__name__}.EXAMPLES where {route.path} leads"
        found.append(EXAMPLES[route.path](filled))
    return [re.sub("^/$", "", path) for path in dict.fromkeys(found)]
