"""Reading a chat completion: whatever an endpoint sends becomes a `Reply`.

Small and local models are met halfway: a tool call written as fenced JSON counts as one, thinking in tags is not an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import orjson

from functions.agent.messages import ToolCall, Usage
from functions.agent.model import Reply
from sigil.errors import one_line
from sigil.protocol import Json

CALLS_MOST = 64
_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
WRITTEN_CHARACTERS = 50_000
"""Of a text that is searched for calls written into it."""
_ODD = re.compile(r"[^A-Za-z0-9_-]", re.ASCII)
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse(body: bytes, *, offered: bool) -> Reply:
    """The reply in a 200 body. `offered`: tools were sent, so a call written as text is looked for."""
    data = _json(body)
    choices = data.get("choices") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        said = complaint(body)
        return Reply(text=f"the model sent no answer{': ' + said if said else ''}", finish="error", transient=True)
    message = choices[0].get("message")
    message = message if isinstance(message, dict) else {}
    text = _text(message.get("content"))
    visible = _THINKING.sub("", text).strip()
    calls = _calls(message)
    if not calls and offered:
        calls, visible = _written(visible)
    return Reply(
        text=visible,
        calls=tuple(_distinct(calls)),
        usage=_usage(data.get("usage")),
        finish="tool_calls" if calls else "length" if choices[0].get("finish_reason") == "length" else "stop",
        reasoning=_text(message.get("reasoning_content")),
    )


def complaint(body: bytes) -> str:
    """What an error body says, one line; nothing when it is a page."""
    data = _json(body)
    error = data.get("error", data) if isinstance(data, dict) else None
    said = error.get("message") if isinstance(error, dict) else error
    return one_line(said, 200) if isinstance(said, str) else ""


def _json(body: bytes) -> Json:
    """The JSON in `body`, lone surrogates replaced; None when it is none."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return orjson.loads(_SURROGATE.sub("\ufffd", json.dumps(json.loads(body), ensure_ascii=False)))
    except (ValueError, RecursionError):
        return None


def _text(content: Json) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
    return ""


def _calls(message: dict[str, Any]) -> list[ToolCall]:
    given = message.get("tool_calls")
    found = []
    for entry in given if isinstance(given, list) else []:
        function = entry.get("function") if isinstance(entry, dict) else None
        if isinstance(function, dict) and isinstance(function.get("name"), str) and function["name"]:
            found.append(ToolCall(str(entry.get("id") or ""), _name(function["name"]), _arguments(function.get("arguments"))))
    return found[:CALLS_MOST]


def _name(given: str) -> str:
    """A name that endpoints take back in a history: one that they refuse would poison the whole chat."""
    return _ODD.sub("_", given)[:64]


def _arguments(given: Json) -> str:
    if isinstance(given, str):
        return given or "{}"
    try:
        return "{}" if given is None else orjson.dumps(given).decode()
    except TypeError:  # nested deeper than JSON is written
        return "{}"


def _distinct(calls: list[ToolCall]) -> Iterator[ToolCall]:
    """The calls with an id each that no other has: providers send empty and repeated ones."""
    taken: set[str] = set()
    for position, call in enumerate(calls):
        name = one_line(call.id, 64) or f"call_{position}"
        while name in taken:
            name = f"{name}_{position}"
        taken.add(name)
        yield ToolCall(name, call.name, call.arguments)


def _written(text: str) -> tuple[list[ToolCall], str]:
    """The tool calls that a model wrote into its text, and the text without them."""
    if len(text) > WRITTEN_CHARACTERS:
        return [], text
    if whole := _as_call(text):
        return [whole], ""
    calls: list[ToolCall] = []
    for opening, closing in (("<tool_call>", "</tool_call>"), ("```", "```")):
        for part in _between(text, opening, closing):
            call = _as_call(part.removeprefix(opening).removesuffix(closing).lstrip("abcdefghijklmnopqrstuvwxyz_"))
            if call:
                calls.append(call)
                text = text.replace(part, "")
    return calls, text.strip()


def _between(text: str, opening: str, closing: str) -> list[str]:
    """The parts of `text` from an opening to the next closing, both included."""
    parts, place = [], 0
    while (start := text.find(opening, place)) >= 0 and (end := text.find(closing, start + len(opening))) >= 0:
        place = end + len(closing)
        parts.append(text[start:place])
    return parts


def _as_call(text: str) -> ToolCall | None:
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    data = _json(text.encode("utf-8", "replace"))
    name = data.get("name") if isinstance(data, dict) else None
    if not isinstance(name, str) or not name.startswith(("sigil_", "cap_")):
        return None
    return ToolCall("", name, _arguments(data.get("arguments", data.get("parameters"))))


def _usage(given: Json) -> Usage:
    if not isinstance(given, dict):
        return Usage(estimated=True)
    details = given.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    prompt, completion = _count(given.get("prompt_tokens")), _count(given.get("completion_tokens"))
    return Usage(prompt, completion, _count(cached), estimated=prompt == 0)


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else 0
