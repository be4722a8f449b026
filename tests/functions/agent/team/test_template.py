"""Teammates from files: what stands in one, what is refused, and those that come along."""

from __future__ import annotations

import pytest

from functions.agent.team.examples import EXAMPLES
from functions.agent.team.template import Template, find_example, parse_template
from sigil.errors import UsageError
from tests.tables import each_row


def test_a_file_comes_back_as_it_was() -> None:
    made = Template(
        'Say "hi".', 'co\\der "x"', ("files", "hash"), "qwen-max", stay=True, recall=True
    )
    assert parse_template(made.format()) == made
    assert parse_template("Only a prompt.") == Template("Only a prompt.")


@each_row(
    ("text", "fault"),
    [
        ("", "no prompt"),
        ("+++\nrole = 'x'\n+++\n", "no prompt"),
        ("+++\nrole = 'x'\n", "no end"),
        ("---\nrole: x\n---\nwork", "YAML"),
        ("+++\nrole: x\n+++\nwork", "no TOML"),
        ("+++\nrules = 'x'\n+++\nwork", "no 'rules'"),
        ("+++\nrole = 1\n+++\nwork", "role is no text"),
        ("+++\nbundle = 'x'\n+++\nwork", "bundle is no list"),
        ("+++\nstay = 'yes'\n+++\nwork", "stay is neither"),
        ("x" * 30_000, "30,000 characters"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(text: str, fault: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_template(text)
    assert fault in caught.value.message


def test_those_that_come_along_can_be_read() -> None:
    found = [find_example(name) for name in EXAMPLES]
    assert [each.role for each in found if each] == ["coder", "researcher", "reviewer"]
    assert find_example("nobody") is None
