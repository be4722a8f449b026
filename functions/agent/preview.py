"""What the model would get for a chat's next turn, exactly, and what each part of it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from functions.agent import context, tokens
from functions.agent.app import App
from functions.agent.eviction import left
from functions.agent.loop import overhead
from functions.agent.session.document import Document
from functions.agent.strategies import compacted
from functions.agent.toolset import STATIC, definitions, in_scope
from sigil.protocol import Json
from sigil.strict_json import canonical


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the prompt: `tokens` estimated, `text` as the model reads it."""

    name: str
    tokens: int
    text: str


@dataclass(frozen=True, slots=True)
class Preview:
    """`messages` and `tools` as they are sent; `segments` the same in parts; `tokens` of all of it,
    `window` of the model.

    `leaving`: how many messages the next turn takes out of the history first, which the model tells
    memory of then.
    """

    messages: Sequence[Mapping[str, Json]]
    tools: Sequence[Mapping[str, Json]]
    segments: Sequence[Segment]
    tokens: int
    window: int
    leaving: int = 0


def preview(session: str, document: Document, app: App) -> Preview:
    """The prompt of a session (S of the keys) as it stands; the next message would be its last."""
    preamble = app.preamble(session)
    made = compacted(
        app.strategy,
        document.messages,
        context.room(app.model.window, overhead(preamble), document.ratio),
    )
    document = left(document, made, app, _unasked)
    offers = in_scope(document.messages)
    messages, tools = context.prompt(preamble, document.messages), definitions(offers)
    parts = [(name, tokens.of_text(text), text) for name, text in preamble.segments]
    parts += [
        (_name(message), tokens.of_text(_body(message)), _body(message)) for message in messages[1:]
    ]
    parts += [
        ("static tool" if number < len(STATIC) else "tool", *_tool(tool))
        for number, tool in enumerate(tools)
    ]
    segments = [Segment(name, round(cost * document.ratio), text) for name, cost, text in parts]
    return Preview(
        messages,
        tools,
        segments,
        sum(segment.tokens for segment in segments),
        app.model.window,
        len(made.dropped),
    )


def _unasked(system: str, text: str) -> str:
    """Nobody is asked for a summary: whoever looks changes nothing, and it costs nothing."""
    return ""


def _name(message: Mapping[str, Json]) -> str:
    return f"{message['role']} calls" if message.get("tool_calls") else str(message["role"])


def _body(message: Mapping[str, Json]) -> str:
    calls = [
        f"{call['function']['name']} {call['function']['arguments']}"
        for call in message.get("tool_calls", ())
    ]
    return "\n".join(filter(None, [message.get("content") or "", *calls]))


def _tool(tool: Mapping[str, Json]) -> tuple[float, str]:
    text = canonical(tool).decode()
    return tokens.of_text(text), text
