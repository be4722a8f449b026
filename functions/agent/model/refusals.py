"""Refusals say what an endpoint does not take, and so which dialect it wants instead.

Each rule knows the words of some family of endpoints. Where no rule knows them, the request is told
in the plainest form: first without what only tools and earlier turns need, then without tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from functions.agent.model import history
from functions.agent.model.base import IMAGES_LEFT_OUT, ModelRequest
from functions.agent.model.dialect import (
    DETAILS,
    REASONING,
    SIGNATURE,
    STREAM,
    STREAM_OPTIONS,
    Dialect,
)
from functions.agent.model.tool_forms import fit_tools
from sigil.storage.evolve import evolve


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused request, and the beginning of what the endpoint said, in lower case."""

    status: int
    words: str
    request: ModelRequest


@dataclass(frozen=True, slots=True)
class Adaptation:
    """The dialect to send the request in next, and for owners what is other in it.

    It `is_guess` where the refusal's words do not say what it is about.
    """

    dialect: Dialect
    lesson: str
    is_guess: bool = False


_Rule = Callable[[Dialect, Refusal], Adaptation | None]

NONE: Final = "none"
_CHOICE_WORDS: Final = (
    "tool_choice",
    "toolchoice",
    "does not support",
    'should be ["none", "auto"]',
    "incompatible with thinking",
)
"""The words of providers that refuse a forced tool choice (seed 002)."""
_ALL_PORTABLE: Final = "all tools are told in the strictest form"
_NO_TOOLS: Final = (
    "does not support tools",
    "not support function calling",
    "support tool use",
    "tool calling is not supported",
    "enable-auto-tool-choice",
)
_NOT_HERE: Final = (404, 405)
"""These statuses are about the address or the model, whatever a request has in it."""
_PLACES: Final = (
    re.compile(r"function_declarations\[(\d+)\]"),
    re.compile(r"tools\[(\d+)\]"),
    re.compile(r"tools\.(\d+)\."),
)
_FUNCTION: Final = re.compile(
    r"(?:function|tool)(?: name)?[\s:=]{1,2}['\"`](?P<name>[\w.-]{1,64})['\"`]"
)
_FIELDS: Final = (
    re.compile(r"property ['\"`]([\w.]{1,64})['\"`] is unsupported"),
    re.compile(
        r"(?:unsupported|unknown|unrecognized|invalid) (?:parameter|argument|field|name|key)s?:?"
        r" ['\"`]([\w.]{1,64})['\"`]"
    ),
    re.compile(r"unrecognized request arguments? supplied: ([\w.]{1,64})"),
    re.compile(r"argument not supported on this model: ([\w.]{1,64})"),
    re.compile(
        r"['\"`]([\w.]{1,64})['\"`]:? (?:extra inputs are|is|are)"
        r" not (?:permitted|supported|allowed)"
    ),
    re.compile(r"([\w.]{1,64}): extra inputs are not permitted"),
    re.compile(r"extra_forbidden.{0,80}\"loc\":\s*\[[^\]]*\"([\w.]{1,64})\"\]"),
    re.compile(r"\"loc\":\s*\[[^\]]*\"([\w.]{1,64})\"\].{0,80}extra (?:inputs|fields)"),
)
_REQUIRED: Final = frozenset(
    "role content messages model tools tool_calls function name arguments id type tool_call_id"
    " parameters input instructions system max_tokens properties items required description".split()
)
"""Fields without which nothing is said."""


def adapt(dialect: Dialect, refusal: Refusal) -> Adaptation | None:
    """Return what to try after a refusal, None when there is nothing left to leave out."""
    for rule in _RULES:
        adaptation = rule(dialect, refusal)
        if adaptation and adaptation.dialect != dialect:
            return adaptation
    return None


def is_about_choice(refusal: Refusal) -> bool:
    """Return whether an error is about the tool choice, whatever status a gateway gives it."""
    return refusal.request.tool_choice is not None and _has(refusal, *_CHOICE_WORDS)


def _has(refusal: Refusal, *markers: str) -> bool:
    return any(marker in refusal.words for marker in markers)


