"""The wire form of Anthropic's Messages, in which Claude keeps prompts and gives its thoughts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final

import orjson

from functions.agent.conversation.messages import ToolCall
from functions.agent.conversation.prompt import ContentPart, PromptMessage
from functions.agent.model import chat_wire, failures, history, tool_forms
from functions.agent.model.base import Finish, ModelReply, ModelRequest
from functions.agent.model.chat_wire import (
    DEPTH_MOST,
    dump_json,
    list_calls,
    make_beside,
    read_refusal,
    read_usage,
)
from functions.agent.model.dialect import Dialect
from sigil.json_fields import as_mapping, as_sequence
from sigil.protocol import Json
from sigil.strict_json import is_within_depth

PATH: Final = "/messages"
VERSION: Final = "2023-06-01"
"""The header `anthropic-version`, which every request must name."""
CALL: Final = "tool_use"
ANSWER_MOST: Final = 8_192
"""Tokens of an answer: this form wants a number, and every model since Claude 3.5 takes this."""
MARK: Final[Json] = {"type": "ephemeral"}
_FINISHES: Final[dict[str, Finish]] = {"max_tokens": "length", "refusal": "refused"}
_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def list_headers(key: str) -> Mapping[str, str]:
    """Return the headers that a request has beside those of its body; `key` may be empty."""
    version = {"anthropic-version": VERSION}
    return {**version, "x-api-key": key} if key else version


def write_request(request: ModelRequest, dialect: Dialect, endpoint: str) -> dict[str, Json]:
    """Return the body of a request. `endpoint`: see `history.fit_history`."""
    messages = history.fit_history(request, dialect, endpoint)
    system = [history.read_text(each) for each in messages if each["role"] == "system"]
    rows: list[dict[str, Json]] = []
    for message in messages:
        if message["role"] == "system":
            continue
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = [*_write_blocks(message, (endpoint, request.model))]
        if rows and rows[-1]["role"] == role:
            rows[-1]["content"] = [*as_sequence(rows[-1]["content"]), *blocks]
        else:
            rows.append({"role": role, "content": blocks})
    if rows and rows[0]["role"] != "user":
        rows.insert(0, {"role": "user", "content": [{"type": "text", "text": history.NOTHING}]})
    mark: dict[str, Json] = {"cache_control": MARK} if dialect.marks_cache else {}
    if mark and rows:
        *before, last = as_sequence(rows[-1]["content"])
        rows[-1]["content"] = [*before, {**as_mapping(last), **mark}]
    tools, choice = tool_forms.choose_tools(request, dialect)
    fields: dict[str, Json] = {
        "model": request.model,
        "max_tokens": ANSWER_MOST,
        "system": [{"type": "text", "text": "\n\n".join(system) or history.NOTHING, **mark}],
        "messages": rows,
    }
    if tools:
        fields["tools"] = [
            {
                "name": tool["function"]["name"],
                "description": tool["function"]["description"],
                "input_schema": tool["function"]["parameters"],
            }
            for tool in tools
        ]
        if choice is not None:
            fields["tool_choice"] = _write_choice(choice)
    if chat_wire.streams(request, dialect):
        fields["stream"] = True
    for name in dialect.without:
        fields.pop(name, None)
    return fields


def _write_choice(choice: Json) -> Json:
    if isinstance(choice, dict):
        return {"type": "tool", "name": as_mapping(choice.get("function")).get("name")}
    return {"type": "any" if choice == "required" else choice}


def _write_blocks(message: PromptMessage, owner: tuple[str, str]) -> Iterator[dict[str, Json]]:
    """Yield the blocks of a message; with its own thoughts, they stand where they stood."""
    text = history.read_text(message)
    if message["role"] == "tool":
        id = _clean_id(message.get("tool_call_id", ""))
        yield {"type": "tool_result", "tool_use_id": id, "content": text or history.NOTHING}
        return
    content = message["content"]
    if isinstance(content, list):
        yield from map(_write_part, content)
        return
    calls = message.get("tool_calls", ())
    is_own = "beside" in message and message["beside"].owner == owner
    items = history.read_beside(message["beside"]).get("items") if is_own else None
    if not items and (text.strip() or not calls):
        yield {"type": "text", "text": text if text.strip() else history.NOTHING}
    for item in history.fill_items(items, message, CALL):
        place = item.get("call")
        if not isinstance(place, int):
            yield item
            continue
        function = calls[place]["function"]
        yield {
            "type": CALL,
            "id": _clean_id(calls[place]["id"]),
            "name": function["name"],
            "input": _read_input(function["arguments"]),
        }


def _read_input(arguments: str) -> Json:
    """Return the arguments of a call, without those that are nested too deep to be sent."""
    value = orjson.loads(arguments)
    return value if is_within_depth(value, DEPTH_MOST) else {}


def _write_part(part: ContentPart) -> dict[str, Json]:
    if part["type"] == "text":
        return {"type": "text", "text": part.get("text") or history.NOTHING}
    url = str(as_mapping(dict(part).get("image_url")).get("url"))
    head, _, data = url.partition(";base64,")
    kind = head.removeprefix("data:")
    source = (
        {"type": "base64", "media_type": kind, "data": data}
        if data
        else {"type": "url", "url": url}
    )
    return {"type": "image", "source": source}


def _clean_id(id: str) -> str:
    """Return the id of a call with the letters that this form takes."""
    return id if _ID.fullmatch(id) else sha256(id.encode()).hexdigest()[:32]


def read_reply(data: Json, offered: Sequence[str] = ()) -> ModelReply:
    """Return the reply in an answer, with calls of the tools that are `offered`."""
    fields = as_mapping(data)
    blocks = [block for block in as_sequence(fields.get("content")) if isinstance(block, dict)]
    if not isinstance(fields.get("content"), list):
        return failures.make_error_reply(failures.classify_failure(200, dump_json(data)))
    texts: list[str] = []
    entries: list[ToolCall] = []
    for block in blocks:
        if block.get("type") == "text":
            texts.append(str(block.get("text") or ""))
        if block.get("type") == CALL:
            arguments = dump_json(as_mapping(block.get("input"))).decode() or "{}"
            name = str(block.get("name") or "")
            entries.append(ToolCall(str(block.get("id") or ""), name, arguments))
    reason = str(fields.get("stop_reason"))
    if reason == "model_context_window_exceeded" and not texts and not entries:
        return failures.make_error_reply(failures.classify_failure(400, reason.encode()))
    reply = ModelReply(
        text="\n\n".join(texts).strip(),
        calls=list_calls(entries, offered),
        usage=read_usage(fields.get("usage")),
        finish=_FINISHES.get(reason, "stop"),
    )
    if reply.finish == "refused":
        return read_refusal(reply, "")
    if not reply.calls:
        return reply
    return make_beside(reply, {"items": [*blocks]})
