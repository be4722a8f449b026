"""A reaction is what a round's answers lead to: new counters, the guide's words, a ladder step.

It is pure. A model is told as well when it makes a call again, or deploys code again whose tests
failed, with what to change. Such a call runs all the same: it may have an effect, or give another
value each time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from functions.agent.conversation.messages import CallResult, Message, ToolCall
from functions.agent.safety import guides
from functions.agent.safety.call_facts import Fact, fingerprint, make_fact
from functions.agent.safety.failure_codes import code_of
from functions.agent.safety.guides import Guide
from functions.agent.safety.ladder import Counters, Step
from functions.agent.sanitize import sanitize_text
from sigil.builtin_tools import DEPLOY, QUERY, read_arguments, read_spec
from sigil.errors import SigilError, one_line
from sigil.json_fields import as_mapping, as_number, as_sequence, as_string
from sigil.protocol import Json
from sigil.storage.evolve import evolve

SAME_FAILURE: Final = (
    "REPEATED CALL: You made this very call in the step before, and it failed the same way."
)
SAME_RESULT: Final = (
    "REPEATED CALL: You made this very call in the step before, and its result was the same."
)
OTHER_RESULT: Final = (
    "REPEATED CALL: You made this very call in the step before as well, so it has run twice. Make"
    " it again only if you need yet another result."
)
CHANGE_ARGUMENTS: Final = (
    "Change {names} as the error says, call another tool, or say what is missing."
)
CHANGE_TOOL: Final = "Call another tool, or say what is missing."
USE_RESULT: Final = "Answer with it."
USE_OR_CHANGE: Final = "Answer with it, or change {names} for another one."
SEARCH_OTHERWISE: Final = "Do what it says under next, or search in other words."
SAME_CODE_FAILED: Final = (
    "REPEATED CODE: execute is the same code as in your deploy before, of which {before} failed;"
    " now {now} failed. Change execute, or correct the output of a test that expects what is wrong."
)
SAME_CODE_UNTESTED: Final = (
    "REPEATED CODE: execute is the same code as in your deploy before, of which {before} failed,"
    " with fewer tests. Call it with their input, and deploy it with other code if it is wrong."
)
MISSING: Final = ("EPERM", "EAPPROVAL", "EAUTH", "EACCES", "ENOTOOL", "ENOTRESIDENT")
"""Failures for which something is missing that no argument brings: a grant, a token, a tool."""
NAMES_SHOWN: Final = 6
"""So many of a call's arguments are named."""
NAME_CHARACTERS: Final = 40
_FAILED_TEST: Final = re.compile(r"(?: failed: |; )test (\d{1,3}): ", re.ASCII)
_FURTHER_FAILED: Final = re.compile(r"; and (\d{1,3}) more$", re.ASCII)


@dataclass(frozen=True, slots=True)
class Reaction:
    """The outcome of a round.

    `answers` are as the model reads them, with one fact each; `step` is the highest that any of
    them led to, and `reason` the key of `REASONS` when the session does not go on.
    """

    answers: tuple[CallResult, ...]
    facts: tuple[Fact, ...]
    counters: Counters
    step: Step
    reason: str = ""


