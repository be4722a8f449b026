"""/skills shows the skills to owners alone, and pins, removes and brings them back."""

from __future__ import annotations

import pytest

from functions.wiring import AgentRuntime
from tests.functions.agent.skills.examples import REPORT, make_text, pack
from tests.functions.agent.talk import tell

BY = "terminal:local"


@pytest.fixture
def stocked(home: AgentRuntime) -> AgentRuntime:
    home.app.skills.write(pack(REPORT), by=BY)
    home.app.skills.write(pack(make_text("tea", "How tea is made.", "Boil. `Wait.`")), by=BY)
    return home


def test_skills_are_listed_shown_and_changed(stocked: AgentRuntime) -> None:
    listed = tell(stocked, "/skills")[0]
    assert "- `quarterly-report`: How we write our quarterly report" in listed
    assert "- `tea`: How tea is made." in listed
    assert tell(stocked, "/skills tea") == ["Boil. `Wait.`"]
    assert tell(stocked, "/skills pin tea")[0].startswith("`tea` holds in every chat now")
    assert "- `tea` (always): How tea" in tell(stocked, "/skills")[0]
    assert tell(stocked, "/skills unpin tea")[0].startswith("`tea` does not always hold")
    removed = tell(stocked, "/skills remove tea")[0]
    assert removed == "`tea` is gone. `/skills rollback tea 1` brings it back."
    assert "tea" not in tell(stocked, "/skills")[0]
    assert tell(stocked, "/skills rollback tea 1") == ["`tea` is as it was, as version 3."]
    assert stocked.app.skills.read("tea").by == BY


def test_an_agent_without_skills_says_how_it_gets_one(home: AgentRuntime) -> None:
    assert "`uncaged skill add FOLDER`" in tell(home, "/skills")[0]


@pytest.mark.parametrize(
    "words", ["coffee", "pin coffee", "rollback tea 9", "pin", "../tea", "TEA!"]
)
def test_what_is_not_there_changes_nothing(stocked: AgentRuntime, words: str) -> None:
    before = stocked.app.skills.read_catalog()
    assert tell(stocked, f"/skills {words}")[0].startswith("There is no skill or version")
    assert stocked.app.skills.read_catalog() == before


def test_what_cannot_be_pinned_is_said(stocked: AgentRuntime) -> None:
    long = make_text("long", "A long one.", "x" * 20_001)
    stocked.app.skills.write(pack(long), by=BY)
    assert "too much to pin" in tell(stocked, "/skills pin long")[0]


def test_nobody_else_and_no_group_sees_or_changes_them(stocked: AgentRuntime) -> None:
    stocked.app.people.let_in("telegram:7", "member", "Bob", BY)
    for words in ("/skills", "/skills remove tea"):
        assert tell(stocked, words, sender="telegram:7") == ["Only my owner can do that."]
    group = tell(stocked, "/skills", session="telegram:-5", private=False)
    assert group == ["I show and change my skills in a private chat alone."]
