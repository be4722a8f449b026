"""`search-history`: what was said in this chat, word for word, what HISTORY sums up, and what the
memory says no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from functions.agent.memory.history import History
from functions.agent.memory.removed_statements import LeftStatements
from functions.agent.messages import RUNTIME_ORIGIN, Message
from functions.agent.origin import name_in
from functions.agent.sanitize import clean
from functions.agent.services.call_context import Arguments, Place, number, text
from functions.agent.services.presentation import moment
from functions.agent.services.ranking import Ranking, Said
from functions.agent.session.document import Document
from functions.agent.toolset import QUERY
from sigil.errors import UsageError
from sigil.protocol import Json, tool_of

NAME: Final = "search-history"
ECHOES: Final = frozenset((QUERY, *map(tool_of, (NAME, "recall", "remember", "forget"))))
"""Tools whose results only say again what was said, or what there is."""
HISTORY: Final = "history"
"""Who says an entry of HISTORY."""
MEMORY: Final = "memory"
"""Who says what the chat's memory says no more."""
USUAL, MOST = 8, 20
STRETCH: Final = 400
"""Sequence numbers that are read at a time, from the newest back."""
MESSAGES_MOST: Final = 20_000
SECONDS: Final = 2.0
NUMBER_MOST: Final = 10**12


def search_history(place: Place, given: Arguments) -> Json:
    """At most `limit` excerpts, each with when and who; `before`: where to go on when not
    everything could be searched in time.
    """
    words, limit = clean(text(given, "query")), number(given, "limit", USUAL, MOST)
    ranking = Ranking(words, place.app.aids.terms)
    if not ranking.wanted.terms:
        raise UsageError(
            "EINVAL", "query has no word to search for", suggestion="name what was talked about"
        )
    upper = number(given, "before", NUMBER_MOST, NUMBER_MOST)
    left = _searched(ranking, place, upper)
    items = [_item(said) for said in ranking.best(limit)]
    return {
        "items": items,
        "found": len(items),
        "complete": not left,
        **({"before": left} if left else {}),
    }


def _searched(ranking: Ranking, place: Place, upper: int) -> int:
    """Look from the newest back; the number before which nothing was looked at, 0 when all was."""
    document = place.app.sessions.open(place.session).document
    over, history = place.app.clock.monotonic() + SECONDS, History(place.app.kv, place.session)
    for said in _lines((*document.noted, *_present(document))):
        if said.seq < upper:
            ranking.look(said)
    upper = min(upper, document.next_seq)
    while upper > 1:
        lower = max(upper - STRETCH, 1)
        for _, messages in place.app.sessions.chunks(place.session, lower - 1, upper):
            for said in _lines(messages):
                ranking.look(said)
        for entry in history.page(lower - 1, STRETCH):
            if entry.first < upper and not entry.raw:
                ranking.look(Said(entry.first, entry.at, HISTORY, entry.text, alone=True))
        for left in LeftStatements(place.app.kv, place.session).between(lower - 1, upper, STRETCH):
            for statement in left.statements:
                ranking.look(Said(left.first, left.at, MEMORY, statement, alone=True))
        upper = lower
        if upper > 1 and (place.app.clock.monotonic() > over or len(ranking) > MESSAGES_MOST):
            return upper
    return 0


def _present(document: Document) -> tuple[Message, ...]:
    """The history without the turn that asks."""
    if document.turn is None:
        return document.messages
    asked = [place for place, message in enumerate(document.messages) if message.role == "user"]
    return document.messages[: max(asked, default=None)]


def _lines(messages: tuple[Message, ...]) -> Iterator[Said]:
    """What people, the agent and its tools said; not what the runtime did, and not what only says
    it again.
    """
    tools = {call.id: call.name for message in messages for call in message.calls}
    for message in messages:
        tool = tools.get(message.call_id, "a tool") if message.role == "tool" else ""
        if message.content and message.origin != RUNTIME_ORIGIN and tool not in ECHOES:
            name = name_in(message.origin)
            who = f"{message.role} ({name})" if name else message.role
            yield Said(message.seq, message.at, tool or who, message.content, name)


def _item(said: Said) -> dict[str, Json]:
    return {"message": said.seq, "at": moment(said.at), "who": said.who, "text": said.text}