def react(
    answers: Sequence[CallResult],
    counters: Counters,
    guide: Guide,
    messages: Sequence[Message],
) -> Reaction:
    """Return what a round's answers, taken in their order, lead to.

    `messages` are those of the turn, down to the one that made the round's calls. No failure but a
    fatal one ends anything before the model has read it.
    """
    answered: list[CallResult] = []
    facts: list[Fact] = []
    told: set[str] = set()
    highest = Step.NONE
    reason = ""
    for result in answers:
        fact = make_fact(
            result.call,
            result.error,
            result.why,
            result.content,
            ran=result.ran,
            reason=result.reason,
        )
        counters, step = counters.after(fact, unread=facts)
        if step > highest:
            highest = step
            reason = ""
            if step is Step.PAUSE:
                reason = "frustration"
            elif step is Step.HALT:
                reason = "fatal" if fact.failed and fact.kind == "fatal" else "cascade"
        lines = [result.content]
        repeat = describe_repeat(result, messages)
        if fact.failed:
            words = guides.interpret_fact(guide, fact)
            if words:
                lines.append(words)
        if step is Step.REPEATS:
            lines.append(guides.REPEATS.format(count=counters.count_same(fact)))
        elif repeat and repeat not in told:
            lines.append(repeat)
            told.add(repeat)  # once a round: a window that is nearly full has no room for more
        if fact.failed and counters.is_repeated(fact):
            lines.append(guides.ALERT)
        answered.append(evolve(result, content="\n".join(lines)))
        facts.append(fact)
    return Reaction(tuple(answered), tuple(facts), counters, highest, reason)


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A call of an earlier step, and its answer as the model reads it."""

    call: ToolCall
    content: str


def describe_repeat(result: CallResult, messages: Sequence[Message]) -> str:
    """Return what a model is told of a call that it has made before; empty for any other.

    `messages` are those of the turn, down to the one that made the call, which has no answers yet.
    """
    if result.call.name == DEPLOY:
        told = _compare_deploys(result, messages)
        if told:
            return told
    same = fingerprint(result.call.name, result.call.arguments)
    for earlier in _list_last_step(messages):
        if fingerprint(earlier.call.name, earlier.call.arguments) == same:
            return _compare_answers(result, earlier)
    return ""


def _compare_answers(result: CallResult, earlier: AnsweredCall) -> str:
    """Return what is told of a call that is the same as an earlier one.

    One that failed before and does not fail so again was rightly made once more.
    """
    code = as_string(_read_error(earlier.content).get("code"))
    if result.error or code:
        if result.error != code:
            return ""
        names = "" if _is_beside_arguments(code) else _name_arguments(result.call)
        change = CHANGE_ARGUMENTS.format(names=names) if names else CHANGE_TOOL
        return f"{SAME_FAILURE} {change}"
    if earlier.content != result.content and not earlier.content.startswith(f"{result.content}\n"):
        return OTHER_RESULT
    if result.call.name == QUERY:
        return f"{SAME_RESULT} {SEARCH_OTHERWISE}"
    names = _name_arguments(result.call)
    return f"{SAME_RESULT} {USE_OR_CHANGE.format(names=names) if names else USE_RESULT}"


def _is_beside_arguments(code: str) -> bool:
    """Return whether other arguments would not help: something is missing, or passes by itself."""
    return code in MISSING or code_of(code).kind != "execution"


def _compare_deploys(result: CallResult, messages: Sequence[Message]) -> str:
    """Return what is told of a deploy of the code whose tests failed last; empty for any other."""
    earlier = _find_last_deploy(messages)
    if earlier is None or result.error not in ("", "ETESTS"):
        return ""
    failure = _read_error(earlier.content)
    if failure.get("code") != "ETESTS":
        return ""
    before = _read_spec(earlier.call)
    code = _normalize_code(before)
    if not code or code != _normalize_code(_read_spec(result.call)):
        return ""
    failed = _name_failed_tests(as_string(failure.get("message")))
    if result.error:
        return SAME_CODE_FAILED.format(before=failed, now=_name_failed_tests(result.why))
    deployed = as_mapping(_read_answer(result.content).get("ok"))
    passed = as_number(as_mapping(deployed.get("tests")).get("passed"))
    if passed >= len(as_sequence(before.get("tests"))):
        return ""  # what a test expected was wrong, and was corrected
    return SAME_CODE_UNTESTED.format(before=failed)


def _list_last_step(messages: Sequence[Message]) -> list[AnsweredCall]:
    """Return the calls of the last message of which some were answered."""
    answers: dict[str, str] = {}
    for message in reversed(messages):
        if message.role == "tool":
            answers[message.call_id] = message.content
        elif message.calls and answers:
            answered = [call for call in message.calls if call.id in answers]
            return [AnsweredCall(call, answers[call.id]) for call in answered]
    return []


def _find_last_deploy(messages: Sequence[Message]) -> AnsweredCall | None:
    """Return the last deploy that was answered, None where there is none."""
    answers: dict[str, str] = {}
    for message in reversed(messages):
        if message.role == "tool":
            answers[message.call_id] = message.content
        elif message.calls:
            for call in reversed(message.calls):
                if call.name == DEPLOY and call.id in answers:
                    return AnsweredCall(call, answers[call.id])
            answers = {}  # providers without ids give the same ones in every step
    return None


def _read_answer(content: str) -> Mapping[str, Json]:
    """Return the JSON object in the first line of an answer; nothing when it is none."""
    try:
        return as_mapping(orjson.loads(content.partition("\n")[0]))
    except orjson.JSONDecodeError:
        return {}


def _read_error(content: str) -> Mapping[str, Json]:
    """Return the fields of the failure that an answer tells; nothing when it tells none."""
    return as_mapping(_read_answer(content).get("error"))


def _read_spec(call: ToolCall) -> Mapping[str, Json]:
    """Return the spec that a deploy sends; nothing when it cannot be read."""
    try:
        return read_spec(read_arguments(call.arguments))
    except SigilError:
        return {}


def _normalize_code(spec: Mapping[str, Json]) -> str:
    """Return the code of a spec without what only its layout is made of."""
    return " ".join(as_string(spec.get("execute")).split())


def _name_failed_tests(message: str) -> str:
    """Return the tests that the message of a failed deploy tells of: `tests 1, 3`."""
    numbers = _FAILED_TEST.findall(message)
    further = _FURTHER_FAILED.search(message)
    more = f" and {further[1]} more" if further else ""
    label = "test" if len(numbers) == 1 and not more else "tests"
    return f"{label} {', '.join(numbers)}{more}"


def _name_arguments(call: ToolCall) -> str:
    """Return the names of a call's first arguments; empty when it has none or they are no JSON."""
    try:
        arguments = read_arguments(call.arguments)
    except SigilError:
        return ""
    names = [one_line(name, NAME_CHARACTERS) for name in list(arguments)[:NAMES_SHOWN]]
    return sanitize_text(", ".join(filter(None, names)))
