"""The wire form of chat completions, which nearly every endpoint takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from functions.agent.conversation.messages import Beside
from functions.agent.conversation.prompt import PromptMessage
from functions.agent.model import history, tool_forms
from functions.agent.model.base import ModelRequest
from functions.agent.model.completion_reader import read_completion
from functions.agent.model.dialect import REASONING, SIGNATURE, STANDARD, Dialect
from sigil.protocol import Json

PATH: Final = "/chat/completions"
ANY_SIGNATURE: Final[Json] = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""Stands for the signature of a call that another model made (Gemini's own word for it)."""
MARK: Final[Json] = {"type": "ephemeral"}


def list_headers(key: str) -> Mapping[str, str]:
    """Return the headers that a request has beside those of its body; `key` may be empty."""
    return {"authorization": f"Bearer {key}"} if key else {}


def write_request(
    request: ModelRequest, model: str, dialect: Dialect, is_kept: Callable[[Beside], bool]
) -> dict[str, Json]:
    """Return the body of a request. `is_kept`: see `history.fit_history`."""
    messages = request.messages
    tools, choice = request.tools, request.tool_choice
    if dialect != STANDARD:
        messages = history.fit_history(messages, dialect, is_kept)
        tools, choice = tool_forms.choose_tools(request, dialect)
    rows = [_write_message(message, dialect, is_kept) for message in messages]
    if dialect.marks_cache:
        _mark_prefix(rows)
    if dialect.names_results:
        _name_results(rows, messages)
    fields: dict[str, Json] = {"model": model, "messages": rows}
    if tools:
        fields["tools"] = tools
        if choice is not None:
            fields["tool_choice"] = choice
        if dialect.effort:
            fields["reasoning_effort"] = dialect.effort
    if dialect.streams:
        fields["stream"] = True
        fields["stream_options"] = {"include_usage": True}
    for name in dialect.without:
        fields.pop(name, None)
    return fields


def _write_message(
    message: PromptMessage, dialect: Dialect, is_kept: Callable[[Beside], bool]
) -> dict[str, Json]:
    """Return a message with the fields that its endpoint sent beside it, or wants beside it."""
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
    if beside and dialect.returns and is_kept(message["beside"]):
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


def _name_results(rows: list[dict[str, Json]], messages: Sequence[PromptMessage]) -> None:
    """Add the tool's name to each result, which a few endpoints want."""
    names = {
        call["id"]: call["function"]["name"]
        for message in messages
        for call in message.get("tool_calls", ())
    }
    for row, message in zip(rows, messages, strict=True):
        if message["role"] == "tool":
            row["name"] = names.get(message.get("tool_call_id", ""), "")


def _mark_prefix(rows: list[dict[str, Json]]) -> None:
    """Mark what is the same in the next request: the system message, and the history up to here.

    Claude keeps nothing that is not marked, and OpenRouter hands the marks on.
    """
    for row in (rows[0], rows[-1]):
        content = row["content"]
        if isinstance(content, str):
            row["content"] = [{"type": "text", "text": content, "cache_control": MARK}]
        elif isinstance(content, list) and content and isinstance(content[-1], dict):
            row["content"] = [*content[:-1], {**content[-1], "cache_control": MARK}]


read_reply = read_completion
