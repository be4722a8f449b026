"""What is a mark for a file in an answer, and what a reader sees while it is being written."""

from __future__ import annotations

import time

from functions.agent.conversation.named_files import (
    WordFilter,
    divide_at_files,
    find_file,
    list_targets,
    name_file,
    part_nested,
    write_words,
)
from sigil.protocol import KeptFile
from tests.tables import each_row

A = KeptFile("a" * 32, "a.png", "image/png", 1, 0.0)
B = KeptFile("b" * 32, "b.pdf", "application/pdf", 1, 0.0)
C = KeptFile("c" * 32, "c.csv", "text/csv", 1, 0.0)
FILES = (A, B, C)

TARGETS = {
    "![x](file:faaaaa)": ["faaaaa"],
    "[x](file:notes/a.md) and [y](<file:my notes/b c.md>)": ["notes/a.md", "my notes/b c.md"],
    "[x](file:a%20b.md)": ["a b.md"],
    "[x](file:a (1).md), [y](<file:b(2).md>)": ["a (1).md", "b(2).md"],
    '![x](file:faaaaa "Sales") (y)': ["faaaaa"],
    "[![x](file:faaaaa)](https://x.org)": ["faaaaa"],
    "| a | [x](file:faaaaa) |\n|-|-|": ["faaaaa"],
    "`[x](file:faaaaa)`": [],
    "``a ` [x](file:faaaaa)``": ["faaaaa"],
    "```\n[x](file:faaaaa)\n```": [],
    "~~~\n```\n[x](file:faaaaa)\n~~~\n[y](file:fbbbbb)": ["fbbbbb"],
    "```\n[x](file:faaaaa)": [],
    "[x](file:)": [],
    "[x](file:a\nb)": [],
    "[x](http://file:1)": [],
    "file:faaaaa": [],
}


@each_row(("text", "targets"), [*TARGETS.items()])
def test_marks_outside_of_code_name_files(text: str, targets: list[str]) -> None:
    assert list_targets(text) == targets


DIVIDED: dict[str, list[tuple[str, list[KeptFile]]]] = {
    "no mark": [("no mark", [A, B, C])],
    "One\n![x](file:faaaaa)\nTwo": [("One", [A]), ("Two", [B, C])],
    "![x](file:faaaaa)": [("", [A, B, C])],
    "One\n\n[b.pdf](file:fbbbbb)\n\nTwo": [("One", [B]), ("Two", [A, C])],
    "One\n\n[the bill](file:fbbbbb)\n\nTwo": [("One\n\nthe bill", [B]), ("Two", [A, C])],
    "See [it](file:fbbbbb) and\n[that](file:fccccc).\n\nEnd": [
        ("See it and\nthat.", [B, C]),
        ("End", [A]),
    ],
    "![x](file:faaaaa) ![y](file:fbbbbb)\nEnd": [("", [A, B]), ("End", [C])],
    "![x](file:faaaaa)\n\n![y](file:fbbbbb)\n\nEnd": [("", [A, B]), ("End", [C])],
    "One ![x](file:faaaaa)\n\nTwo ![x](file:faaaaa)": [("One x", [A]), ("Two x", [B, C])],
    "- [x](file:faaaaa)\n- two\n\n```\n\n[y](file:fbbbbb)\n```": [
        ("- x\n- two", [A]),
        ("```\n\n[y](file:fbbbbb)\n```", [B, C]),
    ],
    "- ![](file:faaaaa)\n- two": [("", [A]), ("- two", [B, C])],
    "One\n> **![ ](file:faaaaa)**": [("One", [A, B, C])],
    "See [](file:fbbbbb)": [("See ", [B, A, C])],
    "![no](file:fddddd)": [("![no](file:fddddd)", [A, B, C])],
}


@each_row(("text", "pieces"), [*DIVIDED.items()])
def test_files_stand_where_they_are_named_and_the_others_below(
    text: str, pieces: list[tuple[str, list[KeptFile]]]
) -> None:
    assert [(said, [*files]) for said, files in divide_at_files(text, FILES)] == pieces


def test_an_id_that_two_files_have_names_neither() -> None:
    twin = KeptFile("aaaaa" + "b" * 27, "twin", "text/plain", 1, 0.0)
    assert find_file((A, B), name_file(A.id)) is A
    assert find_file((A, A), name_file(A.id)) is A
    assert find_file((A, twin), name_file(A.id)) is None
    assert find_file((A, twin), twin.id) is twin


TOLD = (
    "Hello! See ![the sales](file:faaaaa), [a link](https://x.org/(y)) and [x](<file:a b.md>)!",
    "See [x](file:a (1).md), (![y](<file:b (2) c.md>)) and [z](file:c.md) (d)",
    "[ ] a task, a[1] and f(x)[2](3) [open",
    "![",
    "wow! [x](file:" + "y" * 400,
    "plain words",
)


def test_words_are_told_without_marks_wherever_they_are_cut() -> None:
    for text in TOLD:
        whole = write_words(text)
        for size in (1, 2, 3, 5, 8, len(text)):
            words = WordFilter()
            told = [words.add(text[at : at + size]) for at in range(0, len(text), size)]
            assert "".join([*told, words.end()]) == whole
            assert not any("file:f" in "".join(told[:end]) for end in range(len(told) + 1))
            assert not any("(file:a" in part for part in told)


def test_hostile_texts_take_no_time() -> None:
    began = time.process_time()
    for text in (
        "[" * 50_000,
        "`" * 50_000,
        "[x](file:" * 6_000,
        "[x](file:" + "(a" * 20_000,
        "[![x](y" * 9_000,
        "![" * 25_000,
        "` `` " * 10_000,
    ):
        list_targets(part_nested(f"{text} file:"))
        divide_at_files(f"{text} file:", FILES)
        divide_at_files(f"{'*' * len(text)}[x](file:faaaaa)", FILES)
        words = WordFilter()
        for at in range(0, len(text), 500):
            words.add(text[at : at + 500])
    assert time.process_time() - began < 2.0  # what grows with the square takes minutes
