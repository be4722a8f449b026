"""The offline model is a deterministic planner, used when no language model is set.

It says so in every answer.

It searches, picks by name, schema and examples, fills the arguments from the user's words, calls,
and answers from the result. Given JavaScript in a code fence it deploys it. It understands nothing;
everything around it is real.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from functions.agent import tokens
from functions.agent.messages import (
    RUNTIME_MARK,
    ToolCall,
    Usage,
    read_own_words,
    remove_delimiters,
)
from functions.agent.model import offline_arguments, offline_documents
from functions.agent.model.base import ModelReply, ModelRequest
from functions.agent.prompt import FunctionCall, PromptMessage, ToolDefinition
from functions.agent.toolset import DEPLOY, QUERY
from sigil.errors import one_line
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json, tool_of

NAME = "offline"
SIGNATURE = "— offline model (a planner, not a language model; set UNCAGED_LLM_URL for a real one)"
HOW = (
    "The offline model cannot write a capability, but you can: send a name and the JavaScript body"
    " in a code fence, for example\n\nmake a capability reverse-text\n```js\nreturn"
    " [...input.text].reverse().join('')\n```"
)
NOT_FOUND = f"I found no capability for this. {HOW}"
_MAKE = re.compile(
    r"\b(?:make|write|create|build|deploy|define)\s+(?:(?!of\b)[\w'-]+\s+){0,5}?capabilit(?:y|ies)\b"
    "|[\u505a\u5199\u521b\u9020\u90e8].{0,15}\u80fd\u529b",
    re.IGNORECASE,
)
"""Words that ask for a new capability; in Chinese, make, write, create or deploy before the word
for it.
"""
TRIES = 3
REMEMBER = tool_of("remember")


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """One call of this turn and its answer: `ok` or `error` of its JSON."""

    name: str
    arguments: dict[str, Json]
    ok: Json = None
    error: dict[str, str] | None = None


class OfflineModel:
    """A model that plans without understanding; see the module."""

    @property
    def name(self) -> str:
        return NAME

    @property
    def window(self) -> int:
        return 32_000

    def chat(self, request: ModelRequest) -> ModelReply:
        """See `Model.chat`."""
        contents = (str(message.get("content") or "") for message in request.messages)
        prompt = round(sum(tokens.of_text(content) for content in contents))

        def count_usage(answer: str) -> Usage:
            return Usage(prompt, round(tokens.of_text(answer)), estimated=True)

        document = offline_documents.answer_request(request)
        if isinstance(document, str):
            return ModelReply(document, usage=count_usage(document))
        if document is not None:
            usage = count_usage(document.arguments)
            return ModelReply(calls=(document,), usage=usage, finish="tool_calls")
        words, done = _read_turn(request.messages)
        plan = _make_plan(words, done, request.tools)
        if isinstance(plan, str):
            return ModelReply(text=f"{plan}\n\n{SIGNATURE}", usage=count_usage(plan))
        name, arguments = plan
        call = ToolCall(f"call_{len(request.messages)}", name, orjson.dumps(arguments).decode())
        return ModelReply(calls=(call,), usage=count_usage(str(plan)), finish="tool_calls")


def sign_text(text: str, model: str) -> str:
    """Return a command's reply, signed when the offline model did a language model's work."""
    return f"{text}\n\n{SIGNATURE}" if model == NAME else text


Plan = str | tuple[str, dict[str, Json]]
"""An answer, or a tool and its arguments."""


def _make_plan(words: str, done: Sequence[AnsweredCall], tools: Sequence[ToolDefinition]) -> Plan:
    if not tools:
        return _format_answer(done[-1]) if done else NOT_FOUND
    spec = offline_arguments.find_deploy(words)
    if spec:
        return _plan_deploy(spec, done)
    if _MAKE.search(words):
        return HOW
    return _plan_call(words, done, tools)


def _plan_deploy(spec: dict[str, Json], done: Sequence[AnsweredCall]) -> Plan:
    name = str(spec["name"])
    last = done[-1] if done else None
    if last is None:
        return QUERY, {"query": name.replace("-", " ")}
    if last.name == QUERY:
        items = as_sequence(as_mapping(last.ok).get("items"))
        if any(as_mapping(item).get("capability") == name for item in items):
            return f"There is a capability `{name}` already: `{tool_of(name)}` is ready to use."
        return DEPLOY, spec
    if last.error:
        return f"I could not create `{name}`: {_describe_error(last)}"
    created = as_mapping(last.ok)
    return (
        f"Created `{name}` as `{created['tool']}` (version {created['version']}). Tell me"
        " what to do with it."
    )


def _plan_call(words: str, done: Sequence[AnsweredCall], tools: Sequence[ToolDefinition]) -> Plan:
    """Return the call of a capability that fits the words, a search for one, or the answer."""
    if done and done[-1].name != QUERY and done[-1].error is None:
        return _format_answer(done[-1])
    tried = {call.name for call in done}
    found: list[str] = []
    for call in done:
        if call.name == QUERY:
            items = as_sequence(as_mapping(call.ok).get("items"))
            found.extend(as_string(as_mapping(item).get("tool")) for item in items)
    by_name = {tool["function"]["name"]: tool["function"] for tool in tools}
    note = offline_documents.find_note(words)
    if note and REMEMBER in by_name and REMEMBER not in tried:
        return REMEMBER, {"type": "note", "payload": note, "source": "user"}
    candidates = found if QUERY in tried else []
    for name, function in by_name.items():
        if name.startswith("cap_") and offline_arguments.is_mentioned(words, function):
            candidates = [*candidates, name]
    for name in candidates:
        if name not in by_name or name in tried or name == REMEMBER:
            continue
        arguments = offline_arguments.fill_arguments(words, by_name[name])
        if arguments is not None and len(tried) <= TRIES:
            return name, arguments
    if QUERY not in tried:
        return QUERY, {"query": words[:200] or "help"}
    if done[-1].error:
        return _format_answer(done[-1])
    known = next((by_name[name] for name in found if name in by_name), None)
    if known is None:
        return NOT_FOUND
    parameters = ", ".join(as_mapping(known["parameters"].get("properties")))
    return (
        f"I found `{known['name']}` ({known['description']}) but could not tell its input"
        f" ({parameters}) from your words. Put the text in quotes."
    )


def _format_answer(last: AnsweredCall) -> str:
    if last.error:
        return f"That did not work: {_describe_error(last)}"
    if last.name == REMEMBER:
        return f"Remembered: {last.arguments['payload']}"
    if isinstance(last.ok, str):
        return f"```\n{last.ok}\n```" if "\n" in last.ok else last.ok or "(an empty text)"
    if isinstance(last.ok, dict | list):
        return f"```json\n{orjson.dumps(last.ok, option=orjson.OPT_INDENT_2).decode()}\n```"
    return orjson.dumps(last.ok).decode()


def _describe_error(last: AnsweredCall) -> str:
    error = last.error or {}
    help = f" ({error['suggestion']})" if error.get("suggestion") else ""
    return one_line(f"{error.get('code', '')}: {error.get('message', '')}{help}")


def _read_turn(messages: Sequence[PromptMessage]) -> tuple[str, list[AnsweredCall]]:
    """Return the user's last words, without the runtime's stamp, and the calls answered since."""
    start = 0
    for place, message in enumerate(messages):
        by_runtime = str(message.get("content")).startswith(RUNTIME_MARK)
        if message["role"] == "user" and not by_runtime:
            start = place
    words = str(messages[start].get("content") or "").partition("\n")[2] if messages else ""
    calls: dict[str, FunctionCall] = {}
    for message in messages[start:]:
        for call in message.get("tool_calls") or ():
            calls[call["id"]] = call["function"]
    done = []
    for message in messages[start:]:
        if message["role"] != "tool" or message["tool_call_id"] not in calls:
            continue
        function = calls[message["tool_call_id"]]
        content = as_string(message["content"])
        try:
            arguments = orjson.loads(function["arguments"])
            result = orjson.loads(content.partition("\n")[0])
        except orjson.JSONDecodeError:
            done.append(AnsweredCall(function["name"], {}, ok=content))
            continue
        done.append(
            AnsweredCall(function["name"], arguments, result.get("ok"), result.get("error"))
        )
    own = read_own_words(words)
    # a message may have nothing but what it passes on
    return (own if own.strip() else remove_delimiters(words)).strip(), done
