"""The wire form of OpenAI's Responses, the only one in which its newest models take tools.

Nothing is stored at the endpoint: what a model thought comes encrypted, and goes back before the
calls that it led to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final

from functions.agent.conversation.messages import ToolCall
from functions.agent.conversation.prompt import ContentPart, PromptMessage
from functions.agent.model import chat_wire, failures, history, tool_forms
from functions.agent.model.base import Finish, ModelReply, ModelRequest
from functions.agent.model.chat_wire import (
    list_calls,
    make_beside,
    read_refusal,
    read_usage,
)
from functions.agent.model.dialect import Dialect
from sigil.json_fields import as_mapping, as_sequence
from sigil.protocol import Json

PATH: Final = "/responses"
CALL: Final = "function_call"
ENCRYPTED: Final = "reasoning.encrypted_content"
list_headers = chat_wire.list_headers
_KEPT: Final = frozenset({"reasoning", CALL})
"""The parts of an answer that come back."""


def write_request(request: ModelRequest, dialect: Dialect, endpoint: str) -> dict[str, Json]:
    """Return the body of a request. `endpoint`: see `history.fit_history`."""
    messages = history.fit_history(request, dialect, endpoint)
    system = [history.read_text(each) for each in messages if each["role"] == "system"]
    items: list[Json] = []
    for message in messages:
        if message["role"] != "system":
            items += _write_items(message)
    tools, choice = tool_forms.choose_tools(request, dialect)
    fields: dict[str, Json] = {
        "model": request.model,
        "instructions": "\n\n".join(system),
        "input": items,
        "store": False,
        "include": [ENCRYPTED],
    }
    if request.chat:
        fields["prompt_cache_key"] = sha256(request.chat.encode(errors="replace")).hexdigest()[:32]
    if tools:
        fields["tools"] = [
            {"type": "function", **tool["function"], "strict": False} for tool in tools
        ]
        if isinstance(choice, dict):
            choice = {"type": "function", **as_mapping(choice.get("function"))}
        if choice is not None:
            fields["tool_choice"] = choice
    if chat_wire.streams(request, dialect):
        fields["stream"] = True
    for name in dialect.without:
        fields.pop(name, None)
    return fields


def _write_items(message: PromptMessage) -> Iterator[Json]:
    """Yield the items of a message; the thoughts before its calls stand where they stood."""
    if message["role"] == "tool":
        id = message.get("tool_call_id", "")
        yield {"type": "function_call_output", "call_id": id, "output": history.read_text(message)}
        return
    content = message["content"]
    if message["role"] == "user":
        parts: Json = content if isinstance(content, str) else [*map(_write_part, content)]
        yield {"type": "message", "role": "user", "content": parts or history.NOTHING}
        return
    text = history.read_text(message)
    calls = message.get("tool_calls", ())
    if text.strip() or not calls:
        yield {"type": "message", "role": "assistant", "content": text or history.NOTHING}
    items = history.read_beside(message["beside"]).get("items") if "beside" in message else ()
    for item in history.fill_items(items, message, CALL):
        place = item.get("call")
        if not isinstance(place, int):
            yield item
            continue
        yield {"type": CALL, "call_id": calls[place]["id"], **calls[place]["function"]}


def _write_part(part: ContentPart) -> Json:
    if part["type"] == "text":
        return {"type": "input_text", "text": part.get("text", "")}
    image = as_mapping(dict(part).get("image_url"))
    return {"type": "input_image", "image_url": image.get("url")}


def read_reply(data: Json, offered: Sequence[str] = ()) -> ModelReply:
    """Return the reply in an answer, with calls of the tools that are `offered`."""
    fields = as_mapping(data)
    output = [item for item in as_sequence(fields.get("output")) if isinstance(item, dict)]
    if fields.get("status") == "failed" or not output:
        return failures.make_error_reply(failures.classify_failure(200, chat_wire.dump_json(data)))
    texts: list[str] = []
    refusals: list[str] = []
    entries: list[ToolCall] = []
    for item in output:
        if item.get("type") == CALL:
            entries.append(ToolCall(str(item.get("call_id") or ""), *_read_function(item)))
        for part in as_sequence(item.get("content")):
            said = as_mapping(part)
            if said.get("type") == "output_text":
                texts.append(str(said.get("text") or ""))
            if said.get("type") == "refusal":
                refusals.append(str(said.get("refusal") or ""))
    reply = ModelReply(
        text="\n\n".join(texts).strip(),
        calls=list_calls(entries, offered),
        usage=read_usage(fields.get("usage")),
        finish=_read_finish(fields, bool(refusals)),
    )
    if reply.finish in ("filtered", "refused"):
        return read_refusal(reply, "\n\n".join(refusals))
    if not reply.calls:
        return reply
    kept: list[Json] = [item for item in output if str(item.get("type")) in _KEPT]
    return make_beside(reply, {"items": kept})


def _read_function(item: dict[str, Json]) -> tuple[str, str]:
    return str(item.get("name") or ""), str(item.get("arguments") or "{}")


def _read_finish(fields: Mapping[str, Json], is_refused: bool) -> Finish:
    reason = as_mapping(fields.get("incomplete_details")).get("reason")
    if reason == "content_filter":
        return "filtered"
    if is_refused:
        return "refused"
    return "length" if fields.get("status") == "incomplete" else "stop"
