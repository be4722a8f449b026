"""The history of a request as its endpoint wants it: all that was said stays, told in another way.

What a dialect asks for is done to the request alone. The stored history stays as it is, so that
another model, or the same one later, gets all of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final

import orjson

from functions.agent.conversation.messages import RUNTIME_MARK, Beside
from functions.agent.conversation.prompt import ContentPart, PromptCall, PromptMessage
from functions.agent.model.base import ModelRequest
from functions.agent.model.dialect import DETAILS, Dialect
from functions.agent.sanitize import delimit_text
from sigil.json_fields import as_mapping, as_sequence
from sigil.protocol import Json

IMAGE_LEFT_OUT: Final = "[an image was left out: the model does not take images]"
NOTHING: Final = "…"
"""Stands for an empty text, which some endpoints refuse."""
RESULT: Final = "RESULT"
"""The name of the delimiters around a call that is told as text, with its result."""
TOLD: Final = f"{RUNTIME_MARK}\nWhat you called earlier, and what it returned:"
BETWEEN: Final = "(The results are above.)"
"""What stands between a result and a user's message where a message of the assistant must."""
_SHORT_ID: Final = re.compile(r"[a-zA-Z0-9]{9}")


def fit_history(request: ModelRequest, dialect: Dialect, endpoint: str) -> list[PromptMessage]:
    """Return a request's messages as a dialect wants them. What stood beside one is kept where it
    was sent by this `endpoint` (its host) and the request's model.
    """
    owner = (endpoint, request.model)
    fitted = list(request.messages)
    if dialect.is_toolless:
        fitted = list(tell_calls(fitted, lambda _, __: True))
    elif dialect.is_plain or DETAILS in dialect.needs or dialect.wire == "responses":
        turn = find_turn(fitted) if dialect.is_plain else 0

        def is_told(place: int, message: PromptMessage) -> bool:
            """What cannot come without what the endpoint itself sent with it is told as text."""
            if place < turn:
                return True
            needs = DETAILS in dialect.needs or dialect.wire == "responses"
            return needs and not ("beside" in message and message["beside"].owner == owner)

        fitted = list(tell_calls(fitted, is_told))
    if dialect.without_images:
        fitted = leave_out_images(fitted)
    if dialect.short_ids:
        fitted = [_shorten_ids(message) for message in fitted]
    if dialect.bridges:
        fitted = list(_bridge_results(fitted))
    if dialect.alternates:
        fitted = list(_join_neighbours(fitted))
    return fitted


def find_turn(messages: Sequence[PromptMessage]) -> int:
    """Return the place of the newest message that the runtime did not write."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message["role"] == "user" and not read_text(message).startswith(RUNTIME_MARK):
            return place
    return 0


def read_text(message: PromptMessage) -> str:
    """Return the text of a message, without what else it has."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content if part["type"] == "text")


def tell_calls(
    messages: Iterable[PromptMessage], is_told: Callable[[int, PromptMessage], bool]
) -> Iterator[PromptMessage]:
    """Yield the messages, the calls that are to be told and their results as text.

    Behind what the assistant said with them stands one message of the runtime, with the calls and
    the results between delimiters: they are data.
    """
    lines: list[str] = []
    names: dict[str, str] = {}
    for place, message in enumerate(messages):
        if message["role"] == "tool" and message.get("tool_call_id", "") in names:
            call = names.pop(message["tool_call_id"])
            lines.append(delimit_text(RESULT, f"{call}\n{read_text(message)}"))
            continue
        if lines:
            yield {"role": "user", "content": "\n".join((TOLD, *lines))}
            lines = []
        calls = message.get("tool_calls")
        if not calls or not is_told(place, message):
            yield message
            continue
        names = {
            call["id"]: f"{call['function']['name']} {call['function']['arguments']}"
            for call in calls
        }
        if read_text(message).strip():
            yield {"role": message["role"], "content": message["content"]}
    if lines:
        yield {"role": "user", "content": "\n".join((TOLD, *lines))}


def leave_out_images(messages: Sequence[PromptMessage]) -> list[PromptMessage]:
    """Return the messages with text alone; a line says where there was more."""
    plain: list[PromptMessage] = []
    for message in messages:
        content = message["content"]
        if isinstance(content, list) and any(part["type"] != "text" for part in content):
            text = "\n".join((read_text(message), IMAGE_LEFT_OUT))
            plain.append({**message, "content": text})
        else:
            plain.append(message)
    return plain


def count_images(messages: Iterable[PromptMessage]) -> int:
    """Return how many parts of messages are anything but text."""
    return sum(
        part["type"] != "text"
        for message in messages
        if isinstance(message["content"], list)
        for part in message["content"]
    )


def read_beside(beside: Beside) -> dict[str, Json]:
    """Return what stood beside a message."""
    fields = orjson.loads(beside.fields)
    return fields if isinstance(fields, dict) else {}


def fill_items(items: Json, message: PromptMessage, kind: str) -> list[dict[str, Json]]:
    """Return the parts of a message in its endpoint's own form, without those of the `kind` that is
    a call: each is replaced by its call's place among the message's calls, as `{"call": PLACE}`.
    """
    filled: list[dict[str, Json]] = []
    count = len(message.get("tool_calls", ()))
    place = 0
    for item in as_sequence(items):
        if not isinstance(item, dict):
            continue
        if item.get("type") != kind:
            filled.append(item)
        elif place < count:
            filled.append({"call": place})
            place += 1
    filled += [{"call": each} for each in range(place, count)]
    return filled


def find_fields(message: PromptMessage) -> tuple[dict[str, Json], list[dict[str, Json]]]:
    """Return the fields that came beside a message, and those beside each of its calls."""
    fields = read_beside(message["beside"]) if "beside" in message else {}
    own = {
        name: message.get("reasoning_content", "") if value is None else value
        for name, value in as_mapping(fields.get("message")).items()
    }
    calls = [dict(as_mapping(each)) for each in as_sequence(fields.get("calls"))]
    return own, calls


def shorten_id(id: str) -> str:
    """Return an id of nine letters and digits for a call, always the same for the same id."""
    return id if _SHORT_ID.fullmatch(id) else sha256(id.encode()).hexdigest()[:9]


def _shorten_ids(message: PromptMessage) -> PromptMessage:
    if "tool_call_id" in message:
        return {**message, "tool_call_id": shorten_id(message["tool_call_id"])}
    if "tool_calls" not in message:
        return message
    calls: list[PromptCall] = [
        {**call, "id": shorten_id(call["id"])} for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}


def _bridge_results(messages: Iterable[PromptMessage]) -> Iterator[PromptMessage]:
    before = ""
    for message in messages:
        if before == "tool" and message["role"] == "user":
            yield {"role": "assistant", "content": BETWEEN}
        before = message["role"]
        yield message


def _join_neighbours(messages: Iterable[PromptMessage]) -> Iterator[PromptMessage]:
    """Yield the messages, with those of one role that follow each other as one."""
    last: PromptMessage | None = None
    for message in messages:
        is_text = "tool_calls" not in message and message["role"] in ("user", "assistant")
        if last and is_text and last["role"] == message["role"] and "tool_calls" not in last:
            last = {**last, "content": _join_contents(last["content"], message["content"])}
            continue
        if last:
            yield last
        last = message
    if last:
        yield last


def _join_contents(
    first: str | list[ContentPart], second: str | list[ContentPart]
) -> str | list[ContentPart]:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_list_parts(first), *_list_parts(second)]


def _list_parts(content: str | list[ContentPart]) -> list[ContentPart]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
