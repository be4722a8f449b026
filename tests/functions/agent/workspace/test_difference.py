"""What changed between two texts, as `diff -u` says it, however hostile they are."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from functions.agent.workspace.difference import (
    COMPARED_MOST,
    LINE_CHARACTERS,
    LINES_MOST,
    compare_texts,
)


def number_lines(count: int) -> list[str]:
    return [f"line {number}" for number in range(count)]


def test_equal_texts_have_no_difference() -> None:
    found = compare_texts("a\nb\n", "a\nb\n", "1", "2")
    assert (found.added, found.removed, found.text) == (0, 0, "")


def test_a_change_far_down_has_the_numbers_of_the_whole_text() -> None:
    old = number_lines(1_000)
    new = [*old[:700], "new", *old[701:]]
    found = compare_texts("\n".join(old), "\n".join(new), "1", "2")
    assert (found.added, found.removed) == (1, 1)
    assert found.lines[:3] == ("--- 1", "+++ 2", "@@ -698,7 +698,7 @@")
    assert found.lines[6:8] == ("-line 700", "+new")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", "a\nb\n"),
        ("a\nb\n", ""),
        ("a\nb\nc\n", "a\nx\nc\n"),
        ("\n".join(number_lines(60)) + "\n", "\n".join(number_lines(61)[1:]) + "\nend\n"),
        ("a\na\na\n", "a\n"),
    ],
)
def test_the_diff_can_be_applied_by_patch(old: str, new: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text(old)
    found = compare_texts(old, new, "file", "file")
    done = subprocess.run(
        ["git", "apply", "--unidiff-zero", "-"],
        cwd=tmp_path,
        input="diff --git a/file b/file\n--- a/file\n+++ b/file\n"
        + "\n".join(found.lines[2:])
        + "\n",
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (file.read_text() if file.exists() else "") == new


def test_a_long_difference_is_cut_and_says_so() -> None:
    found = compare_texts("", "\n".join(number_lines(500)), "1", "2")
    assert (found.added, len(found.lines)) == (500, LINES_MOST)
    assert found.left_out == 500 + 3 - LINES_MOST
    assert found.text.endswith(f"[… {found.left_out} more lines …]")


def test_a_long_line_is_cut_and_says_so() -> None:
    found = compare_texts("", "x" * 100_000, "1", "2")
    assert len(found.lines[-1]) < LINE_CHARACTERS + 40
    assert "[… 99,501 more …]" in found.lines[-1]


def test_texts_too_different_to_compare_are_told_as_replaced() -> None:
    count = COMPARED_MOST + 1
    old = "\n".join(number_lines(count))
    new = "\n".join(reversed(number_lines(count)))
    found = compare_texts(old, new, "1", "2")
    assert (found.added, found.removed) == (count, count)
    assert found.lines[2] == f"@@ -1,{count} +1,{count} @@"
