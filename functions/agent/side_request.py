"""Side requests go to the model beside the conversation, and their cost is counted.

Nothing of the chat is in them but what the caller puts there, and their answers do not enter it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Final

from functions.agent.app import App
from functions.agent.conversation import tokens
from functions.agent.conversation.messages import Usage
from functions.agent.conversation.prompt import PromptMessage, ToolDefinition
from functions.agent.ledger.entry import UNKNOWN, Entry
from functions.agent.ledger.journal import RequestJournal
from functions.agent.model import outage
from functions.agent.model.base import ModelReply, ModelRequest
from functions.agent.offline_signature import NAME as OFFLINE
from functions.agent.posts import CHAIN
from functions.agent.safety.breakers import Breakers, make_breakers
from functions.agent.session.document import Document
from functions.events import OWN, Event
from functions.texts.en import Texts
from functions.texts.languages import load_texts
from sigil.errors import UsageError
from sigil.protocol import Json
from sigil.storage.evolve import evolve
from sigil.storage.kv import keys

MEMORY: Final = "memory"
"""The event and the kind of entries about what memory asks beside the turns."""
SECONDS = 60.0
"""The model may take so long for one request."""
TRIES = 3
PROBE_SYSTEM: Final = "You are asked whether you are there. Answer with one word."
PROBE: Final = "Are you there?"
"""What a model is asked before somebody can choose it."""


class SideRequests:
    """The side requests on behalf of one session (S of the keys).

    `document` counts what they cost; the caller saves it. A reason that an owner unlocked since, or
    that a new period ended, no longer stops them. `until` is when all of them have to be over, a
    time of the monotonic clock. `tries` is how many tries of a request may fail; once the model was
    away nothing more is asked. `trace` has the failures, for the turn's trace, and `count` counts
    the requests. `event` is the one
    that they belong to; without it they are memory's, beside the turns, and `by` is the person on
    whose behalf that is. Each is noted before it is sent. Where `chain_spent`
    says that the chain of the event has used up its tokens, nothing is asked.
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
        event: Event | None = None,
        by: str = "",
        chain_spent: bool = False,
    ) -> None:
        self.session = session
        self.app = app
        self.trace: tuple[Mapping[str, Json], ...] = ()
        self.count = 0
        if event:
            self.journal = RequestJournal(app.kv, session, event.id, event.kind, event.behalf)
        else:
            self.journal = RequestJournal(app.kv, session, MEMORY, MEMORY, by, beside=True)
        self._until = until
        self._tries = tries
        self._away: ModelReply | None = None
        self._chain_spent = chain_spent
        self._breakers = breakers or make_breakers(session, app.kv, app.name, app.limits, app.clock)
        self.document = evolve(
            document, safety=self._breakers.reopen(document.safety, person=False)
        )

    @property
    def memory(self) -> str:
        """Return the scope of the chat's memory, mostly its own S."""
        return self.document.memory or self.session

    def may_ask(self) -> bool:
        """Return whether `ask` would send a request now.

        It would not where the session is stopped or out of budget, when it is too late, or when the
        model is known to be away.
        """
        if self._away or self._find_stop_reason():
            return False
        return self.app.clock.monotonic() < self._until

    @property
    def is_stopped(self) -> bool:
        """Return whether the session is stopped or out of budget."""
        return bool(self._find_stop_reason())

    def ask(
        self, system: str, text: str, tools: Sequence[ToolDefinition] = (), choice: Json = None
    ) -> ModelReply:
        """Return the answer to one system and one user message.

        Where the session is stopped or out of budget, or the model is known to be away, the answer
        is an error and no request is sent; `explain_error` says why.
        """
        if self._away:
            return self._away
        reason = self._find_stop_reason()
        if reason:
            return ModelReply(text=reason, finish="error")
        messages: list[PromptMessage] = [
            {"role": "system", "content": system},
            {"role": "user", "content": text},
        ]
        started = self.app.clock.monotonic()
        deadline = min(started + SECONDS, self._until)
        begun = {"model": self.document.model or self.app.model.name, "aside": True}
        self.count += 1
        # the entry is hashed with a salt that the session's next write saves
        self.document = evolve(self.document, ledger=self.document.ledger.with_salt())
        self.journal.begin(begun, self.app.clock.now(), self.document.ledger)
        reply = self.app.model.chat(
            ModelRequest(
                messages,
                tools,
                choice,
                deadline,
                self._breakers.is_halted,
                tries=self._tries,
                model=self.document.model,
                chat=self.session,
            )
        )
        ms = (self.app.clock.monotonic() - started) * 1000
        if reply.failure:
            self.app.failures.append((self.session, reply.failure))
        facts = outage.failure_facts(reply.failure, reply.tries, reply.retry_after)
        if facts:  # for owners
            self.trace = (*self.trace, {"kind": "aside", **facts})
        if reply.finish == "error" and reply.transient:
            self._away = reply
        estimate = tokens.of_text(system) + tokens.of_text(text)
        usage = fill_usage(reply, estimate, self.document.ratio)
        counted = None if reply.finish == "stopped" else usage
        entry = describe_request(self.app, self.document, reply, counted, ms=ms, aside=True)
        ledger = self.journal.end(entry, self.app.clock.now(), self.document.ledger)
        safety = self._breakers.record_request(self.document.safety, None, usage)
        self.document = evolve(
            self.document, safety=safety, usage=self.document.usage + usage, ledger=ledger
        )
        return reply

    def _find_stop_reason(self) -> str:
        safety = self.document.safety
        if self._chain_spent:
            return CHAIN
        return safety.reason or self._breakers.find_stop_reason(safety)


