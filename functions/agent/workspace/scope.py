"""Which workspace somebody's words and work are about: the agent's own, its team's, or a chat's.

The agent's own is its owners': they use it in their private chats, and what the agent does by
itself for them uses it as well. Every other chat has files of its own, as it has a memory of its
own, so nobody reads in one chat what was written in another. `team/` is the folder that the root
and all agents below it share: one for owners, and in every other chat one of its files, which the
work for that chat uses as well. What people sent stands in the chat in which they sent it, for
everybody.

What else an agent below the root writes for a chat is its own. The others name such a file with
its writer, as in `alice:notes.md`, and read it where they use what was written for the same chat.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from functions.agent.access.members import People
from functions.agent.access.private_chats import PrivateChats
from functions.agent.workspace.file import FileHead
from functions.agent.workspace.files import Workspace
from functions.agent.workspace.path import RECEIVED, TEAM, fold_path
from sigil.errors import Refused, UsageError, one_line
from sigil.storage.kv import KV, keys

_WRITER: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class FileScopes:
    """The scope of the files that are used, that of the chat, which has what people sent, and that
    of the team. For the root in a chat that is no owner's, all are one.

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
                suggestion=f"name a file below {self.prefix}",
                reason="other-files",
            )
        top = fold_path(path).partition("/")[0]
        if top == RECEIVED:
            return self.chat
        return self.team if top == TEAM else self.own


def require_writer(kv: KV, writer: str) -> None:
    """Raise `UsageError` ENOENT unless others read the own files of an agent (its full name): the
    root's and those of teammates are written for the same chats.
    """
    root, _, name = writer.partition(".")
    if name and kv.get(keys.team_member(root, name)) is None:
        raise UsageError("ENOENT", f"there is no teammate {name}", reason="no-teammate")


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
    scopes: FileScopes,
    open_workspace: Callable[[str], Workspace],
    work: str,
    since: float,
    writer: str = "",
) -> tuple[str, ...]:
    """Return the paths of the files whose newest version a piece of work has written since a time,
    in their own order: calls that run side by side write in any. Those that only `writer` has, an
    agent below the root, are named with it, as its chat reads them.

    No work writes what people sent, which is all that is the chat's where the team has its own.
    """
    names = []
    for head in scan_scopes(replace(scopes, chat=scopes.own), open_workspace):
        if head.task == work and head.at >= since:
            is_shared = not writer or scopes.choose(head.path) != scopes.own
            names.append(head.path if is_shared else name_for_others(writer, head.path))
    return tuple(sorted(names))


def name_for_others(writer: str, path: str) -> str:
    """Return how others call a file that is an agent's own, by its short name."""
    return f"{writer}:{path}"


def split_writer(agent: str, text: str) -> tuple[str, str]:
    """Return whose own file a text such as `alice:notes.md` names, by the full name of an agent of
    the team of `agent`, and its path; nobody's for a path alone.
    """
    writer, mark, path = text.partition(":")
    if not (mark and _WRITER.fullmatch(writer)):
        return "", text
    root = keys.root_of(agent)
    return root if writer == root else f"{root}.{writer}", path


def find_scopes_of_agent(agent: str) -> FileScopes:
    """Return the scopes of an agent's own files."""
    own = keys.escape(agent)
    return FileScopes(own, own, keys.team_of(keys.root_of(agent)))


def find_scopes_of_chat(chat: str) -> FileScopes:
    """Return the scopes of the files of an agent in a chat (an S of the keys), or of an agent that
    shares none.
    """
    agent, mark, session = chat.partition("#")
    return FileScopes(chat, chat, f"{keys.root_of(agent)}{mark}{session}" if mark else chat)


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
            reason="no-chat",
        )
    return find_scopes(agent, home, is_owner=is_owner and chats.owns(by, home))
