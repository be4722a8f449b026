"""Which workspace somebody's words and work are about: the agent's own, its team's, or a chat's.

The agent's own is its owners': they use it in their private chats, and what the agent does by
itself for them uses it as well. Where it is used, `team/` is the folder that the root and all
agents below it share. Every other chat has files of its own, as it has a memory of its own, so
nobody reads in one chat what was written in another; `team/` is a folder like others there. What
people sent stands in the chat in which they sent it, for everybody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from functions.agent.access.members import People
from functions.agent.access.private_chats import PrivateChats
from functions.agent.workspace.file import FileHead
from functions.agent.workspace.files import Workspace
from functions.agent.workspace.path import RECEIVED, TEAM, fold_path
from sigil.errors import Refused, one_line
from sigil.storage.kv import keys


@dataclass(frozen=True, slots=True)
class FileScopes:
    """The scope of the files that are used, that of the chat, which has what people sent, and that
    of the team. Where the team's are not used, `team` is as `own`.

    Only what is below the `prefix`, such as `drafts/`, is there for an agent that has one.
    """

    own: str
    chat: str
    team: str
    prefix: str = ""

    def choose(self, path: str) -> str:
        """Return the scope in which a path is looked for; `Refused` EPERM for one that is not
        below the prefix.
        """
        if not is_below(path, self.prefix):
            raise Refused(
                "EPERM",
                f"{one_line(path, 80)} is not below {self.prefix}, the files that you may use",
                suggestion=f"name a file such as {self.prefix}notes.md",
            )
        top = fold_path(path).partition("/")[0]
        if top == RECEIVED:
            return self.chat
        return self.team if top == TEAM else self.own


def scan_scopes(
    scopes: FileScopes, open_workspace: Callable[[str], Workspace], prefix: str = ""
) -> list[FileHead]:
    """Return the files of all scopes whose path begins with a prefix, by path."""
    heads: list[FileHead] = []
    for scope in dict.fromkeys((scopes.own, scopes.chat, scopes.team)):
        for head in open_workspace(scope).scan(prefix):
            if is_below(head.path, scopes.prefix) and scopes.choose(head.path) == scope:
                heads.append(head)
    return sorted(heads, key=lambda head: head.path)


def list_written(
    scopes: FileScopes, open_workspace: Callable[[str], Workspace], work: str, since: float
) -> tuple[str, ...]:
    """Return the paths of the files whose newest version a piece of work has written since a time,
    in their own order: calls that run side by side write in any.
    """
    heads = scan_scopes(scopes, open_workspace)
    return tuple(sorted(head.path for head in heads if head.task == work and head.at >= since))


def find_scopes_of_agent(agent: str) -> FileScopes:
    """Return the scopes of an agent's own files."""
    own = keys.escape(agent)
    return FileScopes(own, own, keys.team_of(keys.root_of(agent)))


def find_scopes_of_chat(chat: str) -> FileScopes:
    """Return the scopes of the files of a chat (an S of the keys)."""
    return FileScopes(chat, chat, chat)


def is_below(path: str, prefix: str) -> bool:
    """Return whether a path is below a folder, such as `drafts/`, however both are spelled; all are
    below an empty one.
    """
    return not prefix or fold_path(path).startswith(fold_path(prefix))


def find_scopes(agent: str, chat: str, *, is_owner: bool) -> FileScopes:
    """Return the scopes of what somebody uses in a chat such as `telegram:42`.

    `is_owner` says that an owner asks, in a private chat.
    """
    of_chat = keys.session_of(agent, chat)
    if not is_owner:
        return find_scopes_of_chat(of_chat)
    return replace(find_scopes_of_agent(agent), chat=of_chat)


def find_scopes_of_work(
    agent: str, home: str, by: str, people: People, chats: PrivateChats
) -> FileScopes:
    """Return the scopes of what the agent does by itself for the person `by`, which belongs to the
    chat `home`, empty for none. `Refused` EPERM where it is nobody's.
    """
    is_owner = people.is_owner(by)
    if not home:
        if is_owner:
            return find_scopes_of_agent(agent)
        raise Refused(
            "EPERM",
            "this work belongs to no chat, and to no owner",
            suggestion="say what is to be kept instead",
        )
    return find_scopes(agent, home, is_owner=is_owner and chats.owns(by, home))
