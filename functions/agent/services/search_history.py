"""`search-history` searches what was said in this chat, word for word.

It also searches the summaries of HISTORY, and the statements that left the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NotRequired, TypedDict

from functions.agent.conversation.messages import MAIL_ORIGIN, RUNTIME_ORIGIN, Message, sender_name
from functions.agent.conversation.toolset import QUERY
from functions.agent.memory.history import History, RemovedStatements
from functions.agent.sanitize import clean_text
from functions.agent.services.call_context import (
    Arguments,
    CallContext,
    read_number,
    read_text,
)
from functions.agent.services.ranking import Passage, Ranking
from functions.agent.services.things import format_time
from sigil.errors import UsageError
from sigil.protocol import tool_of
from sigil.storage.kv import keys

NAME: Final = "search-history"
ECHOES: Final = frozenset((QUERY, *map(tool_of, (NAME, "recall", "remember", "forget"))))
"""The results of these tools only repeat what was said, or what there is."""
HISTORY: Final = "history"
"""The speaker of an entry of HISTORY, in an item."""
MEMORY: Final = "memory"
"""The speaker of a statement that left the chat's memory, in an item."""
USUAL, MOST = 8, 20
STRETCH: Final = 400
"""So many sequence numbers are read at a time, from the newest back."""
MESSAGES_MOST: Final = 20_000
SECONDS: Final = 2.0
NUMBER_MOST: Final = 10**12


class Excerpt(TypedDict):
    """A part of what was said; `message` is its number in the session."""

    message: int
    at: str
    who: str
    text: str


class SearchAnswer(TypedDict):
    """The excerpts that a search found; `before`: where to go on, when not all was searched."""

    items: list[Excerpt]
    found: int
    complete: bool
    before: NotRequired[int]


def search_history(context: CallContext, arguments: Arguments) -> SearchAnswer:
    """Return at most `limit` excerpts, each with when and who said it.

    When not everything could be searched in time, `before` says where to go on. Raises `UsageError`
    EINVAL when the query has no word.
    """
    words = clean_text(read_text(arguments, "query"))
    limit = read_number(arguments, "limit", USUAL, MOST)
    ranking = Ranking(words, context.app.helpers.terms)
    if not ranking.query.terms:
        raise UsageError(
            "EINVAL", "query has no word to search for", suggestion="name what was talked about"
        )
    upper = read_number(arguments, "before", NUMBER_MOST, NUMBER_MOST)
    left = _rank_backwards(ranking, context, upper)
    items: list[Excerpt] = [
        {
            "message": passage.seq,
            "at": format_time(passage.at),
            "who": passage.who,
            "text": passage.text,
        }
        for passage in ranking.best(limit)
    ]
    answer: SearchAnswer = {"items": items, "found": len(items), "complete": not left}
    if left:
        answer["before"] = left
    return answer


def _rank_backwards(ranking: Ranking, context: CallContext, upper: int) -> int:
    """Rank what was said before the message `upper`, from the newest back.

    Returns the number before which nothing was looked at, 0 when all was.
    """
    app, session = context.app, context.session
    document = app.sessions.open(session).document
    until = app.clock.monotonic() + SECONDS
    history = History(app.kv, session)
    removed = RemovedStatements(app.kv, session)
    messages = document.messages
    if document.turn is not None:  # without the turn that asks
        messages = messages[: document.find_turn_start()]
    for passage in _list_passages((*document.noted, *messages)):
        if passage.seq < upper:
            ranking.add(passage)
    if upper == NUMBER_MOST:
        _rank_shared(ranking, context)
    upper = min(upper, document.next_seq)
    while upper > 1:
        lower = max(upper - STRETCH, 1)
        for _, archived in app.sessions.scan_archive(session, lower - 1, upper):
            for passage in _list_passages(archived):
                ranking.add(passage)
        for entry in history.list_page(lower - 1, STRETCH):
            if entry.first < upper and not entry.raw:
                ranking.add(Passage(entry.first, entry.at, HISTORY, entry.text, alone=True))
        for removal in removed.list_between(lower - 1, upper, STRETCH):
            for statement in removal.statements:
                ranking.add(Passage(removal.first, removal.at, MEMORY, statement, alone=True))
        upper = lower
        if upper > 1 and (app.clock.monotonic() > until or len(ranking) > MESSAGES_MOST):
            return upper
    return 0


def _rank_shared(ranking: Ranking, context: CallContext) -> None:
    """Rank the statements that left a shared memory for the other chats that share it."""
    app = context.app
    for chat in app.links.list_chats(context.memory or context.session):
        session = keys.session_of(app.name, chat.session)
        if session == context.session:
            continue
        for removal in RemovedStatements(app.kv, session).list_between(0, NUMBER_MOST, STRETCH):
            for statement in removal.statements:
                ranking.add(Passage(removal.first, removal.at, MEMORY, statement, alone=True))


def _list_passages(messages: tuple[Message, ...]) -> Iterator[Passage]:
    """Yield what people, the agent and its tools said, without the runtime's own and echoes."""
    tools = {call.id: call.name for message in messages for call in message.calls}
    for message in messages:
        tool = tools.get(message.call_id, "a tool") if message.role == "tool" else ""
        if message.content and message.origin != RUNTIME_ORIGIN and tool not in ECHOES:
            name = sender_name(message.origin)
            role = MAIL_ORIGIN if message.origin == MAIL_ORIGIN else message.role
            who = f"{role} ({name})" if name else role
            yield Passage(message.seq, message.at, tool or who, message.content, name)
