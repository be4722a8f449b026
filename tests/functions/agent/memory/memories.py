"""The tests of memory share these: answers of a model, and readers of the store."""

from __future__ import annotations

from typing import Any

from functions.agent.memory.documents import Doc
from functions.agent.memory.history import History, HistoryEntry
from functions.agent.session.document import Document
from functions.agent.session.memory_progress import adopt_progress
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.model import call

SESSION = keys.session_of("main", "telegram:7")


def saves(
    entry: str = "[2026-11-22 01:30] They met.", memory: str = "# Memory\n- The user is called Ada."
) -> dict[str, Any]:
    """The model's call."""
    return call(("save_memory", {"history_entry": entry, "memory_update": memory}))


def memory(home: AgentRuntime, session: str = SESSION) -> Doc:
    return home.app.documents.read(session, "memory")


def entries(home: AgentRuntime, session: str = SESSION) -> list[HistoryEntry]:
    return History(home.app.kv, session).list_page(limit=1000)


def document(home: AgentRuntime, session: str = SESSION) -> Document:
    """The session's document as its next turn begins with it."""
    stored = home.app.sessions.open(session).document
    return adopt_progress(session, stored, home.app.kv.get(keys.memory_progress(session)))


def asked(body: dict[str, Any]) -> str:
    """The transcript in a request to consolidate."""
    text = str(body["messages"][1]["content"])
    return text.partition("<<TRANSCRIPT>>\n")[2].removesuffix("\n<</TRANSCRIPT>>")


def consolidations(bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        body for body in bodies if body["messages"][0]["content"].startswith("You keep the memory")
    ]
