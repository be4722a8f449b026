"""What of a chat somebody may see on the page.

An owner sees how much every chat does, and reads what is said in all but the private chats of
others: theirs only where `UNCAGED_WEB_TEXTS=all`, and then the ledger says so. A member has their
own chats. What the agent does by itself for a chat is seen as that chat is. For everybody else a
chat is not there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from functions.agent.access.roles import LOCAL_OWNERS
from functions.agent.agents.record import scan_agents
from functions.agent.app import App
from functions.agent.ledger.entry import Entry
from functions.agent.management.ledger import add_entries
from functions.agent.runs.tree import list_agents
from functions.agent.schedules.schedule import Schedules
from functions.channels.platforms import OWN_CHAT
from functions.events import OWN, find_web_person
from functions.hooks import Hooks
from functions.page.access.viewer import Viewer
from functions.page.frame import PageRequest
from sigil.errors import UsageError

Reach = Literal["texts", "numbers", "nothing"]
ALL: Final = "all"
"""The value of `UNCAGED_WEB_TEXTS` with which owners read the private chats of others."""


def require_chat(page: PageRequest, session: str) -> Reach:
    """Return how much of a chat (`telegram:42`, `web:telegram:42:main`) a viewer may see: its
    texts, or its numbers alone. `UsageError` ENOENT where it is not theirs: whoever asks learns
    nothing of it. Reading the private chat of another one is noted in the ledger.
    """
    reach = find_reach(page.deps.app, page.viewer, session)
    if reach == "nothing":
        raise UsageError("ENOENT", "there is no such chat", source="page")
    if reach == "numbers" and page.viewer.role == "owner" and page.deps.settings.web_texts == ALL:
        note_reading(page, session)
        return "texts"
    return reach


def find_reach(app: App, viewer: Viewer, session: str) -> Reach:
    """Return how much of a chat a viewer may see, whatever the settings let owners read."""
    chat = session.partition("#")[0]  # what an agent below the root does there is of that chat
    if chat.startswith(f"{OWN}:") and viewer.role != "reader":
        chat = _find_home(app, chat)
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
    or a subagent. It is the session itself where there is none.
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
    return home or session


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
    known: dict[str, Reach] = field(default_factory=dict)

    def find(self, chat: str) -> Reach:
        """Return how much of a chat the viewer sees."""
        if chat not in self.known:
            self.known[chat] = find_reach(self.page.deps.app, self.page.viewer, chat)
        return self.known[chat]

    def has(self, chat: str) -> bool:
        """Return whether the viewer sees that there is something of a chat."""
        return self.find(chat) != "nothing"
