"""Calls that a model writes into its text instead of making them.

Small and local models do, where nothing reads their template's own form. Such a call may count as
one. But a text is also where a model quotes what somebody else wrote, so only what can hardly be a
quote counts; and what does not count is no answer for a person either.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import orjson

from functions.agent.conversation.messages import ToolCall
from functions.agent.conversation.prompt import PromptMessage
from functions.agent.conversation.toolset import QUERY, is_capability
from functions.agent.model.answer_json import parse_answer
from functions.agent.model.base import WRITTEN_ID, ModelReply
from functions.agent.model.call_names import resolve_name
from functions.agent.model.history import read_text
from functions.agent.model.quoted_calls import describe_call, is_quoted, reduce_to_letters
from sigil.protocol import Json

WRITTEN_CHARACTERS: Final = 50_000
"""A longer text is not searched for calls written into it."""
WRITTEN_MOST: Final = 4
"""A model may write so many calls into its prose; a text with more of them shows examples."""
_CALL_FIELDS: Final = frozenset({"name", "arguments", "parameters", "id", "type"})
_WRAPPED = re.compile(
    r"```\w*\s*(?P<fenced>\{.*\})\s*```|<tool_call>\s*(?P<tagged>\{.*\})\s*</tool_call>",
    re.DOTALL | re.ASCII,
)
_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"</?think(?:ing)?>", re.IGNORECASE)
_ELEMENTS: Final = (
    ("<function=", "</function>"),
    ('<invoke name="', "</invoke>"),
)
"""How a call begins and ends where it is written as markup, with its name behind the beginning."""
_PARAMETERS: Final = (("<parameter=", ">"), ('<parameter name="', '"'))
_PARAMETER_END: Final = "</parameter>"
_WRAPPERS: Final = ("<tool_call>", "</tool_call>", "<function_calls>", "</function_calls>")


@dataclass(frozen=True, slots=True)
class _Written:
    """A part of a text that is a call."""

    text: str
    call: ToolCall


def find_written_calls(
    reply: ModelReply,
    messages: Iterable[PromptMessage],
    *,
    in_prose: bool,
    offered: Sequence[str] = (),
) -> ModelReply:
    """Return the reply with the calls that its model wrote into the text instead of making them.

    It is the reply itself when there are none. A call counts when it is the whole text, alone or in
    one fence or tag; with `in_prose`, anywhere in it. It never counts when it repeats a part of
    the `messages`: that is a quote. It never deploys.
    """
    if reply.calls or reply.finish != "stop" or len(reply.text) > WRITTEN_CHARACTERS:
        return reply
    written = _find_whole(reply.text, offered)
    if not written and in_prose:
        written = [*_find_in_prose(reply.text, offered), *_find_markup(reply.text, offered)]
    written = [*{each.text: each for each in written}.values()]
    if not written or len(written) > WRITTEN_MOST or _is_quoted(written, messages):
        return reply
    text = _remove_parts(reply.text, written)
    calls = (
        replace(each.call, id=f"{WRITTEN_ID}{position}") for position, each in enumerate(written)
    )
    return replace(reply, text=text, calls=tuple(calls), finish="tool_calls")


def hide_written_calls(reply: ModelReply, messages: Iterable[PromptMessage]) -> ModelReply:
    """Return the reply without calls that are written as markup, or that are its whole text, where
    they do not count. A quote and an example in a fence stay.
    """
    if reply.calls or len(reply.text) > WRITTEN_CHARACTERS:
        return reply
    text = reply.text
    if not (text.startswith(("{", "`")) or _has_markup(text)):
        return reply
    written = _find_whole(text, ())
    if not written:
        tagged = [each for each in _find_in_prose(text, ()) if each.text.startswith("<")]
        marked = [*_find_markup(text, ()), *tagged]
        written = [each for each in marked if not _is_in_fence(text, each.text)]
    if not written or len(written) > WRITTEN_MOST or _is_quoted(written, messages):
        return reply
    return replace(reply, text=_remove_parts(text, written))


def _has_markup(text: str) -> bool:
    return "<tool_call>" in text or any(opening in text for opening, _ in _ELEMENTS)


def _find_whole(text: str, offered: Sequence[str]) -> list[_Written]:
    """Return the calls that a text consists of."""
    call = _parse_call(_strip_wrapper(text), offered)
    if call:
        return [_Written(text, call)]
    written = [*_find_markup(text, offered)]
    return [] if _remove_parts(text, written) else written


def _find_in_prose(text: str, offered: Sequence[str]) -> Iterator[_Written]:
    """Yield the calls in a text's fences and tags."""
    for opening, closing in (("<tool_call>", "</tool_call>"), ("```", "```")):
        place = 0
        while (start := text.find(opening, place)) >= 0:
            end = text.find(closing, start + len(opening))
            if end < 0:
                break
            place = end + len(closing)
            part = text[start:place]
            call = _parse_call(_strip_wrapper(part), offered)
            if call:
                yield _Written(part, call)


