"""A proposal is something that an agent wants to do, or to change, and that an owner decides on.

It is made by the gate for a call that the policy asks about. The same call again is the same
proposal, and once it was approved, the call is made with the very arguments that were shown: once,
by an event whose id comes from the proposal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Final, Literal

import orjson
from msgspec import Meta

from functions.agent.ledger.entry import Entry, hash_name
from functions.agent.policy.act import Act, list_chats
from functions.events import ID_CHARACTERS, Event, Sender, order_of
from functions.texts.en import Texts
from sigil.errors import Conflict, Refused, UsageError, one_line
from sigil.json_fields import as_mapping
from sigil.protocol import Json, Offer
from sigil.storage.kv import KV, Item, keys
from sigil.storage.kv.update import scan_all, update
from sigil.storage.stored import Shape, Stored, damaged, dumps, later

if TYPE_CHECKING:
    from functions.agent.shares import Holder

OPEN_MOST: Final = 24
"""An agent has so many proposals at once that nobody has decided on."""
FREED: Final = "an owner decides on one of them, with `/proposals` or `uncaged proposals`"
"""Who makes room for a proposal, and how."""
OPEN_SECONDS: Final = 86_400.0
DENIED_SECONDS: Final = 86_400.0
"""What was denied is not asked for again for so long."""
KEPT_SECONDS: Final = 30 * 86_400.0
ARGUMENTS_CHARACTERS: Final = 16_000
"""Longer arguments are not shown to anybody, and so not approved."""
ID_DIGITS: Final = 6
LONG_ID_DIGITS: Final = 12
SENDER: Final = "runtime:approval"
WORK: Final = "work"
"""The name in the `data` of a proposal of the piece of work that asked."""
_ID: Final = re.compile(rf"[0-9a-f]{{{ID_DIGITS},{LONG_ID_DIGITS}}}")
State = Literal["open", "approved", "denied", "lapsed", "applied"]
ROLLED_BACK: Final = "rolled-back"
"""What people read as the state of a proposal that was applied and then rolled back."""
Time = Annotated[float, Meta(ge=0, lt=1e12)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(Stored):
    """A proposal, from an agent by its full name, in a session.

    `acts` are what the policy asks about, and `tool`, `arguments` (its JSON) and `offer` the call.
    `digest` is the same for the same call in the same session on behalf of the same person, `by`.
    `at` is when it was made and `until` when it lapses, `decided_at` when `decided_by` decided, or
    when it lapsed with nobody having decided, in seconds since 1970. `decided_in` is the id of the
    message that decided, empty where it was no message. `round` counts how often it was made.
    `own_work` and `private` are those of the turn, `data` says to which chat its outcome goes,
    `language` is that of the person's app.

    A proposal to change a part of the agent has the text `before`, and once it was applied the
    `version` after. `rolled_back_by` brought back what was there before, at `rolled_back_at`.
    `permissions` are those that its capability waits for and is granted with an approval.
    """

    id: str
    digest: str
    agent: str
    session: str
    by: str
    acts: tuple[str, ...]
    tool: str
    arguments: str
    offer: Offer | None = None
    state: State = "open"
    at: Time = 0.0
    until: Time = 0.0
    round: int = 1
    decided_by: str = ""
    decided_at: Time = 0.0
    decided_in: str = ""
    own_work: bool = False
    private: bool = True
    language: str = ""
    data: Mapping[str, Json] = field(default_factory=dict)
    before: str | None = later(None)
    version: Annotated[int, Meta(ge=0, lt=10**9)] = later(0)
    rolled_back_by: str = later("")
    rolled_back_at: Time = later(0.0)
    permissions: tuple[str, ...] = later(())

    @property
    def is_grant(self) -> bool:
        """Return whether all that it asks for is a grant, which holds for every call after it."""
        return bool(self.permissions) and len(self.acts) == 1

    def state_at(self, now: float) -> str:
        """Return its state at a time: nobody writes down that it lapses."""
        if self.rolled_back_at:
            return ROLLED_BACK
        return "lapsed" if self.state == "open" and now >= self.until else self.state

    def names(self, path: str) -> bool:
        """Return whether its call names a file by this path, rather than by its content."""
        return as_mapping(orjson.loads(self.arguments)).get("path") == path


@dataclass(frozen=True, slots=True)
class Mark(Stored):
    """The mark of a proposal that has not come to its end: when it was made, in seconds since 1970,
    and how often the event of its approval was put again.
    """

    at: Time
    tries: Annotated[int, Meta(ge=0, le=100)] = 0


PROPOSAL: Final = Shape[Proposal](Proposal)
MARK: Final = Shape[Mark](Mark)
_PLACES: Final = Shape[Mapping[str, tuple[float, str]]](Mapping[str, tuple[float, str]])
"""The open proposals of an agent by their ids: when each lapses, and on whose behalf it is."""


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A call as the gate sees it: its tool, its arguments as JSON, and what was offered.

    `permissions` are those that the capability waits for, where the call has failed for them.
    """

    tool: str
    arguments: str
    offer: Offer | None = None
    permissions: tuple[str, ...] = ()

    @property
    def canonical(self) -> str:
        """Return the arguments in one order of their names."""
        try:
            parsed = orjson.loads(self.arguments or "{}")
            return orjson.dumps(parsed, option=orjson.OPT_SORT_KEYS).decode()
        except orjson.JSONDecodeError:
            return self.arguments


