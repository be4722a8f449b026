"""/policy shows and changes the policy, for an owner in a private chat alone."""

from __future__ import annotations

import pytest

from functions.agent.ledger.ledger import Ledger
from functions.agent.policy.act import Act, make_actor
from functions.agent.policy.editing import add_rule, choose_preset, drop_rule
from functions.agent.policy.rules import FIRST_TEXT, decide, parse_policy
from functions.wiring import AgentRuntime
from sigil.errors import UsageError
from sigil.storage.kv import keys
from tests.functions.agent.talk import tell


def test_an_owner_changes_the_policy_in_a_private_chat(home: AgentRuntime) -> None:
    first = "My policy is the preset `standard`, without rules of its own."
    assert tell(home, "/policy")[0].splitlines()[0] == first
    assert tell(home, "/policy history") == ["The policy was never changed."]
    done = "Done: the policy is at version {}. It counts from the next message on."
    assert tell(home, "/policy deny guest call web-search") == [done.format(1)]
    assert tell(home, "/policy Ask owner,member deploy *") == [done.format(2)]
    shown = tell(home, "/policy")[0].splitlines()
    assert shown[0] == "My policy is the preset `standard`, with these rules before it:"
    assert shown[1:3] == ["1. `ask owner,member deploy *`", "2. `deny guest call web-search`"]
    (policy,) = home.app.load_policies()
    assert decide(policy, make_actor("owner"), Act("deploy", "x")).effect == "ask"
    assert tell(home, "/policy drop 1") == [done.format(3)]
    assert tell(home, "/policy preset careful") == [done.format(4)]
    assert tell(home, "/policy rollback 0") == [done.format(5)]
    assert [each.version for each in home.app.policy_versions.list_versions("main", "policy")] == [
        *range(5, 0, -1)
    ]
    assert "- 2: " in tell(home, "/policy history")[0]
    rows = [row for _, row in Ledger(home.stores.kv, "main").scan() if row["what"] == "policy"]
    assert [row["facts"] for row in rows] == [{"version": number} for number in range(1, 6)]


@pytest.mark.parametrize(
    "words",
    ["deny guest eat x", "drop 1", "drop 0", "preset open", "rollback 7", "deny", "please change"],
)
def test_words_that_make_no_sense_change_nothing(home: AgentRuntime, words: str) -> None:
    tell(home, f"/policy {words}")
    assert home.app.policy_versions.read("main", "policy").version == 0


def test_nobody_else_and_no_group_sees_or_changes_it(home: AgentRuntime) -> None:
    home.app.people.let_in("telegram:7", "member", "Bob", "terminal:local")
    refused = ["Only my owner can do that."]
    assert tell(home, "/policy", sender="telegram:7") == refused
    assert tell(home, "/policy deny owner call x", sender="telegram:7") == refused
    group = tell(home, "/policy", session="telegram:-5", private=False)
    assert group == ["I show and change my policy in a private chat alone."]


def test_a_policy_that_is_damaged_can_be_set_right_in_a_chat(home: AgentRuntime) -> None:
    tell(home, "/policy deny guest call web-search")
    home.stores.kv.put(keys.document("main", "policy"), b"{")
    assert home.app.load_policies()[0].closed
    assert "the policy is damaged" in tell(home, "/policy")[0]
    tell(home, "/policy rollback 0")
    assert not home.app.load_policies()[0].closed


WRITTEN = """\
# ours
format = 1 # always
rules = [ "deny guest call a", 'deny guest call b', # both
  "deny guest call c"
]
"""


def test_a_policy_that_is_changed_by_one_rule_keeps_its_comments() -> None:
    more = add_rule(WRITTEN, "deny guest call d")
    assert more.count("#") == 3
    assert [rule.text[-1] for rule in parse_policy(more).rules if rule.line] == list("dabc")
    less = drop_rule(drop_rule(more, 4), 2)
    assert [rule.text[-1] for rule in parse_policy(less).rules if rule.line] == list("db")
    assert less.count("#") == 3
    assert parse_policy(choose_preset(WRITTEN, "talk")).preset == "talk"
    assert parse_policy(choose_preset(FIRST_TEXT, "talk")).preset == "talk"
    one_more = 1 + len(parse_policy("format = 1").rules)
    assert len(parse_policy(add_rule("format = 1", "deny guest call d")).rules) == one_more


def test_a_policy_that_cannot_be_changed_line_by_line_stays_as_it_is() -> None:
    for text in ('"format" = 1', 'format = 1\n"rules" = ["deny guest call a"]'):
        with pytest.raises(UsageError):
            add_rule(text, "deny guest call d")
