"""A model in this process whose words take time, by a clock of the test."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from functions.agent.conversation.messages import ToolCall
from functions.agent.model.base import ModelReply, ModelRequest
from functions.time.clock import Clock

Word = tuple[float, str | None]
"""After so many seconds come these words; None takes back those before."""


@dataclass(frozen=True, slots=True)
class Speech:
    """An answer: the words as they come, and what it turns out to be (None: those words)."""

    words: Iterable[Word]
    reply: ModelReply | None = None


def speak(text: str, seconds: float) -> Speech:
    """An answer whose words come in so many seconds, one after the other."""
    first, *others = text.split(" ")
    pause = seconds / (len(others) + 1)
    return Speech([(pause, first), *((pause, f" {word}") for word in others)])


def speak_and_call(text: str, seconds: float) -> Speech:
    """Words, and then a call of a tool."""
    made = ToolCall("c1", "sigil_query", '{"query": "something"}')
    return Speech(speak(text, seconds).words, ModelReply(text, (made,), finish="tool_calls"))


@dataclass
class SpeakingModel:
    """Answers with these, one after the other. `streamed` says of each request whether somebody
    wanted its words, `ended` when each answer was there.
    """

    clock: Clock
    script: list[Speech] = field(default_factory=list)
    streamed: list[bool] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)
    name: str = "speaking"
    window: int = 100_000

    def chat(self, request: ModelRequest) -> ModelReply:
        speech = self.script.pop(0)
        self.streamed.append(request.tell is not None)
        said = ""
        for seconds, words in speech.words:
            self.clock.pause(seconds)
            if request.stopped():
                return ModelReply(finish="stopped")
            said = "" if words is None else said + words
            if request.tell:
                request.tell(words)
        self.ended.append(self.clock.monotonic())
        return speech.reply or ModelReply(said)
