"""The offline model: a deterministic planner that stands in when no language model is set, and says
so in every answer.

It searches, picks by name, schema and examples, fills the arguments from the user's words, calls,
and answers from the result. Given JavaScript in a code fence it deploys it. It understands nothing;
everything around it is real.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from functions.agent import tokens
from functions.agent.messages import RUNTIME_MARK, ToolCall, Usage
from functions.agent.model import offline_arguments, offline_documents
from functions.agent.model.base import Reply, Request
from functions.agent.toolset import DEPLOY, QUERY
from sigil.errors import one_line
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
"""A wish for a capability that does not exist yet; in Chinese, make, write, create or deploy before
the word for it.
"""
TRIES = 3
REMEMBER = tool_of("remember")


@dataclass(frozen=True, slots=True)
class Done:
    """One call of this turn and what it answered: `ok` or `error` of its JSON."""

    name: str
    arguments: dict[str, Json]
    ok: Json = None
    error: dict[str, str] | None = None


class OfflineModel:
    """See the module."""

    @property
    def name(self) -> str:
        return NAME

    @property
    def window(self) -> int:
        return 32_000

    def chat(self, request: Request) -> Reply:
        """See `Model.chat`."""
        prompt = round(
            sum(tokens.of_text(str(message.get("content") or "")) for message in request.messages)
        )
        alone = offline_documents.answer(request)
        if alone is not None:
            usage = Usage(
                prompt,
                round(tokens.of_text(alone if isinstance(alone, str) else alone.arguments)),
                estimated=True,
            )
            return (
                Reply(alone, usage=usage)
                if isinstance(alone, str)
                else Reply(calls=(alone,), usage=usage, finish="tool_calls")
            )
        said, done = _turn(request.messages)
        plan = _plan(said, done, request.tools)
        usage = Usage(prompt, round(tokens.of_text(str(plan))), estimated=True)
        if isinstance(plan, str):
            return Reply(text=f"{plan}\n\n{SIGNATURE}", usage=usage)
        name, arguments = plan
        call = ToolCall(f"call_{len(request.messages)}", name, orjson.dumps(arguments).decode())
        return Reply(calls=(call,), usage=usage, finish="tool_calls")


def signed(text: str, model: str) -> str:
    """A command's reply: when the offline model did what a language model should do, it says so."""
    return f"{text}\n\n{SIGNATURE}" if model == NAME else text


Plan = str | tuple[str, dict[str, Json]]
"""An answer, or a tool and its arguments."""


def _plan(said: str, done: Sequence[Done], tools: Sequence[Json]) -> Plan:
    if not tools:
        return _answer(done[-1]) if done else NOT_FOUND
    spec = offline_arguments.spec_in(said)
    if spec:
        return _create(spec, done)
    if _MAKE.search(said):
        return HOW
    return _use(said, done, tools)


def _create(spec: dict[str, Json], done: Sequence[Done]) -> Plan:
    last = done[-1] if done else None
    if last is None:
        return QUERY, {"query": str(spec["name"]).replace("-", " ")}
    if last.name == QUERY and not _holds(last, str(spec["name"])):
        return DEPLOY, spec
    if last.name == QUERY:
        return (
            f"There is a capability `{spec['name']}` already: `{tool_of(str(spec['name']))}` is"
            " ready to use."
        )
    if last.error:
        return f"I could not create `{spec['name']}`: {_reason(last)}"
    return (
        f"Created `{spec['name']}` as `{last.ok['tool']}` (version {last.ok['version']}). Tell me"
        " what to do with it."
    )


def _holds(query: Done, name: str) -> bool:
    items = query.ok.get("items", []) if isinstance(query.ok, dict) else []
    return any(item.get("capability") == name for item in items)


def _use(said: str, done: Sequence[Done], tools: Sequence[Json]) -> Plan:
    if done and done[-1].name != QUERY and done[-1].error is None:
        return _answer(done[-1])
    tried = {one.name for one in done}
    found = [
        item["tool"]
        for one in done
        if one.name == QUERY and isinstance(one.ok, dict)
        for item in one.ok.get("items", [])
    ]
    by_name = {tool["function"]["name"]: tool["function"] for tool in tools}
    note = offline_documents.noted(said)
    if note and REMEMBER in by_name and REMEMBER not in tried:
        return REMEMBER, {"type": "note", "payload": note, "source": "user"}
    resident = [
        name
        for name in by_name
        if name.startswith("cap_") and offline_arguments.mentions(said, by_name[name])
    ]
    for name in [*found, *resident] if QUERY in tried else resident:
        arguments = (
            offline_arguments.arguments_for(said, by_name[name])
            if name in by_name and name not in {*tried, REMEMBER}
            else None
        )
        if arguments is not None and len(tried) <= TRIES:
            return name, arguments
    if QUERY not in tried:
        return QUERY, {"query": said[:200] or "help"}
    return _answer(done[-1]) if done[-1].error else _unfilled(found, by_name)


def _unfilled(found: Sequence[str], by_name: dict[str, Any]) -> str:
    known = next((by_name[name] for name in found if name in by_name), None)
    if known is None:
        return NOT_FOUND
    wanted = ", ".join(known["parameters"].get("properties", {}))
    found = f"I found `{known['name']}` ({known['description']})"
    return (
        f"{found} but could not tell its input ({wanted}) from your words. Put the text in quotes."
    )


def _answer(last: Done) -> str:
    if last.error:
        return f"That did not work: {_reason(last)}"
    if last.name == REMEMBER:
        return f"Remembered: {last.arguments['payload']}"
    if isinstance(last.ok, str):
        return f"```\n{last.ok}\n```" if "\n" in last.ok else last.ok or "(an empty text)"
    if isinstance(last.ok, dict | list):
        return f"```json\n{orjson.dumps(last.ok, option=orjson.OPT_INDENT_2).decode()}\n```"
    return orjson.dumps(last.ok).decode()


def _reason(last: Done) -> str:
    error = last.error or {}
    help = f" ({error['suggestion']})" if error.get("suggestion") else ""
    return one_line(f"{error.get('code', '')}: {error.get('message', '')}{help}")


def _turn(messages: Sequence[Json]) -> tuple[str, list[Done]]:
    """What the user said last, without the runtime's stamp, and the calls that were answered
    since.
    """
    start = max(
        (place for place, message in enumerate(messages) if _from_a_person(message)), default=0
    )
    said = str(messages[start].get("content") or "").partition("\n")[2] if messages else ""
    calls = {
        call["id"]: call["function"]
        for message in messages[start:]
        for call in message.get("tool_calls") or ()
    }
    results = [
        message
        for message in messages[start:]
        if message["role"] == "tool" and message["tool_call_id"] in calls
    ]
    return said.strip(), [
        _done(calls[message["tool_call_id"]], message["content"]) for message in results
    ]


def _from_a_person(message: Json) -> bool:
    return message["role"] == "user" and not str(message.get("content")).startswith(RUNTIME_MARK)


def _done(function: Json, content: str) -> Done:
    try:
        arguments, result = (
            orjson.loads(function["arguments"]),
            orjson.loads(content.partition("\n")[0]),
        )
    except orjson.JSONDecodeError:
        return Done(function["name"], {}, ok=content)
    return Done(function["name"], arguments, result.get("ok"), result.get("error"))
