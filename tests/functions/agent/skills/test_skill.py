"""A `SKILL.md` is read as the Agent Skills format says, and refused with what to do about it."""

from __future__ import annotations

import pytest

from functions.agent.skills.skill import parse_skill
from sigil.errors import UsageError
from tests.functions.agent.skills.examples import REPORT, make_text
from tests.tables import each_row

NOISE = "x" * 300


def test_a_skill_has_a_name_a_description_tools_and_instructions() -> None:
    skill = parse_skill(REPORT)
    assert skill.name == "quarterly-report"
    assert skill.description.endswith("a quarterly report or a summary of the quarter.")
    assert skill.tools == ("currency-rates", "text-diff", "Bash")
    assert (skill.license, skill.compatibility) == ("Apache-2.0", "")
    assert skill.metadata == {"author": "finance", "tags": "finance, board"}
    assert skill.instructions.startswith("# Quarterly report\n\n1. Begin")


@each_row(
    ("more", "tools"),
    [
        ("allowed-tools: text-diff, csv-convert\n", ("text-diff", "csv-convert")),
        ("allowed-tools: [text-diff, csv-convert]\n", ("text-diff", "csv-convert")),
        ("allowed-tools:\n  - text-diff\n  - Bash(git add:*)\n", ("text-diff", "Bash")),
        ("allowed-tools: Bash(git add:*) Bash(jq:*) Read\n", ("Bash", "Read")),
        ("allowed-tools: cap_alice__tea alice/tea\n", ("alice/tea",)),
        ("allowed-tools:\n", ()),
    ],
)
def test_tools_are_named_in_every_form_of_the_format(more: str, tools: tuple[str, ...]) -> None:
    assert parse_skill(make_text("tea", "How tea is made.", more=more)).tools == tools


@each_row(
    ("written", "description"),
    [
        ("Use it when: somebody asks", "Use it when: somebody asks"),
        ('"Quoted: yes"', "Quoted: yes"),
        (">-\n  Folded\n  lines.", "Folded lines."),
        ("|\n  Two\n  lines.", "Two\nlines."),
        ("yes", "yes"),
        ("2026-11-24", "2026-11-24"),
        ("茶をいれる方法。", "茶をいれる方法。"),
    ],
)
def test_a_description_is_a_text_however_it_is_written(written: str, description: str) -> None:
    assert parse_skill(make_text("tea", written)).description == description


def test_fields_of_other_programs_are_left_alone() -> None:
    more = "model: opus\nhooks:\n  start:\n    - command: rm -rf /\nmetadata:\n  deep: {a: 1}\n"
    skill = parse_skill(make_text("tea", "How tea is made.", more=more))
    assert skill.metadata == {}


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_line_ends_of_other_systems_are_read(line_end: str) -> None:
    text = make_text("tea", "How tea is made.", "Boil.\nWait.").replace("\n", line_end)
    assert parse_skill(text).instructions == "Boil.\nWait."


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
HOSTILE = {
    "nothing": ("", "no front matter"),
    "only instructions": ("# Tea\nBoil.", "no front matter"),
    "no end": ("---\nname: tea\n", "no end"),
    "no name": ("---\ndescription: Tea.\n---\nBoil.", "no name"),
    "no description": ("---\nname: tea\n---\nBoil.", "no description"),
    "empty description": (make_text("tea", '""'), "no description"),
    "no instructions": (make_text("tea", "Tea.", ""), "no instructions"),
    "capital letters": (make_text("Tea-Time", "Tea."), "no name of a skill"),
    "a path as its name": (make_text("../../etc/passwd", "Tea."), "no name of a skill"),
    "two hyphens": (make_text("tea--time", "Tea."), "no name of a skill"),
    "a hyphen first": (make_text('"-tea"', "Tea."), "no name of a skill"),
    "a letter that looks like another": (make_text("tеa", "Tea."), "no name of a skill"),
    "a long name": (make_text("t" * 65, "Tea."), "65 characters"),
    "a long description": (make_text("tea", "x" * 1_025), "1,025 characters"),
    "a list as its name": (make_text("[tea]", "Tea."), "name is no text"),
    "a name twice": (make_text("tea", "Tea.", more="name: other\n"), "stands there twice"),
    "an alias bomb": (make_text("tea", "Tea.", more=BOMB), "an anchor"),
    "a tag that runs code": (
        make_text("tea", "Tea.", more="x: !!python/object/apply:os.system ['true']\n"),
        "a tag",
    ),
    "ten thousand brackets": (make_text("tea", "Tea.", more=f"x: {'[' * 9_000}\n"), "no YAML"),
    "a long front matter": (make_text("tea", "Tea.", more=f"x: {'y' * 10_001}\n"), "at most"),
    "an invisible instruction": (make_text("tea", "Tea.", "Boil.\U000e0041"), "invisible"),
    "a turned text": (make_text("tea", "Tea\u202e.", "Boil."), "invisible"),
    "an escape sequence": (make_text("tea", "Tea.", "\x1b[2J"), "invisible"),
    "33 tools": (
        make_text("tea", "Tea.", more=f"allowed-tools: {' '.join(f't{n}' for n in range(33))}\n"),
        "33 tools",
    ),
    "a map as tools": (make_text("tea", "Tea.", more="allowed-tools: {a: b}\n"), "allowed-tools"),
    "metadata without names": (make_text("tea", "Tea.", more="metadata: [a]\n"), "metadata"),
    "two documents": ("---\nname: tea\n...\n%YAML 9.9\n---\nBoil.", "no YAML"),
}


@pytest.mark.parametrize(("text", "why"), HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_skill_is_refused_with_its_reason(text: str, why: str) -> None:
    with pytest.raises(UsageError) as problem:
        parse_skill(text)
    said = f"{problem.value.message}; {problem.value.suggestion}"
    assert why in said
    assert problem.value.code == "EINVAL"
    assert problem.value.suggestion
    assert len(said) < 500
