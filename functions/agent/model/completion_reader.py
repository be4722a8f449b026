"""Reading a chat completion: whatever an endpoint sends becomes a `Reply`.

Thinking in tags is not an answer. Small and local models are met halfway: a tool call that they
write as text may count as one. But a text is also where a model quotes what somebody else wrote, so
that only what can hardly be a quote counts (`written_calls`).
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

import orjson

from functions.agent.messages import ToolCall, Usage
from functions.agent.model import failures
from functions.agent.model.base import UNNAMED, Finish, Reply
from functions.agent.toolset import QUERY, is_capability
from sigil.errors import one_line
from sigil.protocol import Json

CALLS_MOST = 64
_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
WRITTEN_CHARACTERS = 50_000
"""Of a text that is searched for calls written into it."""
WRITTEN_MOST: Final = 4
"""So many calls a model may write into its prose; a text with more of them shows examples."""
WRITTEN_ID: Final = "written_"
"""How the ids of written calls begin, so that a history tells them from native ones."""
_CALL_FIELDS: Final = frozenset({"name", "arguments", "parameters", "id", "type"})
_WRAPPED = re.compile(
    r"```\w*\s*(?P<fenced>\{.*\})\s*```|<tool_call>\s*(?P<tagged>\{.*\})\s*</tool_call>",
    re.DOTALL | re.ASCII,
)
_LAYOUT = re.compile(r"\\[bfnrt]")
"""What JSON makes of white space inside a string."""
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
_TAG = re.compile(r"</?think(?:ing)?>", re.IGNORECASE)
_ODD = re.compile(r"[^A-Za-z0-9_-]", re.ASCII)
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse(body: bytes) -> Reply:
    """The reply in a 200 body, with the native calls alone."""
    data = _json(body)
    choices = data.get("choices") if isinstance(data, dict) else None
    if (
        not isinstance(data, dict)
        or not isinstance(choices, list)
        or not choices
        or not isinstance(choices[0], dict)
    ):
        return failures.reply_of(failures.failure_of(200, body))
    message = choices[0].get("message")
    message = message if isinstance(message, dict) else {}
    text = _text(message.get("content"))
    visible = _THINKING.sub("", text).strip()
    calls = _calls(message)
    ended = _ended(choices[0], message)
    if ended == "error":
        broken = {"error": choices[0].get("error") or "it broke off its answer"}
        failed = failures.reply_of(failures.failure_of(200, orjson.dumps(broken)))
        return replace(failed, usage=_usage(data.get("usage")))
    if ended in ("filtered", "refused"):
        calls = []  # what was kept back may be a part of them
        refusal = _text(message.get("refusal")).strip()
        visible = "\n\n".join(filter(None, (visible, refusal if refusal != visible else "")))
    return Reply(
        text=visible,
        calls=tuple(_distinct(calls)),
        usage=_usage(data.get("usage")),
        finish="tool_calls" if calls and ended == "stop" else ended,
        reasoning=_text(message.get("reasoning_content")),
    )


def _ended(choice: dict[str, Any], message: dict[str, Any]) -> Finish:
    """How the model came to its end; "stop" for whatever does not say that something is missing."""
    reason = choice.get("finish_reason")
    if reason == "error" or isinstance(choice.get("error"), dict):
        return "error"
    if reason == "content_filter":
        return "filtered"
    if reason == "refusal" or _text(message.get("refusal")).strip():
        return "refused"
    return "length" if reason == "length" else "stop"


def _json(body: bytes) -> Json:
    """The JSON in `body`, lone surrogates replaced; None when it is none."""
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


def _text(content: Json) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(
            part.get("text", "")
            for part in content
            if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    return ""


def _calls(message: dict[str, Any]) -> list[ToolCall]:
    given = message.get("tool_calls")
    found = []
    for entry in given if isinstance(given, list) else []:
        if isinstance(entry, dict):
            function = entry.get("function")
            function = function if isinstance(function, dict) else {}
            found.append(
                ToolCall(
                    str(entry.get("id") or ""),
                    _name(function.get("name")),
                    _arguments(function.get("arguments")),
                )
            )
    return found[:CALLS_MOST]


def _name(given: Json) -> str:
    """A name that endpoints take back in a history: one that they refuse, or none, would poison the
    whole chat.
    """
    return _ODD.sub("_", given)[:64] if isinstance(given, str) and given.strip() else UNNAMED


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
        name = name if native(name) else f"call_{name}"
        while name in taken:
            name = f"{name}_{position}"
        taken.add(name)
        yield ToolCall(name, call.name, call.arguments)


def written_calls(reply: Reply, messages: Iterable[Json], *, in_prose: bool) -> Reply:
    """The reply with the calls that its model wrote into the text instead of making them; the reply
    itself when there are none.

    A call counts when it is the whole text, alone or in one fence or tag; with `in_prose`, anywhere
    in it. It never counts when it repeats what stands in the `messages`: that is a quote. It never
    deploys.
    """
    text = reply.text
    if reply.calls or reply.finish != "stop" or len(text) > WRITTEN_CHARACTERS:
        return reply
    whole = _as_call(_unwrapped(text))
    if whole:
        parts = {text: whole}
    else:
        parts = _calls_in_prose(text) if in_prose else {}
    if not parts or len(parts) > WRITTEN_MOST:
        return reply
    if _is_quoted([_unwrapped(part) for part in parts], messages):
        return reply
    for part in parts:
        text = text.replace(part, "")
    calls = (
        replace(call, id=f"{WRITTEN_ID}{position}") for position, call in enumerate(parts.values())
    )
    return replace(reply, text=text.strip(), calls=tuple(calls), finish="tool_calls")


def native(call_id: str) -> bool:
    """Whether a call of the history was made by the model's own means, and not written as text."""
    return not call_id.startswith(WRITTEN_ID)


