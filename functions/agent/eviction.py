"""Eviction makes room in a session's history: what compaction decides to drop leaves it here.

The archive keeps the messages before they leave. The document says that memory has not heard of
them: consolidation is due, and follows the reply. A digest of the failures of late stays in sight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from functions.agent.app import App, TurnStep, Watch
from functions.agent.conversation.compaction import (
    Ask,
    Compacted,
    apply_strategy,
    estimate_size,
    leave_out,
    write_note,
)
from functions.agent.conversation.messages import RUNTIME_ORIGIN, Message
from functions.agent.conversation.toolset import in_scope
from functions.agent.model.base import is_native_call
from functions.agent.safety import guides
from functions.agent.safety.call_facts import Fact
from functions.agent.safety.guides import Guide
from functions.agent.session.document import Document
from functions.agent.side_request import SideRequests
from sigil.protocol import Json
from sigil.storage.kv import keys

Step = Mapping[str, Json]
NATIVE_SECONDS = 30 * 86_400.0
"""For so long it is known that native calls have left a chat's history."""
ENOUGH = 10
"""So many archived messages that memory has not heard of are worth a request of their own."""
FAILED = "These attempts failed before. Do not repeat them as they were:"


def evict(
    side: SideRequests,
    room: float,
    watch: Watch,
    is_stale: Callable[[Message], bool] | None = None,
) -> Document:
    """Return the session's document with the history that fits into `room` estimated tokens, and
    of that nothing that `is_stale`.
    """
    app = side.app
    compacted = apply_strategy(app.strategy, side.document.messages, room)
    noted = compacted.dropped
    if is_stale:
        compacted = leave_out(side.document.messages, compacted, is_stale)
    if not compacted.dropped:
        return side.document
    side.trace = (*side.trace, _report_eviction(side.document, compacted, watch))
    side.document = _archive_dropped(side.session, side.document, compacted, app)

    def ask(system: str, text: str) -> str:
        reply = side.ask(system, text)
        # a note that is cut is better than none
        return reply.text if reply.finish in ("stop", "length") else ""

    document = apply_compaction(side.document, compacted, app, ask, noted)
    # the note in place of the dropped messages may have cost a request
    paid = side.document
    return replace(document, safety=paid.safety, usage=paid.usage, ledger=paid.ledger)


def evict_before_turn(
    session: str, document: Document, room: float, app: App, watch: Watch
) -> tuple[Document, Step] | None:
    """Return the document with less of the history before the turn in progress, and what left.

    This is for a turn whose request an endpoint refused as too long. The turn's own messages stay.
    None when there is nothing else. No note replaces what left: it would come behind the
    question.
    """
    messages = document.messages
    start = document.find_turn_start()
    earlier = messages[:start]
    own = messages[start:]
    if not earlier:
        return None
    room = max(room - estimate_size(own), 0.0)
    compacted = apply_strategy(app.strategy, earlier, room)
    if not compacted.dropped or estimate_size(compacted.kept) > room:
        compacted = Compacted((), earlier)
    kept = (*compacted.kept, *own)
    compacted = Compacted(kept, compacted.dropped)
    gone = _report_eviction(document, compacted, watch)
    return replace(_archive_dropped(session, document, compacted, app), messages=kept), gone


def apply_compaction(
    document: Document,
    compacted: Compacted,
    app: App,
    ask: Ask,
    noted: Sequence[Message] | None = None,
) -> Document:
    """Return the document with the compacted history, and a note in place of the rest.

    `ask` is what the strategy may ask the model with. The note is about what was `noted`, without
    it about all that was dropped.
    """
    if not compacted.dropped:
        return document
    noted = compacted.dropped if noted is None else noted
    summary = write_note(app.strategy, noted, ask) if noted else ""
    digest = format_digest(document.safety.counters.failures, app.guide)
    note = "\n\n".join(filter(None, (summary, digest)))
    document = replace(document, messages=compacted.kept)
    if not note:
        return document
    return document.add(Message("user", note, at=app.clock.now(), origin=RUNTIME_ORIGIN))


def format_digest(failures: Sequence[Fact], guide: Guide) -> str:
    """Return the last failures in the guide's short form, one for each call that failed.

    It is empty when there were none.
    """
    last = {fact.fingerprint: fact for fact in failures}
    if not last:
        return ""
    return "\n".join([FAILED, *(guides.brief_fact(guide, fact) for fact in last.values())])


def archive_messages(
    session: str, document: Document, dropped: Sequence[Message], app: App
) -> Document:
    """Archive messages that leave a document.

    The returned document names them where memory has not heard of them. Memory hears of what people
    said: what the agent did by itself is archived and costs no request.
    """
    app.sessions.archive(session, dropped)
    by_itself = keys.is_own_work(session)
    if by_itself or not dropped or dropped[-1].seq <= document.consolidated:
        return document
    return replace(document, unheard=(*document.unheard, dropped[0].seq))


def note_enough_unheard(document: Document) -> Document:
    """Return the document with a consolidation due, when memory has not heard of so many archived
    messages that they are worth a request.

    After a failure they wait until more leave the history.
    """
    if document.owed or document.failures or document.count_unheard() < ENOUGH:
        return document
    return replace(document, owed=document.next_seq - 1)


def _report_eviction(document: Document, compacted: Compacted, watch: Watch) -> Step:
    """Report which tools leave the history, and return the row of a turn's trace that says so, with
    the count of the messages and their estimated tokens.
    """
    stays = {offer.tool for offer in in_scope(compacted.kept)}
    tools = [offer.tool for offer in in_scope(document.messages) if offer.tool not in stays]
    text = f"{len(compacted.dropped)} messages archived"
    watch(TurnStep("evict", text=text, facts={"tools": tools}))
    return {
        "kind": "evict",
        "tools": tools,
        "messages": len(compacted.dropped),
        "tokens": round(estimate_size(compacted.dropped)),
    }


def _archive_dropped(session: str, document: Document, compacted: Compacted, app: App) -> Document:
    """Archive the dropped messages, of which memory has to hear."""
    dropped = compacted.dropped
    archived = archive_messages(session, document, dropped, app)
    if archived.unheard:
        archived = replace(archived, owed=document.next_seq - 1)
    note_native_calls(session, dropped, app)
    return archived


def note_native_calls(session: str, dropped: Sequence[Message], app: App) -> None:
    """Note that messages with native calls leave the history of a session (S of the keys)."""
    if _has_native_calls(dropped):
        app.kv.put(keys.native_calls(session), b"", ttl=NATIVE_SECONDS)


def may_write_calls(session: str, document: Document, app: App) -> bool:
    """Return whether calls that the model writes as text count in a session (S of the keys).

    They do only while it has made no native call there. A model that makes its calls natively has
    no reason to write any: whatever it writes is a quote.
    """
    if _has_native_calls(document.messages):
        return False
    return app.kv.get(keys.native_calls(session)) is None


def _has_native_calls(messages: Sequence[Message]) -> bool:
    return any(is_native_call(call.id) for message in messages for call in message.calls)
