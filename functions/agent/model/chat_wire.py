"""The wire form of chat completions, which nearly every endpoint takes.

The readers turn whatever an endpoint sends into a `ModelReply`; thinking in tags is not an answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import orjson

from functions.agent.conversation.messages import Beside, ToolCall, Usage
from functions.agent.conversation.prompt import PromptMessage
from functions.agent.model import failures
from functions.agent.model.base import Finish, ModelReply, ModelRequest
from functions.agent.model.dialect import (
    DETAILS,
    REASONING,
    SIGNATURE,
    STANDARD,
    STREAM,
    Dialect,
)
from sigil.json_fields import as_mapping, as_sequence
from sigil.protocol import Json
from sigil.strict_json import is_within_depth

PATH: Final = "/chat/completions"
ANY_SIGNATURE: Final[Json] = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""Stands for the signature of a call that another model made (Gemini's own word for it)."""
MARK: Final[Json] = {"type": "ephemeral"}
CALLS_MOST = 64
COUNT_MOST: Final = 10**9
"""No request has so many tokens; a provider that says so has not counted."""
COST_MOST: Final = 10_000.0
"""No request costs so much money."""
BESIDE_MOST: Final = 64 * 1024
"""Bytes that are kept of what came beside a message."""
DEPTH_MOST: Final = 64
"""What is nested deeper is not sent again: a request may be nested 254 deep in all (orjson)."""
_BESIDE_MESSAGE: Final = (
    REASONING,
    "reasoning",
    DETAILS,
    "extra_content",
    "provider_specific_fields",
)
_BESIDE_CALL: Final = ("extra_content", "provider_specific_fields")
"""The fields in which endpoints send thoughts and signatures that they want back."""
_BROKEN: Final = frozenset({"error", "network_error", "malformed_function_call"})
_FILTERED: Final = frozenset({"content_filter", "sensitive", "safety", "prohibited_content"})
_CUT: Final = frozenset({"length", "model_length", "max_tokens", "model_context_window_exceeded"})
"""The reasons why an answer ended, by what they mean here."""
_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_REASONING = re.compile(r"\A\s*<reasoning>.*?(?:</reasoning>|\Z)", re.DOTALL | re.IGNORECASE)
_CLOSING = re.compile(r"^[ \t]*</(?:think(?:ing)?|reasoning)>[ \t]*$", re.MULTILINE | re.IGNORECASE)
"""The end of a thought whose beginning the template wrote, alone on its line."""
_TAG = re.compile(r"</?think(?:ing)?>", re.IGNORECASE)


def list_headers(key: str) -> Mapping[str, str]:
    """Return the headers that a request has beside those of its body; `key` may be empty."""
    return {"authorization": f"Bearer {key}"} if key else {}


def write_request(request: ModelRequest, dialect: Dialect, endpoint: str) -> dict[str, Json]:
    """Return the body of a request. `endpoint`: see `history.fit_history`."""
    messages = request.messages
    tools, choice = request.tools, request.tool_choice
    if dialect != STANDARD:
        from functions.agent.model import history, tool_forms

        messages = history.fit_history(request, dialect, endpoint)
        tools, choice = tool_forms.choose_tools(request, dialect)
    owner = (endpoint, request.model)
    is_standard = not dialect.needs
    rows: list[Mapping[str, Json]] = [
        message
        if is_standard
        and message["content"]
        and "beside" not in message
        and REASONING not in message
        else _write_message(message, dialect, owner)
        for message in messages
    ]
    if dialect.marks_cache:
        _mark_prefix(rows)
    if dialect.names_results:
        _name_results(rows, messages)
    fields: dict[str, Json] = {"model": request.model, "messages": rows}
    if tools:
        fields["tools"] = tools
        if choice is not None:
            fields["tool_choice"] = choice
        if dialect.effort:
            fields["reasoning_effort"] = dialect.effort
    if streams(request, dialect):
        fields["stream"] = True
        fields["stream_options"] = {"include_usage": True}
    for name in dialect.without:
        fields.pop(name, None)
    return fields


def streams(request: ModelRequest, dialect: Dialect) -> bool:
    """Return whether the answer is to come as a stream."""
    return dialect.streams or (request.tell is not None and STREAM not in dialect.without)


