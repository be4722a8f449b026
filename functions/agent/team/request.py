"""A request between the members of a team: to shut down, to approve a plan, or a question.

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

from functions.events import Event
from sigil.errors import UsageError, one_line
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, damaged, dumps, later

Kind = Literal["shutdown", "plan", "question"]
State = Literal["pending", "approved", "rejected"]
KEPT_SECONDS: Final = 30 * 86_400.0
TEXT_CHARACTERS: Final = 4_000


@dataclass(frozen=True, slots=True)
class TeamRequest(Stored):
    """A request: its kind, the short names of who asks and who is asked, and what was answered.

    `text` is the plan or the question, `answer` the reason of the answer. `home` is the chat that
    asked, and `at` when, in seconds since 1970. `person` is who asks, where that is a person. `by`
    is the person on whose behalf the work is.

    `generation` is that of the teammate which waits for the answer to its plan, 0 for one that does
    not wait. `next` is the event with which its work goes on then, from the end of its turn on.
    `replaced` is the plan that it handed in instead. `answered` is the message or the call that
    brought the answer, at `answered_at`.
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
    by: str = later("")
    generation: int = later(0)
    next: Event | None = later(None)
    replaced: str = later("")
    answered: str = later("")
    answered_at: Annotated[float, Meta(ge=0, lt=1e11)] = later(0.0)


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
    replaced: str = "",
    key: str = "",
    now: float = 0.0,
) -> TeamRequest:
    """Answer a request, and return it; one that was answered stays as it is.

    `require` raises why it is not to be answered. `UsageError` ENOENT when there is none.
    `replaced`, `key` and `now` become the request's `replaced`, `answered` and `answered_at`.
    """

    if not _ID.fullmatch(id):
        raise unknown_request(id)

    def decide(value: bytes | None) -> tuple[bytes | None, TeamRequest]:
        if value is None:
            raise unknown_request(id)
        request = _read(value, id)
        require(request)
        if request.state != "pending":
            return None, request
        state: State = "approved" if approve else "rejected"
        answered = replace(
            request,
            state=state,
            answer=answer[:TEXT_CHARACTERS],
            replaced=replaced,
            answered=key,
            answered_at=now,
        )
        return dumps(answered), answered

    return update(kv, keys.team_request(root, id), decide, KEPT_SECONDS)


def unknown_request(id: str) -> UsageError:
    """Return what somebody is told who names a request that is not there."""
    return UsageError(
        "ENOENT",
        f"Error: Unknown request_id '{one_line(id, 40)}'",
        suggestion="its message says its request_id",
        reason="no-request",
    )


def hold_work(kv: KV, root: str, id: str, work: Event) -> TeamRequest | None:
    """Keep with a plan the event with which the work goes on, where it has none yet, and return the
    plan, perhaps answered meanwhile; None when it is gone.
    """

    def decide(value: bytes | None) -> tuple[bytes | None, TeamRequest | None]:
        if value is None:
            return None, None
        request = _read(value, id)
        if request.next:
            return None, request
        held = replace(request, next=work)
        return dumps(held), held

    return update(kv, keys.team_request(root, id), decide, KEPT_SECONDS)


def _read(value: bytes, id: str) -> TeamRequest:
    try:
        return _REQUEST.read(value)
    except ValueError:
        raise damaged(f"the request {id} cannot be read", source=id) from None
