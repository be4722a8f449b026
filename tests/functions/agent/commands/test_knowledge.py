"""/kb answers from the knowledge base, with the source, and shows guests what is public alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from functions.agent.policy.document import open_versions, write_policy
from functions.wiring import AgentRuntime
from tests.fakes.model import ScriptedModel
from tests.functions.agent.knowledge.documents import draft
from tests.functions.agent.talk import tell

OWNER = {"session": "telegram:1", "sender": "telegram:1"}
GUEST = {"session": "telegram:3", "sender": "telegram:3"}


@pytest.fixture
def home(runtime: Callable[..., AgentRuntime], model: ScriptedModel) -> AgentRuntime:
    made = runtime(llm_url=model.url, owners=("telegram:1",), access="open", timezone="UTC")
    made.app.open_knowledge("agent").add(draft(), may_replace=False)
    made.app.open_knowledge("team").add(
        draft("Tea", "Green tea is brewed at 70 degrees.", tags=("public",)), may_replace=False
    )
    return made


def test_the_answer_comes_with_its_place_and_source_and_no_model_is_asked(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    (reply,) = tell(home, "/kb how many days of vacation", **OWNER)
    assert reply.startswith(
        "**Handbook** (Handbook > Holidays, lines 12-16):\n> Holidays Everybody"
    )
    assert "28 days of vacation" in reply
    assert "Source: people/handbook.md, 2001-09-09\nAdded by `telegram:42`" in reply
    assert model.bodies == []


def test_an_author_is_named_only_where_an_owner_has_stated_one(home: AgentRuntime) -> None:
    rules = {"source": "rules.md", "author": "Human Resources"}
    base = home.app.open_knowledge("agent")
    base.add(draft("Claimed", "Platypus may be kept.", by="telegram:2", **rules), may_replace=False)
    (reply,) = tell(home, "/kb platypus", **OWNER)
    assert reply.endswith("\nAdded by `telegram:2`")
    assert "Human Resources" not in reply
    base.add(draft("Stated", "Walruses may be kept.", by="http:admin", **rules), may_replace=False)
    (reply,) = tell(home, "/kb walruses", **OWNER)
    assert reply.endswith("\nAuthor: Human Resources (stated by the owner `http:admin`)")


def test_guests_are_shown_what_is_public_alone(home: AgentRuntime) -> None:
    assert tell(home, "/kb vacation", **GUEST) == ["Nothing in the knowledge base answers that."]
    assert "70 degrees" in tell(home, "/kb how is green tea brewed", **GUEST)[0]


def test_without_a_question_it_says_how_and_an_unanswered_one_is_said_so(
    home: AgentRuntime,
) -> None:
    assert "/kb QUESTION" in tell(home, "/kb", **OWNER)[0]
    assert tell(home, "/kb platinum price", **OWNER) == [
        "Nothing in the knowledge base answers that."
    ]
    tell(home, "/language zh", **OWNER)
    assert tell(home, "/kb 火星", **OWNER) == ["知识库里没有这方面的内容。"]


def test_who_may_not_search_is_told_the_rule(home: AgentRuntime) -> None:
    versions = open_versions(home.app.kv, "main", home.app.clock.now)
    write_policy(versions, 'format = 1\nrules = ["deny guest call kb-search"]', by="test")
    assert "deny guest call kb-search" in tell(home, "/kb green tea", **GUEST)[0]
    assert "70 degrees" in tell(home, "/kb green tea", **OWNER)[0]