def _write_message(
    message: PromptMessage, dialect: Dialect, owner: tuple[str, str]
) -> dict[str, Json]:
    """Return a message with the fields that its endpoint sent beside it, or wants beside it.

    The `owner` is the endpoint that gets it, and the model.
    """
    from functions.agent.model import history

    role = message["role"]
    row: dict[str, Json] = dict(message)
    beside = row.pop("beside", None)
    row.pop(REASONING, None)
    calls = message.get("tool_calls")
    if role in ("user", "assistant") and not calls:
        content = message["content"]
        if isinstance(content, str) and not content.strip():
            row["content"] = history.NOTHING
    if role != "assistant":
        return row
    if REASONING in dialect.needs:
        row[REASONING] = "" if beside else message.get(REASONING, "")
    extras: list[dict[str, Json]] = []
    if beside and dialect.returns and message["beside"].owner == owner:
        fields, extras = history.find_fields(message)
        row.update({name: value for name, value in fields.items() if name not in dialect.without})
        whole = history.read_beside(message["beside"]).get("content")
        if dialect.has_tags and isinstance(whole, str):
            row["content"] = whole
    if not calls:
        return row
    if SIGNATURE in dialect.needs and not (extras and extras[0].get("extra_content")):
        extras = [{"extra_content": ANY_SIGNATURE}, *extras[1:]]
    if extras:
        row["tool_calls"] = [
            {**call, **_leave_out(extras[place] if place < len(extras) else {}, dialect)}
            for place, call in enumerate(calls)
        ]
    return row


def _leave_out(fields: dict[str, Json], dialect: Dialect) -> dict[str, Json]:
    return {name: value for name, value in fields.items() if name not in dialect.without}


def _name_results(rows: list[Mapping[str, Json]], messages: Sequence[PromptMessage]) -> None:
    """Add the tool's name to each result, which a few endpoints want."""
    names = {
        call["id"]: call["function"]["name"]
        for message in messages
        for call in message.get("tool_calls", ())
    }
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            rows[place] = {**rows[place], "name": names.get(message.get("tool_call_id", ""), "")}


def _mark_prefix(rows: list[Mapping[str, Json]]) -> None:
    """Mark what is the same in the next request: the system message, and the history up to here.

    Claude keeps nothing that is not marked, and OpenRouter hands the marks on.
    """
    for place in {0, len(rows) - 1}:
        content = rows[place]["content"]
        if isinstance(content, str):
            parts: list[Json] = [{"type": "text", "text": content}]
        else:
            parts = [*as_sequence(content)]
        last = as_mapping(parts[-1]) if parts else {}
        if last:
            marked = [*parts[:-1], {**last, "cache_control": MARK}]
            rows[place] = {**rows[place], "content": marked}


def read_reply(data: Json, offered: Sequence[str] = ()) -> ModelReply:
    """Return the reply in an answer, with its native calls of the tools that are `offered`."""
    fields = as_mapping(data)
    choices = as_sequence(fields.get("choices"))
    choice = choices[0] if choices else None
    if not isinstance(choice, dict):
        return failures.make_error_reply(failures.classify_failure(200, dump_json(data)))
    message = as_mapping(choice.get("message"))
    text = read_text(message.get("content"))
    calls: tuple[ToolCall, ...] = ()
    if message.get("tool_calls") or message.get("function_call"):
        calls = list_calls(_read_entries(message), offered)
    finish = _read_finish(choice, message)
    usage = read_usage(fields.get("usage") or choice.get("usage"))
    if finish == "error":
        said = choice.get("error") or f"it broke off its answer ({choice.get('finish_reason')})"
        failure = failures.classify_failure(
            failures.find_status(choice) or 200, dump_json({"error": said})
        )
        return replace(failures.make_error_reply(failure), usage=usage)
    reply = ModelReply(
        text=remove_thoughts(text) if "<" in text else text.strip(),
        calls=calls,
        usage=usage,
        finish="tool_calls" if calls and finish == "stop" else finish,
        reasoning=read_text(message[REASONING]) if REASONING in message else "",
    )
    if finish in ("filtered", "refused"):
        return read_refusal(reply, read_text(message.get("refusal")))
    if finish == "length" and not (reply.text or calls):
        # an answer that had no room at all
        words = str(choice.get("finish_reason")).encode()
        failure = failures.classify_failure(400, words)
        if failure.kind == "window":
            return replace(failures.make_error_reply(failure), usage=usage)
    return make_beside(reply, _find_beside(message, text)) if calls else reply


def dump_json(data: object) -> bytes:
    """Return what an endpoint sent as JSON; empty where it is nested too deep to be written."""
    try:
        return orjson.dumps(data)
    except TypeError:
        return b""


def _find_beside(message: Mapping[str, Json], text: str) -> dict[str, Json]:
    """Return what came beside a message that makes calls, and what came beside these."""
    fields = {name: message[name] for name in _BESIDE_MESSAGE if message.get(name) is not None}
    if REASONING in fields:
        fields[REASONING] = None  # the message has it
    calls: list[Json] = [
        {name: entry[name] for name in _BESIDE_CALL if entry.get(name) is not None}
        for entry in as_sequence(message.get("tool_calls"))
        if isinstance(entry, dict)
    ]
    kept: dict[str, Json] = {}
    if fields:
        kept["message"] = fields
    if any(calls):
        kept["calls"] = calls
    if _TAG.search(text):
        kept["content"] = text
    return kept


