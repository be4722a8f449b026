"""The facts of a turn, read from the session's history, the worklog and the registry's audit; never
from what the model says of itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from functions.agent.messages import Message, ToolCall
from functions.agent.toolset import is_capability
from sigil.builtin_tools import DEPLOY, QUERY
from sigil.errors import one_line
from sigil.protocol import Json

REPLY_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call of the history with its answer: `output` what it gave, `error` the code of its
    failure.
    """

    call: ToolCall
    loads: tuple[str, ...]
    output: Json = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Worklog:
    """The record that the product kept of a turn: the requests to the model, its tokens, the
    seconds it took.
    """

    rounds: int = 0
    tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Half:
    """One of a request's two turns. `deployed`: what the audit says that this chat made; `refused`:
    codes of deploys that came to nothing.

    `searched`, `written`: how often; `unsearched`: codes of queries that failed. `tests`: how many
    passed of what became active last. `computed`: an output of a capability holds the true answer;
    `right`: the reply says it. `error`: why there was no answer at all.
    """

    searched: int = 0
    unsearched: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    written: int = 0
    refused: tuple[str, ...] = ()
    tests: int = 0
    deployed: tuple[str, ...] = ()
    called: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    computed: bool = False
    right: bool = False
    worklog: Worklog = Worklog()
    reply: str = ""
    error: str = ""


def calls(messages: Sequence[Message]) -> Iterator[Called]:
    """The calls that were answered, in order. An id belongs to its own round: some providers begin
    anew in each.
    """
    waiting: dict[str, ToolCall] = {}
    for message in messages:
        if message.role == "assistant":
            waiting = {call.id: call for call in message.calls}
        call = waiting.pop(message.call_id, None) if message.role == "tool" else None
        if call:
            yield _answered(call, message)


def _answered(call: ToolCall, message: Message) -> Called:
    loads = tuple(offer.name for offer in message.loads)
    try:
        body = orjson.loads(message.content.partition("\n")[0])
    except orjson.JSONDecodeError:  # cut: longer than a window takes
        return Called(call, loads, message.content)
    error = body.get("error")
    return Called(
        call,
        loads,
        body.get("ok"),
        one_line(str(error.get("code")), 40) if isinstance(error, dict) else "",
    )


def half(
    messages: Sequence[Message],
    reply: str,
    deployed: Sequence[str],
    worklog: Worklog,
    answer: tuple[_Says, _Says],
) -> Half:
    """The facts of a turn that the model answered. `answer`: whether a text says, and whether an
    output holds, what is true.
    """
    done = list(calls(messages))
    queries, deploys = (
        [each for each in done if each.call.name == tool] for tool in (QUERY, DEPLOY)
    )
    tools = [each for each in done if is_capability(each.call.name)]
    active = [each for each in deploys if not each.error]
    said, held = answer
    return Half(
        searched=sum(not each.error for each in queries),
        unsearched=tuple(each.error for each in queries if each.error),
        found=_once(name for each in queries for name in each.loads),
        written=len(deploys),
        refused=tuple(each.error for each in deploys if each.error),
        tests=_passed(active[-1].output) if active else 0,
        deployed=_once(deployed),
        called=_once(each.call.name for each in tools if not each.error),
        failed=tuple(each.error for each in tools if each.error),
        computed=any(held(each.output) for each in tools if not each.error),
        right=said(reply),
        worklog=worklog,
        reply=reply[:REPLY_CHARACTERS],
    )


_Says = Callable[[Any], bool]


def _passed(output: Json) -> int:
    tests = output.get("tests") if isinstance(output, dict) else None
    return int(tests.get("passed", 0)) if isinstance(tests, dict) else 0


def _once(names: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
