"""The judges of the bootstrapping dialogue: tolerant of wording, not of values."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.bootstrapping.judges import (
    All,
    Data,
    Digits,
    Judge,
    Morse,
    Number,
    Numbers,
    Text,
    Verdict,
    Word,
)
from scripts.bootstrapping.requests import REQUESTS
from tests.fakes.skills import skill_for
from tests.selection import examples
from tests.tables import each_row

ASKS = [(request.name, ask) for request in REQUESTS for ask in (request.first, request.again)]
DAYS = ("Monday", "Thursday")

SAID: list[tuple[Judge, str]] = [
    (Text("MCMXCIV"), "1994 is **MCMXCIV** in Roman numerals."),
    (Text("MCMXCIV"), "`mcmxciv`"),
    (Text("12W1B", exact=True), "Encoded: “12W1B”."),
    (Text("The End of It", exact=True), "*The End\nof It*"),
    (Number(6857), "The largest prime factor is 6,857."),
    (Number(6857), "= 71 × 839 × 1471 × 6857"),
    (Number(877.463, 0.6), "about 877.46km"),
    (Number(877.463, 0.6), "≈ 877 km"),
    (Number(-3.5, 0.01), "It is −3.5."),
    (Number(7825.819, 0.6), r"\(7{,}825.8\)"),
    (Digits("9780306406157", "7"), "ISBN 978-0-306-40615-7"),
    (Digits("9780306406157", "7"), "978 0 306 40615 7 is complete"),
    (Numbers((59, 83, 71)), "It looks at 59, then 83, then 71."),
    (Numbers((59, 83, 71)), "1. 59\n2. 83\n3. 71"),
    (Verdict(True), "**Yes**, it passes."),
    (Verdict(False), "The IBAN is not valid."),
    (Verdict(False), "Invalid: the remainder is 3."),
    (Word("Thursday", DAYS), "July 4, 1776 was a **Thursday**."),
    (Morse("... --- ... / -"), "`... --- ... / -`."),
    (Morse("... --- ... / -"), "··· −−− ···   –"),
    (Data([{"a": 1}]), 'Here:\n```json\n[\n  {"a": 1}\n]\n```\nDone [sic].'),
    (All((Number(1), Number(2))), "median 1, deviation 2"),
]
UNSAID: list[tuple[Judge, str]] = [
    (Text("MCMXCIV"), "MCMXCIVI"),
    (Text("MCMXCIV"), "MCMXCII"),
    (Text("The End of It", exact=True), "The End Of It"),
    (Number(6857), "68570 or 685.7 or 16,857"),
    (Number(345), "12,345"),
    (Number(877.463, 0.6), "878.2 km"),
    (Number(3), "-3"),
    (Digits("9780306406157", "7"), "9780306406158"),
    (Digits("9780306406157", "7"), "7"),
    (Digits("9780306406157", "7"), "97803064061570"),
    (Numbers((59, 83, 71)), "59, 71, 83"),
    (Numbers((59, 83, 71)), "59, 83, 64, 71"),
    (Verdict(True), "No, it is valid in no country."),
    (Verdict(True), "I could tell you."),
    (Word("Thursday", DAYS), "Thursday or Monday"),
    (Morse("... --- ..."), "... --- ... ."),
    (Morse("... --- ..."), ". ... --- ..."),
    (Morse("... --- ..."), "... --- ... / -"),
    (Data([{"a": 1}]), '[{"a": "1"}]'),
    (Data([{"a": 1}]), "[" * 30_000),
    (All((Number(1), Number(2))), "median 1"),
]


@each_row(("judge", "text"), SAID)
def test_a_true_answer_is_known_however_it_is_worded(judge: Judge, text: str) -> None:
    assert judge.is_in_text(text)


@each_row(("judge", "text"), UNSAID)
def test_another_value_is_not_taken_for_it(judge: Judge, text: str) -> None:
    assert not judge.is_in_text(text)


@each_row(
    ("judge", "output", "holds"),
    [
        (Text("ff"), {"result": "FF", "base": 16}, True),
        (Number(96), 96, True),
        (Number(96), {"count": "96"}, True),
        (Number(96), {"count": 960}, False),
        (Number(1), True, False),
        (Number(96), 10**25, False),
        (Digits("9780306406157", "7"), 7, True),
        (Digits("9780306406157", "7"), {"isbn": "978-0-306-40615-7"}, True),
        (Digits("9780306406157", "7"), 17, False),
        (Numbers((61, 34)), {"steps": [{"at": 5, "value": 61}, {"at": 2, "value": 34}]}, True),
        (Numbers((61, 34)), [34, 61], False),
        (Verdict(True), {"valid": True}, True),
        (Verdict(True), False, False),
        (Verdict(False), "invalid", True),
        (Word("Monday", DAYS), {"day": "Monday", "index": 1}, True),
        (Data([{"a": 1}]), {"rows": [{"a": 1.0}]}, True),
        (Data([{"a": 1}]), '[{"a":1}]', True),
        (Data([{"a": 1}]), None, False),
    ],
)
def test_what_a_capability_gave_back_is_searched_through(
    judge: Judge, output: Any, holds: bool
) -> None:
    assert judge.is_in_output(output) is holds


@each_row(("name", "ask"), ASKS)
def test_no_question_gives_its_answer_away(name: str, ask: Any) -> None:
    assert not ask.answer.is_in_text("")
    assert not ask.answer.is_in_output(None)
    assert isinstance(ask.answer, Verdict) or not ask.answer.is_in_text(ask.text)


@each_row("request_", REQUESTS)
def test_both_questions_of_a_request_are_about_the_same_thing_and_differ_in_their_answer(
    request_: Any,
) -> None:
    assert skill_for(request_.first.text) is skill_for(request_.again.text)
    assert request_.first.answer != request_.again.answer


@settings(max_examples=examples(30))
@given(
    st.text() | st.text("0123456789.,-/ []{}\"'`*_"),
    st.recursive(st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(), st.lists),
)
def test_no_text_and_no_output_makes_a_judge_fail(text: str, output: Any) -> None:
    for _, ask in ASKS:
        assert ask.answer.is_in_text(text) in (True, False)
        assert ask.answer.is_in_output(output) in (True, False)
        assert not ask.answer.is_in_output(orjson.loads(b"18446744073709551615"))
