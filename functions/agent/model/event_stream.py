"""A stream of events as the one answer that it is the pieces of.

Some endpoints answer only as a stream, and some proxies although nobody asked for one. Whoever
reads an answer reads it whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from functions.agent.model.lenient_json import parse_lenient
from sigil.json_fields import as_integer, as_mapping, as_sequence
from sigil.protocol import Json

DONE: Final = "[DONE]"
_WHOLE: Final = ("response.completed", "response.incomplete", "response.failed")
"""The events of Responses that have the whole answer."""
_THOUGHTS: Final = ("reasoning_content", "reasoning", "reasoning_details")
CALLS_MOST: Final = 256
"""A stream with more calls than this has lost count."""


def read_body(body: bytes) -> Json:
    """Return the answer in a body, which may be a stream though nobody asked for one; None when it
    is neither JSON nor a stream.
    """
    body = cut_comments(body)
    return join_stream(body) if is_stream(body) else parse_lenient(body)


def is_stream(body: bytes) -> bool:
    """Return whether a body without leading comments is a stream."""
    return body.startswith((b"data:", b"event:", b"id:", b"retry:"))


def cut_comments(body: bytes) -> bytes:
    """Return a body without the blank and comment lines before it.

    They keep a connection open while a request waits.
    """
    body = body.lstrip()
    while body.startswith(b":"):
        body = body.partition(b"\n")[2].lstrip()
    return body


def join_stream(body: bytes) -> Json:
    """Return the answer that a stream's events add up to, in the form of the answer as a whole."""
    events = [*_read_events(body)]
    for event in events:
        if event.get("type") in _WHOLE:
            return event.get("response")
        if event.get("error"):
            return {"error": event["error"]}
    if any(event.get("type") == "message_start" for event in events):
        return _join_message(events)
    return _join_completion(events)


def _read_events(body: bytes) -> Iterator[dict[str, Json]]:
    """Yield the data of the events that have an object."""
    for block in body.replace(b"\r\n", b"\n").split(b"\n\n"):
        lines = [line[5:].strip() for line in block.split(b"\n") if line.startswith(b"data:")]
        data = parse_lenient(b"\n".join(lines)) if lines else None
        if data is None and len(lines) > 1:  # the events of some proxies are lines alone
            for line in lines:
                each = parse_lenient(line)
                if isinstance(each, dict):
                    yield each
        if isinstance(data, dict):
            yield data


def _join_completion(events: list[dict[str, Json]]) -> Json:
    """Return a chat completion."""
    message: dict[str, Json] = {"role": "assistant", "content": ""}
    calls: list[dict[str, Json]] = []
    whole: dict[str, Json] = {}
    finish: Json = None
    for event in events:
        for name in ("id", "model", "usage", "base_resp"):
            if event.get(name):
                whole[name] = event[name]
        groq = as_mapping(event.get("x_groq")).get("usage")
        if groq:
            whole["usage"] = groq
        for choice in as_sequence(event.get("choices"))[:1]:
            fields = as_mapping(choice)
            if fields.get("usage"):
                whole["usage"] = fields["usage"]
            finish = fields.get("finish_reason") or finish
            delta = as_mapping(fields.get("delta")) or as_mapping(fields.get("message"))
            _add_delta(message, calls, delta)
    if calls:
        message["tool_calls"] = [*calls]
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {**whole, "choices": [choice] if events else []}


def _add_delta(
    message: dict[str, Json], calls: list[dict[str, Json]], delta: Mapping[str, Json]
) -> None:
    for name in ("content", "refusal", *_THOUGHTS):
        value = delta.get(name)
        if isinstance(value, str):
            before = message.get(name)
            message[name] = (before if isinstance(before, str) else "") + value
        elif isinstance(value, list):
            before = message.get(name)
            text: list[Json] = [{"type": "text", "text": before}] if before else []
            message[name] = [*(before if isinstance(before, list) else text), *value]
    if delta.get("extra_content"):
        message["extra_content"] = delta["extra_content"]
    if isinstance(delta.get("function_call"), dict):
        _add_call(calls, {"index": 0, "function": delta["function_call"]})
    for piece in as_sequence(delta.get("tool_calls")):
        if isinstance(piece, dict) and len(calls) < CALLS_MOST:
            _add_call(calls, piece)


def _add_call(calls: list[dict[str, Json]], piece: dict[str, Json]) -> None:
    """Add a piece to the call that it belongs to.

    Without an index, or with one that is always 0, a new id or a new name begins a new call.
    """
    function = as_mapping(piece.get("function"))
    name = function.get("name") or ""
    id = piece.get("id") or ""
    index = as_integer(piece.get("index"), 0)
    same = [each for each in calls if index is not None and each["index"] == index]
    call = same[-1] if same else None
    if call and id and call["id"] and id != call["id"]:
        call = None
    if call and name and _is_complete(call):
        call = None
    if call is None and calls and not name and not id:
        call = calls[-1]
    if call is None:
        call = {"index": index, "id": id, "type": "function", "function": {}}
        calls.append(call)
    known = as_mapping(call["function"])
    arguments = function.get("arguments")
    text = known.get("arguments") or ""
    if isinstance(arguments, str) and isinstance(text, str):
        arguments = text + arguments
    call["function"] = {"name": known.get("name") or name, "arguments": arguments or text}
    for extra in ("extra_content", "provider_specific_fields"):
        if piece.get(extra):
            call[extra] = piece[extra]


def _is_complete(call: Mapping[str, Json]) -> bool:
    """Return whether all arguments of a call have come."""
    arguments = as_mapping(call["function"]).get("arguments")
    if not isinstance(arguments, str) or not arguments.rstrip().endswith("}"):
        return False
    return isinstance(parse_lenient(arguments.encode()), dict)


def _join_message(events: list[dict[str, Json]]) -> Json:
    """Return a message of Anthropic's form."""
    whole: dict[str, Json] = {}
    usage: dict[str, Json] = {}
    blocks: dict[Json, dict[str, Json]] = {}
    pieces: dict[Json, str] = {}
    for event in events:
        index = event.get("index")
        if event.get("type") == "message_start":
            whole = dict(as_mapping(event.get("message")))
            usage = dict(as_mapping(whole.get("usage")))
        elif event.get("type") == "content_block_start":
            blocks[index] = dict(as_mapping(event.get("content_block")))
        elif event.get("type") == "content_block_delta":
            delta = as_mapping(event.get("delta"))
            block = blocks.setdefault(index, {})
            for name in ("text", "thinking", "signature"):
                if isinstance(delta.get(name), str):
                    block[name] = f"{block.get(name) or ''}{delta[name]}"
            if isinstance(delta.get("partial_json"), str):
                pieces[index] = f"{pieces.get(index, '')}{delta['partial_json']}"
        elif event.get("type") == "message_delta":
            whole["stop_reason"] = as_mapping(event.get("delta")).get("stop_reason")
            usage |= as_mapping(event.get("usage"))
    for index, text in pieces.items():
        blocks[index]["input"] = parse_lenient(text.encode()) if text else {}
    return {**whole, "content": [*blocks.values()], "usage": usage}
