"""The promises, watched from outside while the workers work: what each write, request, call and
send must never be.
"""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import orjson

from functions.agent.conversation.toolset import STATIC
from functions.agent.model.base import ModelRequest
from functions.agent.model.outage import EVENT_SUFFIX
from functions.agent.safety.status import REASONS
from functions.agent.session.document import HIDDEN
from functions.events import Event
from functions.reply_sender import UNSENT_SECONDS
from functions.texts.en import TEXTS as ENGLISH
from functions.worker import TRIES_MOST
from sigil.storage.kv import Item, Key, keys
from sigil.storage.kv.memory import MemoryKV
from tests.simulation import histories
from tests.simulation.scheduler import Actor, Scheduler

LEASE = 180.0
ATTEMPTS = 3
WAITS = 6
NOTICES = tuple(reason.why for reason in REASONS.values())


@dataclass(eq=False)
class Post:
    """A message of a person. `started` and `kept`: where in the story the webhook began, and
    answered 200 (None: not yet).
    """

    event: Event
    started: int | None = None
    kept: int | None = None


@dataclass(eq=False)
class Sent:
    """A part of a reply that reached the platform. `marked`: the store knows; `hurt`: something
    kept its sender from noting it.
    """

    event: str
    part: int
    text: str
    actor: Actor
    marked: bool = False
    hurt: bool = False


@dataclass(eq=False)
class View:
    """The session's document as an actor has it, whether it looked for a mark since it last did
    something, the claim it saw ended.

    `locks`: those of agent and session that it looked at since, and whether they were closed.
    `sure`: the last that it asked of the store told it that it has its place.
    """

    session: str = ""
    version: str = ""
    document: dict[str, Any] = field(default_factory=dict)
    looked: bool = False
    told: str = ""
    locks: dict[str, bool] = field(default_factory=dict)
    ended: str = ""
    sure: bool = False


