"""The tool check finds out whether a model calls tools, and answers after a result of one.

Endpoints refuse schemas with a list, or the second request, which repeats the call with what came
beside it; a request for a text alone shows neither.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from functions.agent.context import format_message
from functions.agent.conversation.messages import Message
from functions.agent.conversation.prompt import PromptMessage, ToolDefinition
from functions.agent.model.base import Model, ModelReply, ModelRequest, is_native_call
from sigil.errors import one_line

COUNT: Final = "cap_count"
NOTE: Final = "cap_note"
TOOLS: Final[tuple[ToolDefinition, ...]] = (
    {
        "type": "function",
        "function": {
            "name": COUNT,
            "description": "Count the items of a list.",
            "parameters": {
                "type": "object",
                "properties": {
                    "items": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "What is counted.",
                    },
                    "unit": {"type": "string", "description": "What the items are."},
                },
                "required": ["items"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": NOTE,
            "description": "Note a text.",
            "parameters": {
                "type": "object",
                "properties": {"text": {"type": "string"}},
                "required": ["text"],
            },
        },
    },
)
"""Two tools: one takes a list and a field that may be left out, the other is not to be called."""
QUESTION: Final = (
    f'[setup]\nCall the tool {COUNT} with the items "pear" and "plum". Write nothing else.'
)
RESULT: Final = '{"count": 2}'
REASON_CHARACTERS: Final = 300
TRIES: Final = 2
PAUSE_SECONDS: Final = 5.0
"""So many tries of a request may fail, with a pause of at most so many seconds between them."""
_WRITTEN: Final = re.compile(rf"<\w[^\n<>]*{COUNT}|{COUNT}(?:\(|>|[\"']\s*[,:}}])", re.ASCII)
"""A call in a text: XML, JSON, or code."""

Outcome = Literal["answers", "calls", "second", "written", "none", "refused", "failed"]


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """What a model did with tools.

    `outcome`: it called the tool and answered after the result ("answers"), or without a text
    ("calls"), or the request with the result failed ("second"); it wrote the call as text
    ("written") or made none ("none"); its endpoint took the question without tools only
    ("refused"), or not at all ("failed"). `reason` is the endpoint's own line about a refusal, and
    `reply` the last one. `notes` say what the client had to do for the replies.
    """

    outcome: Outcome
    reply: ModelReply
    reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def calls_tools(self) -> bool:
        """Return whether an agent can work with the model's calls."""
        return self.outcome in ("answers", "calls")

    def describe(self) -> str:
        """Return what was learnt, as the end of a sentence whose subject is the model."""
        learnt = {
            "answers": "calls tools and answers after a result",
            "calls": "calls tools and writes nothing after a result",
            "second": f"calls tools, but the request with the result fails: {self.reason}",
            "written": "writes calls as text",
            "none": "did not call the tool",
            "refused": f"refuses tools: {self.reason}",
            "failed": f"does not answer: {self.reason}",
        }[self.outcome]
        return f"{learnt} ({'; '.join(self.notes)})" if self.notes else learnt


def list_notes(*replies: ModelReply) -> tuple[str, ...]:
    """Return what the client had to do for these replies, each as a few words: what it left out
    after a refusal, and that a try failed.
    """
    notes = []
    for reply in replies:
        if reply.failure and reply.failure.kind == "adapted":
            notes.append(_explain(reply))
        elif reply.tries and reply.finish != "error":
            notes.append(f"{reply.tries} failed tries" if reply.tries > 1 else "1 failed try")
    return tuple(dict.fromkeys(notes))


def check_tools(model: Model, deadline: float) -> ToolFacts:
    """Ask for a call of a tool, answer it with a result, and ask again.

    `deadline` is a time of the monotonic clock, for all requests together. Only the first request
    is repeated without tools, when it is refused with them.
    """
    question: PromptMessage = {"role": "user", "content": QUESTION}
    request = ModelRequest(
        [question],
        TOOLS,
        deadline=deadline,
        may_write=lambda: True,
        tries=TRIES,
        pause_most=PAUSE_SECONDS,
    )
    first = model.chat(request)
    if first.finish == "error":
        return _ask_without_tools(model, request, first)
    call = next((call for call in first.calls if call.name == COUNT), None)
    if call is None:
        outcome: Outcome = "written" if _WRITTEN.search(first.text) else "none"
        return ToolFacts(outcome, first, notes=list_notes(first))
    second = model.chat(replace(request, messages=[question, *_answer_calls(first)]))
    if second.finish == "error":
        return ToolFacts("second", first, _explain(second), list_notes(first))
    notes = list_notes(first, second)
    if not is_native_call(call.id):
        return ToolFacts("written", second, notes=notes)
    return ToolFacts("answers" if second.text.strip() else "calls", second, notes=notes)


def _ask_without_tools(model: Model, request: ModelRequest, failed: ModelReply) -> ToolFacts:
    """Return whether a failure of the question is one of its tools."""
    if failed.failure and failed.failure.kind in ("other", "refused"):
        plain = model.chat(replace(request, tools=()))
        if plain.finish != "error":
            return ToolFacts("refused", plain, _explain(failed), list_notes(plain))
    return ToolFacts("failed", failed, _explain(failed))


def _answer_calls(reply: ModelReply) -> list[PromptMessage]:
    """Return the model's message with its calls, and their results, as a turn would send them."""
    said = Message(
        "assistant",
        reply.text,
        calls=reply.calls,
        reasoning=reply.reasoning,
        beside=reply.beside,
    )
    results = [Message("tool", RESULT, call_id=call.id) for call in reply.calls]
    return [format_message(message) for message in (said, *results)]


def _explain(reply: ModelReply) -> str:
    """Return why a request failed, in the endpoint's own words where it has any."""
    detail = reply.failure.detail if reply.failure else reply.text
    return one_line(detail, REASON_CHARACTERS)
