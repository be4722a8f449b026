"""The gist of a chat is what a teammate needs of it: it does not get the history of its lead.

It is made without a model: what people and the agent said last, and the names of the files.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from functions.agent.app import App
from functions.agent.conversation.messages import is_from_person
from functions.agent.sanitize import clean_text
from functions.agent.workspace.path import RECEIVED, TEAM
from functions.agent.workspace.scope import find_scopes_of_work, is_below, name_for_others
from sigil.errors import SigilError, one_line

SAID_MOST: Final = 6
SAID_CHARACTERS: Final = 400
FILES_MOST: Final = 20


def make_gist(app: App, session: str, chat: str, by: str = "") -> str:
    """Return what was said last in a session (S of the keys) of a chat, and which files it has."""
    said = []
    for message in reversed(app.sessions.open(session).document.messages):
        is_answer = message.role == "assistant" and message.content
        if is_answer or is_from_person(message):
            who = "you" if is_answer else "person"
            said.append(f"{who}: {one_line(clean_text(message.content), SAID_CHARACTERS)}")
        if len(said) >= SAID_MOST:
            break
    lines = ["Said last in the chat of your lead:", *reversed(said)] if said else []
    files = _list_files(app, chat, by)
    if files:
        lines.append(f"Files: {', '.join(files)}")
    return "\n".join(lines)


def _list_files(app: App, chat: str, by: str) -> list[str]:
    try:
        scopes = find_scopes_of_work(app.name, chat, by, app.people, app.private_chats)
        heads = islice(app.open_workspace(scopes.own).scan(), FILES_MOST)
        return [_name_for_team(app.root, head.path) for head in heads]
    except SigilError:
        return []


def _name_for_team(root: str, path: str) -> str:
    """Return how a teammate calls a file of the chat: what is shared as it is called there."""
    is_shared = is_below(path, f"{TEAM}/") or is_below(path, f"{RECEIVED}/")
    return path if is_shared else name_for_others(root, path)