class Promises:
    """Watches one run. What is broken is told to the scheduler, which ends the run."""

    def __init__(self, scheduler: Scheduler, kv: MemoryKV) -> None:
        self._scheduler, self._kv = scheduler, kv
        self.posts: dict[str, Post] = {}
        self.sends: list[Sent] = []
        self.blocked: set[str] = set()
        self.dropped: set[str] = set()
        self.missed: set[str] = set()
        """What a locked chat did not work on and said nothing of by itself: it is counted, and told
        of later.
        """
        self.tellers: dict[str, str] = {}
        """The event whose turn has answered another one as well."""
        self.given_back: defaultdict[str, set[int]] = defaultdict(set)
        """The messages of a session that a turn had gathered when it was given up."""
        self.refused: Counter[str] = Counter()
        """How often the platform did not take a reply to an event."""
        self.marked: set[str] = set()
        self.reasons: dict[str, str] = {}
        self.closed: defaultdict[str, set[str]] = defaultdict(set)
        self.opens: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        """How many workers lost a session since its last event was closed."""
        self.seen: Counter[str] = Counter()
        self._views: defaultdict[Actor, View] = defaultdict(View)
        self._runs: set[str] = set()
        self._claimed: dict[str, float] = {}

    def read(self, key: Key, item: Item | None) -> None:
        """An actor read an item."""
        view = self._views[self._scheduler.moving]
        view.sure = key.sort == "head" and item is not None and item.version == view.version
        if key.sort == "head":
            view.session = key.partition.removeprefix("session#")
            view.version, view.document = (item.version, _document(item)) if item else ("", {})
        elif key.sort == "mark":
            view.looked, view.told = True, orjson.loads(item.value)["stop"] if item else ""
        elif key.partition == "lock":
            view.locks[key.sort] = (
                item is not None
                and orjson.loads(item.value)["halted"] > orjson.loads(item.value)["unlocked"]
            )
        elif key.partition == "claim" and item:
            now = self._scheduler.time
            ended = (
                orjson.loads(item.value)["until"] <= now.wall
                or now.steady - self._claimed[item.version] >= LEASE
            )
            view.ended = item.version if ended else ""

    def wrote(self, key: Key, before: Item | None, item: Item) -> None:
        """An actor wrote an item over `before`."""
        self._views[self._scheduler.moving].sure = key.sort == "head"
        if key.sort == "head":
            self._saved(key.partition.removeprefix("session#"), before, item)
        elif key.partition.startswith("history#"):
            self.seen["remembered"] += 1
        elif key.sort == "mark":
            self.marked.add(orjson.loads(item.value)["stop"])
        elif key.partition == "claim":
            self._claim(key.sort, before, item)

    def disturbed(self, actor: Actor) -> None:
        """The actor was hurt where it stands: killed, stalled, overtaken or cut off from the
        store.
        """
        for sent in self.sends:
            if sent.actor is actor and not sent.marked:
                sent.hurt = True

    def acted(self, what: str) -> View:
        """An actor asks the model or runs a call: it must have looked for a mark right before."""
        view = self._views[self._scheduler.moving]
        turn = _turn(view.document)
        self._require(
            not view.document["safety"]["reason"],
            f"{what} for {turn} of a session that is {view.document['safety']['reason']}",
        )
        self._require(view.looked, f"{what} for {turn} without a look for /stop")
        self._require(not turn or view.told != turn, f"{what} for {turn}, which was told to stop")
        open_ = all(view.locks.get(whom) is False for whom in ("main", view.session))
        self._require(open_, f"{what} for {turn}, and of its locks it knows {view.locks}")
        view.looked, view.locks = False, {}
        return view

    def asked(self, request: ModelRequest) -> None:
        """An actor asks the model."""
        view = self.acted("a request")
        messages = view.document["messages"]
        is_last = request.tool_choice == "none"
        tools = [*STATIC, *histories.tools(messages)]
        in_full_window = is_last and list(request.tools) == [*STATIC]
        self._require(
            list(request.tools) == tools or in_full_window,
            "the tools are not those of the history",
        )
        problem = histories.unpaired(request.messages)
        self._require(not problem, f"a request with {problem}")
        self._require(
            len(request.messages) - 1 - is_last == len(messages),
            "a request with another history than the stored one",
        )

    def ran(self, name: str, digest: str, token: str, pure: bool) -> None:
        """A capability runs for the call `token`."""
        view = self.acted(f"a run of {name}")
        asked = {call["id"] for message in view.document["messages"] for call in message["calls"]}
        self._require(token in asked, f"{token} ran and is recorded nowhere")
        stored = self._kv.get(keys.session_head(view.session))
        holds = stored is not None and stored.version == view.version
        answered = holds and token in histories.answered(view.document["messages"])
        self._require(not answered, f"{token} ran again, its answer is recorded")
        self._require(pure or token not in self._runs, f"{token} has effects and ran twice")
        self.seen["runs again" if token in self._runs else "runs"] += 1
        self._runs.add(token)
        offered = {
            (offer["name"], offer["digest"])
            for offer in histories.in_scope(view.document["messages"])
        }
        self._require((name, digest) in offered, f"{name} ran at a digest that was not offered")

    def sent(self, session: str, event: str, part: int, text: str) -> None:
        """A part of a reply reached the platform."""
        me, post = self._scheduler.moving, self.posts[event]
        self._require(post.event.session == session, f"{event} is answered in {session}")
        if text.startswith(ENGLISH.model_away):
            self._waits(me, event, text)
            return
        if not post.event.skips_queue:
            self._require(
                self._views[me].sure or text == ENGLISH.gave_up,
                f"{event} is answered by somebody who did not look whether he may",
            )
            self._fits(event, text)
            self._twice(me, event, part, text)
            self._in_order(post)
        self.sends.append(Sent(event, part, text, me))
        self.seen["stopped"] += text == ENGLISH.stopped

    def _waits(self, me: Actor, event: str, text: str) -> None:
        """That a turn waits for its model is told once, by somebody who has its session, and before
        it is answered.
        """
        self._require(
            self._views[me].sure,
            f"{event} is said to wait by somebody who did not look whether he may",
        )
        overtaken = self._stored_elsewhere(me)
        self._require(
            overtaken or not self.told(event), f"{event} is said to wait, and is answered"
        )
        self._twice(me, f"{event}{EVENT_SUFFIX}", 0, text)
        self.sends.append(Sent(f"{event}{EVENT_SUFFIX}", 0, text, me))
        self.seen["said to wait"] += 1

    def _stored_elsewhere(self, me: Actor) -> bool:
        """Whether somebody else has saved the session that the actor works on."""
        view = self._views[me]
        stored = self._kv.get(keys.session_head(view.session))
        return stored is None or stored.version != view.version

    def _fits(self, event: str, text: str) -> None:
        known = text.startswith(
            (
                f"re {event} ",
                "New session",
                "Always there",
                "I could not get an answer",
                ENGLISH.mem_triggered,
                ENGLISH.mem_failed,
                ENGLISH.mem_nothing_new,
            )
        )
        known |= (
            text.startswith("I did not work on ")
            or text in (ENGLISH.gave_up, ENGLISH.out_of_time)
            or (text == ENGLISH.stopped and event in self.marked)
        )
        if text.startswith("re "):
            every = [other for other, teller in self.tellers.items() if teller == event]
            self._require(
                text.split()[1 : 2 + len(every)] == [event, *every],
                f"{event} is answered with {text!r}, and its turn has answered {every} as well",
            )
        reason = self.reasons.get(event, "")
        if text.startswith(NOTICES):
            right = bool(reason) and text.startswith(REASONS[reason].why)
            self._require(right, f"{event} is answered with {text!r}, and it stood at {reason!r}")
            self.seen[f"told of {reason}"] += 1
            return
        self._require(known, f"{event} is answered with {text!r}")

    def _twice(self, me: Actor, event: str, part: int, text: str) -> None:
        earlier = [sent for sent in self.sends if sent.event == event and sent.part == part]
        if not earlier:
            return
        self.seen["sent twice"] += 1
        overtaken = self._stored_elsewhere(me)
        last = earlier[-1]
        gap = not last.marked and (last.hurt or last.actor is not me)
        self._require(
            overtaken or gap,
            f"part {part} of the answer to {event} was sent again, and nothing had happened",
        )
        self._require(
            all(sent.text == text for sent in earlier), f"{event} got two different answers"
        )

    def _in_order(self, post: Post) -> None:
        for other in self.posts.values():
            before = (
                other.event.session == post.event.session
                and other.event.order < post.event.order
                and not other.event.skips_queue
            )
            if (
                before
                and other.kept is not None
                and post.started is not None
                and other.kept < post.started
            ):
                done = self.told(other.event.id) or self.is_excused(other.event.id)
                self._require(done, f"{post.event.id} is answered before {other.event.id}")

    def teller(self, event: str) -> str:
        """The event whose reply answers this one."""
        return self.tellers.get(event, event)

    def is_excused(self, event: str) -> bool:
        """Whether no answer to an event is to be expected, with a reason that is known."""
        return self.teller(event) in self.blocked | self.dropped | self.missed

    def told(self, event: str) -> bool:
        """Whether a whole reply has reached the platform."""
        event = self.teller(event)
        parts = {sent.part for sent in self.sends if sent.event == event}
        long = any("long" in sent.text for sent in self.sends if sent.event == event)
        return parts == ({0, 1, 2} if long else {0})

    def _claim(self, session: str, before: Item | None, item: Item) -> None:
        if before and orjson.loads(before.value)["owner"] == orjson.loads(item.value)["owner"]:
            self.seen["claims renewed"] += 1
        elif before:
            ended = self._views[self._scheduler.moving].ended == before.version
            self._require(ended, f"the claim on {session} was taken from somebody who has it")
            self.seen["claims lost"] += 1
            self.lost[session] += 1
        self._claimed[item.version] = self._scheduler.time.steady

    def _saved(self, session: str, before: Item | None, item: Item) -> None:
        me, old, new = self._scheduler.moving, _document(before) if before else {}, _document(item)
        self._views[me].version, self._views[me].document = item.version, new
        self._scheduler.record(
            f"  turn {_turn(new)}, {len(new['messages'])} messages, outbox"
            f" {[reply['event'] for reply in new['outbox']]}"
        )
        self._changed(session, old, new)
        problem = histories.broken(new["messages"], in_progress=bool(_turn(new)))
        self._require(not problem, f"the history of {session} has {problem}")
        self._emptied(old, new)
        left = {reply["event"]: reply["sent"] for reply in new["outbox"]}
        for sent in self.sends:
            if keys.session_of("main", self.posts[_answered(sent.event)].event.session) == session:
                sent.marked = sent.part < left.get(sent.event, sent.part + 1)
        if old and len(new["messages"]) < len(old["messages"]):
            self.seen["compacted"] += 1

    def _changed(self, session: str, old: dict[str, Any], new: dict[str, Any]) -> None:
        was, now, closed = _turn(old), _turn(new), self.closed[session]
        fresh = [event for event in new["seen"] if event not in old.get("seen", ())]
        self._require(not (was and now and was != now), f"{now} began while {was} was in progress")
        self._require(now not in closed, f"a second turn for {now}")
        self._require(not set(fresh) & closed, f"{fresh} was closed again")
        gathered = _gathered(old)
        given_up = any(
            reply["event"] == was and _gives_up(reply["text"]) for reply in new["outbox"]
        )
        if gathered and not now and given_up:
            first, last = gathered[0]["seq"] - 1, gathered[-1]["seq"]
            self.given_back[session] |= set(range(first, last + 1))
            self.seen["given back"] += 1
            gathered = []
        answered = [was, *(each["event"]["id"] for each in gathered)]
        self._require(
            fresh == answered if was and not now else len(fresh) <= (not now),
            f"{fresh} was closed by a write that closes {answered}",
        )
        if fresh and was:
            self.tellers.update(dict.fromkeys(fresh[1:], was))
            self.seen["gathered"] += len(fresh) - 1
        for event in set(old.get("seen", ())) - set(new["seen"]):
            self._require(
                self._kv.get(keys.seen_event(session, event)) is not None, f"{event} is forgotten"
            )
        self.seen["turns closed"] += len(fresh)
        self.reasons.update(dict.fromkeys(fresh, new["safety"]["reason"]))
        replies = {reply["event"] for reply in new["outbox"]}
        silent = {
            event
            for event in fresh
            if self.teller(event) not in replies and new["safety"]["reason"]
        }
        item = self._kv.get(keys.missed_messages(session)) if silent else None
        counted = set(orjson.loads(item.value)["events"]) if item else set()
        self._require(silent <= counted, f"{silent} got no answer, and nobody counted them")
        self.missed |= silent & counted
        self.seen["missed"] += len(silent & counted)
        closed.update(fresh)
        self._tried(old, new)
        if fresh:
            self.lost[session] = 0

    def _tried(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        """A turn is opened three times without getting on; then it is given up, and never before.

        Handing it on is getting on, six times.
        """
        was, now = _turn(old), _turn(new)
        handed_on = bool(now and was == now and new["turn"]["waits"] > old["turn"]["waits"])
        self.seen["handed on"] += handed_on
        self._require(
            not handed_on or new["turn"]["waits"] <= WAITS,
            f"{now} was handed on more than {WAITS} times",
        )
        if handed_on or (now and was == now and new["next_seq"] > old["next_seq"]):
            self.opens[now] = 0
        elif now and new["outbox"] == old.get("outbox", []):
            self.opens[now] += 1
            self._require(
                self.opens[now] <= ATTEMPTS,
                f"{now} was opened {self.opens[now]} times and got nowhere",
            )
        elif was and any(
            reply["event"] == was and _gives_up(reply["text"]) for reply in new["outbox"]
        ):
            self.seen["given up"] += 1
            lost = self.lost[keys.session_of("main", self.posts[was].event.session)]
            tried = (
                self.opens[was] == ATTEMPTS or lost >= TRIES_MOST
            )  # the backstop: workers that die of it though it gets on
            self._require(
                tried,
                f"{was} was given up after {self.opens[was]} tries, and {lost} workers that were"
                " lost",
            )
            self._require(
                self._kv.get(keys.dead_letter(was)), f"{was} was given up and is no dead letter"
            )

    def _emptied(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        left = {reply["event"] for reply in new["outbox"]}
        for reply in old.get("outbox", ()):
            event = reply["event"]
            if event in left or self.told(event) or _answered(event) in self.blocked:
                continue
            too_old = (
                self._scheduler.time.wall - reply["at"] > UNSENT_SECONDS
                and _answered(event) in self.refused
            )
            self._require(too_old, f"the answer to {event} is gone, and nobody has it")
            self.dropped.add(event)

    def _require(self, holds: object, otherwise: str) -> None:
        if not holds:
            self._scheduler.report_broken(otherwise)


def _document(item: Item) -> dict[str, Any]:
    data = item.value if item.value.startswith(b"{") else zlib.decompress(item.value)
    fields = dict(orjson.loads(data))
    fields["seen"] = [each for each in fields["seen"] if not each.startswith(HIDDEN)]
    return fields


def _gives_up(text: str) -> bool:
    """Whether it is the apology of a turn that was given up, maybe below what was missed before."""
    return text.endswith(ENGLISH.gave_up)


def _answered(reply: str) -> str:
    """The event that a reply of this id is about."""
    return reply.removesuffix(EVENT_SUFFIX)


def _gathered(document: dict[str, Any]) -> list[dict[str, Any]]:
    turn = document.get("turn")
    return list(turn.get("gathered", ())) if turn else []


def _turn(document: dict[str, Any]) -> str:
    turn = document.get("turn")
    return turn["event"]["id"] if turn else ""
