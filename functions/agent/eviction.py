"""What leaves a history is told to memory and archived first, and what failed before stays in
sight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from functions.agent import archive
from functions.agent.app import App, Step, Watch
from functions.agent.compaction import Compacted, size
from functions.agent.messages import RUNTIME_ORIGIN, Message
from functions.agent.model import completion_reader
from functions.agent.safety import guides
from functions.agent.safety.facts import Fact
from functions.agent.safety.guides import Guide
from functions.agent.session.document import Document
from functions.agent.side_request import Aside
from functions.agent.strategies import Ask, compacted, noted
from functions.agent.toolset import in_scope
from sigil.storage.kv import keys

NATIVE_SECONDS = 30 * 86_400.0
"""For so long it is known of a chat that native calls left its history."""
FAILED = "These attempts failed before. Do not repeat them as they were:"


def evict(aside: Aside, room: float, watch: Watch) -> Document:
    """The document of a session with the history that fits into `room` estimated tokens. `aside`
    asks the model for it.
    """
    app, document = aside.app, aside.document
    made = compacted(app.strategy, document.messages, room)
    archive.passively(aside, made.dropped, watch)
    if not made.dropped:
        return aside.document
    _archive(aside, made.kept, made.dropped, watch)
    kept = left(aside.document, made, app, partial(_told, aside))
    # the note that stands for what was dropped may have cost a request
    return replace(kept, safety=aside.document.safety, usage=aside.document.usage)


def evict_before_turn(aside: Aside, room: float, watch: Watch) -> Document | None:
    """The document with less of what was said before the turn in progress, whose request an
    endpoint refused as too long.

    The turn's own messages stay. None when there is nothing else. No note stands for what left: it
    would come behind the question.
    """
    app, messages = aside.app, aside.document.messages
    start = turn_start(messages)
    earlier, own = messages[:start], messages[start:]
    if not earlier:
        return None
    room = max(room - size(own), 0.0)
    made = compacted(app.strategy, earlier, room)
    if not made.dropped or size(made.kept) > room:
        made = Compacted((), earlier)
    archive.passively(aside, made.dropped, watch)
    kept = (*made.kept, *own)
    _archive(aside, kept, made.dropped, watch)
    return replace(aside.document, messages=kept)


def turn_start(messages: Sequence[Message]) -> int:
    """Where the last turn begins: at the last message that somebody sent."""
    starts = (place for place in range(len(messages) - 1, -1, -1) if messages[place].role == "user")
    return next((place for place in starts if messages[place].origin != RUNTIME_ORIGIN), 0)


def _archive(
    aside: Aside, kept: Sequence[Message], dropped: Sequence[Message], watch: Watch
) -> None:
    """Put away what leaves a history, and say which tools go with it."""
    app, before = aside.app, aside.document
    aside.document = archive.put_away(aside.session, before, dropped, app)
    if _made_native_calls(dropped):
        app.kv.put(keys.native_calls(aside.session), b"", ttl=NATIVE_SECONDS)
    stays = {offer.tool for offer in in_scope(kept)}
    gone = [offer.tool for offer in in_scope(before.messages) if offer.tool not in stays]
    watch(Step("evict", text=f"{len(dropped)} messages archived", facts={"tools": gone}))


def calls_may_be_written(session: str, document: Document, app: App) -> bool:
    """Whether a call that the model writes as text may count in a session (S of the keys): only
    while it has made no native one there.

    A model that makes its calls natively has no reason to write any: what it writes is a quote,
    however it stands there.
    """
    return (
        not _made_native_calls(document.messages) and app.kv.get(keys.native_calls(session)) is None
    )


def _made_native_calls(messages: Sequence[Message]) -> bool:
    return any(
        completion_reader.is_native_call(call.id) for message in messages for call in message.calls
    )


def left(document: Document, made: Compacted, app: App, ask: Ask) -> Document:
    """The document with what a strategy kept of its history, and the note that stands for the rest.
    `ask`: see `Strategy.note`.
    """
    if not made.dropped:
        return document
    notes = [
        noted(app.strategy, made.dropped, ask),
        digest(document.safety.counters.failures, app.guide),
    ]
    note, kept = "\n\n".join(filter(None, notes)), replace(document, messages=made.kept)
    return (
        kept.add(Message("user", note, at=app.clock.now(), origin=RUNTIME_ORIGIN)) if note else kept
    )


def digest(failures: Sequence[Fact], guide: Guide) -> str:
    """The last failures in the guide's short form, one for each call that failed; empty when there
    were none.
    """
    last = {fact.fingerprint: fact for fact in failures}
    return (
        "\n".join([FAILED, *(guides.brief_fact(guide, fact) for fact in last.values())])
        if last
        else ""
    )


def _told(aside: Aside, system: str, text: str) -> str:
    reply = aside.ask(system, text)
    return (
        reply.text if reply.finish in ("stop", "length") else ""
    )  # a note that is cut is better than none
