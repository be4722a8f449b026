"""The completion reader turns whatever an endpoint sends into a `ModelReply`.

Thinking in tags is not an answer. Small and local models may write a tool call as text, and it may
count as one. But a text is also where a model quotes what somebody else wrote, so only what can
hardly be a quote counts (`find_written_calls`).
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

import orjson

from functions.agent.conversation.messages import ToolCall, Usage
from functions.agent.conversation.prompt import PromptMessage
from functions.agent.conversation.toolset import QUERY, is_capability
from functions.agent.model import failures
from functions.agent.model.base import UNNAMED, Finish, ModelReply
from sigil.errors import one_line
from sigil.protocol import Json

CALLS_MOST = 64
COUNT_MOST: Final = 10**9
"""No request has so many tokens; a provider that says so has not counted."""
COST_MOST: Final = 10_000.0
"""No request costs so much money."""
_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
WRITTEN_CHARACTERS = 50_000
"""A longer text is not searched for calls written into it."""
WRITTEN_MOST: Final = 4
"""A model may write so many calls into its prose; a text with more of them shows examples."""
WRITTEN_ID: Final = "written_"
"""The ids of written calls begin like this, so that a history tells them from native ones."""
_CALL_FIELDS: Final = frozenset({"name", "arguments", "parameters", "id", "type"})
_WRAPPED = re.compile(
    r"```\w*\s*(?P<fenced>\{.*\})\s*```|<tool_call>\s*(?P<tagged>\{.*\})\s*</tool_call>",
    re.DOTALL | re.ASCII,
)
_LAYOUT = re.compile(r"\\[bfnrt]")
"""White space as JSON writes it inside a string."""
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
_TAG = re.compile(r"</?think(?:ing)?>", re.IGNORECASE)
_ODD = re.compile(r"[^A-Za-z0-9_-]", re.ASCII)
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_completion(body: bytes) -> ModelReply:
    """Return the reply in a 200 body, with the native calls only."""
    data = _parse_json(body)
    choices = data.get("choices") if isinstance(data, dict) else None
    if (
        not isinstance(data, dict)
        or not isinstance(choices, list)
        or not choices
        or not isinstance(choices[0], dict)
    ):
        return failures.make_error_reply(failures.classify_failure(200, body))
    message = choices[0].get("message")
    if not isinstance(message, dict):
        message = {}
    text = _read_text(message.get("content"))
    visible = _THINKING.sub("", text).strip()
    calls = _read_calls(message)
    finish = _read_finish(choices[0], message)
    if finish == "error":
        broken = {"error": choices[0].get("error") or "it broke off its answer"}
        failed = failures.make_error_reply(failures.classify_failure(200, orjson.dumps(broken)))
        return replace(failed, usage=_read_usage(data.get("usage")))
    if finish in ("filtered", "refused"):
        calls = []  # what was kept back may be a part of them
        refusal = _read_text(message.get("refusal")).strip()
        visible = "\n\n".join(filter(None, (visible, refusal if refusal != visible else "")))
    return ModelReply(
        text=visible,
        calls=tuple(_make_ids_unique(calls)),
        usage=_read_usage(data.get("usage")),
        finish="tool_calls" if calls and finish == "stop" else finish,
        reasoning=_read_text(message.get("reasoning_content")),
    )


def _read_finish(choice: dict[str, Json], message: dict[str, Json]) -> Finish:
    """Return how the model ended; "stop" for all that does not say that something is missing."""
    reason = choice.get("finish_reason")
    if reason == "error" or isinstance(choice.get("error"), dict):
        return "error"
    if reason == "content_filter":
        return "filtered"
    if reason == "refusal" or _read_text(message.get("refusal")).strip():
        return "refused"
    return "length" if reason == "length" else "stop"


def _parse_json(body: bytes) -> Json:
    """Return the JSON in `body`, lone surrogates replaced; None when it is no JSON."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return orjson.loads(
            _SURROGATE.sub("\ufffd", json.dumps(json.loads(body), ensure_ascii=False))
        )
    except (ValueError, RecursionError):
        return None


