"""A request between the members of a team: to shut down, or to approve a plan.

It is an item with an id of eight hex digits, which says who asks whom, what for, and what was
answered.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Annotated, Final, Literal

from msgspec import Meta

from sigil.errors import UsageError, one_line
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, damaged, dumps, later

Kind = Literal["shutdown", "plan"]
State = Literal["pending", "approved", "rejected"]
KEPT_SECONDS: Final = 30 * 86_400.0
TEXT_CHARACTERS: Final = 4_000


@dataclass(frozen=True, slots=True)
class TeamRequest(Stored):
    """A request: its kind, the short names of who asks and who is asked, and what was answered.

    `text` is the plan, `answer` the reason of the answer. `home` is the chat that asked, and `at`
    when, in seconds since 1970. `person` is who asks, where that is a person.
    """

    kind: Kind
    sender: str
    to: str
    at: Annotated[float, Meta(ge=0, lt=1e11)]
    text: str = ""
    state: State = "pending"
    answer: str = ""
    home: str = ""
    person: str = later("")


_REQUEST: Final = Shape[TeamRequest](TeamRequest)
_ID: Final = re.compile("[0-9a-f]{8}")


def make_request_id(call: str) -> str:
    """Return the id of the request that a call makes, the same when it runs again after a crash."""
    return sha256(call.encode(errors="replace")).hexdigest()[:8]


def keep_request(kv: KV, root: str, id: str, request: TeamRequest) -> None:
    """Store a request; the same one again changes nothing."""

    def decide(value: bytes | None) -> tuple[bytes | None, None]:
        return (dumps(request) if value is None else None), None

    update(kv, keys.team_request(root, id), decide, KEPT_SECONDS)


def find_request(kv: KV, root: str, id: str) -> TeamRequest | None:
    """Return a request, None when there is none with this id."""
    if not _ID.fullmatch(id):
        return None
    item = kv.get(keys.team_request(root, id))
    return _read(item.value, id) if item else None


def answer_request(
    kv: KV,
    root: str,
    id: str,
    require: Callable[[TeamRequest], None],
    *,
    approve: bool,
    answer: str = "",
) -> TeamRequest:
    """Answer a request, and return it; one that was answered stays as it is.

    `require` raises why it is not to be answered. `UsageError` ENOENT when there is none.
    """

    unknown = UsageError(
        "ENOENT",
        f"Error: Unknown request_id '{one_line(id, 40)}'",
        suggestion="its message says its request_id",
    )
    if not _ID.fullmatch(id):
        raise unknown

    def decide(value: bytes | None) -> tuple[bytes | None, TeamRequest]:
        if value is None:
            raise unknown
        request = _read(value, id)
        require(request)
        if request.state != "pending":
            return None, request
        state: State = "approved" if approve else "rejected"
        answered = replace(request, state=state, answer=answer[:TEXT_CHARACTERS])
        return dumps(answered), answered

    return update(kv, keys.team_request(root, id), decide, KEPT_SECONDS)


def _read(value: bytes, id: str) -> TeamRequest:
    try:
        return _REQUEST.read(value)
    except ValueError:
        raise damaged(f"the request {id} cannot be read", source=id) from None
