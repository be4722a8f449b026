"""Turns in progress: which they are, how far they have come, and how one is told to stop.

They are found by the queue of the store, which knows the sessions that somebody works on. A queue
elsewhere tells nobody: there the chats of the latest runs are looked at.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from functions.agent.agents.bindings import parse_binding
from functions.agent.agents.record import join_name
from functions.agent.offline_signature import NAME as OFFLINE
from functions.agent.runs.progress import Progress, find_progress
from functions.agent.runs.tree import list_agents, scan_all_runs
from functions.agent.safety.stop_mark import StopMark, write_mark
from functions.agent.session.store import SessionHandle, Sessions
from functions.queues.queued_sessions import list_queued_sessions
from functions.settings import Settings
from sigil.errors import BackendError, UsageError, one_line
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.base import KEYS_MOST, get_many

RECENT: Final = 20
"""The chats of so many of the latest runs are looked at where the queue tells nothing."""


@dataclass(frozen=True, slots=True)
class TurnsInProgress:
    """The turns in progress of a root and of the agents below it.

    `now` tells the seconds since 1970. `model` is the name of the root's, and `in_store` says that
    the queue is in the store.
    """

    kv: KV
    sessions: Sessions
    root: str
    now: Callable[[], float]
    model: str = ""
    in_store: bool = True

    def list_all(self) -> list[Progress]:
        """Return all turns in progress, those that began last first."""
        now = self.now()
        held: dict[str, bool] = {}
        if self.in_store:
            for each in list_queued_sessions(self.kv, self.root, now):
                held.setdefault(each.session, each.held)
            held = self._add_bound(held)
        else:
            agents = list_agents(self.kv, self.root)
            for run in islice(scan_all_runs(self.kv, agents), RECENT):
                held.setdefault(keys.session_of(run.agent, run.session), True)
        found = self._read(held, now)
        return sorted(found, key=lambda each: each.run.id)

    def list_working(self) -> frozenset[str]:
        """Return the full names of the agents of which some worker has a turn in progress."""
        return frozenset(each.run.agent for each in self.list_all() if not each.is_waiting)

    def is_working(self, agent: str) -> bool:
        """Return whether a worker has a turn of the agent with this full name."""
        return agent in self.list_working()

    def find(self, name: str) -> Progress | None:
        """Return the turn in progress by the id of its run, or by an event that it answers."""
        event = name
        inverse, mark, rest = name.partition("~")
        if mark and inverse.isdecimal():
            event = rest
        return next((each for each in self.list_all() if each.answers(event)), None)

    def find_in(self, session: str) -> Progress | None:
        """Return the turn in progress of a chat, of whichever agent answers there."""
        held = self._add_bound({keys.session_of(self.root, session): True})
        return next(self._read(held, self.now()), None)

    def refresh(self, progress: Progress) -> Progress | None:
        """Return how far a turn has come by now; None when it is closed."""
        for each in self._read({progress.key: True}, self.now()):
            if each.answers(progress.turn.event.id):
                return each
        return None

    def stop(self, progress: Progress, by: str, request: int = 0) -> None:
        """Tell a turn to stop, or with a `request` to give up that request alone."""
        mark = StopMark(progress.turn.event.id, by, request)
        write_mark(self.kv, progress.key, mark)

    def _add_bound(self, held: Mapping[str, bool]) -> dict[str, bool]:
        """Return these sessions with those of the agents that are bound to their chats: the queue
        knows a chat by the root's session alone.
        """
        chats: dict[str, bool] = {}
        for session, is_held in held.items():
            agent, _, chat = session.partition("#")
            if keys.unescape(agent) == self.root and not keys.is_own_work(session):
                chats[keys.unescape(chat)] = is_held
        places = [keys.chat_binding(self.root, chat) for chat in chats]
        found = dict(held)
        for (chat, is_held), item in zip(chats.items(), self._get_many(places), strict=True):
            bound = parse_binding(item).agent
            if bound:
                found.setdefault(keys.session_of(join_name(self.root, bound), chat), is_held)
        return found

    def _get_many(self, places: Sequence[Key]) -> list[Item | None]:
        """Return the items at these keys, however many they are."""
        items: list[Item | None] = []
        for first in range(0, len(places), KEYS_MOST):
            items += get_many(self.kv, places[first : first + KEYS_MOST])
        return items

    def _read(self, held: Mapping[str, bool], now: float) -> Iterator[Progress]:
        """Yield the turns in progress of these sessions; `held` says whether a worker has it."""
        heads = self._get_many([keys.session_head(session) for session in held])
        for (session, is_held), head in zip(held.items(), heads, strict=True):
            try:
                opened: SessionHandle = self.sessions.decode_head(session, head)
            except BackendError:  # a chat that cannot be read shows no turn
                continue
            model = self.model if session.startswith(f"{keys.escape(self.root)}#") else ""
            found = find_progress(opened, now, self.kv, model=model, held=is_held)
            if found:
                yield found


def open_turns(sessions: Sessions, settings: Settings, kv: KV) -> TurnsInProgress:
    """Return the turns in progress of the agent of the settings and of those below it."""
    model = settings.llm_model if settings.endpoint else OFFLINE
    in_store = not settings.queue
    return TurnsInProgress(kv, sessions, settings.agent, time.time, model, in_store=in_store)


def refuse_absent(name: str) -> UsageError:
    """Return the error for a turn that is not in progress."""
    return UsageError(
        "ENOENT",
        "no such turn is in progress",
        source=one_line(name, 80),
        suggestion="`uncaged trace` lists what is running",
    )


def split_request(name: str) -> tuple[str, int]:
    """Return the run or event that a name of one of its requests begins with, and the number of
    the request; 0 for a name that has none.
    """
    run, mark, number = name.rpartition("/")
    if mark and run and number.isdecimal() and len(number) <= 4 and int(number) > 0:
        return run, int(number)
    return name, 0


def stop_turn(turns: TurnsInProgress, name: str, by: str) -> tuple[Progress, int]:
    """Tell a turn to stop by its run or event, or one of its requests (`RUN/NUMBER`); return the
    turn, and the number of the request, 0 for the whole turn.

    `UsageError` ENOENT when no such turn is in progress, and EINVAL when the request is not the
    one that is under way.
    """
    found = turns.find(name)
    request = 0
    if found is None:
        event, request = split_request(name)
        found = turns.find(event) if request else None
    if found is None:
        raise refuse_absent(name)
    under_way = [step.get("n") for step in found.now if step["kind"] == "request"]
    if request and request not in under_way:
        raise UsageError(
            "EINVAL",
            f"request {request} is not under way",
            source=one_line(name, 80),
            suggestion="`uncaged trace` shows the number of the one that is",
        )
    turns.stop(found, by, request)
    return found, request
