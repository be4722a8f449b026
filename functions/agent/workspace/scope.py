"""Which workspace somebody's words and work are about: the agent's own, or that of one chat.

The agent's own is its owners': they use it in their private chats, and what the agent does by
itself for them uses it as well. Every other chat has files of its own, as it has a memory of its
own, so nobody reads in one chat what was written in another. What people sent stands in the chat
in which they sent it, for everybody.
"""

from __future__ import annotations

from dataclasses import dataclass

from functions.agent.access.members import People
from functions.agent.access.roles import owns_chat
from functions.agent.workspace.path import RECEIVED, fold_path
from sigil.errors import Refused
from sigil.storage.kv import keys


@dataclass(frozen=True, slots=True)
class FileScopes:
    """The scope of the files that are used, and that of the chat, which has what people sent."""

    own: str
    chat: str

    def choose(self, path: str) -> str:
        """Return the scope in which a path is looked for."""
        return self.chat if fold_path(path).partition("/")[0] == RECEIVED else self.own

    def list_with_received(self) -> list[tuple[str, bool]]:
        """Return each scope, and whether only what people sent counts there."""
        if self.own == self.chat:
            return [(self.own, False)]
        return [(self.own, False), (self.chat, True)]


def find_scopes(agent: str, chat: str, *, is_owner: bool) -> FileScopes:
    """Return the scopes of what somebody uses in a chat such as `telegram:42`.

    `is_owner` says that an owner asks, in a private chat.
    """
    of_chat = keys.session_of(agent, chat)
    return FileScopes(keys.escape(agent) if is_owner else of_chat, of_chat)


def find_scopes_of_work(agent: str, home: str, by: str, people: People) -> FileScopes:
    """Return the scopes of what the agent does by itself for the person `by`, which belongs to the
    chat `home`, empty for none. `Refused` EPERM where it is nobody's.
    """
    own = keys.escape(agent)
    is_owner = people.is_owner(by)
    if not home:
        if is_owner:
            return FileScopes(own, own)
        raise Refused(
            "EPERM",
            "this work belongs to no chat, and to no owner",
            suggestion="say what is to be kept instead",
        )
    return find_scopes(agent, home, is_owner=is_owner and owns_chat(by, home))
