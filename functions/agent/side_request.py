"""A request beside the conversation: nothing of the chat is in it, nothing of it enters the chat,
and what it costs is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

from functions.agent import outage, tokens
from functions.agent.app import App
from functions.agent.model.base import ModelReply, ModelRequest
from functions.agent.safety.breakers import Breakers, make_breakers
from functions.agent.safety.status import REASONS
from functions.agent.session.document import Document
from sigil.protocol import Json

SECONDS = 60.0
"""How long the model may take."""
TRIES = 3


class Aside:
    """Requests on behalf of one session (S of the keys). `document` holds what they cost; whoever
    asks keeps it.

    What an owner unlocked since, or a new period freed, is open. `until`: when all of them have to
    be over, a time of the monotonic clock. `tries`: how many of a request may fail; after a model
    that is away nothing more is asked. `trace`: what failed, for the turn's trace.
    """

    def __init__(
        self,
        session: str,
        app: App,
        document: Document,
        breakers: Breakers | None = None,
        until: float = inf,
        *,
        tries: int = TRIES,
    ) -> None:
        self.session = session
        self.app = app
        self.trace: tuple[Mapping[str, Json], ...] = ()
        self._until = until
        self._tries = tries
        self._away: ModelReply | None = None
        self._breakers = breakers or make_breakers(session, app.kv, app.name, app.limits, app.clock)
        self.document = replace(
            document, safety=self._breakers.reopen(document.safety, person=False)
        )

    def may_ask(self) -> bool:
        """Whether a request would be sent: neither locked, nor out of budget, nor late, and the
        model is not known to be away.
        """
        if self._away:
            return False
        standing = self.document.safety
        return (
            not (standing.reason or self._breakers.find_stop_reason(standing))
            and self.app.clock.monotonic() < self._until
        )

    def ask(
        self, system: str, text: str, tools: Sequence[Json] = (), choice: Json | None = None
    ) -> ModelReply:
        """The answer to one system and one user message. Locked, out of budget, or no model there:
        an error, and no request.
        """
        if self._away:
            return self._away
        standing = self.document.safety
        reason = standing.reason or self._breakers.find_stop_reason(standing)
        if reason:
            return ModelReply(text=REASONS[reason].why, finish="error")
        messages: list[Mapping[str, Json]] = [
            {"role": "system", "content": system},
            {"role": "user", "content": text},
        ]
        deadline = min(self.app.clock.monotonic() + SECONDS, self._until)
        reply = self.app.model.chat(
            ModelRequest(
                messages, tools, choice, deadline, self._breakers.is_halted, tries=self._tries
            )
        )
        self._note(reply)
        usage = reply.usage
        if usage.estimated:
            said = tokens.of_text(system) + tokens.of_text(text)
            usage = replace(
                usage,
                prompt=round(said * self.document.ratio),
                completion=round(tokens.of_text(reply.text)),
            )
        later = self._breakers.record_request(standing, None, usage.total)
        self.document = replace(self.document, safety=later, usage=self.document.usage + usage)
        return reply

    def _note(self, reply: ModelReply) -> None:
        """Keep for owners why there was no answer."""
        if reply.failure:
            self.app.failures.append((self.session, reply.failure))
        facts = outage.facts_of(reply.failure, reply.tries, reply.retry_after)
        if facts:
            self.trace = (*self.trace, {"kind": "aside", **facts})
        if reply.finish == "error" and reply.transient:
            self._away = reply