def _read_text(content: Json) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(
            part.get("text", "")
            for part in content
            if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    return ""


def _read_calls(message: dict[str, Json]) -> list[ToolCall]:
    """Return the native calls, with names that endpoints accept in a history.

    A name that they refuse, or none, would make every later request of the chat fail.
    """
    entries = message.get("tool_calls")
    if not isinstance(entries, list):
        return []
    calls = []
    for entry in entries:
        if not isinstance(entry, dict):
            continue
        function = entry.get("function")
        if not isinstance(function, dict):
            function = {}
        name = function.get("name")
        if isinstance(name, str) and name.strip():
            name = _ODD.sub("_", name)[:64]
        else:
            name = UNNAMED
        arguments = _read_arguments(function.get("arguments"))
        calls.append(ToolCall(str(entry.get("id") or ""), name, arguments))
    return calls[:CALLS_MOST]


def _read_arguments(arguments: Json) -> str:
    if isinstance(arguments, str):
        return arguments or "{}"
    if arguments is None:
        return "{}"
    try:
        return orjson.dumps(arguments).decode()
    except TypeError:  # nested deeper than JSON is written
        return "{}"


def _make_ids_unique(calls: list[ToolCall]) -> Iterator[ToolCall]:
    """Yield the calls with unique ids, since providers send empty and repeated ones."""
    taken: set[str] = set()
    for position, call in enumerate(calls):
        name = one_line(call.id, 64) or f"call_{position}"
        if not is_native_call(name):
            name = f"call_{name}"
        while name in taken:
            name = f"{name}_{position}"
        taken.add(name)
        yield ToolCall(name, call.name, call.arguments)


def find_written_calls(
    reply: ModelReply, messages: Iterable[PromptMessage], *, in_prose: bool
) -> ModelReply:
    """Return the reply with the calls that its model wrote into the text instead of making them.

    It is the reply itself when there are none. A call counts when it is the whole text, alone or in
    one fence or tag; with `in_prose`, anywhere in it. It never counts when it repeats a part of
    the `messages`: that is a quote. It never deploys.
    """
    text = reply.text
    if reply.calls or reply.finish != "stop" or len(text) > WRITTEN_CHARACTERS:
        return reply
    whole = _parse_call(_strip_wrapper(text))
    parts: dict[str, ToolCall] = {}
    if whole:
        parts = {text: whole}
    elif in_prose:
        parts = _find_calls_in_prose(text)
    if not parts or len(parts) > WRITTEN_MOST:
        return reply
    if _is_quoted([_strip_wrapper(part) for part in parts], messages):
        return reply
    for part in parts:
        text = text.replace(part, "")
    calls = (
        replace(call, id=f"{WRITTEN_ID}{position}") for position, call in enumerate(parts.values())
    )
    return replace(reply, text=text.strip(), calls=tuple(calls), finish="tool_calls")


def is_native_call(call_id: str) -> bool:
    """Return whether a call of the history was made as a call, and not written as text."""
    return not call_id.startswith(WRITTEN_ID)


def _find_calls_in_prose(text: str) -> dict[str, ToolCall]:
    """Return the calls in a text's fences and tags, each by the part of the text that it is."""
    found: dict[str, ToolCall] = {}
    for opening, closing in (("<tool_call>", "</tool_call>"), ("```", "```")):
        place = 0
        while (start := text.find(opening, place)) >= 0:
            end = text.find(closing, start + len(opening))
            if end < 0:
                break
            place = end + len(closing)
            part = text[start:place]
            call = _parse_call(_strip_wrapper(part))
            if call:
                found[part] = call
    return found


def _strip_wrapper(part: str) -> str:
    """Return the inside of a fence or a tag; the text itself when it is in none."""
    wrapped = _WRAPPED.fullmatch(part)
    return (wrapped["fenced"] or wrapped["tagged"]) if wrapped else part


def _is_quoted(parts: Iterable[str], messages: Iterable[PromptMessage]) -> bool:
    """Return whether the messages have one of the parts, in any layout, quotes or escapes.

    The tags of a thought are no part of it, wherever they are.
    """
    history = "\n".join(_read_text(message.get("content")) for message in messages)
    readings = (
        _reduce_to_letters(history),
        _reduce_to_letters(_THINKING.sub("", history)),
        _reduce_to_letters(_TAG.sub("", history)),
    )
    for part in parts:
        letters = _reduce_to_letters(part)
        spellings = {
            letters,
            letters.replace("arguments", "parameters"),
            letters.replace("parameters", "arguments"),
        }
        if any(spelling in text for spelling in spellings for text in readings):
            return True
    return False


def _reduce_to_letters(text: str) -> str:
    """Return the letters and digits of a text, its escapes of HTML and JSON undone."""
    text = _ESCAPED.sub(lambda escaped: chr(int(escaped[1], 16)), html.unescape(text))
    text = _LAYOUT.sub("", text)
    return "".join(filter(str.isalnum, text.casefold()))


def _parse_call(text: str) -> ToolCall | None:
    """Return the call that a JSON object describes; None when it describes none.

    It has a name that may be written, arguments, and nothing that only a definition has.
    """
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    data = _parse_json(text.encode("utf-8", "replace"))
    if not isinstance(data, dict) or not data.keys() <= _CALL_FIELDS:
        return None
    name = data.get("name")
    arguments = data.get("arguments", data.get("parameters"))
    if not isinstance(name, str) or not (name == QUERY or is_capability(name)):
        return None
    if not isinstance(arguments, dict | str):
        return None
    return ToolCall("", name, _read_arguments(arguments))


def _read_usage(usage: Json) -> Usage:
    """Return what the provider counted; estimated where it did not, or counted impossibly."""
    if not isinstance(usage, dict):
        return Usage(estimated=True)
    prompt = _read_count(usage.get("prompt_tokens"))
    completion = _read_count(usage.get("completion_tokens"))
    cached = _read_cached(usage)
    if "prompt_tokens" not in usage:  # Anthropic's own form leaves out what the cache held
        prompt = _read_count(usage.get("input_tokens"))
        completion = _read_count(usage.get("output_tokens"))
        prompt += cached + _read_count(usage.get("cache_creation_input_tokens"))
    if not prompt or (not completion and not _is_count(usage.get("completion_tokens", 0))):
        return Usage(estimated=True)
    return Usage(prompt, completion, min(cached, prompt), cost=_read_cost(usage.get("cost")))


def _read_cached(usage: dict[str, Json]) -> int:
    """Return how many tokens of the prompt came from the cache.

    OpenAI and most others tell it in `prompt_tokens_details`, DeepSeek in
    `prompt_cache_hit_tokens`, Anthropic and gateways to it in `cache_read_input_tokens`.
    """
    details = usage.get("prompt_tokens_details")
    told = details.get("cached_tokens") if isinstance(details, dict) else None
    for value in (
        told,
        usage.get("prompt_cache_hit_tokens"),
        usage.get("cache_read_input_tokens"),
    ):
        if _read_count(value):
            return _read_count(value)
    return 0


def _read_cost(value: Json) -> float:
    """Return what the provider says that the request has cost, in dollars (OpenRouter does)."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return 0.0
    return float(value) if 0 <= value < COST_MOST else 0.0


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < COUNT_MOST


def _read_count(value: Json) -> int:
    return value if _is_count(value) and isinstance(value, int) else 0
