"""A preview shows exactly what the model would get for a chat's next turn, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from functions.agent.app import App
from functions.agent.context import build_prompt
from functions.agent.conversation import tokens
from functions.agent.conversation.compaction import apply_strategy
from functions.agent.conversation.prompt import PromptMessage, ToolDefinition
from functions.agent.conversation.toolset import STATIC, define_tools, in_scope
from functions.agent.eviction import apply_compaction
from functions.agent.session.document import Document
from sigil.json_fields import as_string
from sigil.protocol import OWN_WORK
from sigil.storage.kv import keys
from sigil.strict_json import canonical

Part = Literal["system", "memory", "talk", "static", "tool"]
PARTS: Final[tuple[Part, ...]] = ("system", "memory", "talk", "static", "tool")
"""What a prompt consists of, in order: the last two are the tools that are always there, and those
that the history has brought.
"""
_REMEMBERED: Final = "memory"
"""The names of the segments with what is remembered begin so."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of the prompt: `tokens` are estimated, `text` is as the model reads it, and `part`
    says to what it belongs.
    """

    name: str
    tokens: int
    text: str
    part: Part


@dataclass(frozen=True, slots=True)
class Preview:
    """The next request, whole and in parts.

    `messages` and `tools` are as they are sent, `segments` the same in parts, `tokens` estimates
    all of it, and `window` is the model's. `leaving` counts the messages that the next turn takes
    out of the history first; the model tells memory of them then.
    """

    messages: Sequence[PromptMessage]
    tools: Sequence[ToolDefinition]
    segments: Sequence[Segment]
    tokens: int
    window: int
    leaving: int = 0


def preview_prompt(session: str, document: Document, app: App) -> Preview:
    """Return the prompt of a session (S of the keys); the next message would be its last.

    It changes nothing and costs nothing: the model is not asked for a summary.
    """
    own = keys.unescape(session.partition("#")[2]).startswith(OWN_WORK)
    preamble = app.build_preamble(document.memory or session, own=own)
    room = app.count_room(preamble, document.ratio)
    compacted = apply_strategy(app.strategy, document.messages, room)
    document = apply_compaction(document, compacted, app, lambda *_: "")
    offers = in_scope(document.messages)
    stamp = app.make_stamp(document)
    messages = build_prompt(preamble, document.messages, stamp, len(document.messages))
    tools = define_tools(offers)
    said = [*preamble.segments, *preamble.remembered]
    parts: list[tuple[str, str, Part]] = [
        (name, text, "memory" if name.startswith(_REMEMBERED) else "system") for name, text in said
    ]
    for message in messages[1 : len(document.messages) + 1]:
        name = f"{message['role']} calls" if message.get("tool_calls") else message["role"]
        content = as_string(message["content"])
        lines = [content] if content else []
        for call in message.get("tool_calls", ()):
            lines.append(f"{call['function']['name']} {call['function']['arguments']}")
        parts.append((name, "\n".join(lines), "talk"))
    for number, tool in enumerate(tools):
        text = canonical(tool).decode()
        is_static = number < len(STATIC)
        parts.append(("static tool", text, "static") if is_static else ("tool", text, "tool"))
    segments = [
        Segment(name, round(tokens.of_text(text) * document.ratio), text, part)
        for name, text, part in parts
    ]
    total = sum(segment.tokens for segment in segments)
    return Preview(messages, tools, segments, total, app.model.window, len(compacted.dropped))