def _give_thoughts_back(dialect: Dialect, refusal: Refusal) -> Adaptation | None:
    if _has(refusal, "thought_signature", "thought signature"):
        is_details = _has(refusal, "reasoning details", "reasoning_details")
        if is_details and DETAILS not in dialect.needs:
            return Adaptation(
                evolve(dialect, needs=(*dialect.needs, DETAILS)),
                "calls of other models are told as text",
            )
        if not is_details and SIGNATURE not in dialect.needs:
            changed = evolve(dialect, needs=(*dialect.needs, SIGNATURE))
            return Adaptation(changed, "calls of other models have a signature that stands for any")
        return Adaptation(evolve(dialect, is_plain=True), "calls of earlier turns are told as text")
    if _has(refusal, "reasoning_content") and _has(refusal, "passed back", "missing"):
        if REASONING not in dialect.needs:
            changed = evolve(dialect, needs=(*dialect.needs, REASONING))
            return Adaptation(changed, "each call has a field for thoughts")
        return Adaptation(evolve(dialect, is_plain=True), "calls of earlier turns are told as text")
    return None


def _stop_reasoning(dialect: Dialect, refusal: Refusal) -> Adaptation | None:
    """OpenAI's newer models take tools on chat completions only without reasoning, and some of them
    nowhere but on Responses.
    """
    if dialect.wire != "chat" or not (_has(refusal, "reasoning_effort", "/v1/responses")):
        return None
    if _has(refusal, "reasoning_effort") and _has(refusal, NONE) and not dialect.effort:
        return Adaptation(evolve(dialect, effort=NONE), "the model does not reason beside tools")
    if _has(refusal, "/v1/responses") or dialect.effort:
        return Adaptation(
            evolve(dialect, wire="responses", effort=""), "requests have the form of Responses"
        )
    return None


def _leave_wire(dialect: Dialect, refusal: Refusal) -> Adaptation | None:
    """An address without this form of requests takes chat completions."""
    if dialect.wire == "chat" or refusal.status not in _NOT_HERE:
        return None
    return Adaptation(evolve(dialect, wire="chat"), "requests have the form of chat completions")


def _stream(dialect: Dialect, refusal: Refusal) -> Adaptation | None:
    """A stream that was asked for because somebody wants the words as they come is no more asked
    for, and one that was not is.
    """
    if dialect.streams or not _has(refusal, STREAM, "include_usage"):
        return None
    if refusal.request.tell is not None and STREAM not in dialect.without:
        is_option = _has(refusal, STREAM_OPTIONS, "include_usage")
        name = STREAM_OPTIONS if is_option and STREAM_OPTIONS not in dialect.without else STREAM
        left_out = dict.fromkeys((*dialect.without, STREAM_OPTIONS, name))
        return Adaptation(evolve(dialect, without=(*left_out,)), f"the field {name} is left out")
    words = ("non-stream", "support stream", "supports stream", "stream must", "stream=true")
    if _has(refusal, *words):
        without = tuple(name for name in dialect.without if name != STREAM)
        changed = evolve(dialect, streams=True, without=without)
        return Adaptation(changed, "answers come as a stream")
    return None


def _choose_less(dialect: Dialect, refusal: Refusal) -> Adaptation | None:
    if not is_about_choice(refusal) or refusal.request.tool_choice is None:
        return None
    lesson = "no tool is demanded"
    if dialect.choices == "named" and _has(refusal, "string value", "type: 'object'"):
        return Adaptation(evolve(dialect, choices="words"), "a tool is not demanded by its name")
    if dialect.choices in ("named", "words") and refusal.request.tool_choice != "auto":
        return Adaptation(evolve(dialect, choices="auto"), lesson)
    return Adaptation(evolve(dialect, choices="omitted"), lesson)


def _name_results(dialect: Dialect, refusal: Refusal) -> Adaptation | None:
    if _has(refusal, "tools should have a name", "tool message must have a name"):
        return Adaptation(evolve(dialect, names_results=True), "results have their tool's name")
    return None


def _shorten_ids(dialect: Dialect, refusal: Refusal) -> Adaptation | None:
    is_long = _has(refusal, "string too long") and _has(refusal, ".id'", "tool_call_id")
    if is_long or _has(refusal, "length of 9", "tool call id was", "ids must match"):
        return Adaptation(evolve(dialect, short_ids=True), "the ids of calls are short")
    return None


def _order_roles(dialect: Dialect, refusal: Refusal) -> Adaptation | None:
    if _has(refusal, "after role 'tool'", 'after role "tool"') and not dialect.bridges:
        changed = evolve(dialect, bridges=True)
        return Adaptation(changed, "a message stands between a result and the next words")
    if _has(refusal, "must alternate", "roles must alternate"):
        return Adaptation(evolve(dialect, alternates=True), "messages of one role are joined")
    return None


