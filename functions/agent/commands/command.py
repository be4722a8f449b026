"""A slash command: what it is called with, what it does, and who may."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from functions.agent.access.roles import Role
from functions.agent.app import App
from functions.agent.session.document import Document
from functions.agent.session.store import Opened
from functions.events import Event
from sigil.protocol import Json


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks (`event`, `role`), about what (`opened`), and with which words: `text` keeps its
    case.
    """

    app: App
    opened: Opened
    role: Role
    event: Event
    text: str = ""

    @property
    def session(self) -> str:
        """The S of the keys."""
        return self.opened.key

    @property
    def document(self) -> Document:
        return self.opened.document

    @property
    def scope(self) -> str:
        """The scope of the agent's own documents."""
        return self.app.documents.agent

    def says(self, text: str) -> Effect:
        """A reply that changes nothing."""
        return Effect(text, self.document)


@dataclass(frozen=True, slots=True)
class Effect:
    """What a command did: its reply and the session's document after it; `saved`: the session, when
    it was saved meanwhile.

    `trace`: rows for the turn's trace.
    """

    text: str
    document: Document
    saved: Opened | None = None
    trace: tuple[Mapping[str, Json], ...] = ()


Run = Callable[[Asked], Effect]


def _always(text: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Command:
    """`takes`: what may follow its name, as the help shows it; empty: nothing may. `changes`:
    whether these words change something of the chat's, which in groups only owners do. `owners`:
    whether they change the agent, which only owners ever do. `asks`: whether it asks the model, and
    so counts as a turn of its sender's, but for the words of it that are `unasked`.
    """

    meaning: str
    run: Run
    takes: str = ""
    changes: Callable[[str], bool] | None = None
    owners: Callable[[str], bool] | None = None
    asks: bool = False
    unasked: Callable[[str], bool] | None = None


Commands = Mapping[str, Command]
ALWAYS = _always
