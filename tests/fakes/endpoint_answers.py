"""How the families of chat-completions endpoints answer and refuse, each in its own form, whole or
as a stream.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.fakes.endpoint_rules import Dialect, Refusal
from tests.fakes.endpoint_steps import (
    ANSWER_TOKENS,
    THOUGHT_TOKENS,
    Counts,
    Step,
    digits_of,
    sign,
)

Fields = dict[str, Any]
TAGS: Mapping[str, tuple[str, str]] = {
    "think_tags": ("<think>\n", "\n</think>\n\n"),
    "reasoning_tags": ("<reasoning>", "</reasoning>"),
    "closing_tag": ("", "\n</think>\n\n"),
}
"""What stands before and after a thought inside the text."""
BESIDE_CALLS = frozenset({"reasoning_content", "reasoning_details"})
"""These stand beside every call of a model that reasons, with an empty thought if need be."""
STATES = {400: "INVALID_ARGUMENT", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}
"""The names that Gemini has for a status."""


# --- errors ---


def format_refusal(dialect: Dialect, refusal: Refusal) -> object:
    """Return the body of an error, as the family has it."""
    form = _FORMS.get(dialect.family)
    if form:
        return form(refusal)
    return {
        "error": {
            "message": refusal.message,
            "type": refusal.kind,
            "param": refusal.param,
            "code": refusal.code,
        }
    }


def _format_gemini(refusal: Refusal) -> object:
    state = STATES.get(refusal.status, "INTERNAL")
    error = {"code": refusal.status, "message": refusal.message, "status": state}
    return [{"error": error}]


def _format_mistral(refusal: Refusal) -> object:
    message: object = refusal.message
    if refusal.status == 422:
        detail = {
            "type": "extra_forbidden",
            "loc": refusal.loc,
            "msg": refusal.message,
            "input": "…",
        }
        message = {"detail": [detail]}
    return {
        "object": "error",
        "message": message,
        "type": refusal.kind,
        "param": None,
        "code": refusal.code,
    }


def _format_openrouter(refusal: Refusal) -> object:
    raw = json.dumps({"error": {"code": refusal.status, "message": refusal.message}})
    return {
        "error": {
            "message": "Provider returned error",
            "code": refusal.status,
            "metadata": {"raw": raw, "provider_name": "Google AI Studio"},
        },
        "user_id": "user_1",
    }


def _format_qwen(refusal: Refusal) -> object:
    error = {
        "message": refusal.message,
        "type": "invalid_request_error",
        "param": None,
        "code": refusal.code or "invalid_parameter_error",
    }
    return {"error": error, "id": "chatcmpl-1", "request_id": "1"}


def _format_minimax(refusal: Refusal) -> object:
    error = {
        "type": "bad_request_error",
        "message": refusal.message,
        "http_code": str(refusal.status),
    }
    return {"type": "error", "error": error, "request_id": "1"}


def _format_llamacpp(refusal: Refusal) -> object:
    error: Fields = {"code": refusal.status, "message": refusal.message, "type": refusal.kind}
    if refusal.window:
        size, most = refusal.window
        error |= {"type": "exceed_context_size_error", "n_prompt_tokens": size, "n_ctx": most}
    return {"error": error}


def _format_litellm(refusal: Refusal) -> object:
    message = f"litellm.BadRequestError: {refusal.message}"
    error = {"message": message, "type": None, "param": None, "code": str(refusal.status)}
    return {"error": error}


def _format_coded(code: str) -> Callable[[Refusal], object]:
    """Return a form of OpenAI's kind that has this code for what has none."""

    def form(refusal: Refusal) -> object:
        error = {
            "message": refusal.message,
            "type": refusal.kind,
            "param": refusal.param,
            "code": refusal.code or code,
        }
        return {"error": error}

    return form


_FORMS: Mapping[str, Callable[[Refusal], object]] = {
    "azure": _format_coded("BadRequest"),
    "gemini": _format_gemini,
    "anthropic": _format_coded("invalid_request_error"),
    "deepseek": _format_coded("invalid_request_error"),
    "kimi": lambda refusal: {"error": {"message": refusal.message, "type": refusal.kind}},
    "qwen": _format_qwen,
    "glm": lambda refusal: {"error": {"code": refusal.code or "1210", "message": refusal.message}},
    "minimax": _format_minimax,
    "mistral": _format_mistral,
    "xai": lambda refusal: {
        "code": "Client specified an invalid argument",
        "error": refusal.message,
    },
    "openrouter": _format_openrouter,
    "bedrock": lambda refusal: {"message": refusal.message},
    "vllm": lambda refusal: {
        "error": {
            "message": refusal.message,
            "type": "BadRequestError",
            "param": None,
            "code": refusal.status,
        }
    },
    "llamacpp": _format_llamacpp,
    "lmstudio": lambda refusal: {"error": refusal.message},
    "litellm": _format_litellm,
}


# --- answers ---


def write_answer(dialect: Dialect, model: str, step: Step, number: int, counts: Counts) -> Fields:
    """Return a step as the family's whole chat completion; `number` counts the answers."""
    message = write_message(dialect, step, number)
    finish = step.finish or (dialect.finish if step.calls else "stop")
    choice = {"index": 0, "message": message, "finish_reason": finish}
    usage = _write_usage(dialect, counts)
    whole: Fields = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_780_000_000,
        "model": model,
        "choices": [choice],
        "usage": usage,
    }
    if dialect.family == "minimax":
        whole["base_resp"] = {"status_code": 0, "status_msg": ""}
    if dialect.family == "groq":
        whole["x_groq"] = {"id": f"req_{number}"}
    return whole


