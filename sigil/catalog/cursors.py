"""A cursor says where a page of an owner's list ended.

It is a row's own place in the order of the list, which stays when other rows come and go.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sigil.errors import UsageError
from sigil.protocol import Caller, is_name
from sigil.storage.kv import keys

if TYPE_CHECKING:
    from sigil.rows import GrantRow

CHAT_MARK = "~"
"""What the namespace of a single chat has in its name, see `Caller.own`."""

_GRANT = re.compile(
    r"([0-9]):([^:]{1,200}):([^:]{1,20}:[0-9a-f]{1,128}):(waits|stands)(?::([\w.~:@+=%-]{1,2000}))?",
    re.ASCII,
)
_KEY = re.compile(r"[0-9a-f]{12}", re.ASCII)


class GrantPlace(NamedTuple):
    """The place of a row among the grants; places compare in the order of the list.

    `namespace` is its number among those that the caller sees. Behind them come the agent's other
    chats, where `chat` is the one that has the row, as keys spell it.
    """

    namespace: int = -1
    chat: str = ""
    name: str = ""
    digest: str = ""
    stands: bool = False


def grant_place(row: GrantRow, caller: Caller) -> GrantPlace:
    """Return the place of a row that `GrantAdmin.rows` gave to `caller`."""
    return GrantPlace(
        *namespace_place(row["namespace"], caller),
        row["capability"],
        row["digest"],
        row["state"] == "stands",
    )


def namespace_place(namespace: str, caller: Caller) -> tuple[int, str]:
    """Return a namespace's number among those that the caller sees, and the chat behind them.

    The chat is empty unless it is another one of the agent's.
    """
    if namespace in caller.sees:
        return caller.sees.index(namespace), ""
    return len(caller.sees), keys.escape(chat_of(namespace))


def chat_of(namespace: str) -> str:
    """Return the chat whose own namespace it is, empty for an agent's."""
    return namespace.partition(CHAT_MARK)[2]


def format_place(place: GrantPlace) -> str:
    """Return the place as a page's `next` has it."""
    chat = f":{place.chat}" if place.chat else ""
    state = "stands" if place.stands else "waits"
    return f"{place.namespace}:{place.name}:{place.digest}:{state}{chat}"


def parse_grant_place(text: str) -> GrantPlace:
    """Return the place that `format_place` wrote; of an empty text the one before all rows.

    Raises `UsageError` EINVAL for any other text.
    """
    if not text:
        return GrantPlace()
    found = _GRANT.fullmatch(text)
    if not found or not is_name(found[2]):
        raise invalid_cursor()
    return GrantPlace(int(found[1]), found[5] or "", found[2], found[3], found[4] == "stands")


def require_token_id(text: str) -> str:
    """Return `text`, which is a token's id or empty; `UsageError` EINVAL for anything else."""
    if text and not _KEY.fullmatch(text):
        raise invalid_cursor()
    return text


def invalid_cursor() -> UsageError:
    """Return the error for an `after` that no page ended with."""
    return UsageError(
        "EINVAL",
        "`after` is not the `next` of an earlier answer",
        suggestion="leave it out to begin at the beginning",
    )
