"""What leaves a history is archived first, and what failed before stays in sight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from functions.agent import context, tokens
from functions.agent.app import App, Step, Watch
from functions.agent.loop import overhead
from functions.agent.messages import Message
from functions.agent.model import Request
from functions.agent.safety import guides
from functions.agent.safety.breakers import Breakers
from functions.agent.safety.facts import Fact
from functions.agent.safety.guides import Guide
from functions.agent.session import Document, Opened
from functions.agent.strategies import compacted, noted
from functions.agent.toolset import in_scope

SECONDS = 60.0
"""How long a model may take to sum up what leaves."""
FAILED = "These attempts failed before. Do not repeat them as they were:"


def evict(opened: Opened, breakers: Breakers, app: App, watch: Watch) -> Document:
    """The session's document with the history that fits."""
    document = opened.document
    made = compacted(app.strategy, document.messages, context.room(app.model.window, overhead(app.name), document.ratio))
    if not made.dropped:
        return document
    app.sessions.archive(opened.key, made.dropped)
    stays = {offer.tool for offer in in_scope(made.kept)}
    gone = [offer.tool for offer in in_scope(document.messages) if offer.tool not in stays]
    watch(Step("evict", text=f"{len(made.dropped)} messages archived", facts={"tools": gone}))
    asked = _Asked(app, breakers, document)
    notes = [noted(app.strategy, made.dropped, asked.ask), digest(document.safety.counters.failures, app.guide)]
    note, left = "\n\n".join(filter(None, notes)), replace(asked.document, messages=made.kept)
    return left.add(Message("user", note, at=app.clock.now(), origin=context.OURS)) if note else left


def digest(failures: Sequence[Fact], guide: Guide) -> str:
    """The last failures in the guide's short form, one for each call that failed; empty when there were none."""
    last = {fact.fingerprint: fact for fact in failures}
    return "\n".join([FAILED, *(guides.brief(guide, fact) for fact in last.values())]) if last else ""


class _Asked:
    """One isolated request, and what it cost."""

    def __init__(self, app: App, breakers: Breakers, document: Document) -> None:
        self._app, self._breakers, self.document = app, breakers, document

    def ask(self, system: str, text: str) -> str:
        if self._breakers.trips(self.document.safety):
            return ""
        messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
        reply = self._app.model.chat(Request(messages, (), None, self._app.clock.monotonic() + SECONDS, self._breakers.halted))
        if reply.finish in ("error", "stopped"):
            return ""
        usage = reply.usage
        if usage.estimated:
            asked = round(tokens.of_text(system + text) * self.document.ratio)
            usage = replace(usage, prompt=asked, completion=round(tokens.of_text(reply.text)))
        self.document = replace(self.document, safety=self._breakers.used(self.document.safety, "", usage.total))
        return reply.text
