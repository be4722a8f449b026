"""/kb looks for the answer to a question in the knowledge base, without the model."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands
from functions.agent.knowledge.search import (
    PUBLIC,
    SCOPES,
    SEARCH,
    DocumentFilter,
    ScopedChunk,
    describe_author,
    make_excerpt,
    search_knowledge,
)
from functions.agent.services.things import format_time

SHOWN: Final = 3
LINE_CHARACTERS: Final = 600
DAY: Final = len("2026-11-22")


def run_kb(call: CommandCall) -> CommandResult:
    """Show the passages that answer a question, each with its source; to guests those that are
    public.
    """
    texts = call.texts
    if not call.text:
        return call.reply(texts.kb_how)
    denied = call.find_denial("call", SEARCH)
    if denied:
        return call.reply(denied)
    documents = DocumentFilter()
    if call.role == "guest":
        documents = replace(documents, tags=(PUBLIC,))
    bases = {scope: call.app.open_knowledge(scope) for scope in SCOPES}
    found = search_knowledge(bases, call.text, SHOWN, documents)
    passages = [_describe_passage(each, call) for each in found]
    return call.reply("\n\n".join(passages) or texts.kb_nothing)


def _describe_passage(passage: ScopedChunk, call: CommandCall) -> str:
    texts = call.texts
    record = passage.found.record
    chunk = passage.found.chunk
    return texts.kb_passage.format(
        title=record.title,
        place=chunk.place,
        text=make_excerpt(chunk.text, LINE_CHARACTERS),
        source=record.source,
        day=format_time(record.time)[:DAY],
        added=describe_author(record.by, record.stated_author, texts),
    )


COMMANDS: Final[Commands] = {"kb": Command(run_kb, arguments="QUESTION")}
