"""How far teammates have come with what they work on: seen in their sessions' documents, which are
saved at each step, so that a teammate writes nothing more for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from functions.agent.agents.record import join_name
from functions.agent.app import App
from functions.agent.behaviours.chain import read_count
from functions.agent.conversation.messages import find_unanswered
from functions.agent.session.document import Document, Turn
from functions.agent.team.leg import OWN_MAIN, SPENT, read_leg
from functions.texts.en import Texts
from sigil.errors import BackendError
from sigil.protocol import Json, capability_of
from sigil.storage.kv import keys
from sigil.storage.kv.base import get_many


@dataclass(frozen=True, slots=True)
class WorkProgress:
    """How far a teammate has come with a piece of work.

    `leg` is the number of its leg, 0 for an answer to mail; `requests` are those of this leg to the
    model, and `tokens` what all its legs used. `step` is the last capability that it called, empty
    for none. `home` is the chat that wanted the work, where its event says so.
    """

    leg: int
    requests: int
    tokens: int
    step: str
    home: str

    def describe(self) -> dict[str, Json]:
        """Return it as a part of a row of the API."""
        return {
            "leg": self.leg or None,
            "requests": self.requests,
            "tokens": self.tokens,
            "step": self.step or None,
        }

    def format(self, texts: Texts) -> str:
        """Return it in the words of a language."""
        parts = [texts.team_leg.format(leg=self.leg)] if self.leg else []
        parts.append(texts.count_tokens(self.tokens).strip())
        parts.append(texts.team_step.format(step=self.step) if self.step else texts.team_thinks)
        return ", ".join(parts)


def read_progress(app: App, names: Iterable[str]) -> dict[str, WorkProgress]:
    """Return how far the turns of these teammates have come, of those that have one."""
    found: dict[str, WorkProgress] = {}
    sessions = {name: keys.session_of(join_name(app.root, name), OWN_MAIN) for name in names}
    heads = get_many(app.kv, [keys.session_head(session) for session in sessions.values()])
    for (name, session), head in zip(sessions.items(), heads, strict=True):
        try:
            document = app.sessions.decode_head(session, head).document
        except BackendError:  # what cannot be read shows nothing
            continue
        if document.turn:
            found[name] = _describe_turn(document.turn, document)
    return found


def _describe_turn(turn: Turn, document: Document) -> WorkProgress:
    event = turn.event
    leg = read_leg(event)
    home = event.data.get("home")
    return WorkProgress(
        leg.number,
        turn.count_steps("request"),
        read_count(event, SPENT) + turn.usage.total,
        _find_step(turn, document),
        home if isinstance(home, str) else "",
    )


def _find_step(turn: Turn, document: Document) -> str:
    """Return the name of the call at work, or else of the last one; a model may call what nobody
    can have, and that is not shown.
    """
    at_work = [call.name for call in find_unanswered(document.messages)]
    for tool in (*at_work, *reversed(turn.tools)):
        name = capability_of(tool)
        if name:
            return name
    return ""
