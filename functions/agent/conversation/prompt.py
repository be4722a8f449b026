"""The messages and tools of a request to a model, in the chat-completions form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NotRequired, TypedDict

from sigil.protocol import Json

if TYPE_CHECKING:
    from functions.agent.conversation.messages import Beside


class FunctionCall(TypedDict):
    """A call's tool and its arguments, which are a JSON object as text."""

    name: str
    arguments: str


class PromptCall(TypedDict):
    id: str
    type: Literal["function"]
    function: FunctionCall


class ContentPart(TypedDict):
    """A part of a message of several: a text, or a file that `type` names."""

    type: str
    text: NotRequired[str]
    image_url: NotRequired[Mapping[str, str]]


class PromptMessage(TypedDict):
    """A message in the chat-completions form. `beside` is for the client of the model, which sends
    what is in it to nobody but the endpoint that it is of.
    """

    role: str
    content: str | list[ContentPart]
    tool_calls: NotRequired[list[PromptCall]]
    tool_call_id: NotRequired[str]
    reasoning_content: NotRequired[str]
    beside: NotRequired[Beside]


class FunctionDefinition(TypedDict):
    """A tool's name, what it does, and the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Json]


class ToolDefinition(TypedDict):
    """A tool in the chat-completions form."""

    type: Literal["function"]
    function: FunctionDefinition