class Proposals:
    """The proposals of a root and the agents below it."""

    def __init__(self, kv: KV, root: str, now: Callable[[], float]) -> None:
        self._kv = kv
        self._root = root
        self._now = now

    def propose(self, wanted: Proposal, holder: Holder | None = None) -> tuple[Proposal, bool]:
        """Store a proposal and return it, or the one that is there for the same; the second value
        says whether it is new.

        The `holder` wants it, without one an owner on the machine. `PlacesTaken` when too many
        wait already.
        """
        now = self._now()
        wanted = replace(wanted, at=now, until=now + OPEN_SECONDS, id=self._choose_id(wanted))
        known = self.find(wanted.id)
        if known and not _may_be_made_again(known, now):
            return known, False
        self._reserve_place(wanted, holder)
        # before the proposal: one that stands without its mark would never be settled
        mark = Mark(now)
        mark_key = keys.unsettled_proposal(self._root, wanted.id)
        self._kv.put(mark_key, dumps(mark), ttl=KEPT_SECONDS)

        def decide(value: bytes | None) -> tuple[bytes | None, tuple[Proposal, bool]]:
            before = PROPOSAL.read(value) if value else None
            if before and not _may_be_made_again(before, now):
                return None, (before, False)
            made = replace(wanted, round=before.round + 1 if before else 1)
            return dumps(made), (made, True)

        return update(self._kv, keys.proposal(self._root, wanted.id), decide, OPEN_SECONDS * 60)

    def find(self, id: str) -> Proposal | None:
        """Return the proposal of an id, None when there is none."""
        item = self._kv.get(keys.proposal(self._root, id))
        return _read(item.value) if item else None

    def scan(self) -> Iterator[Proposal]:
        """Yield all proposals of the last month, in no order."""
        for _, item in scan_all(self._kv, keys.proposal(self._root, "").partition):
            yield _read(item.value)

    def list_open(self) -> list[Proposal]:
        """Return those that wait for an owner, the oldest first."""
        now = self._now()
        found = [each for each in self.scan() if each.state_at(now) == "open"]
        return sorted(found, key=lambda each: (each.at, each.id))

    def decide(
        self, id: str, state: Literal["approved", "denied"], by: str, message: str = ""
    ) -> Proposal:
        """Approve or deny a proposal, in a message where one has this id, and return it; the same
        decision again changes nothing.

        `UsageError` ENOENT for one that does not exist, EINVAL for one that is decided already.
        """
        require_id(id)
        now = self._now()

        def choose(value: bytes | None) -> tuple[bytes | None, Proposal]:
            known = PROPOSAL.read(value) if value else None
            if known is None:
                raise _refuse_unknown(id)
            now_state = known.state_at(now)
            if now_state == state:
                return None, known
            if now_state != "open":
                raise UsageError(
                    "EINVAL",
                    f"the proposal {known.id} is {now_state} already",
                    suggestion="what is decided stays: let the agent be asked for it anew",
                )
            decided = replace(
                known,
                state=state,
                decided_by=one_line(by, ID_CHARACTERS),
                decided_at=now,
                decided_in=message,
            )
            return dumps(decided), decided

        decided = update(self._kv, keys.proposal(self._root, id), choose, KEPT_SECONDS)
        self._free_place(decided)
        return decided

    def lapse(self, proposal: Proposal) -> Proposal | None:
        """Write down that nobody has decided on a proposal in time, and return what stands then;
        None where that is another one by now.
        """

        def choose(value: bytes | None) -> tuple[bytes | None, Proposal | None]:
            known = PROPOSAL.read(value) if value else None
            if known is None or known.round != proposal.round:
                return None, None
            if known.state != "open" or self._now() < known.until:
                return None, known
            lapsed = replace(known, state="lapsed", decided_at=known.until)
            return dumps(lapsed), lapsed

        return update(self._kv, keys.proposal(self._root, proposal.id), choose, KEPT_SECONDS)

    def scan_unsettled(self) -> Iterator[tuple[str, Item]]:
        """Yield the ids of all proposals that have not come to their end, with their marks."""
        yield from scan_all(self._kv, keys.unsettled_proposal(self._root, "").partition)

    def count_try(self, id: str, item: Item, mark: Mark) -> None:
        """Note in the mark of a proposal that its event was put once more."""
        with suppress(Conflict):  # another tick has, or it was proposed anew
            tried = dumps(replace(mark, tries=mark.tries + 1))
            key = keys.unsettled_proposal(self._root, id)
            self._kv.put(key, tried, expect=item.version, ttl=KEPT_SECONDS)

    def settle(self, id: str, item: Item | None = None) -> None:
        """Take away the mark of a proposal whose last event is in the queue; only `item`, when it
        is given.
        """
        with suppress(Conflict):  # it was proposed anew
            expect = item.version if item else None
            self._kv.delete(keys.unsettled_proposal(self._root, id), expect=expect)

    def end(self, proposal: Proposal, state: Literal["applied", "lapsed"]) -> None:
        """Write down what became of an approved proposal; doing it again changes nothing."""

        def choose(value: bytes | None) -> tuple[bytes | None, None]:
            known = PROPOSAL.read(value) if value else None
            if known is None or known.state != "approved" or known.round != proposal.round:
                return None, None
            return dumps(replace(known, state=state)), None

        update(self._kv, keys.proposal(self._root, proposal.id), choose, KEPT_SECONDS)

    def note_version(self, proposal: Proposal, version: int) -> None:
        """Write down which version of a part of the agent an approved proposal has made."""
        self._change(proposal, lambda known: replace(known, version=version))

    def note_rollback(self, proposal: Proposal, by: str, message: str = "") -> Proposal:
        """Write down who has rolled back what a proposal changed, in a message where one has this
        id, and return it; doing it again changes nothing.
        """
        now = self._now()

        def note(known: Proposal) -> Proposal:
            if known.rolled_back_at:
                return known
            who = one_line(by, ID_CHARACTERS)
            return replace(known, rolled_back_by=who, rolled_back_at=now, decided_in=message)

        return self._change(proposal, note)

    def _change(self, proposal: Proposal, change: Callable[[Proposal], Proposal]) -> Proposal:
        """Change a proposal as it is stored, unless another round of it is there by now."""

        def choose(value: bytes | None) -> tuple[bytes | None, Proposal]:
            known = PROPOSAL.read(value) if value else None
            if known is None or known.round != proposal.round:
                return None, proposal
            changed = change(known)
            return (None if changed == known else dumps(changed)), changed

        return update(self._kv, keys.proposal(self._root, proposal.id), choose, KEPT_SECONDS)

    def _choose_id(self, wanted: Proposal) -> str:
        """Return the id of a proposal: a part of its digest, a longer one where another has it."""
        short = self.find(wanted.digest[:ID_DIGITS])
        is_free = short is None or short.digest == wanted.digest
        return wanted.digest[: ID_DIGITS if is_free else LONG_ID_DIGITS]

    def _reserve_place(self, wanted: Proposal, holder: Holder | None) -> None:
        """Take one of the agent's places for an open proposal.

        They stand in one item, so that calls that run side by side never take more.
        """
        from functions.agent.shares import Places, require_place

        def encode(who: str) -> str:
            return hash_name(who, wanted.agent)

        kind = Places("waiting proposals", OPEN_MOST, FREED, code="ELIMIT", encode=encode)

        def choose(value: bytes | None) -> tuple[bytes | None, None]:
            places = _read_places(value, wanted.at)
            if wanted.id not in places:
                require_place(kind, Counter(by for _, by in places.values()), holder)
            places[wanted.id] = (wanted.until, encode(wanted.by))
            return orjson.dumps(places), None

        update(self._kv, keys.open_proposals(wanted.agent), choose, KEPT_SECONDS)

    def _free_place(self, decided: Proposal) -> None:
        def choose(value: bytes | None) -> tuple[bytes | None, None]:
            places = _read_places(value, self._now())
            if places.pop(decided.id, None) is None:
                return None, None
            return orjson.dumps(places), None

        update(self._kv, keys.open_proposals(decided.agent), choose, KEPT_SECONDS)


