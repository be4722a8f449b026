"""OpenAI's Responses API: what it takes, read strictly, and how it answers, whole or as a stream
(https://platform.openai.com/docs/api-reference/responses/create).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.fakes.endpoint_answers import cut, format_event, write_calls
from tests.fakes.endpoint_rules import (
    SAMPLING,
    TOOLS_MOST,
    Body,
    Dialect,
    Refusal,
    Refusals,
    check_duplicates,
    find_not_strict,
    is_object,
    judge_schema,
)
from tests.fakes.endpoint_steps import (
    ANSWER_TOKENS,
    THOUGHT_TOKENS,
    Asked,
    Counts,
    Step,
    digits_of,
    is_signed,
    sign,
    text_of,
)

Item = Mapping[str, Any]
Fields = dict[str, Any]
FAMILY = "openai"
PARAMETERS = frozenset(
    "model input instructions tools tool_choice parallel_tool_calls stream stream_options store"
    " include reasoning text max_output_tokens max_tool_calls temperature top_p top_logprobs"
    " truncation metadata user previous_response_id conversation background service_tier prompt"
    " prompt_cache_key prompt_cache_retention safety_identifier".split()
)
MOVED = {
    "messages": "input",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "reasoning_effort": "reasoning.effort",
    "response_format": "text.format",
}
"""Parameters of chat completions, and where they are here."""
ENCRYPTED = "reasoning.encrypted_content"
"""What `include` has for thoughts that come back, where nothing is stored."""
PREFIXES = {"function_call": "fc", "reasoning": "rs", "message": "msg"}
"""How the ids of items begin."""
PARTS = {
    "user": frozenset({"input_text", "input_image", "input_file"}),
    "system": frozenset({"input_text"}),
    "developer": frozenset({"input_text"}),
    "assistant": frozenset({"output_text", "refusal"}),
}
"""The kinds of parts that the messages of each role have."""
CALL_PREFIX = "call_resp"
"""How the ids of this API's own calls begin, by which it knows that they have a thought."""


def judge(body: Body, headers: Mapping[str, str], dialect: Dialect) -> Refusal | None:
    """Return the first refusal of a request, None when it is taken."""
    checks = (_check_parameters, _check_tools, _check_input, _check_pairs, _check_thoughts)
    found = (refusal for check in checks for refusal in check(body, dialect))
    return next(found, None)


def read_asked(body: Body) -> Asked:
    """Return a request as a script reads it."""
    items = _items(body)
    choice = body.get("tool_choice")
    messages = [item for item in items if item.get("type", "message") == "message"]
    heads = [
        text_of(each["content"]) for each in messages if each["role"] in ("system", "developer")
    ]
    outputs = [each for each in items if each.get("type") == "function_call_output"]
    return Asked(
        body["model"],
        str(body.get("instructions") or next(iter(heads), "")),
        tuple(text_of(each["content"]) for each in messages if each["role"] == "user"),
        tuple(text_of(each["output"]) for each in outputs),
        tuple(tool["name"] for tool in body.get("tools") or ()),
        choice["name"] if isinstance(choice, dict) else "",
        body,
    )


def _items(body: Body) -> Sequence[Item]:
    given = body.get("input")
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    return given if isinstance(given, list) else []


def _check_parameters(body: Body, dialect: Dialect) -> Refusals:
    for name in sorted(body.keys() - PARAMETERS):
        if name in MOVED:
            yield Refusal(
                f"Unsupported parameter: '{name}'. In the Responses API, this parameter has moved"
                f" to '{MOVED[name]}'.",
                code="unsupported_parameter",
                param=name,
            )
        yield Refusal(f"Unknown parameter: '{name}'.", code="unknown_parameter", param=name)
    if not body.get("input"):
        yield Refusal("Missing required parameter: 'input'.", param="input")
    for name in SAMPLING:
        if body.get(name) not in (None, 1):
            yield Refusal(
                f"Unsupported parameter: '{name}' is not supported with this model.",
                code="unsupported_parameter",
                param=name,
            )
    effort = (body.get("reasoning") or {}).get("effort")
    if effort is not None and effort not in (dialect.efforts or ()):
        yield Refusal(
            f"Unsupported value: '{effort}' is not supported with the '{body.get('model')}' model."
            f" Supported values are: {', '.join(map(repr, dialect.efforts or ()))}.",
            code="unsupported_value",
            param="reasoning.effort",
        )
    if body.get("previous_response_id"):
        yield Refusal(
            f"Previous response with id '{body['previous_response_id']}' not found.",
            code="previous_response_not_found",
            param="previous_response_id",
        )
    choice = body.get("tool_choice")
    if choice is not None and not body.get("tools"):
        yield Refusal(
            "Tool choices are only allowed when tools are specified.", param="tool_choice"
        )
    if isinstance(choice, dict) and "name" not in choice:
        yield Refusal("Missing required parameter: 'tool_choice.name'.", param="tool_choice.name")