def write_message(dialect: Dialect, step: Step, number: int) -> Fields:
    """Return a step as a message, with its thought where the family puts it."""
    message: Fields = {"role": "assistant", "content": step.text or None}
    if not step.calls:
        message["content"] = step.text
    thought = step.thought
    if thought is None and step.calls and dialect.thoughts in BESIDE_CALLS:
        thought = ""
    if thought is not None and dialect.thinks:
        message |= _write_thought(dialect, thought, step.text)
    if step.calls:
        message["tool_calls"] = list(write_calls(dialect, step, number))
    return message


def _write_thought(dialect: Dialect, thought: str, text: str) -> Fields:
    """Return the fields of a message that have its thought."""
    form = dialect.thoughts
    if form in ("reasoning_content", "reasoning"):
        return {form: thought}
    if form == "reasoning_details":
        plain = {"type": "reasoning.text", "text": thought, "format": "google-gemini-v1"}
        sealed = {
            "type": "reasoning.encrypted",
            "data": sign("openrouter", thought),
            "format": "google-gemini-v1",
        }
        return {"reasoning": thought, form: [plain | {"index": 0}, sealed | {"index": 1}]}
    if form == "blocks":
        block = {"type": "thinking", "thinking": [{"type": "text", "text": thought}]}
        return {"content": [block, *([{"type": "text", "text": text}] if text else [])]}
    if form in TAGS:
        before, after = TAGS[form]
        return {"content": f"{before}{thought}{after}{text}"}
    return {}


def write_calls(dialect: Dialect, step: Step, number: int) -> Iterator[Fields]:
    """Yield a step's calls, the first one with Gemini's signature."""
    for place, (name, arguments) in enumerate(step.calls):
        id = dialect.ids.format(
            digits=digits_of(dialect.name, number, place), name=name, number=number + place
        )
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        called: Fields = {
            "id": id,
            "type": "function",
            "function": {"name": name, "arguments": text},
        }
        if dialect.thoughts == "extra_content" and place == 0:
            signature = sign("gemini", f"{step.thought}{number}")
            called["extra_content"] = {"google": {"thought_signature": signature}}
        yield called


def _write_usage(dialect: Dialect, counts: Counts) -> Fields:
    usage: Fields = {
        "prompt_tokens": counts.prompt,
        "completion_tokens": ANSWER_TOKENS,
        "total_tokens": counts.prompt + ANSWER_TOKENS,
        "completion_tokens_details": {"reasoning_tokens": THOUGHT_TOKENS},
    }
    if dialect.usage == "deepseek":
        usage["prompt_cache_hit_tokens"] = counts.cached
        usage["prompt_cache_miss_tokens"] = counts.prompt - counts.cached
        return usage
    usage["prompt_tokens_details"] = {"cached_tokens": counts.cached}
    if dialect.usage == "openrouter":
        usage["cost"] = 0.0001
    return usage


# --- streams ---


def stream_answer(dialect: Dialect, whole: Fields) -> Iterator[str]:
    """Yield a chat completion as the events of a stream, with what is odd about the family's."""
    head = {key: whole[key] for key in ("id", "created", "model")}
    head["object"] = "chat.completion.chunk"
    choice = whole["choices"][0]
    odd = dialect.odd

    def chunk(delta: Fields, finish: str | None = None, **more: object) -> str:
        changed = {"index": 0, "delta": delta, "finish_reason": finish, **more}
        return format_event({**head, "choices": [changed]})

    if "comments" in odd:
        yield ": OPENROUTER PROCESSING\n\n"
    if "blank_lines" in odd:
        yield ": keep-alive\n\n"
    if "filter_first" in odd:
        yield format_event({**head, "choices": [], "prompt_filter_results": []})
    yield chunk({"role": "assistant", "content": None})
    for delta in _split_message(choice["message"], odd):
        yield chunk(delta)
    if "usage_in_choice" in odd:
        yield chunk({}, choice["finish_reason"], usage=whole["usage"])
    else:
        yield chunk({}, choice["finish_reason"])
        last: Fields = {"usage": whole["usage"]}
        if "x_groq" in odd:
            last = {"x_groq": last}
        yield format_event({**head, "choices": [], **last})
    yield "data: [DONE]\n\n"


def format_event(data: object, name: str = "") -> str:
    """Return an event of a stream."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n"


def _split_message(message: Fields, odd: frozenset[str]) -> Iterator[Fields]:
    """Yield the deltas of a message: its thought, its text, its calls."""
    for field in ("reasoning_content", "reasoning", "reasoning_details"):
        if field in message:
            yield {field: message[field], "content": None}
    content = message["content"]
    if isinstance(content, list):
        for block in content:
            yield {"content": [block]}
    else:
        for piece in cut(content or "", 12):
            yield {"content": piece}
    for place, called in enumerate(message.get("tool_calls") or ()):
        for delta in _split_call(called, place, odd):
            yield {"tool_calls": [delta]}


def _split_call(called: Fields, place: int, odd: frozenset[str]) -> Iterator[Fields]:
    """Yield the deltas of one call."""
    index: Fields = {"index": place}
    if "no_index" in odd:
        index = {}
    elif "same_index" in odd:
        index = {"index": 0}
    if odd & {"whole", "same_index", "no_index"}:
        yield index | called
        return
    function = called["function"]
    yield index | called | {"function": {"name": function["name"], "arguments": ""}}
    for piece in cut(function["arguments"], 9):
        if "empty_names" in odd:
            yield index | {"id": "", "function": {"name": "", "arguments": piece}}
        else:
            yield index | {"function": {"arguments": piece}}


def cut(text: str, length: int) -> list[str]:
    """Return a text in pieces of at most so many characters."""
    return re.findall(f"(?s).{{1,{length}}}", text)
