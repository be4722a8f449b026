"""Anthropic's Messages API: what it takes, read strictly, and how it answers, whole or as a stream
(https://platform.claude.com/docs/en/api/messages).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from tests.fakes.endpoint_answers import cut, format_event, write_calls
from tests.fakes.endpoint_rules import Body, Dialect, Refusal, Refusals, is_object, judge_schema
from tests.fakes.endpoint_steps import (
    ANSWER_TOKENS,
    Asked,
    Counts,
    Step,
    is_signed,
    sign,
    text_of,
)

Block = Mapping[str, Any]
Fields = dict[str, Any]
FAMILY = "anthropic"
VERSION = "2023-06-01"
PARAMETERS = frozenset(
    "model messages system tools tool_choice max_tokens stream thinking metadata stop_sequences"
    " temperature top_p top_k service_tier container context_management cache_control"
    " output_config".split()
)
MARKS_MOST = 4
"""So many blocks may be marked for the cache."""
LOOK_BACK = 20
"""From a mark, so many blocks are looked back for a prefix that is kept."""
KINDS: Mapping[str, frozenset[str]] = {
    "user": frozenset({"text", "image", "document", "tool_result"}),
    "assistant": frozenset({"text", "tool_use", "thinking", "redacted_thinking"}),
}
"""The kinds of blocks that each role may have."""
_BLOCK_FIELDS: Mapping[str, frozenset[str]] = {
    "text": frozenset({"type", "text", "cache_control", "citations"}),
    "tool_use": frozenset({"type", "id", "name", "input", "cache_control"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
}
_TOOL_FIELDS = frozenset(
    {"type", "name", "description", "input_schema", "cache_control", "strict", "defer_loading"}
)
ERRORS = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
"""The types of errors by status; all others are `invalid_request_error`."""


def format_refusal(dialect: Dialect, refusal: Refusal) -> object:
    """Return the body of an error."""
    kind = ERRORS.get(refusal.status, "invalid_request_error")
    error = {"type": kind, "message": refusal.message}
    return {"type": "error", "error": error, "request_id": "req_1"}


def judge(body: Body, headers: Mapping[str, str], dialect: Dialect) -> Refusal | None:
    """Return the first refusal of a request, None when it is taken."""
    if not headers.get("x-api-key"):
        return Refusal("x-api-key header is required", 401)
    if headers.get("anthropic-version") != VERSION:
        return Refusal("anthropic-version: header is required")
    for field in ("model", "max_tokens", "messages"):
        if not body.get(field):
            return Refusal(f"{field}: Field required")
    checks = (
        _check_parameters,
        _check_tools,
        _check_roles,
        _check_blocks,
        _check_pairs,
        _check_thoughts,
        _check_marks,
    )
    found = (refusal for check in checks for refusal in check(body, dialect))
    return next(found, None)


def read_asked(body: Body) -> Asked:
    """Return a request as a script reads it."""
    users = [message for message in body["messages"] if message["role"] == "user"]
    results = []
    said = []
    for message in users:
        blocks = _blocks(message)
        results += [each for each in blocks if each["type"] == "tool_result"]
        texts = [each["text"] for each in blocks if each["type"] == "text"]
        if texts:
            said.append("\n".join(texts))
    choice = body.get("tool_choice") or {}
    return Asked(
        body["model"],
        text_of(body.get("system")),
        tuple(said),
        tuple(text_of(each.get("content")) for each in results),
        tuple(tool["name"] for tool in body.get("tools") or ()),
        choice.get("name", ""),
        body,
    )


def _blocks(message: Block) -> Sequence[Block]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def _check_parameters(body: Body, dialect: Dialect) -> Refusals:
    for name in sorted(body.keys() - PARAMETERS):
        yield Refusal(f"{name}: Extra inputs are not permitted")
    for name in ("temperature", "top_p", "top_k"):
        if body.get(name) is not None:
            yield Refusal(f"`{name}` is deprecated for this model.")
    thinking = body.get("thinking") or {}
    is_thinking = _is_thinking(body)
    budget = thinking.get("budget_tokens", 0)
    if thinking.get("type") == "enabled" and budget < 1024:
        yield Refusal(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
        )
    if is_thinking and budget >= body["max_tokens"]:
        yield Refusal("`max_tokens` must be greater than `thinking.budget_tokens`.")
    choice = body.get("tool_choice")
    if choice is None:
        return
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind not in ("auto", "any", "tool", "none"):
        yield Refusal(
            f"tool_choice: Input tag '{kind}' found using 'type' does not match any of the expected"
            " tags: 'auto', 'any', 'tool', 'none'"
        )
    if kind == "tool" and "name" not in choice:
        yield Refusal("tool_choice.tool.name: Field required")
    if not body.get("tools"):
        yield Refusal("tool_choice may only be specified while providing tools.")
    if is_thinking and kind in ("any", "tool"):
        yield Refusal("Thinking may not be enabled when tool_choice forces tool use.")


def _is_thinking(body: Body) -> bool:
    return (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")


def _check_tools(body: Body, dialect: Dialect) -> Refusals:
    tools = body.get("tools") or ()
    for place, tool in enumerate(tools):
        at = f"tools.{place}.custom"
        for field in ("name", "input_schema"):
            if field not in tool:
                yield Refusal(f"{at}.{field}: Field required")
                return
        for field in sorted(tool.keys() - _TOOL_FIELDS):
            yield Refusal(f"{at}.{field}: Extra inputs are not permitted")
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool["name"]):
            yield Refusal(f"{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'")
        schema = tool["input_schema"]
        if schema.get("type") != "object":
            yield Refusal(f"{at}.input_schema.type: Input should be 'object'")
        said = judge_schema("anthropic", tool["name"], json.dumps(schema, sort_keys=True))
        if said:
            yield Refusal(said.replace("tools.0.", f"tools.{place}."))
    names = [tool["name"] for tool in tools]
    if len(set(names)) < len(names):
        yield Refusal("tools: Tool names must be unique.")
    has_calls = any(
        block.get("type") in ("tool_use", "tool_result")
        for message in body["messages"]
        for block in _blocks(message)
    )
    if has_calls and not tools:
        yield Refusal(
            "Requests which include `tool_use` or `tool_result` blocks must define tools."
        )


def _check_roles(body: Body, dialect: Dialect) -> Refusals:
    roles = [message.get("role") for message in body["messages"]]
    for place, role in enumerate(roles):
        if role == "system":
            yield Refusal(
                'messages: Unexpected role "system". The Messages API accepts a top-level `system`'
                ' parameter, not "system" as an input message role.'
            )
        elif role not in KINDS:
            yield Refusal(f"messages.{place}.role: Input should be 'user' or 'assistant'")
    if roles[0] != "user":
        yield Refusal('messages: first message must use the "user" role')
    for before, role in pairwise(roles):
        if before == role:
            yield Refusal(
                'messages: roles must alternate between "user" and "assistant", but found multiple'
                f' "{role}" roles in a row'
            )
    if roles[-1] != "user":
        yield Refusal(
            "This model does not support assistant message prefill. The conversation must end with"
            " a user message."
        )


def _check_blocks(body: Body, dialect: Dialect) -> Refusals:
    system = body.get("system")
    for block in system if isinstance(system, list) else ():
        if not str(block.get("text") or "").strip():
            yield Refusal("system: text content blocks must be non-empty")
    for place, message in enumerate(body["messages"]):
        for field in sorted(message.keys() - {"role", "content"}):
            yield Refusal(f"messages.{place}.{field}: Extra inputs are not permitted")
        blocks = _blocks(message)
        if not blocks:
            yield Refusal(
                f"messages.{place}: all messages must have non-empty content except for the"
                " optional final assistant message"
            )
        for number, block in enumerate(blocks):
            yield from _check_block(block, message["role"], f"messages.{place}.content.{number}")


def _check_block(block: Block, role: str, at: str) -> Refusals:
    kind = block.get("type")
    if kind not in KINDS[role]:
        yield Refusal(
            f"{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
        )
        return
    for field in sorted(block.keys() - _BLOCK_FIELDS.get(kind, block.keys())):
        yield Refusal(f"{at}.{kind}.{field}: Extra inputs are not permitted")
    if kind == "text" and not block.get("text"):
        yield Refusal("messages: text content blocks must be non-empty")
    elif kind == "text" and not block["text"].strip():
        yield Refusal("messages: text content blocks must contain non-whitespace text")
    if kind == "tool_use":
        if not re.fullmatch(r"[a-zA-Z0-9_-]+", str(block.get("id"))):
            yield Refusal(f"{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        if not isinstance(block.get("input"), dict):
            yield Refusal(f"{at}.tool_use.input: Input should be a valid dictionary")
    if kind == "thinking":
        if not str(block.get("thinking") or "").strip():
            yield Refusal(f"{at}.thinking: each thinking block must contain thinking")
        if block.get("signature") != sign(FAMILY, str(block.get("thinking"))):
            yield Refusal(f"{at}: Invalid `signature` in `thinking` block")
    if kind == "redacted_thinking" and not is_signed(FAMILY, block.get("data")):
        yield Refusal(f"{at}: Invalid `data` in `redacted_thinking` block")


def _check_pairs(body: Body, dialect: Dialect) -> Refusals:
    """Yield a refusal where the results do not stand first in the message behind the calls."""
    waiting: list[object] = []
    seen: set[object] = set()
    for place, message in enumerate(body["messages"]):
        blocks = _blocks(message)
        results = []
        for block in blocks:
            if block["type"] != "tool_result":
                break
            results.append(block.get("tool_use_id"))
        missing = [id for id in waiting if id not in results]
        if missing:
            yield Refusal(
                f"messages.{place - 1}: `tool_use` ids were found without `tool_result` blocks"
                f" immediately after: {', '.join(map(str, missing))}. Each `tool_use` block must"
                " have a corresponding `tool_result` block in the next message."
            )
        given = [block.get("tool_use_id") for block in blocks if block["type"] == "tool_result"]
        for id in given:
            if id not in waiting:
                yield Refusal(
                    f"messages.{place}.content: unexpected `tool_use_id` found in `tool_result`"
                    f" blocks: {id}. Each `tool_result` block must have a corresponding `tool_use`"
                    " block in the previous message."
                )
        if len(set(given)) < len(given):
            yield Refusal("each tool_use must have a single result. Found multiple results.")
        waiting = [block.get("id") for block in blocks if block["type"] == "tool_use"]
        if len(set(waiting)) < len(waiting) or seen & set(waiting):
            yield Refusal(f"messages.{place}: `tool_use` ids must be unique")
        seen |= set(waiting)


def _check_thoughts(body: Body, dialect: Dialect) -> Refusals:
    """Yield a refusal when the calls that are being answered have lost the thoughts before them."""
    if not _is_thinking(body) or len(body["messages"]) < 2:
        return
    place = len(body["messages"]) - 2
    blocks = _blocks(body["messages"][place])
    answered = any(block["type"] == "tool_result" for block in _blocks(body["messages"][-1]))
    first = blocks[0]["type"]
    if answered and first not in ("thinking", "redacted_thinking"):
        yield Refusal(
            f"messages.{place}.content.0.type: Expected `thinking` or `redacted_thinking`, but"
            f" found `{first}`. When `thinking` is enabled, a final `assistant` message must start"
            " with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result`"
            " blocks)."
        )


def _check_marks(body: Body, dialect: Dialect) -> Refusals:
    marked = [block for block in list_blocks(body) if "cache_control" in block]
    if len(marked) > MARKS_MOST:
        yield Refusal(
            f"A maximum of {MARKS_MOST} blocks with cache_control may be provided. Found"
            f" {len(marked)}."
        )
    for block in marked:
        if (block["cache_control"] or {}).get("type") != "ephemeral":
            yield Refusal("cache_control.type: Input should be 'ephemeral'")


# --- caching ---


def list_blocks(body: Body) -> list[Block]:
    """Return the blocks of a prompt in the order in which a prefix is kept: tools, system message,
    messages.
    """
    system = body.get("system") or []
    if isinstance(system, str):
        system = [{"type": "text", "text": system}]
    spoken = [block for message in body["messages"] for block in _blocks(message)]
    return [*(body.get("tools") or ()), *system, *spoken]


class PromptCache:
    """The prefixes that marks have kept, as what is read and written of a prompt in characters."""

    def __init__(self) -> None:
        self._kept: set[str] = set()

    def count(self, body: Body) -> Counts:
        """Return the tokens of a prompt, what the cache had of it, and what it has kept; then
        they are kept.
        """
        prefixes = []
        text = ""
        marks = []
        for place, block in enumerate(list_blocks(body)):
            plain = {key: value for key, value in block.items() if key != "cache_control"}
            text += json.dumps(plain, sort_keys=True) + "\n"
            prefixes.append(text)
            if "cache_control" in block:
                marks.append(place)
        read = 0
        for mark in marks:
            near = prefixes[max(0, mark - LOOK_BACK) : mark + 1]
            read = max([read, *(len(each) for each in near if each in self._kept)])
        written = len(prefixes[marks[-1]]) if marks else 0
        self._kept.update(prefixes[mark] for mark in marks)
        return Counts(len(text) // 4, read // 4, max(written - read, 0) // 4)


# --- answers ---


def write_answer(dialect: Dialect, body: Body, step: Step, number: int, counts: Counts) -> Fields:
    """Return a step as a whole message; `number` counts the answers."""
    content: list[Fields] = []
    if step.thought and _is_thinking(body):
        signature = sign(FAMILY, step.thought)
        content.append({"type": "thinking", "thinking": step.thought, "signature": signature})
    elif step.calls and _is_thinking(body):
        content.append({"type": "redacted_thinking", "data": sign(FAMILY, str(number))})
    if step.text:
        content.append({"type": "text", "text": step.text})
    for called in write_calls(dialect, step, number):
        function = called["function"]
        content.append(
            {
                "type": "tool_use",
                "id": called["id"],
                "name": function["name"],
                "input": _read_object(function["arguments"]),
            }
        )
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": step.finish or ("tool_use" if step.calls else "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": max(counts.prompt - counts.cached - counts.kept, 0),
            "cache_creation_input_tokens": counts.kept,
            "cache_read_input_tokens": counts.cached,
            "output_tokens": ANSWER_TOKENS,
        },
    }


def _read_object(text: str) -> Fields:
    """Return the arguments of a call, which are an object here; what is none is under a name."""
    return json.loads(text) if is_object(text) else {"INVALID_JSON": text}


def stream_answer(dialect: Dialect, whole: Fields) -> Iterator[str]:
    """Yield a whole message as the events of a stream."""
    begun = whole | {"content": [], "stop_reason": None}
    yield _event({"type": "message_start", "message": begun})
    yield _event({"type": "ping"})
    for index, block in enumerate(whole["content"]):
        yield from (_event(event | {"index": index}) for event in _split_block(block))
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": whole["usage"]["output_tokens"]}
    yield _event({"type": "message_delta", "delta": ended, "usage": usage})
    yield _event({"type": "message_stop"})


def _event(data: Fields) -> str:
    return format_event(data, data["type"])


def _split_block(block: Fields) -> Iterator[Fields]:
    """Yield the events of one block."""
    empty = dict(block)
    deltas: list[Fields] = []
    if block["type"] == "text":
        empty["text"] = ""
        deltas = [{"type": "text_delta", "text": piece} for piece in cut(block["text"], 12)]
    elif block["type"] == "thinking":
        empty |= {"thinking": "", "signature": ""}
        pieces = cut(block["thinking"], 12)
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    elif block["type"] == "tool_use":
        empty["input"] = {}
        pieces = cut(json.dumps(block["input"]), 9)
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    yield {"type": "content_block_start", "content_block": empty}
    for delta in deltas:
        yield {"type": "content_block_delta", "delta": delta}
    yield {"type": "content_block_stop"}