def _find_markup(text: str, offered: Sequence[str]) -> Iterator[_Written]:
    """Yield the calls that are written as elements of markup."""
    for opening, closing in _ELEMENTS:
        place = 0
        while (start := text.find(opening, place)) >= 0:
            end = text.find(closing, start)
            if end < 0:
                break
            place = end + len(closing)
            name, _, body = text[start + len(opening) : end].partition(">")
            call = _make_call(name.rstrip('"'), _read_parameters(body), offered)
            if call:
                yield _Written(text[start:place], call)


def _read_parameters(body: str) -> dict[str, Json]:
    """Return the arguments in the body of a call's element; those that are lists or objects are
    JSON, all others are text, which the tool's schema reads.
    """
    arguments: dict[str, Json] = {}
    for part in body.split(_PARAMETER_END)[:-1]:
        for opening, end in _PARAMETERS:
            _, found, rest = part.partition(opening)
            if not found:
                continue
            name, _, value = rest.partition(end)
            value = value.removeprefix(">") if end != ">" else value
            value = value.removeprefix("\n").removesuffix("\n")
            structured = parse_answer(value.encode("utf-8", "replace"))
            is_text = not isinstance(structured, dict | list)
            arguments[name.strip()] = value if is_text else structured
    return arguments


def _strip_wrapper(part: str) -> str:
    """Return the inside of a fence or a tag; the text itself when it is in none."""
    wrapped = _WRAPPED.fullmatch(part)
    return (wrapped["fenced"] or wrapped["tagged"]) if wrapped else part


def _remove_parts(text: str, written: Iterable[_Written]) -> str:
    """Return a text without its calls, and without the tags around those that are markup."""
    for each in written:
        text = text.replace(each.text, "")
        if each.text.startswith("<"):
            for wrapper in _WRAPPERS:
                text = text.replace(wrapper, "")
    return text.strip()


def _is_in_fence(text: str, part: str) -> bool:
    return text.partition(part)[0].count("```") % 2 == 1


def _is_quoted(written: Iterable[_Written], messages: Iterable[PromptMessage]) -> bool:
    """Return whether the messages have one of the parts, in any layout, quotes or escapes, or
    describe the same call with its fields in another order or under other names.

    The tags of a thought are no part of it, wherever they are.
    """
    written = [*written]
    history = "\n".join(map(read_text, messages))
    texts = (history, _THINKING.sub("", history), _TAG.sub("", history))
    readings = [*map(reduce_to_letters, texts)]
    for each in written:
        letters = reduce_to_letters(_strip_wrapper(each.text))
        spellings = {
            letters,
            letters.replace("arguments", "parameters"),
            letters.replace("parameters", "arguments"),
        }
        if any(spelling in text for spelling in spellings for text in readings):
            return True
    wanted = {describe_call(each.call.name, each.call.arguments) for each in written}
    if not any(call.name in text for call in wanted for text in readings):
        return False
    marked = (each.call for text in texts for each in _find_markup(html.unescape(text), ()))
    if any(describe_call(call.name, call.arguments) in wanted for call in marked):
        return True
    return is_quoted(wanted, texts)


def _parse_call(text: str, offered: Sequence[str]) -> ToolCall | None:
    """Return the call that a JSON object describes; None when it describes none.

    It has a name that may be written, arguments, and nothing that only a definition has.
    """
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    data = parse_answer(text.encode("utf-8", "replace"))
    if not isinstance(data, dict) or not data.keys() <= _CALL_FIELDS:
        return None
    return _make_call(data.get("name"), data.get("arguments", data.get("parameters")), offered)


def _make_call(name: Json, arguments: Json, offered: Sequence[str]) -> ToolCall | None:
    if not isinstance(name, str) or not isinstance(arguments, dict | str):
        return None
    meant = resolve_name(name, offered)
    if not (meant == QUERY or is_capability(meant)):
        return None
    if isinstance(arguments, str):
        return ToolCall("", meant, arguments or "{}")
    try:
        return ToolCall("", meant, orjson.dumps(arguments).decode())
    except TypeError:  # nested deeper than JSON is written
        return ToolCall("", meant, "{}")
