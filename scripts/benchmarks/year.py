"""Plays a year of chat with a scripted model, day after day through the agent's own entry point, for
the cost of a turn and for the facts that the memory still has at the end.

The model keeps the memory as it is asked to: facts stay, recent topics go when there is no more
space.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import orjson

from functions.agent.app import App
from functions.agent.consolidation import consolidate_owed
from functions.agent.conversation import tokens
from functions.agent.conversation.messages import ToolCall, Usage
from functions.agent.conversation.toolset import QUERY
from functions.agent.model.base import SAVE_MEMORY, ModelReply, ModelRequest
from functions.agent.turn.turn import run_turn
from functions.events import Event, Sender, order_of
from functions.time.clock import Clock

MESSAGES = 10_000
WEEK = 96
"""Turns in a week of such a year: each has a message and its answer."""
BEGAN = 1_767_225_600.0
"""The first of January 2026."""
SESSION = "terminal:year"
FIRST = "My sister is called Mirabel and keeps bees in Tartu."
_LIMIT = re.compile(r"[Aa]t\s+most ([0-9,]+) characters|in at\s+most ([0-9,]+)")
_FACT = re.compile(r"^\[[^\]]*\] USER: (Note: .*)$", re.MULTILINE)
_WORDS = (
    "the harbour winter letter market bridge copper garden lantern river music paper window silver"
    " morning road".split()
)


@dataclass(frozen=True, slots=True)
class TurnCost:
    """The cost of a turn: tokens of its largest request, CPU of our own process in ms, bytes of the
    session's document after it.
    """

    prompt: float
    cpu: float
    size: int


@dataclass(frozen=True, slots=True)
class WeekCost:
    """A week's turns: the mean of their prompts and sizes, and the median of their CPU, which other
    processes of this machine disturb.
    """

    prompt: float
    cpu: float
    size: float


def summarize_week(turns: Sequence[TurnCost]) -> WeekCost:
    """Return the means and the median of a week's turns."""
    return WeekCost(
        statistics.fmean(turn.prompt for turn in turns),
        statistics.median(turn.cpu for turn in turns),
        statistics.fmean(turn.size for turn in turns),
    )


@dataclass(slots=True)
class YearModel:
    """The scripted model. `prompt`: the tokens of the largest request since it was set to 0; `busy`:
    the seconds that it took itself; `system`: the last system message of the conversation.
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
        """Answer a request, as `Model.chat` does."""
        began = time.process_time()
        size = tokens.of_text(orjson.dumps([request.messages, request.tools]).decode())
        system = str(request.messages[0]["content"])
        text = str(request.messages[-1]["content"] or "")
        if "<<IDENTITY>>" in system:
            self.system = system
            self.prompt = max(self.prompt, size)
            reply = ModelReply("I see. " + _make_words(len(text) + len(request.messages), 60))
            if "look up" in text and request.messages[-1]["role"] == "user":
                query = ToolCall("call_1", QUERY, '{"query":"weather forecast"}')
                reply = ModelReply(calls=(query,), finish="tool_calls")
        else:
            reply = self._consolidate(system, text)
        self.busy += time.process_time() - began
        return replace(reply, usage=Usage(round(size), 60))

    def _consolidate(self, system: str, text: str) -> ModelReply:
        """Keep the facts of a transcript in the memory, within the size that `system` allows."""
        memory = _extract_part("MEMORY", text)
        transcript = _extract_part("TRANSCRIPT", text)
        self.consolidations += 1
        limit = _LIMIT.search(system)
        assert limit
        most = int((limit[1] or limit[2]).replace(",", ""))
        lines = [line for line in memory.split("\n") if line.startswith("- ")]
        lines += [f"- {fact[1]}" for fact in _FACT.finditer(transcript)]
        lately = transcript.rpartition("USER: ")[2].partition("\n")[0][:120]
        if lately:
            lines.append(f"- Lately: {lately}")
        while sum(map(len, lines)) + len(lines) > most - 20:
            lines.remove(next((line for line in lines if line.startswith("- Lately")), lines[-1]))
        update = "\n".join(["# Memory", *lines])
        if not transcript:
            return ModelReply(update)
        entry = f"[{transcript[1:17]}] They talked about {lately}."
        saved = orjson.dumps({"history_entry": entry, "memory_update": update}).decode()
        return ModelReply(calls=(ToolCall("call_1", SAVE_MEMORY, saved),), finish="tool_calls")


def chat(app: App, turns: int, model: YearModel, session: str = SESSION) -> Iterator[TurnCost]:
    """Play the first `turns` of a year's 5,000 turns; yield the cost of each."""
    app = replace(app, model=model, limits=replace(app.limits, tokens=0, ticks=0))
    for number in range(turns):
        now = BEGAN + number * 365 * 86_400 / (MESSAGES / 2)
        app = replace(app, clock=Clock(now=lambda now=now: now))  # type: ignore[misc]
        sender = Sender("terminal:local", "you")
        event = Event(
            f"{session}:{number}",
            "message",
            app.name,
            session,
            sender,
            _make_message(number),
            now,
            order_of(now, number),
            private=True,
        )
        model.prompt = 0.0
        busy = model.busy
        cpu = time.process_time()
        opened = run_turn(event, app)
        spent = time.process_time() - cpu - (model.busy - busy)
        size = app.sessions.clear_outbox(opened).size
        if opened.document.owes_memory:
            consolidate_owed(opened.key, app)
        yield TurnCost(model.prompt, spent * 1e3, size)


def _make_message(number: int) -> str:
    """Return the user's message of a turn: mostly plain words, now and then a fact or a request."""
    if number == 0:
        return f"Note: {FIRST}"
    if number % 120 == 7:
        return (
            f"Note: the {_WORDS[number % len(_WORDS)]} of number {number} is at"
            f" {number * 7 % 1000}."
        )
    words = _make_words(number, 30)
    return f"Please look up the weather. {words}" if number % 12 == 5 else words


def _make_words(number: int, words: int) -> str:
    return f"{number}: " + " ".join(
        _WORDS[(number * 7 + place * place) % len(_WORDS)] for place in range(words)
    )


def _extract_part(name: str, text: str) -> str:
    """Return the text between the delimiters of `name`."""
    return text.partition(f"<<{name}>>\n")[2].partition(f"\n<</{name}>>")[0]
