"""What of a chat somebody may see on the page.

An owner sees how much every chat does, and reads what is said in all but the private chats of
others: theirs only where `UNCAGED_WEB_TEXTS=all`, and then the ledger says so. A member has their
own chats. What the agent does by itself for a chat is seen as that chat is. For everybody else a
chat is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from functions.agent.access.roles import LOCAL_OWNERS
from functions.agent.agents.record import scan_agents
from functions.agent.app import App
from functions.agent.ledger.entry import Entry
from functions.agent.management.ledger import add_entries
from functions.agent.runs.event_chain import load_chain
from functions.agent.runs.run import load_run, load_runs
from functions.agent.runs.tree import list_agents
from functions.agent.schedules.schedule import Schedules
from functions.agent.team.leg import OWN_MAIN
from functions.channels.platforms import OWN_CHAT
from functions.events import HOPS_MOST, OWN, Event, find_web_person
from functions.hooks import Hooks
from functions.page.access.viewer import Viewer
from functions.page.frame import PageRequest
from sigil.errors import BackendError, UsageError
from sigil.storage.kv import keys

Reach = Literal["texts", "numbers", "nothing"]
LEAST_FIRST: Final[tuple[Reach, ...]] = ("nothing", "numbers", "texts")
ALL: Final = "all"
"""The value of `UNCAGED_WEB_TEXTS` with which owners read the private chats of others."""


@dataclass(frozen=True, slots=True)
class Work:
    """Something that the agent did: in which session, of which of its agents, on whose behalf
    (empty: nobody knows), and the events in whose chain it was done.
    """

    session: str
    agent: str
    by: str = ""
    cause: str = ""
    root: str = ""

    @classmethod
    def of_run(cls, run: Mapping[str, object]) -> Work:
        """Return what a run did, by its fields as programs get them."""
        return cls(*(str(run[name]) for name in ("session", "agent", "by", "cause", "root")))

    @classmethod
    def of_event(cls, event: Event) -> Work:
        """Return what an event sets off."""
        return cls(event.session, event.agent, event.behalf, event.cause, event.root)


def require_chat(page: PageRequest, session: str) -> Reach:
    """Return how much of a chat (`telegram:42`, `web:telegram:42:main`) a viewer may see: its
    texts, or its numbers alone. `UsageError` ENOENT where it is not theirs: whoever asks learns
    nothing of it. Reading the private chat of another one is noted in the ledger.
    """
    return _require(page, session, find_reach(page.deps.app, page.viewer, session))


def require_work(page: PageRequest, work: Work) -> Reach:
    """Return how much of what the agent did a viewer may see; errors as `require_chat`."""
    return _require(page, work.session, find_work_reach(page.deps.app, page.viewer, work))


def _require(page: PageRequest, session: str, reach: Reach) -> Reach:
    if reach == "nothing":
        raise UsageError("ENOENT", "there is no such chat", source="page")
    if reach == "numbers" and page.viewer.role == "owner" and page.deps.settings.web_texts == ALL:
        note_reading(page, session)
        return "texts"
    return reach


def find_reach(app: App, viewer: Viewer, session: str) -> Reach:
    """Return how much of a chat a viewer may see, whatever the settings let owners read."""
    chat = session.partition("#")[0]  # what an agent below the root does there is of that chat
    if not chat.startswith(f"{OWN}:") or viewer.role == "reader":
        return _find_chat_reach(app, viewer, chat)
    home = _find_home(app, chat)
    if home or chat == OWN_MAIN:
        return _find_chat_reach(app, viewer, home or chat)
    # its record is gone, or it has none, as a call in the background
    reaches = {find_work_reach(app, viewer, work) for work in _list_works(app, chat)}
    nobodys: Reach = "numbers" if viewer.role == "owner" else "nothing"
    return min(reaches, key=LEAST_FIRST.index, default=nobodys)


def find_work_reach(app: App, viewer: Viewer, work: Work) -> Reach:
    """Return how much of something that the agent did a viewer may see: what it did by itself is
    seen as the chat is for which it was, or else by whoever it was done for.
    """
    chat = work.session.partition("#")[0]
    if not chat.startswith(f"{OWN}:") or viewer.role == "reader":
        return find_reach(app, viewer, work.session)
    home = _find_home(app, chat) or _find_first_chat(app, work)
    if chat == OWN_MAIN and viewer.role != "owner":
        return "nothing"  # others have sent mail there as well
    if home:
        return _find_chat_reach(app, viewer, home)
    if viewer.role == "owner":
        return "texts" if not work.by or app.people.is_owner(work.by) else "numbers"
    return "nothing"


def _find_chat_reach(app: App, viewer: Viewer, chat: str) -> Reach:
    if viewer.role == "owner":
        return "numbers" if _is_private_of_others(app, chat) else "texts"
    if viewer.role == "reader":
        return "numbers"
    ids = list_ids(app, viewer.person) if viewer.role == "member" else ()
    if any(app.private_chats.owns(who, chat) for who in ids):
        return "texts"
    return "nothing"


def list_ids(app: App, who: str) -> frozenset[str]:
    """Return all ids of a person, by one of them."""
    firsts = app.people.list_firsts()
    first = firsts.get(who, who)
    return frozenset((who, *(id for id, known in firsts.items() if known == first)))


def _find_home(app: App, session: str) -> str:
    """Return the chat for which the agent works in a session of its own: that of a schedule, a hook
    or a subagent. It is empty where there is none.
    """
    kind, _, id = session.removeprefix(f"{OWN}:").partition("-")
    home = ""
    if kind == "w":
        for agent in list_agents(app.kv, app.root):
            schedule = Schedules(app.kv, agent).find(id)
            home = home or (schedule.session if schedule else "")
    elif kind == "h":
        hooks = Hooks(app.kv, app.root).scan()
        home = next((hook.session for _, hook in hooks if hook.id == id), "")
    elif kind == "t":
        records = (record for _, record in scan_agents(app.kv, app.root) if record)
        home = next((each.home for each in records if str(each.generation) == id), "")
    return home


def _list_works(app: App, session: str) -> list[Work]:
    """Return what the agents did of late in a session of their own, as their records of it say."""
    works: list[Work] = []
    for agent in list_agents(app.kv, app.root):
        try:
            document = app.sessions.open(keys.session_of(agent, session)).document
        except BackendError:
            continue
        if document.turn:
            works.append(Work.of_event(document.turn.event))
        runs = load_runs(app.kv, [(agent, run) for run in document.runs])
        works += [Work(session, agent, run.by, run.cause, run.root) for run in runs]
    return works


def _find_first_chat(app: App, work: Work) -> str:
    """Return the chat in which somebody set off what the agent did by itself, as far as the record
    of its chain of events tells it; empty where it does not.
    """
    chain = load_chain(app.kv, work.agent, work.root) if work.root else None
    cause = work.cause
    for _ in range(HOPS_MOST):
        known = chain.find(cause) if chain and cause else None
        run = load_run(app.kv, known.agent, known.run) if known else None
        if run is None:
            return ""
        chat = run.session.partition("#")[0]
        home = _find_home(app, chat) if chat.startswith(f"{OWN}:") else chat
        if home:
            return home
        cause = run.cause
    return ""


def _is_private_of_others(app: App, chat: str) -> bool:
    """Return whether a chat is the private one of somebody who is no owner."""
    if not (_is_named_after_somebody(chat) or app.private_chats.is_private(chat)):
        return False
    who = find_web_person(chat)
    if who:
        return not app.people.is_owner(who)
    members = app.people.list_members()
    owners = {*LOCAL_OWNERS, *app.rules.owners}
    owners |= {member.id for member in members if member.role == "owner"}
    return not any(app.private_chats.owns(owner, chat) for owner in owners)


def _is_named_after_somebody(chat: str) -> bool:
    """Return whether a chat, or that of which it is a thread, is named like a person."""
    while ":" in chat:
        if OWN_CHAT.fullmatch(chat):
            return True
        chat = chat.rpartition(":")[0]
    return False


def note_reading(page: PageRequest, session: str) -> None:
    """Write into the ledger that an owner reads the private chat of another one, or exports what is
    kept of a person.
    """
    app = page.deps.app
    if not page.deps.readings.is_new(page.viewer.login, session, app.clock.monotonic()):
        return
    entry = Entry("read", {"chat": session, "on": "page"}, names=(session,))
    add_entries(app, [entry], page.by)


@dataclass(frozen=True, slots=True)
class SeenChats:
    """How much of each chat the viewer of one request sees; each is found out once."""

    page: PageRequest
    known: dict[str | Work, Reach] = field(default_factory=dict)

    def find(self, chat: str) -> Reach:
        """Return how much of a chat the viewer sees."""
        if chat not in self.known:
            self.known[chat] = find_reach(self.page.deps.app, self.page.viewer, chat)
        return self.known[chat]

    def find_run(self, run: Mapping[str, object]) -> Reach:
        """Return how much of a run the viewer sees, by its fields as programs get them."""
        session = str(run["session"])
        if not session.startswith(f"{OWN}:"):
            return self.find(session)
        work = Work.of_run(run)
        if work not in self.known:
            self.known[work] = find_work_reach(self.page.deps.app, self.page.viewer, work)
        return self.known[work]

    def has(self, chat: str) -> bool:
        """Return whether the viewer sees that there is something of a chat."""
        return self.find(chat) != "nothing"