def _check_tools(body: Body, dialect: Dialect) -> Refusals:
    tools = body.get("tools") or ()
    if len(tools) > TOOLS_MOST:
        yield Refusal(
            f"Invalid 'tools': array too long. Expected an array with maximum length {TOOLS_MOST},"
            f" but got an array with length {len(tools)} instead.",
            code="array_above_max_length",
            param="tools",
        )
    for place, tool in enumerate(tools):
        name = tool.get("name")
        if not isinstance(name, str):
            yield Refusal(
                f"Missing required parameter: 'tools[{place}].name'.",
                code="missing_required_parameter",
                param=f"tools[{place}].name",
            )
            return
        parameters = tool.get("parameters") or {}
        said = _judge_parameters(name, parameters, bool(tool.get("strict")))
        if said:
            yield Refusal(
                said, code="invalid_function_parameters", param=f"tools[{place}].parameters"
            )
    yield from check_duplicates([tool["name"] for tool in tools], dialect)


def _judge_parameters(name: str, parameters: Item, is_strict: bool) -> str:
    """Return why a function is refused, empty when it is taken."""
    said = judge_schema("openai", name, json.dumps(parameters, sort_keys=True))
    if said:
        return said
    missing = find_not_strict(parameters) if is_strict else ""
    return f"Invalid schema for function '{name}': {missing}" if missing else ""


def _check_input(body: Body, dialect: Dialect) -> Refusals:
    """Yield a refusal for each item that has another form than its kind."""
    for place, item in enumerate(_items(body)):
        at = f"input[{place}]"
        kind = item.get("type", "message")
        prefix = PREFIXES.get(kind)
        if prefix and "id" in item and not str(item["id"]).startswith(prefix):
            yield Refusal(
                f"Invalid '{at}.id': '{item['id']}'. Expected an ID that begins with '{prefix}'.",
                code="invalid_value",
                param=f"{at}.id",
            )
        if kind == "message":
            yield from _check_message(item, at)
        elif kind == "function_call":
            if not is_object(item.get("arguments")):
                yield Refusal(f"Invalid '{at}.arguments': not a JSON object.", param=at)
            if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", str(item.get("name"))):
                yield Refusal(
                    f"Invalid '{at}.name': string does not match pattern. Expected a string that"
                    " matches the pattern '^[a-zA-Z0-9_-]+$'.",
                    code="invalid_value",
                    param=f"{at}.name",
                )
        elif kind == "function_call_output":
            if not isinstance(item.get("output"), (str, list)):
                yield Refusal(f"Missing required parameter: '{at}.output'.", param=f"{at}.output")
        elif kind != "reasoning":
            yield Refusal(f"Invalid value: '{kind}'.", code="invalid_value", param=at)
        if len(str(item.get("call_id", ""))) > 64:
            yield Refusal(
                f"Invalid '{at}.call_id': string too long. Expected a string with maximum length"
                f" 64, but got a string with length {len(item['call_id'])} instead.",
                code="string_above_max_length",
                param=f"{at}.call_id",
            )


def _check_message(item: Item, at: str) -> Refusals:
    role = item.get("role")
    known = PARTS.get(str(role))
    if known is None:
        yield Refusal(
            f"Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer',"
            " and 'user'.",
            code="invalid_value",
            param=f"{at}.role",
        )
        return
    for field in sorted(item.keys() - {"type", "role", "content", "id", "status", "phase"}):
        yield Refusal(
            f"Unknown parameter: '{at}.{field}'.", code="unknown_parameter", param=f"{at}.{field}"
        )
    content = item.get("content")
    if not isinstance(content, (str, list)):
        yield Refusal(f"Missing required parameter: '{at}.content'.", param=f"{at}.content")
    for place, part in enumerate(content if isinstance(content, list) else ()):
        if part.get("type") not in known:
            yield Refusal(
                f"Invalid value: '{part.get('type')}'. Supported values are:"
                f" {', '.join(map(repr, sorted(known)))}.",
                code="invalid_value",
                param=f"{at}.content[{place}]",
            )


def _check_pairs(body: Body, dialect: Dialect) -> Refusals:
    """Yield a refusal for a call without an output, or an output without a call."""
    items = _items(body)
    called = [each.get("call_id") for each in items if each.get("type") == "function_call"]
    answered = [each.get("call_id") for each in items if each.get("type") == "function_call_output"]
    for id in called:
        if id not in answered:
            yield Refusal(f"No tool output found for function call {id}.", param="input")
    for id in answered:
        if id not in called:
            yield Refusal(
                f"No tool call found for function call output with call_id {id}.", param="input"
            )
    for id in called:
        if called.count(id) > 1:
            yield Refusal(f"Duplicate item found with call_id {id}.", param="input")