def require_answer(app: App, name: str) -> None:
    """Raise `UsageError` EINVAL unless a model of this name answers at the agent's endpoint."""
    if app.model.name == OFFLINE:
        raise UsageError(
            "EINVAL",
            f"no model {name} is there: the offline model is the only one",
            suggestion="set UNCAGED_LLM_URL or UNCAGED_LLM_KEY first, or leave the model out",
        )
    document = Document(model=name)
    aside = SideRequests(keys.session_of(app.name, f"{OWN}:main"), app, document, tries=1)
    reply = aside.ask(PROBE_SYSTEM, PROBE)
    # a second model may have answered in its place
    is_adapted = reply.failure is not None and reply.failure.kind == "adapted"
    if reply.finish == "error" or (reply.failure and not is_adapted):
        raise UsageError(
            "EINVAL",
            f"the model {name} does not answer: {explain_error(reply, load_texts('en'))}",
            suggestion="name a model of the endpoint in UNCAGED_LLM_URL, or leave the model out",
        )


def explain_error(reply: ModelReply, texts: Texts) -> str:
    """Return why a reply is an error, for people, in the language of `texts`.

    A side request that was not sent has the reason as its text, a key of `REASONS`.
    """
    if reply.failure:
        return texts.model_failures[reply.failure.kind]
    return texts.reasons.get(reply.text, reply.text)


def describe_request(
    app: App,
    document: Document,
    reply: ModelReply,
    usage: Usage | None = None,
    *,
    ms: float,
    aside: bool = False,
) -> Entry:
    """Return the ledger's entry of a request to the model; without `usage` nobody knows its tokens.

    `aside` says that it was no step of a turn.
    """
    chosen = document.model if aside else document.chosen_model
    facts: dict[str, Json] = {
        "model": reply.model or chosen or app.model.name,
        "finish": reply.finish,
        "ms": round(ms, 1),
    }
    if usage is None:
        facts[UNKNOWN] = True
    else:
        facts |= {"prompt": usage.prompt, "completion": usage.completion}
        if usage.cached:
            facts["cached"] = usage.cached
        if usage.estimated:
            facts["estimated"] = True
        if usage.cost:
            facts["cost"] = usage.cost
    if reply.tries:
        facts["tries"] = reply.tries
    if aside:
        facts["aside"] = True
    return Entry("request", facts)


def fill_usage(reply: ModelReply, estimate: float, ratio: float) -> Usage:
    """Return what a request used, estimated where the provider did not count.

    `estimate` are the estimated tokens of the request, `ratio` corrects estimates.
    """
    usage = reply.usage
    if not usage.estimated:
        return usage
    filled = evolve(
        usage,
        prompt=round(estimate * ratio),
        completion=round(tokens.of_text(reply.text)),
    )
    # only of the offline model is something saved that nobody counted: all of it
    return evolve(filled, saved=filled.total) if usage.saved else filled
