"""Figures, units and payloads of a request say what it wants, in every language."""

from __future__ import annotations

import time

import pytest

from sigil.search import Index, IndexDocument
from sigil.search.shapes import SUM, drop_payloads, find_shapes
from sigil.search.words import normalize_spelling
from tests.machine import within
from tests.tables import each_row


@each_row(
    ("text", "shape"),
    [
        ("180 C oven in Fahrenheit", "=2units"),
        ("How many kilometres are 26.2 miles?", "=2units"),
        ("华氏100度是摄氏多少度", "=2units"),
        ("wie viel Gramm sind 8 Unzen", "=2units"),
        ("6 Fuß 2 Zoll in Zentimeter", "=2units"),
        ("65mph in km/h", "=2units"),
        ("5 GB in MiB", "=2units"),
        ("250 dollars in euros", "=2money"),
        ("100 美元等于多少人民币", "=2money"),
        ("what is 17 * 23 + 4", SUM),
        ("15% of 80", SUM),
        ("#1e90ff", "=color"),
        ("see https://example.org/a?b=1", "=url"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "=token"),
        ("hosts of 10.0.0.0/22", "=ip"),
        ("GB82 WEST 1234 5698 7654 32", "=iban"),
        ("4539 1488 0343 6467", "=card"),
        ("0x1F4", "=radix"),
        ("decode aGVsbG8=", "=encoded"),
        ("30 6 * * 1-5", "=cron"),
        ("<p>Hello <b>you</b></p>", "=markup"),
        ("Dear {{name}}", "=template"),
        ("[[2,1],[5,3]]", "=rows"),
        ("48.85, 2.35", "=places"),
        ("1700000000", "=timestamp"),
        ("2x + y = 5", "=equation"),
        ("2024-03-05", "=date"),
        ("14 July 1789", "=date"),
        ("am 3. Mai 2021", "=date"),
        ("2021年5月3日", "=date"),
        ("4, 8, 15, 16, 23, 42", "=numbers"),
        ("MCMLXXXIV", "=roman"),
        ("75 PS in kW", "=2units"),
        ("9 m² en pieds carrés", "=2units"),
        ("4 mal 17", SUM),
        ("a jacket of 79.90, 35% off", SUM),
        ("20 000 € sur 5 ans à 3,6 %", "=rate"),
        ("贷款100万，利率3.5%，30年", "=rate"),
        ("a wall of 4.2 m by 2.6 m", "=sizes"),
        ("what is %E5%91%A8%E6%9C%AB", "=escaped"),
        ("978-0-306-40615-7", "=isbn"),
        ("71 58 92 81 77", "=numbers"),
        ("rent 900, food 320, bus 60", "=pairs"),
        ("alt: Die Miete ist hoch. neu: Die Miete ist höher.", "=versions"),
        ('{"a": 1}', "=json"),
        ('{"a": 1} and {"a": 2}', "=objects"),
    ],
)
def test_a_text_has_the_shape_of_its_figures(text: str, shape: str) -> None:
    assert shape in find_shapes(normalize_spelling(text))


@each_row(
    "text",
    [
        "how cold is it in Oslo",
        "10 km away",
        "how many calories are in a banana",
        "call me at nine",
        "version 1.2.3",
        "MIX it well",
        "C is a programming language",
        "I have 3 kg of potatoes",
        "a desk of 2 m",
        "my battery is at 12.5%",
        "before we go: call me",
    ],
)
def test_plain_words_have_none(text: str) -> None:
    assert not find_shapes(normalize_spelling(text))


def test_payload_is_no_part_of_what_is_asked() -> None:
    cut = drop_payloads('turn "order line item" from https://example.org/a#b into <b>MMXXIV</b>')
    assert cut.split() == ["turn", "from", "into"]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("put these in order: Zoe, Adam and Mia", "put these in order"),
        ("把这些排一下：张三，李四，王五", "把这些排一下"),
        ("at 14:30 in Berlin", "at 14:30 in Berlin"),
    ],
)
def test_what_follows_a_colon_is_payload(text: str, asked: str) -> None:
    assert drop_payloads(text) == asked


def test_an_array_of_objects_is_one_document() -> None:
    assert "=objects" not in find_shapes('[{"a": 1}, {"a": 2}]')


@pytest.mark.parametrize(
    "part", ['{ "', "}a", "old: ", "aaa ", "a 1, ", "1 ", "%", "a:", "1.1,", "ab 9"]
)
def test_a_hostile_text_is_read_in_no_time(part: str) -> None:
    text = (part * 2_000)[:2_000]
    begun = time.process_time()
    find_shapes(text)
    drop_payloads(text)
    # a pattern that reads a text again for each of its places takes seconds
    assert time.process_time() - begun < within(0.25)


def test_a_capability_is_found_by_the_shape_of_its_example_alone() -> None:
    index = Index()
    for name, example in (
        ("tint", "what is #663399"),
        ("nets", "hosts of 10.0.0.0/8"),
        ("sums", "2 + 2"),
    ):
        index.add(IndexDocument(name, "Does it.", name, examples=(example,)))
    assert [hit.ref for hit in index.search("#1e90ff please", 3)] == ["tint"]
    assert [hit.ref for hit in index.search("192.168.3.0/24 ?", 3)] == ["nets"]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 5_000,
        "<a " * 3_000,
        "1," * 5_000,
        "{{" * 4_000,
        "0 " * 4_000,
        "x+" * 4_000,
        '"' * 4_000,
    ],
)
def test_hostile_texts_are_read_in_linear_time(text: str) -> None:
    assert find_shapes(text[:2_000]) <= {"=numbers", "=rows"}
    assert len(drop_payloads(text[:2_000])) <= 2_000