def require_id(id: str) -> None:
    """Raise `UsageError` ENOENT for what cannot be the id of a proposal."""
    if not _ID.fullmatch(id):
        raise _refuse_unknown(id)


def _refuse_unknown(id: str) -> UsageError:
    return UsageError(
        "ENOENT",
        f"there is no proposal {one_line(id, 20) or 'without an id'}",
        suggestion="`/proposals` in a chat, or `uncaged proposals`, shows those that wait",
    )


def make_proposal(event: Event, agent: str, acts: Sequence[Act], call: AskedCall) -> Proposal:
    """Return the proposal of an agent to make a call in the turn of an event; it has no id yet.

    `Refused` ETOOBIG for a call that is too long to be shown.
    """
    arguments = call.canonical
    if len(arguments) > ARGUMENTS_CHARACTERS:
        raise Refused(
            "ETOOBIG",
            "an owner has to approve this, and its arguments are too long to be shown",
            suggestion=f"give it at most {ARGUMENTS_CHARACTERS:,} characters of arguments",
        )
    offer = call.offer
    names = tuple(map(str, acts))
    part = [agent, event.session, event.behalf, names, call.tool, arguments]
    if call.permissions and len(names) == 1:
        # a grant holds for everybody: who asked first, and with which words, is all the same
        part = [agent, names, call.tool]
    digest = sha256(orjson.dumps([*part, offer.digest if offer else ""])).hexdigest()
    kept = {name: event.data[name] for name in ("home", "home_agent", "from") if name in event.data}
    kept[WORK] = find_work(event)
    return Proposal(
        id="",
        digest=digest,
        agent=agent,
        session=event.session,
        by=event.behalf,
        acts=names,
        tool=call.tool,
        arguments=arguments,
        offer=offer,
        own_work=event.kind != "message",
        private=event.private,
        language=event.language,
        data=kept,
        permissions=call.permissions,
    )