def _calls_in_prose(text: str) -> dict[str, ToolCall]:
    """The calls in a text's fences and tags, each by the part of the text that it is."""
    found: dict[str, ToolCall] = {}
    for opening, closing in (("<tool_call>", "</tool_call>"), ("```", "```")):
        for part in _between(text, opening, closing):
            call = _as_call(_unwrapped(part))
            if call:
                found[part] = call
    return found


def _unwrapped(part: str) -> str:
    """What stands in a fence or a tag; the text itself when it is in none."""
    wrapped = _WRAPPED.fullmatch(part)
    return (wrapped["fenced"] or wrapped["tagged"]) if wrapped else part


def _is_quoted(parts: Iterable[str], messages: Iterable[Json]) -> bool:
    """Whether one of the parts stands in what the model was given or has said, in whatever layout,
    quotes or escapes.

    The tags of a thought are no part of it, wherever they stand.
    """
    given = "\n".join(_text(message.get("content")) for message in messages)
    said = (_letters(given), _letters(_THINKING.sub("", given)), _letters(_TAG.sub("", given)))
    for part in parts:
        letters = _letters(part)
        spellings = {
            letters,
            letters.replace("arguments", "parameters"),
            letters.replace("parameters", "arguments"),
        }
        if any(spelling in text for spelling in spellings for text in said):
            return True
    return False


def _letters(text: str) -> str:
    """The letters and digits of a text, its escapes of HTML and JSON undone."""
    text = _ESCAPED.sub(lambda escaped: chr(int(escaped[1], 16)), html.unescape(text))
    text = _LAYOUT.sub("", text)
    return "".join(filter(str.isalnum, text.casefold()))


def _between(text: str, opening: str, closing: str) -> list[str]:
    """The parts of `text` from an opening to the next closing, both included."""
    parts, place = [], 0
    while (start := text.find(opening, place)) >= 0 and (
        end := text.find(closing, start + len(opening))
    ) >= 0:
        place = end + len(closing)
        parts.append(text[start:place])
    return parts


def _as_call(text: str) -> ToolCall | None:
    """The call that a JSON object describes: a name that may be written, arguments, and nothing
    that only a definition has.
    """
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    data = _json(text.encode("utf-8", "replace"))
    if not isinstance(data, dict) or not data.keys() <= _CALL_FIELDS:
        return None
    name, arguments = data.get("name"), data.get("arguments", data.get("parameters"))
    if (
        not isinstance(name, str)
        or not (name == QUERY or is_capability(name))
        or not isinstance(arguments, dict | str)
    ):
        return None
    return ToolCall("", name, _arguments(arguments))


def _usage(given: Json) -> Usage:
    if not isinstance(given, dict):
        return Usage(estimated=True)
    details = given.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    prompt, completion = _count(given.get("prompt_tokens")), _count(given.get("completion_tokens"))
    return Usage(prompt, completion, _count(cached), estimated=prompt == 0)


def _count(value: Json) -> int:
    return (
        value
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9
        else 0
    )
