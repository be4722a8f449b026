"""The working set of a chat: which tools its next request has and what brought each of them, which
of them leave with the next message, and which have left.

The figures are those of `preview_prompt`, which already takes out what the next turn will: else
they would contradict what the chat is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from functions.agent.app import App
from functions.agent.conversation import tokens
from functions.agent.conversation.messages import Message
from functions.agent.conversation.toolset import STATIC, in_scope
from functions.agent.management.preview import PARTS, Part, preview_prompt
from functions.agent.session.document import Document
from functions.page.chat.talk import find_origins
from sigil.protocol import Offer, capability_of


@dataclass(frozen=True, slots=True)
class WorkingTool:
    """A tool that the history holds: its estimated tokens in a request, by which words it was
    found, and how often it was called since. `leaves`: the next message takes it out.
    """

    tool: str
    name: str
    tokens: int
    query: str = ""
    calls: int = 0
    leaves: bool = False


@dataclass(frozen=True, slots=True)
class WorkingSet:
    """What the next request has: `used` estimated tokens of the `window`, by `parts`. `always` are
    the names of the tools that are in every request, and `left` the tools that left the window.
    """

    used: int
    window: int
    parts: tuple[tuple[Part, int], ...]
    tools: tuple[WorkingTool, ...]
    always: tuple[str, ...]
    left: tuple[WorkingTool, ...]

    @property
    def count(self) -> int:
        """Return how many tools the history holds."""
        return len(self.tools)


def read_working_set(
    key: str, document: Document, app: App, left: Sequence[Offer] = ()
) -> WorkingSet:
    """Return the working set of a session (S of the keys); `left` are the tools that its history
    had and does not hold any more.
    """
    preview = preview_prompt(key, document, app)
    sums = Counter[Part]()
    for segment in preview.segments:
        sums[segment.part] += segment.tokens
    sizes = [segment.tokens for segment in preview.segments if segment.part == "tool"]
    names = [tool["function"]["name"] for tool in preview.tools[len(STATIC) :]]
    stays = dict(zip(names, sizes, strict=True))
    origins = find_origins(document.messages)
    calls = count_calls(document.messages)
    tools = [
        WorkingTool(
            offer.tool,
            name_tool(offer.tool),
            stays.get(offer.tool) or _estimate(offer, document),
            origins.get(offer.tool, ""),
            calls[offer.tool],
            leaves=offer.tool not in stays,
        )
        for offer in in_scope(document.messages)
    ]
    return WorkingSet(
        preview.tokens,
        preview.window,
        tuple((part, sums[part]) for part in PARTS),
        tuple(sorted(tools, key=lambda tool: tool.leaves)),
        tuple(tool["function"]["name"] for tool in STATIC),
        tuple(
            WorkingTool(offer.tool, name_tool(offer.tool), _estimate(offer, document))
            for offer in left
        ),
    )


def count_calls(messages: Sequence[Message]) -> Counter[str]:
    """Return how often each tool was called in these messages."""
    return Counter(call.name for message in messages for call in message.calls)


def name_tool(tool: str) -> str:
    """Return the name by which people know a tool."""
    return capability_of(tool) or tool


def _estimate(offer: Offer, document: Document) -> int:
    return round(tokens.of_offer(offer) * document.ratio)
