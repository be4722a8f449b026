"""The team without a language model: what people ask about it, and what is answered."""

from __future__ import annotations

from collections.abc import Callable

from functions.agent.agents.lifecycle import create_agent
from functions.agent.agents.record import AgentRecord, read_agent
from functions.agent.model.offline_team import TeamWish, find_wish
from functions.agent.team.spawning import Order, spawn
from functions.wiring import AgentRuntime
from tests.functions.agent.talk import tell
from tests.tables import each_row

MADE = 1_700_000_000.0


@each_row(
    ("words", "wish"),
    [
        ("who is on the team?", TeamWish("list")),
        ("what's the team doing right now", TeamWish("list")),
        ("团队里都有谁？", TeamWish("list")),
        ("zeig mir das Team", TeamWish("list")),
        ("what is Alice working on", TeamWish("doing", "alice")),
        ("alice现在在做什么？", TeamWish("doing", "alice")),
        ("woran arbeitet bob gerade?", TeamWish("doing", "bob")),
        ("please stop alice", TeamWish("stop", "alice")),
        ("停掉队友bob", TeamWish("stop", "bob")),
        ("what are you doing", None),
        ("was macht das", None),
        ("stop it", None),
        ("stop reminding me every day", None),
        ("who is on the phone", None),
    ],
)
def test_only_plain_wishes_are_taken_for_one(words: str, wish: TeamWish | None) -> None:
    assert find_wish(words) == wish


def test_who_works_is_told_and_stopped_in_plain_words(
    runtime: Callable[..., AgentRuntime],
) -> None:
    home = runtime(library="capabilities", owners=("telegram:1",))
    kv, root = home.app.kv, home.app.root
    assert "No teammates." in tell(home, "who is on the team?")[0]
    spawn(home.app, Order("alice", "coder", "Take tasks.", home="telegram:1", by="telegram:1"))
    create_agent(kv, root, "scout", AgentRecord("subagent", "enabled", MADE, "telegram:1"))

    assert "alice (coder): " in tell(home, "who is on the team?")[0]
    (doing,) = tell(home, "what is Alice doing?")
    assert doing.startswith("alice (coder): ")

    assert tell(home, "stop scout")[0].startswith("`scout` is disabled now.")
    assert read_agent(kv, root, "scout").state == "disabled"
    assert tell(home, "stop alice")[0].startswith("alice will shut down at once.")
    assert tell(home, "stop nobody")[0].startswith("There is no teammate nobody.")
    assert "没有队友 bob" in tell(home, "bob在做什么")[0]
