"""A year of chat with a scripted model, day after day through the agent's own entry point: what a turn
costs, and what is still known.

The model keeps the memory as it is asked to: facts stay, what was talked about lately goes when
there is no more room.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import orjson

from functions.agent import tokens
from functions.agent.app import App
from functions.agent.messages import ToolCall, Usage
from functions.agent.model.base import SAVE_MEMORY, ModelReply, ModelRequest
from functions.agent.toolset import QUERY
from functions.agent.turn import run_turn
from functions.clock import Clock
from functions.events import Event, Sender, order_of

MESSAGES = 10_000
WEEK = 96
"""Turns in a week of such a year: each has a message and its answer."""
BEGAN = 1_767_225_600.0
"""The first of January 2026."""
SESSION = "terminal:year"
FIRST = "My sister is called Mirabel and keeps bees in Tartu."
_ROOM = re.compile(r"[Aa]t\s+most ([0-9,]+) characters|in at\s+most ([0-9,]+)")
_FACT = re.compile(r"^\[[^\]]*\] USER: (Note: .*)$", re.MULTILINE)
_WORDS = (
    "the harbour winter letter market bridge copper garden lantern river music paper window silver"
    " morning road".split()
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: tokens of its largest request, CPU of our own process in ms, bytes of the session's
    document after it.
    """

    prompt: float
    cpu: float
    size: int


@dataclass(frozen=True, slots=True)
class Week:
    """A week's turns: the mean of their prompts and sizes, and the median of their CPU, which other
    processes of this machine disturb.
    """

    prompt: float
    cpu: float
    size: float


def week(turns: Sequence[Turn]) -> Week:
    """Sum up these turns."""
    prompts, sizes = (
        [float(number) for number in numbers]
        for numbers in zip(*((turn.prompt, turn.size) for turn in turns), strict=True)
    )
    return Week(
        statistics.fmean(prompts),
        statistics.median(turn.cpu for turn in turns),
        statistics.fmean(sizes),
    )


@dataclass(slots=True)
class Scripted:
    """A model of few words: `prompt` is the largest request since it was set to 0, `busy` the
    seconds that were its own; `system`: the last system message of the conversation.
    """

    prompt: float = 0.0
    busy: float = 0.0
    consolidations: int = 0
    system: str = ""

    @property
    def name(self) -> str:
        return "scripted"

    @property
    def window(self) -> int:
        return 32_000

    def chat(self, request: ModelRequest) -> ModelReply:
        """See `Model.chat`."""
        began = time.process_time()
        size = tokens.of_text(orjson.dumps([request.messages, request.tools]).decode())
        system, said = (
            str(request.messages[0]["content"]),
            str(request.messages[-1]["content"] or ""),
        )
        reply = (
            self._aside(system, said) if "<<IDENTITY>>" not in system else self._talk(request, said)
        )
        self.prompt = max(self.prompt, size if "<<IDENTITY>>" in system else 0.0)
        self.busy += time.process_time() - began
        return replace(reply, usage=Usage(round(size), 60))

    def _talk(self, request: ModelRequest, said: str) -> ModelReply:
        self.system = str(request.messages[0]["content"])
        if "look up" in said and request.messages[-1]["role"] == "user":
            return ModelReply(
                calls=(ToolCall("call_1", QUERY, '{"query":"weather forecast"}'),),
                finish="tool_calls",
            )
        return ModelReply("I see. " + _chatter(len(said) + len(request.messages), 60))

    def _aside(self, system: str, said: str) -> ModelReply:
        memory, transcript = (_part(name, said) for name in ("MEMORY", "TRANSCRIPT"))
        self.consolidations += 1
        most = next(
            int((found[1] or found[2]).replace(",", "")) for found in _ROOM.finditer(system)
        )
        lines = [line for line in memory.split("\n") if line.startswith("- ")]
        lines += [f"- {fact[1]}" for fact in _FACT.finditer(transcript)]
        lately = transcript.rpartition("USER: ")[2].partition("\n")[0][:120]
        lines += [f"- Lately: {lately}"] if lately else []
        while sum(map(len, lines)) + len(lines) > most - 20:
            lines.remove(next((line for line in lines if line.startswith("- Lately")), lines[-1]))
        update = "\n".join(["# Memory", *lines])
        if not transcript:
            return ModelReply(update)
        entry = f"[{transcript[1:17]}] They talked about {lately}."
        saved = orjson.dumps({"history_entry": entry, "memory_update": update}).decode()
        return ModelReply(calls=(ToolCall("call_1", SAVE_MEMORY, saved),), finish="tool_calls")


def talk(app: App, turns: int, model: Scripted, session: str = SESSION) -> Iterator[Turn]:
    """So many turns of a year's 5,000."""
    app = replace(app, model=model, limits=replace(app.limits, tokens=0, ticks=0))
    for number in range(turns):
        now = BEGAN + number * 365 * 86_400 / (MESSAGES / 2)
        app = replace(app, clock=Clock(now=lambda now=now: now))  # type: ignore[misc]
        sender, order = Sender("terminal:local", "you"), order_of(now, number)
        event = Event(
            f"{session}:{number}",
            "message",
            app.name,
            session,
            sender,
            _said(number),
            now,
            order,
            private=True,
        )
        model.prompt, busy, cpu = 0.0, model.busy, time.process_time()
        opened = run_turn(event, app)
        spent = time.process_time() - cpu - (model.busy - busy)
        yield Turn(model.prompt, spent * 1e3, app.sessions.clear_outbox(opened).size)


def _said(number: int) -> str:
    if number == 0:
        return f"Note: {FIRST}"
    if number % 120 == 7:
        return (
            f"Note: the {_WORDS[number % len(_WORDS)]} of number {number} is at"
            f" {number * 7 % 1000}."
        )
    return ("Please look up the weather. " if number % 12 == 5 else "") + _chatter(number, 30)


def _chatter(number: int, words: int) -> str:
    return f"{number}: " + " ".join(
        _WORDS[(number * 7 + place * place) % len(_WORDS)] for place in range(words)
    )


def _part(name: str, text: str) -> str:
    return text.partition(f"<<{name}>>\n")[2].partition(f"\n<</{name}>>")[0]
