"""A slash command: the call that it gets, what it answers, and who may use it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from functions.agent.access.roles import Role
from functions.agent.app import App
from functions.agent.language import choose_texts_for
from functions.agent.ledger.entry import Entry
from functions.agent.policy.gate import Gate
from functions.agent.schedules.chat_schedules import ChatSchedules
from functions.agent.session.document import Document
from functions.agent.session.store import SessionHandle
from functions.events import PRESS, Event
from functions.texts.en import Texts
from functions.time.time_zone import DAY_SECONDS
from sigil.protocol import Json

if TYPE_CHECKING:
    from functions.agent.shares import Holder


@dataclass(frozen=True, slots=True)
class CommandCall:
    """One call of a command: the event and its sender's role, the session, and the words after it.

    `text` keeps the case of its letters. `payer` is whose daily allowance it uses, if not that of
    the sender's own id. `open_gate` returns the gate of their turn, by
    the policy as it has read it.
    """

    app: App
    opened: SessionHandle
    role: Role
    event: Event
    text: str = ""
    payer: str = ""
    open_gate: Callable[[], Gate] | None = None

    @property
    def session(self) -> str:
        """The S of the keys."""
        return self.opened.key

    @property
    def chat(self) -> str:
        """The S of the chat as the channels know it, which is the root's."""
        return self.app.name_chat(self.event.session)

    @property
    def memory(self) -> str:
        """The scope of the chat's memory, mostly its own S."""
        return self.opened.memory

    @property
    def document(self) -> Document:
        """The session's document, as it was read."""
        return self.opened.document

    @property
    def schedules(self) -> ChatSchedules:
        """What is scheduled in the chat, of all agents."""
        return self.app.open_chat_schedules(self.event.session, self.opened.agents)

    @property
    def texts(self) -> Texts:
        """The texts in the sender's language."""
        return choose_texts_for(self.event, self.document)

    @property
    def scope(self) -> str:
        """The scope of the agent's own documents."""
        return self.app.documents.agent

    def make_gate(self) -> Gate:
        """Return the gate for what the sender wants: that of their turn, or by the policy as it is
        now.
        """
        if self.open_gate:
            return self.open_gate()
        policies = self.app.load_policies()
        return self.app.make_gate(policies, self.role, private=self.event.private)

    def find_denial(self, kind: str, target: str = "") -> str:
        """Return the reply to a sender whom the policy does not allow an act; empty for one who may
        do it. An owner who types it needs no approval of an owner.
        """
        decision = self.make_gate().decide(kind, target)
        is_approved = decision.effect == "ask" and self.role == "owner"
        if decision.effect == "allow" or is_approved:
            return ""
        return self.texts.policy_denies.format(rule=decision.rule)

    def find_holder(self) -> Holder:
        """Return the sender as whoever wants a place that everybody uses."""
        from functions.agent.shares import Holder

        return Holder(self.event.behalf, self.role, self.app.people)

    def begin_turn(self) -> str | None:
        """Count the message as a turn of its sender and return None, or return why it may not
        begin, as `Allowances.begin_turn` does.
        """
        allowances = self.app.make_allowances(self.app.find_zone(self.document))
        return allowances.begin_turn(self.event, self.role, self.texts, payer=self.payer)

    def find_time(self) -> float:
        """Return when the message was sent: that is what “now” means, though it may have waited."""
        now = self.app.clock.now()
        if PRESS in self.event.data:
            return now  # a press has the time of the message above the button
        is_near = abs(now - self.event.at) < DAY_SECONDS
        return min(self.event.at, now) if is_near else now

    def reply(self, text: str) -> CommandResult:
        """Return a reply that changes nothing."""
        return CommandResult(text, self.document)


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The reply of a command, and the session's document after it. With a `file_name` the reply is
    a file of that name.

    `name` is that of the command that ran, empty where none did. `saved` is the session when it was
    saved meanwhile; `trace` has rows for the turn's trace, and
    `entries` are for the ledger.
    """

    text: str
    document: Document
    saved: SessionHandle | None = None
    trace: tuple[Mapping[str, Json], ...] = ()
    entries: tuple[Entry, ...] = ()
    name: str = ""
    file_name: str = ""


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody to whom commands are shown: their role, whether they are alone with the agent, and
    what is set up there. `has_model`: a language model answers, not the offline one; `may_listen`:
    as `App.may_listen`.
    """

    role: Role
    private: bool
    has_model: bool = True
    may_listen: bool = True


Run = Callable[[CommandCall], CommandResult]
WordsTest = Callable[[str], bool]
"""A test of the words that follow a command's name."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command; its line in the help is in the texts, by its name.

    `arguments` shows what may follow its name; empty, nothing may. `changes_chat` says whether
    these words change something of the chat, which only owners do in groups; `changes_agent`
    whether they change the agent, which only owners ever do. A command that `asks_model` counts as
    a turn of its sender, but for the words that `needs_no_model` accepts, and so does one with
    which these words `stores` something new. One that is `for_owners` is shown to owners alone, and
    only where it `works_for` them.
    """

    run: Run
    arguments: str = ""
    changes_chat: WordsTest | None = None
    changes_agent: WordsTest | None = None
    asks_model: bool = False
    needs_no_model: WordsTest | None = None
    stores: WordsTest | None = None
    for_owners: bool = False
    works_for: Callable[[Reader], bool] = lambda _: True

    def counts_as_turn(self, words: str) -> bool:
        """Return whether the command with these words counts as a turn of its sender."""
        if self.stores and self.stores(words):
            return True
        return self.asks_model and not (self.needs_no_model and self.needs_no_model(words))

    def is_of_use(self, reader: Reader) -> bool:
        """Return whether somebody can do anything with the command where they are."""
        if not self.works_for(reader):
            return False
        if reader.role == "owner":
            return True
        if self.for_owners:
            return False
        return reader.private or self.changes_chat is not always


Commands = Mapping[str, Command]


def always(words: str) -> bool:
    """Accept all words."""
    return True
