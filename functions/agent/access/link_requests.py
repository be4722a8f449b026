"""Link requests: a person says that an id on another platform is theirs as well.

The code that the id got there is no proof of that: anybody can pass one on. So a member's request
waits for an owner. An owner's own, which would make another owner, waits for a second code. Only
the answer to the first one tells it, so that nobody can have them send both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hmac import compare_digest
from typing import Final, Literal

from functions.agent.access import pairing_code
from functions.agent.access.members import LinkedRole, People
from functions.agent.access.pairing import CHARACTERS, EVENT_CHARACTERS, Pairing, Waiting
from functions.texts.en import TEXTS as ENGLISH
from sigil.errors import Refused, UsageError
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import scan_all, update
from sigil.storage.stored import Shape, Stored, dumps

OPEN_SECONDS: Final = 86_400.0
"""A member's request waits for so long, and one that was refused is not made again for so long."""
CONFIRM_SECONDS: Final = 600.0
"""An owner's own waits for its second code for so long."""


@dataclass(frozen=True, slots=True)
class LinkRequest(Stored):
    """A request to link the id `id` to the person whose first id is `first`.

    `session` is the chat where it got its code, and `name` and `language` are its own. It was made
    by the id `by`, by the event `asked` in the chat `asked_in` and its `asked_language`, at `at`
    (seconds since 1970).
    The id will be allowed what `role` may. `digest` is that of an owner's second code, and
    `decided_in` the event that decided.
    """

    id: str
    name: str
    session: str
    language: str
    first: str
    by: str
    asked: str
    asked_in: str
    asked_language: str
    role: LinkedRole
    at: float
    digest: str = ""
    decision: Literal["", "accepted", "refused"] = ""
    decided_in: str = ""

    @property
    def seconds(self) -> float:
        """Return for how long it waits."""
        return CONFIRM_SECONDS if self.digest else OPEN_SECONDS

    def is_open(self, now: float) -> bool:
        """Return whether it still waits; a clock that was set back makes nothing wait longer."""
        return not self.decision and abs(now - self.at) < self.seconds

    def is_refused(self, now: float) -> bool:
        """Return whether an owner refused it within the day."""
        return self.decision == "refused" and abs(now - self.at) < OPEN_SECONDS


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that was made, and the second code of an owner's own, empty for a member's."""

    request: LinkRequest
    code: str = ""


_REQUEST: Final = Shape[LinkRequest](LinkRequest)


class LinkRequests:
    """The link requests of one agent. `now` returns seconds since 1970."""

    def __init__(
        self, kv: KV, agent: str, people: People, pairing: Pairing, now: Callable[[], float]
    ) -> None:
        self._kv = kv
        self._agent = agent
        self._people = people
        self._pairing = pairing
        self._now = now

    def ask(
        self, text: str, who: str, event: str, *, session: str = "", language: str = ENGLISH.code
    ) -> Asked:
        """Ask that the id that got the code `text` is linked to the person who has the id `who`.

        The same event may come again. Raises what `Pairing.take_code` does, and `Refused` for a
        guest and for what cannot be linked; the code is still valid then.
        """
        first = self._people.find_first(who)
        role: LinkedRole = "owner" if self._people.is_owner(who) else "member"
        now = self._now()
        asked = event[:EVENT_CHARACTERS]

        def require_askable(waiting: Waiting) -> None:
            known = [
                each for each in self._scan(first) if each.is_open(now) or each.is_refused(now)
            ]
            for each in known:
                if each.id == waiting.id and each.asked != asked and not each.digest:
                    raise Refused(
                        "EASKED",
                        f"an owner was asked about {each.id} within the day",
                        suggestion="wait for what they say",
                    )
            self._people.require_linkable(waiting.id, first, [each.id for each in known])

        waiting = self._pairing.take_code(text, event, require_askable)
        code = pairing_code.make_code(CHARACTERS) if role == "owner" else ""
        request = LinkRequest(
            waiting.id,
            waiting.name,
            waiting.session,
            waiting.language,
            first,
            who,
            asked,
            session,
            "" if language == ENGLISH.code else language,
            role,
            now,
            pairing_code.hash_code(code) if code else "",
        )
        key = keys.link_request(self._agent, first, waiting.id)
        self._kv.put(key, dumps(request), ttl=request.seconds)
        return Asked(request, pairing_code.format_code(code))

    def list_open(self) -> list[LinkRequest]:
        """Return the requests that wait for an owner, the oldest first."""
        now = self._now()
        found = [each for each in self._scan() if each.is_open(now) and not each.digest]
        return sorted(found, key=lambda each: each.at)

    def accept(self, who: str, first: str, by: str, event: str) -> LinkRequest:
        """Link an id, as a member asked; the same event may come again.

        Raises `UsageError` when nobody asks that any more, and `Refused` where it cannot be linked.
        """
        request = self._find(who, first)
        if request.digest:
            raise _unknown_request()
        return self._link(request, by, event)

    def confirm(self, text: str, who: str, by: str, event: str) -> LinkRequest:
        """Link the id whose request has the second code `text`, which the owner `who` was told.

        The same event may come again. Raises `UsageError` for what is no such code.
        """
        code = pairing_code.parse_code(text, CHARACTERS)
        digest = pairing_code.hash_code(code) if code else ""
        for request in self._scan(self._people.find_first(who)):
            if digest and compare_digest(request.digest, digest):
                return self._link(request, by, event)
        raise _unknown_request()

    def refuse(self, who: str, first: str, event: str) -> LinkRequest:
        """Refuse what a member asked; errors as `accept`."""
        request = self._find(who, first)
        if request.digest:
            raise _unknown_request()
        return self._decide(request, "refused", event)

    def _link(self, request: LinkRequest, by: str, event: str) -> LinkRequest:
        if self._people.find_first(request.by) != request.first:
            raise _unknown_request()  # who asked is no longer the same person
        self._people.require_room()
        self._people.require_linkable(request.id, request.first)
        accepted = self._decide(request, "accepted", event)
        self._people.link(request.id, request.name, request.first, by, request.role)
        return accepted

    def _decide(
        self, request: LinkRequest, decision: Literal["accepted", "refused"], event: str
    ) -> LinkRequest:
        now = self._now()
        event = event[:EVENT_CHARACTERS]

        def decide(value: bytes | None) -> tuple[bytes | None, LinkRequest]:
            found = _read_request(value)
            if found is None or found.digest != request.digest:
                raise _unknown_request()
            if found.decision and (found.decision, found.decided_in) != (decision, event):
                raise Refused(
                    "EDECIDED",
                    f"that was decided before: it was {found.decision}",
                    suggestion="`/pair` shows who is in",
                )
            if not found.decision and not found.is_open(now):
                raise _unknown_request()
            decided = replace(found, decision=decision, decided_in=event)
            return dumps(decided), decided

        key = keys.link_request(self._agent, request.first, request.id)
        return update(self._kv, key, decide, OPEN_SECONDS)

    def _find(self, who: str, first: str) -> LinkRequest:
        item = self._kv.get(keys.link_request(self._agent, first, who))
        request = _read_request(item.value) if item else None
        if request is None:
            raise _unknown_request()
        return request

    def _scan(self, first: str = "") -> Iterator[LinkRequest]:
        """Yield the requests of one person, or of all, without damaged ones."""
        begin = keys.link_request(self._agent, first, "")
        for _, item in scan_all(self._kv, begin.partition, begin.sort if first else ""):
            request = _read_request(item.value)
            if request:
                yield request


def _unknown_request() -> UsageError:
    return UsageError(
        "ENOENT",
        "nobody asks that, or it is over",
        suggestion="`/pair` shows what waits for an owner",
    )


def _read_request(value: bytes | None) -> LinkRequest | None:
    """Return a stored request; None for what is not there or is damaged."""
    try:
        return _REQUEST.read(value or b"")
    except ValueError:
        return None