def find_work(event: Event) -> str:
    """Return the piece of work that an event belongs to. An approved call belongs to the one that
    asked for it, whose caps it counts for.
    """
    asked = event.data.get(WORK) if "proposal" in event.data else None
    if isinstance(asked, str) and asked:
        return asked
    if event.kind == "message":
        return event.id
    return event.task or (event.id if event.is_own_work else event.root or event.id)


def make_approval(proposal: Proposal) -> Event:
    """Return the event that lets an approved call go on, the same one each time."""
    at = proposal.decided_at
    return Event(
        id=f"approval:{proposal.agent}:{proposal.id}:{proposal.round}",
        kind="mail",
        agent=proposal.agent,
        session=proposal.session,
        sender=Sender(SENDER),
        text="",
        at=at,
        order=order_of(at, 0),
        private=proposal.private,
        language=proposal.language,
        by=proposal.by,
        data={**proposal.data, "proposal": proposal.id, "round": proposal.round},
    )


def describe_decision(proposal: Proposal) -> Entry:
    """Return the ledger's entry of what was decided on a proposal."""
    state = ROLLED_BACK if proposal.rolled_back_at else proposal.state
    facts = {"proposal": proposal.id, "state": state, "acts": list(proposal.acts)}
    return Entry("proposal", facts, names=list_chats(proposal.acts))


def make_rollback_text(proposal: Proposal, texts: Texts) -> str:
    """Return what people read of a change that was rolled back."""
    acts = ", ".join(proposal.acts)
    return texts.proposal_rolled_back.format(id=proposal.id, acts=acts)


def make_notice(proposal: Proposal, texts: Texts) -> Event | None:
    """Return the event that says in the chat of a proposal why it is not done, or not any more,
    the same one each time; None where no chat belongs to it.
    """
    word = "lapse"
    pattern = texts.proposal_undone if proposal.decided_by else texts.proposal_lapsed
    at = proposal.decided_at
    if proposal.rolled_back_at:
        word = "rollback"
        pattern = texts.proposal_rolled_back
        at = proposal.rolled_back_at
    elif proposal.state == "denied":
        word = "denial"
        pattern = texts.proposal_denied
    home = proposal.data.get("home") if proposal.session.startswith("own:") else proposal.session
    if not isinstance(home, str) or not home:
        return None
    return Event(
        id=f"{word}:{proposal.agent}:{proposal.id}:{proposal.round}",
        kind="say",
        agent=keys.root_of(proposal.agent),
        session=home,
        sender=Sender(SENDER),
        text=pattern.format(id=proposal.id, acts=", ".join(proposal.acts)),
        at=at,
        order=order_of(at, 0),
        private=True,
        language=proposal.language,
        by=proposal.by,
        data={"from": "approval"},
    )


def _may_be_made_again(known: Proposal, now: float) -> bool:
    state = known.state_at(now)
    if state == "denied":
        return now - known.decided_at >= DENIED_SECONDS
    return state in ("lapsed", "applied", ROLLED_BACK)


def _read(value: bytes) -> Proposal:
    try:
        return PROPOSAL.read(value)
    except ValueError:
        raise damaged("a proposal cannot be read") from None


def _read_places(value: bytes | None, now: float) -> dict[str, tuple[float, str]]:
    """Return the open proposals that have not lapsed."""
    try:
        places = _PLACES.read(value) if value else {}
    except ValueError:
        places = {}
    return {id: place for id, place in places.items() if place[0] > now}
