"""Collects the facts of a turn from the session's history, the worklog and the registry's audit;
never from the model's own account.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import orjson

from functions.agent.conversation.messages import Message, ToolCall
from functions.agent.conversation.toolset import is_capability
from scripts.bootstrapping.judges import Judge
from sigil.builtin_tools import DEPLOY, QUERY
from sigil.errors import one_line
from sigil.protocol import Json

REPLY_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool call of the history with its answer: its `output`, or the code of its `error`."""

    call: ToolCall
    loads: tuple[str, ...]
    output: Json = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Worklog:
    """The product's own record of a turn: the number of requests to the model, its tokens, the
    seconds that it took.
    """

    rounds: int = 0
    tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """The facts of one of a request's two turns. `deployed`: the capabilities that this chat
    deployed, by the audit; `refused`: codes of deploys that failed.

    `searched`, `written`: the number of queries and deploys; `unsearched`: codes of queries that
    failed. `tests`: the tests that the last active capability passed. `computed`: an output of a
    capability holds the true answer; `right`: the reply does. `error`: why there was no answer.
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


def read_calls(messages: Sequence[Message]) -> Iterator[ToolResult]:
    """Yield the calls that were answered, in order. An id belongs to its own round: some providers
    begin anew in each.
    """
    waiting: dict[str, ToolCall] = {}
    for message in messages:
        if message.role == "assistant":
            waiting = {call.id: call for call in message.calls}
        call = waiting.pop(message.call_id, None) if message.role == "tool" else None
        if call is None:
            continue
        loads = tuple(offer.name for offer in message.loads)
        try:
            body = orjson.loads(message.content.partition("\n")[0])
        except orjson.JSONDecodeError:  # it was cut, because it was too long for the window
            yield ToolResult(call, loads, message.content)
            continue
        error = body.get("error")
        code = one_line(str(error.get("code")), 40) if isinstance(error, dict) else ""
        yield ToolResult(call, loads, body.get("ok"), code)


def collect_facts(
    messages: Sequence[Message],
    reply: str,
    deployed: Sequence[str],
    worklog: Worklog,
    answer: Judge,
) -> TurnFacts:
    """Return the facts of a turn that the model answered. `answer`: the judge of the true
    answer.
    """
    calls = list(read_calls(messages))
    queries = [each for each in calls if each.call.name == QUERY]
    deploys = [each for each in calls if each.call.name == DEPLOY]
    tools = [each for each in calls if is_capability(each.call.name)]
    active = [each for each in deploys if not each.error]
    passed = 0
    if active:
        tests = active[-1].output.get("tests") if isinstance(active[-1].output, dict) else None
        passed = int(tests.get("passed", 0)) if isinstance(tests, dict) else 0
    return TurnFacts(
        searched=sum(not each.error for each in queries),
        unsearched=tuple(each.error for each in queries if each.error),
        found=_unique(name for each in queries for name in each.loads),
        written=len(deploys),
        refused=tuple(each.error for each in deploys if each.error),
        tests=passed,
        deployed=_unique(deployed),
        called=_unique(each.call.name for each in tools if not each.error),
        failed=tuple(each.error for each in tools if each.error),
        computed=any(answer.is_in_output(each.output) for each in tools if not each.error),
        right=answer.is_in_text(reply),
        worklog=worklog,
        reply=reply[:REPLY_CHARACTERS],
    )


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