def make_beside(reply: ModelReply, kept: Mapping[str, Json]) -> ModelReply:
    """Return a reply with what its endpoint wants back, which the client says whose it is; without
    it where there is nothing, or where it is too large or nested too deep to be sent again.
    """
    if not kept:
        return reply
    fields = dump_json(kept)
    if not fields or len(fields) > BESIDE_MOST or not is_within_depth(kept, DEPTH_MOST):
        return reply
    return replace(reply, beside=Beside("", "", fields.decode()))


def read_refusal(reply: ModelReply, refusal: str) -> ModelReply:
    """Return a reply that was withheld, with its words: what was kept back may be a part of the
    calls.
    """
    refusal = refusal.strip()
    words = (reply.text, refusal if refusal != reply.text else "")
    return replace(reply, calls=(), text="\n\n".join(filter(None, words)))


def _read_finish(choice: Mapping[str, Json], message: Mapping[str, Json]) -> Finish:
    """Return how the model ended; "stop" for all that does not say that something is missing."""
    reason = str(choice.get("finish_reason") or "").lower()
    if reason in _BROKEN or isinstance(choice.get("error"), dict):
        return "error"
    if reason in _FILTERED:
        return "filtered"
    if reason == "refusal" or read_text(message.get("refusal")).strip():
        return "refused"
    return "length" if reason in _CUT else "stop"


def remove_thoughts(text: str) -> str:
    """Return the part of a text that is for the reader.

    Where a template writes the opening tag into the prompt, the closing one stands alone on its
    line, and all before it is a thought.
    """
    text = _REASONING.sub("", _THINKING.sub("", text))
    fences = 0
    place = 0
    for closing in _CLOSING.finditer(text):
        fences += text.count("```", place, closing.start())
        place = closing.start()
        if fences % 2 == 0:
            return text[closing.end() :].strip()
    return text.strip()


def read_text(content: Json) -> str:
    """Return the text of a message's content, which may be a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(
            part.get("text", "")
            for part in content
            if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    return ""


def _read_entries(message: Mapping[str, Json]) -> list[ToolCall]:
    """Return the native calls as the endpoint wrote them; the one call of the older form last."""
    entries = [*as_sequence(message.get("tool_calls"))]
    if isinstance(message.get("function_call"), dict) and not entries:
        entries.append({"function": message["function_call"]})
    calls = []
    for entry in entries:
        if not isinstance(entry, dict):
            continue
        function = as_mapping(entry.get("function"))
        name = function.get("name")
        arguments = _read_arguments(function.get("arguments"))
        calls.append(
            ToolCall(str(entry.get("id") or ""), name if isinstance(name, str) else "", arguments)
        )
    return calls


def list_calls(entries: Sequence[ToolCall], offered: Sequence[str] = ()) -> tuple[ToolCall, ...]:
    """Return the calls of a reply as they may stand in a history, which other endpoints read too.

    A name that they refuse, or none, would make every later request of the chat fail.
    """
    from functions.agent.model import call_names

    calls = [*call_names.resolve_calls(entries[:CALLS_MOST], offered)][:CALLS_MOST]
    return tuple(call_names.make_ids_unique(calls))


def _read_arguments(arguments: Json) -> str:
    if isinstance(arguments, str):
        return arguments or "{}"
    if arguments is None:
        return "{}"
    try:
        return orjson.dumps(arguments).decode()
    except TypeError:  # nested deeper than JSON is written
        return "{}"


def read_usage(usage: Json) -> Usage:
    """Return what the provider counted; estimated where it did not, or counted impossibly."""
    if not isinstance(usage, dict):
        return Usage(estimated=True)
    prompt = _read_count(usage.get("prompt_tokens"))
    completion = _read_count(usage.get("completion_tokens"))
    cached = _read_cached(usage)
    if "prompt_tokens" not in usage:
        prompt = _read_count(usage.get("input_tokens"))
        completion = _read_count(usage.get("output_tokens"))
        if "input_tokens_details" not in usage:  # Anthropic leaves out what the cache held
            prompt += cached + _read_count(usage.get("cache_creation_input_tokens"))
    if not prompt or (not completion and not _is_count(usage.get("completion_tokens", 0))):
        return Usage(estimated=True)
    return Usage(prompt, completion, min(cached, prompt), cost=_read_cost(usage.get("cost")))


def _read_cached(usage: dict[str, Json]) -> int:
    """Return how many tokens of the prompt came from the cache.

    OpenAI and most others tell it in `prompt_tokens_details`, DeepSeek in
    `prompt_cache_hit_tokens`, Anthropic and gateways to it in `cache_read_input_tokens`.
    """
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
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
