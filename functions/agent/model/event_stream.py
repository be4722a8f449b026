"""A stream of events as the one answer that it is the pieces of.

Some endpoints answer only as a stream, and some proxies although nobody asked for one. Whoever
reads an answer reads it whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from functions.agent.model.answer_json import parse_answer
from sigil.json_fields import as_integer, as_mapping, as_sequence, as_string
from sigil.protocol import Json

_WHOLE: Final = ("response.completed", "response.incomplete", "response.failed")
"""The events of Responses that have the whole answer."""
_TEXTS: Final = ("content", "refusal", "reasoning_content", "reasoning", "reasoning_details")
"""The fields of a message that come in pieces."""
PIECES_MOST: Final = 1_000
"""Arguments in more pieces than this are not looked at for their end."""
CALLS_MOST: Final = 256
"""A stream with more calls than this has lost count."""


def read_body(body: bytes) -> Json:
    """Return the answer in a body, which may be a stream though nobody asked for one; None when it
    is neither JSON nor a stream.
    """
    body = cut_comments(body)
    return join_stream(body) if is_stream(body) else parse_answer(body)


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
        data = parse_answer(b"\n".join(lines)) if lines else None
        if data is None and len(lines) > 1:  # the events of some proxies are lines alone
            for line in lines:
                each = parse_answer(line)
                if isinstance(each, dict):
                    yield each
        if isinstance(data, dict):
            yield data


class _Pieces:
    """Texts that come in pieces, by their names; a list of parts among them stays one."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._parts: dict[str, list[Json]] = {}

    def add(self, name: str, value: Json) -> None:
        """Add the next piece of a text, or the next parts."""
        if isinstance(value, str):
            self._texts.setdefault(name, []).append(value)
        elif isinstance(value, list):
            self._parts.setdefault(name, []).extend(value)

    def join(self) -> dict[str, Json]:
        """Return the whole texts; where parts came as well, the text is the first of them."""
        joined: dict[str, Json] = {name: "".join(texts) for name, texts in self._texts.items()}
        for name, parts in self._parts.items():
            text = joined.get(name)
            before: list[Json] = [{"type": "text", "text": text}] if text else []
            joined[name] = [*before, *parts]
        return joined


@dataclass(slots=True)
class _CallPieces:
    """A call whose name and arguments come in pieces; whole arguments may come as an object."""

    index: int | None
    id: str
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    whole: Json = None
    extras: dict[str, Json] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Return whether all arguments have come, as far as short ones tell."""
        if not (self.arguments and self.arguments[-1].rstrip().endswith("}")):
            return False
        text = "".join(self.arguments[:PIECES_MOST])
        return isinstance(parse_answer(text.encode()), dict)

    def join(self) -> dict[str, Json]:
        """Return the call as a whole answer has it."""
        arguments = "".join(self.arguments) if self.whole is None else self.whole
        function: Json = {"name": self.name, "arguments": arguments}
        return {"id": self.id, "type": "function", "function": function, **self.extras}


def _join_completion(events: list[dict[str, Json]]) -> Json:
    """Return a chat completion."""
    message = _Pieces()
    message.add("content", "")
    calls: list[_CallPieces] = []
    whole: dict[str, Json] = {}
    extra: dict[str, Json] = {}
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
            for name in _TEXTS:
                message.add(name, delta.get(name))
            if delta.get("extra_content"):
                extra["extra_content"] = delta["extra_content"]
            for piece in _list_pieces(delta):
                _add_call(calls, piece)
    made: dict[str, Json] = {"role": "assistant", **message.join(), **extra}
    if calls:
        made["tool_calls"] = [call.join() for call in calls]
    choice = {"index": 0, "message": made, "finish_reason": finish}
    return {**whole, "choices": [choice] if events else []}


def _list_pieces(delta: Mapping[str, Json]) -> Iterator[dict[str, Json]]:
    """Yield the pieces of calls in a delta, that of the older form first."""
    if isinstance(delta.get("function_call"), dict):
        yield {"index": 0, "function": delta["function_call"]}
    for piece in as_sequence(delta.get("tool_calls")):
        if isinstance(piece, dict):
            yield piece


def _add_call(calls: list[_CallPieces], piece: dict[str, Json]) -> None:
    """Add a piece to the call that it belongs to.

    Without an index, or with one that is always 0, a new id or a new name begins a new call.
    """
    function = as_mapping(piece.get("function"))
    name = as_string(function.get("name"))
    id = as_string(piece.get("id"))
    index = as_integer(piece.get("index"), 0)
    same = [each for each in calls if index is not None and each.index == index]
    call = same[-1] if same else None
    if call and ((id and call.id and id != call.id) or (name and call.is_complete)):
        call = None
    if call is None and calls and not name and not id:
        call = calls[-1]
    if call is None:
        if len(calls) >= CALLS_MOST:
            return
        call = _CallPieces(index, id)
        calls.append(call)
    call.name = call.name or name
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        call.arguments.append(arguments)
    elif arguments is not None:
        call.whole = arguments
    for extra in ("extra_content", "provider_specific_fields"):
        if piece.get(extra):
            call.extras[extra] = piece[extra]


def _join_message(events: list[dict[str, Json]]) -> Json:
    """Return a message of Anthropic's form."""
    whole: dict[str, Json] = {}
    usage: dict[str, Json] = {}
    blocks: dict[int, dict[str, Json]] = {}
    pieces: dict[int, _Pieces] = {}
    for event in events:
        index = as_integer(event.get("index"), 0) or 0
        if event.get("type") == "message_start":
            whole = dict(as_mapping(event.get("message")))
            usage = dict(as_mapping(whole.get("usage")))
        elif event.get("type") == "content_block_start":
            blocks[index] = dict(as_mapping(event.get("content_block")))
        elif event.get("type") == "content_block_delta":
            delta = as_mapping(event.get("delta"))
            blocks.setdefault(index, {})
            block = pieces.setdefault(index, _Pieces())
            for name in ("text", "thinking", "signature", "partial_json"):
                block.add(name, delta.get(name))
        elif event.get("type") == "message_delta":
            whole["stop_reason"] = as_mapping(event.get("delta")).get("stop_reason")
            usage |= as_mapping(event.get("usage"))
    for index, block in pieces.items():
        texts = block.join()
        arguments = as_string(texts.pop("partial_json", ""))
        if arguments:
            blocks[index]["input"] = parse_answer(arguments.encode())
        for name, text in texts.items():
            blocks[index][name] = f"{as_string(blocks[index].get(name))}{as_string(text)}"
    return {**whole, "content": [*blocks.values()], "usage": usage}