def _check_thoughts(body: Body, dialect: Dialect) -> Refusals:
    """Yield a refusal where a call has lost the thought before it, or a thought what follows it."""
    is_stored = body.get("store") is not False
    unfollowed: Item | None = None
    has_thought = False
    for item in [*_items(body), {"type": "end"}]:
        kind = item.get("type", "message")
        is_said = kind == "message" and item["role"] == "assistant"
        if unfollowed is not None and not is_said and kind not in ("function_call", "reasoning"):
            yield Refusal(
                f"Item '{unfollowed.get('id')}' of type 'reasoning' was provided without its"
                " required following item.",
                param="input",
            )
        unfollowed = None
        if kind == "reasoning":
            unfollowed = item
            has_thought = True
            yield from _check_reasoning(item, is_stored)
        elif kind == "function_call":
            is_own = "id" in item or str(item.get("call_id")).startswith(CALL_PREFIX)
            if is_own and not has_thought:
                yield Refusal(
                    f"Item '{item.get('id')}' of type 'function_call' was provided without its"
                    " required 'reasoning' item.",
                    param="input",
                )
        elif not is_said:
            has_thought = False


def _check_reasoning(item: Item, is_stored: bool) -> Refusals:
    sealed = item.get("encrypted_content")
    if sealed is None and not is_stored:
        yield Refusal(
            f"Item with id '{item.get('id')}' not found. Items are not persisted when `store` is"
            " set to false. Try again with `store` set to true, or remove this item from your"
            " input.",
            404,
            param="input",
        )
    if sealed is not None and not is_signed(FAMILY, sealed):
        yield Refusal(
            "The encrypted content could not be verified. Reason: Encrypted content could not be"
            " decrypted or parsed.",
            code="invalid_encrypted_content",
        )
    if not isinstance(item.get("summary"), list):
        yield Refusal("Missing required parameter: 'input.summary'.", param="input")


# --- answers ---


def write_answer(dialect: Dialect, body: Body, step: Step, number: int, counts: Counts) -> Fields:
    """Return a step as a whole response; `number` counts the answers."""
    output: list[Fields] = []
    is_thinking = dialect.thinks and (body.get("reasoning") or {}).get("effort") != "none"
    if is_thinking:
        output.append(_write_reasoning(body, step, number))
    if step.text:
        part = {"type": "output_text", "text": step.text, "annotations": []}
        output.append(
            {
                "type": "message",
                "id": f"msg_{number}",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
        )
    prefix = CALL_PREFIX if is_thinking else "call_"
    for place, called in enumerate(write_calls(dialect, step, number)):
        output.append(
            {
                "type": "function_call",
                "id": f"fc_{number}_{place}",
                "call_id": f"{prefix}{digits_of(number, place):.20}",
                "status": "completed",
                **called["function"],
            }
        )
    cut_short = step.finish == "length"
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_780_000_000,
        "status": "incomplete" if cut_short else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut_short else None,
        "error": None,
        "model": body["model"],
        "output": output,
        "usage": {
            "input_tokens": counts.prompt,
            "input_tokens_details": {"cached_tokens": counts.cached},
            "output_tokens": ANSWER_TOKENS,
            "output_tokens_details": {"reasoning_tokens": THOUGHT_TOKENS},
            "total_tokens": counts.prompt + ANSWER_TOKENS,
        },
    }


def _write_reasoning(body: Body, step: Step, number: int) -> Fields:
    """Return the item of a thought: its summary where one was asked for, and its sealed form."""
    asked = body.get("reasoning") or {}
    summary = []
    if step.thought and asked.get("summary"):
        summary.append({"type": "summary_text", "text": step.thought})
    item: Fields = {"type": "reasoning", "id": f"rs_{number}", "summary": summary}
    if ENCRYPTED in (body.get("include") or ()):
        item["encrypted_content"] = sign(FAMILY, f"{step.thought}{number}")
    return item


def stream_answer(dialect: Dialect, whole: Fields) -> Iterator[str]:
    """Yield a whole response as the events of a stream."""
    begun = whole | {"status": "in_progress", "output": [], "usage": None}
    events: list[Fields] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(whole["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        empty = item | {"status": "in_progress"}
        if item["type"] == "message":
            empty["content"] = []
        if item["type"] == "function_call":
            empty["arguments"] = ""
        events.append({"type": "response.output_item.added", "item": empty, "output_index": index})
        if item["type"] == "message":
            for piece in cut(item["content"][0]["text"], 12):
                delta = {"type": "response.output_text.delta", "content_index": 0, "delta": piece}
                events.append(delta | place)
        if item["type"] == "function_call":
            for piece in cut(item["arguments"], 9):
                delta = {"type": "response.function_call_arguments.delta", "delta": piece}
                events.append(delta | place)
        events.append({"type": "response.output_item.done", "item": item, "output_index": index})
    events.append({"type": f"response.{whole['status']}", "response": whole})
    for number, event in enumerate(events):
        yield format_event(event | {"sequence_number": number}, event["type"])
