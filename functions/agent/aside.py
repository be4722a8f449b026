"""A request beside the conversation: nothing of the chat is in it, nothing of it enters the chat, and what it costs is counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

from functions.agent import tokens
from functions.agent.app import App
from functions.agent.model import Reply, Request
from functions.agent.record import Document
from functions.agent.safety.breakers import Breakers, breakers_of
from functions.agent.safety.standing import REASONS
from sigil.protocol import Json

SECONDS = 60.0
"""How long the model may take."""


class Aside:
    """Requests on behalf of one session (S of the keys). `document` holds what they cost; whoever asks keeps it.

    What an owner unlocked since, or a new period freed, is open. `until`: when all of them have to be over, a time of the monotonic clock.
    """

    def __init__(self, session: str, app: App, document: Document, breakers: Breakers | None = None, until: float = inf) -> None:
        self.session = session
        self.app = app
        self._until = until
        self._breakers = breakers or breakers_of(session, app.kv, app.name, app.limits, app.clock.now)
        self.document = replace(document, safety=self._breakers.opened(document.safety, person=False))

    def may_ask(self) -> bool:
        """Whether a request would be sent: neither locked, nor out of budget, nor late."""
        standing = self.document.safety
        return not (standing.reason or self._breakers.trips(standing)) and self.app.clock.monotonic() < self._until

    def ask(self, system: str, text: str, tools: Sequence[Json] = (), choice: Json | None = None) -> Reply:
        """The answer to one system and one user message. Locked or out of budget: an error, and no request."""
        standing = self.document.safety
        reason = standing.reason or self._breakers.trips(standing)
        if reason:
            return Reply(text=REASONS[reason].text, finish="error")
        messages: list[Mapping[str, Json]] = [{"role": "system", "content": system}, {"role": "user", "content": text}]
        deadline = min(self.app.clock.monotonic() + SECONDS, self._until)
        reply = self.app.model.chat(Request(messages, tools, choice, deadline, self._breakers.halted))
        usage = reply.usage
        if usage.estimated:
            said = tokens.of_text(system) + tokens.of_text(text)
            usage = replace(usage, prompt=round(said * self.document.ratio), completion=round(tokens.of_text(reply.text)))
        later = self._breakers.used(standing, None, usage.total)
        self.document = replace(self.document, safety=later, usage=self.document.usage + usage)
        return reply
