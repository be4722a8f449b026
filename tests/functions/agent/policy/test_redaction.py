"""What leaves a chat is without what an owner's patterns fit, and no pattern makes that slow."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given, strategies

from functions.agent.policy.gate import Gate
from functions.agent.policy.redaction import (
    PATTERNS_MOST,
    REDACTED,
    UnfitPattern,
    check_patterns,
    parse_pattern,
    redact,
)
from functions.agent.policy.rules import parse_policy
from functions.agent.posts import Post, ServiceAnswer
from functions.agent.services import table
from functions.agent.services.call_context import CallContext
from functions.wiring import AgentRuntime
from sigil.errors import UsageError
from sigil.protocol import Offer
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.talk import tell
from tests.tables import each_row

CARD = "4111 1111 1111 1111"


@each_row(
    ("pattern", "text", "left"),
    [
        (r"\d{4}( ?\d{4}){3}", f"my card is {CARD}, thanks", "my card is [redacted], thanks"),
        (r"[\w.+-]+@[\w-]+(\.[\w-]+)+", "to a.b@c.example.org.", "to [redacted]."),
        ("(?i)project apollo", "of Project APOLLO now", "of [redacted] now"),
        ("secret", "Secret secrets", "Secret [redacted]s"),
        ("密码[:：] ?\\S+", "密码：abc 好", "[redacted] 好"),
        (r"sk-[A-Za-z0-9]{8,}", "sk-short sk-abcdefgh12", "sk-short [redacted]"),
        (r"\(x\)\.", "(x). (x)", "[redacted] (x)"),
        ("a|b", "xaybz", "x[redacted]y[redacted]z"),
        ("aba", "ababa!", "[redacted]!"),
        (r"\x41\u0042", "AB", "[redacted]"),
        ("[^ -~]+", "café", "caf[redacted]"),
        (r"[\]\\]", "a]b\\", "a[redacted]b[redacted]"),
        ("a.c", "a\nc abc", "a\nc [redacted]"),
    ],
)
def test_what_a_pattern_fits_is_taken_out(pattern: str, text: str, left: str) -> None:
    assert redact([pattern], text) == left
    assert redact([], text) == text


HOSTILE_TEXT = "a" * 30_000
SLOW = (
    "(a+)+b",
    "(a*)*b",
    "(a|aa)+b",
    "(a|a)*b",
    "(.*a){20}b",
    "a*a*a*a*a*b",
    "(a?){100}a{100}b",
    "([a-z]+)*1",
    "(.+)+\\d",
    "((a{1,9}){1,9}){1,5}b",
)


@pytest.mark.parametrize("pattern", SLOW)
def test_a_pattern_that_others_search_for_ever_reads_a_text_twice(pattern: str) -> None:
    assert redact([pattern], HOSTILE_TEXT) == HOSTILE_TEXT


@each_row(
    "pattern",
    [
        "",
        "a*",
        "(a?|b*)",
        "a{1000000}",
        "((a{100}){100}){100}",
        "a{501}",
        "(" * 21 + "a" + ")" * 21,
        "(" * 150,
        "a)",
        "[a-",
        "[z-a]",
        "[^]",
        "[[a]",
        "[\\b]",
        "*a",
        "a**",
        "a+?",
        "a{2,1}",
        "a{,3}",
        "(a)\\1",
        "(?P<x>a)(?P=x)",
        "(?=a)b",
        "(?<!a)b",
        "(?>a+)b",
        "(?#a)b",
        "(?i:a)b",
        "^a",
        "a$",
        "\\ba",
        "\\Q",
        "\\N{DIGIT ONE}",
        "\\p{L}+",
        "a\\",
        "x" * 201,
    ],
)
def test_a_hostile_pattern_is_refused_with_its_line(pattern: str) -> None:
    with pytest.raises(UnfitPattern):
        parse_pattern(pattern)
    text = f"format = 1\nredact = [\n  {orjson.dumps(pattern).decode()},\n]"
    with pytest.raises(UsageError) as refusal:
        parse_policy(text)
    assert refusal.value.message.startswith("line ")
    assert "is no pattern" in refusal.value.message


def test_patterns_together_have_a_limit() -> None:
    check_patterns(["a{250}", "b{250}"])
    for many in (["a{250}", "b{251}"], ["a"] * (PATTERNS_MOST + 1)):
        with pytest.raises(UnfitPattern):
            check_patterns(many)


ATOMS = strategies.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\w", "c"])
PATTERNS = strategies.recursive(
    ATOMS,
    lambda inner: strategies.one_of(
        strategies.tuples(inner, inner).map("".join),
        strategies.tuples(inner, inner).map(lambda two: f"({two[0]}|{two[1]})"),
        strategies.tuples(
            inner, strategies.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,2}"])
        ).map(lambda two: f"(?:{two[0]}){two[1]}"),
    ),
    max_leaves=8,
)


@given(PATTERNS, strategies.text("abc\n", max_size=9))
def test_every_character_of_a_match_and_no_other_is_taken_out(pattern: str, text: str) -> None:
    if re.fullmatch(pattern, ""):
        with pytest.raises(UnfitPattern):
            parse_pattern(pattern)
        return
    taken: set[int] = set()
    for begin in range(len(text)):
        for end in range(begin + 1, len(text) + 1):
            if re.compile(pattern).fullmatch(text, begin, end):
                taken.update(range(begin, end))
    masked = "".join("\0" if place in taken else letter for place, letter in enumerate(text))
    assert redact([pattern], text) == re.sub("\0+", REDACTED, masked)


def set_patterns(agent: AgentRuntime, *patterns: str) -> None:
    text = f"format = 1\nredact = {orjson.dumps(patterns).decode()}"
    agent.app.policy_versions.write("main", "policy", text, by="terminal:local")


def test_what_all_chats_share_is_redacted_and_what_a_chat_keeps_is_not(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    agent = runtime(llm_url=model.url, library="builtin")
    set_patterns(agent, r"\d{4}( ?\d{4}){3}")
    query = ("sigil_query", {"query": "remember"})
    for shared in (True, False):
        keep = {"key": "card", "value": f"it is {CARD}", "source": "user", "shared": shared}
        model.then(call(query), call(("cap_remember", keep)), say("noted"))
        tell(agent, "remember it")
        answer = str(model.bodies[-1]["messages"][-1]["content"])
        assert (CARD in answer) is not shared
        assert (f"it is {REDACTED}" in answer) is shared


def test_mail_to_another_agent_is_redacted(
    home: AgentRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(context: CallContext, arguments: Any) -> ServiceAnswer:
        posts = (
            Post("mail", "main.alice", "own:main", f"pay with {CARD}"),
            Post("say", "main", "telegram:7", f"pay with {CARD}"),
        )
        return ServiceAnswer("sent", posts)

    monkeypatch.setattr(table, "SERVICES", {"send-message": write})
    policy = parse_policy("format = 1\nredact = ['[0-9]{4}( [0-9]{4}){3}']")
    context = CallContext(home.app, "main#telegram:7", gate=Gate((policy,)))
    offer = Offer("send-message", 1, "sha256:0", "", {"type": "object"}, kind="host")
    mail, said = table.call_service(context, offer, "1:0", {}).posts
    assert mail.text == f"pay with {REDACTED}"
    assert said.text == f"pay with {CARD}"


def test_the_patterns_of_a_root_and_one_of_its_agents_are_applied_together() -> None:
    gate = Gate(tuple(parse_policy(f"format = 1\nredact = ['{each}']") for each in ("abc", "cde")))
    assert gate.redact("x abcde y abc") == f"x {REDACTED} y {REDACTED}"