def _change_tool(dialect: Dialect, refusal: Refusal) -> Adaptation | None:
    """One tool that an endpoint refuses costs nothing but itself."""
    name = _find_tool(dialect, refusal)
    if not name or name in dialect.without_tools:
        return None
    if name in dialect.bare_tools:
        changed = evolve(dialect, without_tools=(*dialect.without_tools, name))
        return Adaptation(changed, f"the tool {name} is left out")
    is_portable = name in dialect.portable_tools or dialect.schemas == "portable"
    if dialect.portable_tools and not is_portable:
        # where two are refused, there are more
        return Adaptation(evolve(dialect, schemas="portable"), _ALL_PORTABLE)
    if is_portable:
        changed = evolve(dialect, bare_tools=(*dialect.bare_tools, name))
        return Adaptation(changed, f"the arguments of the tool {name} are told in words")
    changed = evolve(dialect, portable_tools=(*dialect.portable_tools, name))
    return Adaptation(changed, f"the tool {name} is told in the strictest form")


def _find_tool(dialect: Dialect, refusal: Refusal) -> str:
    """Return the offered tool that a refusal names, by its name or its place; empty for none."""
    tools = [tool["function"]["name"] for tool in fit_tools(refusal.request.tools, dialect)]
    for pattern in _PLACES:
        found = pattern.search(refusal.words)
        # a list of declarations stands within the first entry of `tools`
        place = int(found[1][:6]) if found else len(tools)
        if place < len(tools):
            return tools[place]
    found = _FUNCTION.search(refusal.words)
    if found and found["name"] in map(str.lower, tools):
        return next(name for name in tools if name.lower() == found["name"])
    if _has(refusal, "schema", "grammar", "parser", "pattern"):
        return next((name for name in tools if name.lower() in refusal.words), "")
    return ""


def _use_portable(dialect: Dialect, refusal: Refusal) -> Adaptation | None:
    """Without a name, the schemas of all tools are told in the strictest form."""
    words = ("schema", "grammar", "parser for this template", "function_declarations", "draft 2020")
    if dialect.schemas == "portable" or not refusal.request.tools or not _has(refusal, *words):
        return None
    return Adaptation(evolve(dialect, schemas="portable"), _ALL_PORTABLE)


def _leave_out_field(dialect: Dialect, refusal: Refusal) -> Adaptation | None:
    for pattern in _FIELDS:
        for found in pattern.finditer(refusal.words):
            name = found[1].rpartition(".")[2]
            if name in _REQUIRED or name in dialect.without:
                continue
            changed = evolve(
                dialect,
                without=(*dialect.without, name),
                marks_cache=dialect.marks_cache and name != "cache_control",
                needs=tuple(each for each in dialect.needs if each != name),
            )
            return Adaptation(changed, f"the field {name} is left out")
    return None


def _leave_out_images(dialect: Dialect, refusal: Refusal) -> Adaptation | None:
    if refusal.status in _NOT_HERE and not _has(refusal, "image"):
        return None
    if not history.count_images(refusal.request.messages):
        return None
    changed = evolve(dialect, without_images=True)
    is_said = _has(refusal, "image", "vision", "multimodal", "content type", "unknown variant")
    return Adaptation(changed, IMAGES_LEFT_OUT, is_guess=not is_said)


def _do_without_tools(dialect: Dialect, refusal: Refusal) -> Adaptation | None:
    """A model, or the way in which it is served, may have no tools at all."""
    if not refusal.request.tools or not _has(refusal, *_NO_TOOLS):
        return None
    return Adaptation(evolve(dialect, is_toolless=True), "no tools are offered")


def _tell_plainly(dialect: Dialect, refusal: Refusal) -> Adaptation | None:
    if dialect.is_plain or refusal.status in _NOT_HERE:
        return None
    changed = evolve(dialect, is_plain=True, schemas="portable", returns=False, effort="")
    lesson = "calls of earlier turns are told as text, and tools most simply"
    return Adaptation(changed, lesson, is_guess=True)


def _leave_out_tools(dialect: Dialect, refusal: Refusal) -> Adaptation | None:
    if not refusal.request.tools or refusal.status in _NOT_HERE:
        return None
    changed = evolve(dialect, is_plain=True, is_toolless=True)
    return Adaptation(changed, "no tools are offered", is_guess=True)


_RULES: Final[tuple[_Rule, ...]] = (
    _leave_wire,
    _stop_reasoning,
    _give_thoughts_back,
    _stream,
    _choose_less,
    _name_results,
    _shorten_ids,
    _order_roles,
    _do_without_tools,
    _change_tool,
    _use_portable,
    _leave_out_field,
    _leave_out_images,
    _tell_plainly,
    _leave_out_tools,
)
"""The first one that changes anything counts."""
