"""The account follows what a worker knows of its chat from document to document, and compares it
with the rules.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from functions.agent.safety.guides import ALERT
from functions.agent.safety.status import REASONS
from functions.events import Event
from functions.texts.en import TEXTS as ENGLISH
from tests.functions.agent.safety.rules import CALLS, ROW, Agent, Call, Chat, fingerprint

Stored = dict[str, Any]
PAIN = "【System Pain Alert】"
NEW: Stored = {"turn": None, "seen": [], "next_seq": 1}
NEARLY_USED = re.compile(r"\n\n\(\d+% of (?:my|this chat's) budget of tokens is used\.[^\n]+\)$")
PEOPLE = ("owner", "member")


class Account:
    """The chat `name` of an agent, as one worker sees it. `demand` is told what does not hold;
    `told_to_stop` about which turn.
    """

    def __init__(
        self,
        name: str,
        agent: Agent,
        events: dict[str, Event],
        seen: Counter[str],
        demand: Callable[[object, str], None],
    ) -> None:
        self.name, self.agent, self._events, self._seen, self._demand = (
            name,
            agent,
            events,
            seen,
            demand,
        )
        self.chat = Chat()
        self.turn = ""
        self.said: str | None = None
        """The final text of the model, once it gave one."""
        self._next, self._done = 1, set[str]()

    def read(self, document: Stored) -> None:
        """The worker has read the chat's document."""
        self.chat = self.agent.chat(self.name)
        self._remember(document)

    def bars(self) -> str:
        """Why nothing may be asked or called now."""
        return self.agent.bars(self.name, self.chat)

    def paid(self, tokens: int) -> None:
        """A request of the turn in progress was answered."""
        event = self._events[self.turn]
        self.chat = self.agent.asked(
            self.name, self.chat, event.id if event.kind == "message" else "", tokens
        )

    def follow(self, document: Stored, stopped: bool) -> None:
        """The worker is about to write this document over the one before. `stopped`: its turn was
        told to.
        """
        turn = _turn(document)
        done = set(document["seen"]) - self._done
        texts = {reply["event"]: reply["text"] for reply in document["outbox"]}
        if turn and turn != self.turn:
            self._begin(turn, "")
        for event in done - {self.turn}:
            self._begin(event, texts.get(event, ""))
        if self.turn in done:
            self._end(texts[self.turn], stopped)
        elif turn:
            self.said = None
            self._answer(document["messages"], stopped)
        self._compare(document["safety"])
        self._remember(document)

    def _remember(self, document: Stored) -> None:
        self.turn, self._next, self._done = (
            _turn(document),
            document["next_seq"],
            set(document["seen"]),
        )

    def _begin(self, identity: str, text: str) -> None:
        """Something happens in the chat. `text`: what it was answered at once."""
        event, self.said = self._events[identity], None
        if event.text.startswith("/"):
            self.chat = (
                self.agent.shut(self.chat, "")
                if self.chat.closed and self.chat.since is None
                else self.chat
            )
            return
        noticed = self.chat.closed and self.chat.since is not None
        self.chat = self.agent.heard(
            self.name,
            self.chat,
            person=event.kind == "message" and event.sender.id.startswith(PEOPLE),
        )
        if noticed and self.chat.closed and event.kind == "task":
            self._demand(
                not text, f"scheduled work says {text!r} in a chat that is known to be closed"
            )
            self._seen["quiet"] += 1
            return
        begun = self.agent.begun(self.chat, event.id if event.kind == "message" else "")
        reason = self.agent.bars(self.name, begun)
        self._demand(
            bool(reason) == bool(text),
            f"{identity} is answered with {text!r}, and the chat is closed by {reason!r}",
        )
        if reason:
            self._close(text, reason)
        else:
            self.chat = begun

    def _end(self, text: str, stopped: bool) -> None:
        """The turn in progress ends with these words."""
        reason = self.bars()
        text, warned, _ = NEARLY_USED.sub("\n\0", text).partition("\n\0")
        self._seen["warned"] += bool(warned)
        if text == ENGLISH.gave_up:
            self._seen["given up"] += 1
        elif self.said is not None and not self.chat.closed:
            named = self.chat.row > 0 and text.startswith(f"{self.said}\n\n(`")
            self._demand(
                text == self.said or named, f"{text!r} is said, and the model said {self.said!r}"
            )
            self._seen["answered"] += 1
        elif reason:
            self._close(text, reason)
        else:
            self._demand(
                stopped and text == ENGLISH.stopped,
                f"the turn ended with {text!r}, and nothing was in its way",
            )
            self._seen["stopped"] += 1

    def _close(self, text: str, reason: str) -> None:
        self._demand(
            text.startswith(REASONS[reason].why),
            f"{text!r} is said, and the chat is closed by {reason!r}",
        )
        self._seen[f"told of {reason}"] += 1
        self.chat = self.agent.shut(self.chat, reason)

    def _answer(self, messages: list[Stored], stopped: bool) -> None:
        """The calls that were answered since the document before, and what stands below their
        results.
        """
        fresh = [
            message
            for message in messages
            if message["role"] == "tool" and message["seq"] >= self._next
        ]
        if not fresh:
            return
        asked = next(message["calls"] for message in reversed(messages) if message["calls"])
        calls = [_call(asked, message) for message in fresh]
        for call in calls:
            self._demand(
                call.code != "ESTOPPED" or stopped or self.agent.stops(self.name),
                "a call was stopped by nobody",
            )
            self._seen[
                f"{'failed' if call.counts else 'not counted'}: {call.code}"
                if call.code
                else "went well"
            ] += 1
        self.chat, reason, words = self.chat.after(calls)
        for message, call, said in zip(fresh, calls, words, strict=True):
            below = message["content"].partition("\n")[2]
            again = (
                f"the very same result {said.again} times." in below
                if said.again
                else "SYSTEM NOTICE" not in below
            )
            right = (PAIN in below, ALERT in below, again) == (said.pain, said.alert, True)
            self._demand(right, f"below {call} stands {below!r}, and by the rules {said}")
            self._seen.update({"alerts": said.alert, "notices": bool(said.again)})
        if reason:
            self._seen[f"closed by {reason}"] += 1
            self.chat = self.agent.shut(self.chat, reason)

    def _compare(self, safety: Stored) -> None:
        chat, counters = self.chat, safety["counters"]
        stored = {
            "reason": safety["reason"],
            "row": counters["consecutive"],
            "window": [(one["fingerprint"], one["failed"]) for one in counters["window"]],
            "failures": [(one["fingerprint"], one["code"]) for one in counters["failures"]],
            "ticks": safety["ticks"],
            "tokens": (safety["period"], safety["spent"], safety["free"]),
        }
        ruled = {
            "reason": chat.closed,
            "row": chat.row,
            "window": [(one.fingerprint, bool(one.code)) for one in chat.window],
            "failures": [(one.fingerprint, one.code) for one in chat.failures],
            "ticks": chat.ticks,
            "tokens": (chat.day, chat.spent, chat.free),
        }
        self._demand(chat.row < ROW + CALLS, "the row of failures grows without an end")
        for name, value in ruled.items():
            self._demand(
                stored[name] == value,
                f"{name}: stored is {stored[name]}, by the rules it is {value}",
            )


def _turn(document: Stored) -> str:
    return document["turn"]["event"]["id"] if document["turn"] else ""


def _call(asked: list[Stored], message: Stored) -> Call:
    place, call = next(
        (place, call) for place, call in enumerate(asked) if call["id"] == message["call_id"]
    )
    result = message["content"].partition("\n")[0]
    code = json.loads(result).get("error", {}).get("code", "")
    return Call(fingerprint(call["name"], call["arguments"]), place, code, result)
