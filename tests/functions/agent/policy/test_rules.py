"""Rules are decided on what they name; a policy that cannot be read allows nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies

from functions.agent.policy.act import ACTS, Act, Actor, make_actor
from functions.agent.policy.gate import Gate
from functions.agent.policy.rules import (
    FIRST_TEXT,
    PRESETS,
    RULES_MOST,
    Policy,
    Rule,
    close_policy,
    decide,
    decide_for_any,
    normalize_target,
    parse_amount,
    parse_policy,
)
from sigil.errors import UsageError
from sigil.manifest.permission_rules import parse_http_rule
from tests.tables import each_row

OWNER, GUEST = make_actor("owner"), make_actor("guest")
NIGHT = make_actor("owner", own_work=True)


def policy_of(*rules: str, preset: str = "standard") -> Policy:
    lines = "".join(f'  "{rule}",\n' for rule in rules)
    return parse_policy(f'format = 1\npreset = "{preset}"\nrules = [\n{lines}]\n')


@each_row(
    ("rules", "actor", "act", "effect"),
    [
        ((), OWNER, Act("call", "hash"), "allow"),
        ((), OWNER, Act("spend", "acme"), "deny"),
        ((), OWNER, Act("dance", "tango"), "deny"),
        (("deny guest call *",), GUEST, Act("call", "hash"), "deny"),
        (("deny guest call *",), OWNER, Act("call", "hash"), "allow"),
        # more of the target
        (("deny guest call *", "allow guest call web-*"), GUEST, Act("call", "web-x"), "allow"),
        (("allow guest call web-*", "deny guest call web-x"), GUEST, Act("call", "web-x"), "deny"),
        (("deny guest net *.evil.com",), GUEST, Act("net", "a.evil.com"), "deny"),
        (("deny guest net *.evil.com",), GUEST, Act("net", "evil.com"), "allow"),
        (("deny guest net x.*", "allow guest net *.b"), GUEST, Act("net", "x.b"), "deny"),
        # who is named, before everybody; then the strictest
        (("deny everybody call x", "allow owner call x"), OWNER, Act("call", "x"), "allow"),
        (("allow owner call x", "deny owner call x"), OWNER, Act("call", "x"), "deny"),
        (("deny everybody deploy *",), OWNER, Act("deploy", "x"), "deny"),
        # an owner's own work is a member's
        (("deny member call x",), NIGHT, Act("call", "x"), "deny"),
        (("allow owner spend acme",), NIGHT, Act("spend", "acme"), "deny"),
        (("ask own-work call x",), NIGHT, Act("call", "x"), "ask"),
        (("allow member write notes/*",), NIGHT, Act("write", "notes/a.md"), "allow"),
        (("allow member write notes/*",), NIGHT, Act("write", "notes/../a.md"), "deny"),
        (("allow member write *",), NIGHT, Act("write", "/etc/passwd"), "deny"),
        (("allow member write notes/*",), NIGHT, Act("write", " notes/a.md"), "deny"),
        (("allow member write *",), NIGHT, Act("write", "a%2e/b"), "deny"),
        (("deny member write notes/*",), NIGHT, Act("write", "notes /a.md"), "deny"),
    ],
)
def test_the_rule_that_names_more_counts(
    rules: tuple[str, ...], actor: Actor, act: Act, effect: str
) -> None:
    decision = decide(policy_of(*rules), actor, act)
    assert decision.effect == effect
    assert decide(policy_of(*reversed(rules)), actor, act).effect == effect


PARTS = strategies.text("ab.", max_size=4)
PATTERNS = strategies.one_of(
    PARTS.filter(bool), PARTS.map(lambda part: f"{part}*"), PARTS.map(lambda part: f"*{part}")
)
WHO = strategies.sampled_from(["everybody", "guest", "owner", "owner,groups", "groups"])
RULES = strategies.builds(
    "{} {} call {}".format, strategies.sampled_from(["allow", "ask", "deny"]), WHO, PATTERNS
)


@given(strategies.lists(RULES, max_size=12), PARTS)
def test_the_index_finds_the_rule_that_a_look_at_each_of_them_finds(
    rules: list[str], target: str
) -> None:
    policy = policy_of(*rules, preset="talk")
    actor = make_actor("guest", private=False)

    def fits(rule: Rule) -> bool:
        part = rule.pattern.strip("*")
        if rule.pattern.startswith("*"):
            named = target.endswith(part)
        elif rule.pattern.endswith("*"):
            named = target.startswith(part)
        else:
            named = target == part
        return named and not rule.who.isdisjoint(actor.labels)

    def rank(rule: Rule) -> tuple[bool, int, bool, int]:
        strictness = ["deny", "ask", "allow"].index(rule.effect)
        named = len(rule.pattern.strip("*"))
        return "*" in rule.pattern, -named, "everybody" in rule.who, strictness

    best = min(filter(fits, policy.rules), key=rank, default=None)
    decision = decide(policy, actor, Act("call", target))
    assert decision.effect == (best.effect if best else "deny")


def test_what_may_reach_any_host_reaches_those_that_are_denied() -> None:
    policy = policy_of(
        "deny guest net evil.com", "deny everybody net x.com", "allow owner net x.com"
    )
    assert decide_for_any(policy, GUEST, "net").effect == "deny"
    assert decide_for_any(policy, OWNER, "net").effect == "allow"
    assert decide_for_any(policy_of("deny guest net *"), GUEST, "net").effect == "deny"
    rules = ("allow guest net *", "deny guest net a*", "allow guest net ax", "allow guest net ab*")
    assert decide_for_any(policy_of(*rules), GUEST, "net").effect == "deny"


def test_a_policy_that_is_closed_allows_nothing() -> None:
    closed = close_policy("the policy is damaged")
    for kind in ACTS:
        decision = decide(closed, OWNER, Act(kind, "x"))
        assert (decision.effect, decision.rule) == ("deny", "the policy is damaged")


def test_a_decision_names_the_rule_and_its_line() -> None:
    policy = policy_of("allow guest call a", "deny guest call b")
    assert decide(policy, GUEST, Act("call", "b")).rule == '"deny guest call b" (line 5)'
    assert decide(policy, GUEST, Act("call", "c")).rule == '"allow everybody call *"'
    assert decide(policy, GUEST, Act("spend", "c")).rule == (
        "no rule of the policy names 'spend c'"
    )


@each_row(
    ("text", "why"),
    [
        ("", "format = 1 is missing"),
        ("format = true", "line 1: format = 1 is missing"),
        ('format = "1"', "line 1: format = 1 is missing"),
        ("format = 2", "the policy has format 2"),
        ("format = 1\nallow = 1", "line 2: allow is unknown"),
        ("format = 1\nrules = [,]", "line 2"),
        ('format = 1\npreset = "open"', "line 2: no such preset"),
        ('format = 1\nrules = "deny guest call x"', "line 2: rules is a list of texts"),
        ("format = 1\nrules = [1]", "line 2: rules is a list of texts"),
        ('format = 1\nrules = [\n"deny guest call x",\n"may guest call x"]', "line 4: 'may' is no"),
        ('format = 1\nrules = [\n"deny them call x"]', "line 3: 'them' is nobody"),
        ('format = 1\nrules = [\n"deny guest,, call x"]', "line 3: '' is nobody"),
        ('format = 1\nrules = [\n"deny guest eat x"]', "line 3: 'eat' is no act"),
        ('format = 1\nrules = [\n"deny guest call"]', "line 3: call needs a target"),
        ('format = 1\nrules = [\n"deny guest call a*b"]', "line 3: * stands at"),
        ('format = 1\nrules = [\n"deny guest call *a*"]', "line 3: * stands at"),
        ('format = 1\nrules = [\n"ask guest find x"]', "line 3: find cannot wait"),
        ('format = 1\nrules = [\n"allow owner spend *"]', "line 3: a rule that lets something"),
        ('format = 1\nrules = [\n"allow owner schedule x"]', "line 3: schedule has no target"),
        (
            'format = 1\nrules = [\n"deny guest net evil.com:443"]',
            "line 3: a rule names a host wit",
        ),
        ('format = 1\nrules = [\n"deny guest net [::1]:443"]', "line 3: not a"),
        ('format = 1\nrules = [\n"deny guest net https://evil.com"]', "line 3: "),
        ('format = 1\nrules = [\n"deny guest net 0x7f.1"]', "line 3: not an address"),
        ('format = 1\nrules = [\n"deny guest net 2130706433"]', "line 3: not an address"),
        ('format = 1\nrules = [\n"deny guest net evil .com"]', "line 3: not a host"),
        ("format = 1\n[spending]\nday = -1", "line 3: day is no amount"),
        ("format = 1\n[spending]\nday = nan", "line 3: day is no amount"),
        ("format = 1\n[spending]\nday = 0.001", "line 3: day is no amount"),
        ("format = 1\n[spending]\nyear = 1", "line 3: year is no cap"),
        ('format = 1\n[spending]\ncurrency = "$"', "line 3: no currency"),
        ('format = 1\nrules = ["deny guest call \\u202ex"]', "is no rule"),
        (f"format = 1\nrules = {['deny guest call x'] * (RULES_MOST + 1)}", "at most 128 rules"),
        (f"format = 1 # {'x' * 16_000}", "at most 16,000"),
        (f"format = {'[' * 9_000}", "nested"),
        (f"a{'.a' * 70} = 1", "64 parts"),
    ],
)
def test_a_policy_with_a_mistake_is_refused_by_its_line(text: str, why: str) -> None:
    with pytest.raises(UsageError) as refusal:
        parse_policy(text)
    assert why in refusal.value.message


def test_the_text_that_a_policy_begins_with_changes_nothing() -> None:
    policy = parse_policy(FIRST_TEXT)
    assert [rule.text for rule in policy.rules] == list(PRESETS["standard"])


def test_presets_name_whole_kinds_alone() -> None:
    for name in PRESETS:
        for rule in policy_of(preset=name).rules:
            assert rule.pattern == "*"


@each_row(
    ("written", "host"),
    [
        ("Evil.COM", "evil.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
        ("ｅｖｉｌ.com", "evil.com"),
        ("evil。com", "evil.com"),
        ("*.BÜCHER.example", "api.xn--bcher-kva.example"),
        ("evil.com.", "evil.com"),
        ("[::1]", "::1"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("::ffff:10.0.0.1", "::ffff:a00:1"),
        ("10.0.0.1", "10.0.0.1"),
        ("192.168.*", "192.168.1.1"),
    ],
)
def test_a_host_is_denied_however_the_rule_spells_it(written: str, host: str) -> None:
    policy = policy_of(f"deny guest net {written}")
    # as a capability has to declare it
    assert parse_http_rule(f"GET {f'[{host}]' if ':' in host else host}/").host == host
    assert decide(policy, GUEST, Act("net", host)).effect == "deny"
    assert decide(policy, OWNER, Act("net", host)).effect == "allow"


@each_row(
    ("name", "same"),
    [
        ("Acme", True),
        (" acme ", True),
        ("аcme", False),
        ("ａcme", False),
        ("acme.", False),
        ("*", False),
        ("acme*", False),
        ("strasse", False),
    ],
)
def test_a_payee_that_looks_like_one_of_the_policy_is_another(name: str, same: bool) -> None:
    policy = policy_of("allow owner spend acme", "allow owner spend straße")
    act = Act("spend", normalize_target("spend", name))
    assert (decide(policy, OWNER, act).effect == "allow") is same


def test_a_path_is_decided_on_as_it_is_written() -> None:
    gate = Gate((policy_of("allow guest write notes/*"),), GUEST)
    assert gate.decide("write", "notes/a.md").effect == "allow"
    for path in (" notes/a.md", "Notes/a.md", "notes", "notes//a", "notes/./a", "notes\\a"):
        assert gate.denies("write", path)


@pytest.mark.parametrize(
    "amount",
    [
        pytest.param(10**5_000, id="huge"),
        *(float("inf"), float("nan"), -1, True, "5", None, 0.001, 1e10),
    ],
)
def test_what_is_no_amount_of_money_is_none(amount: object) -> None:
    assert parse_amount(amount) is None


@each_row("name", ["*", "web-*", "*-search", "web-search\n", "Web-search", "wеb-search"])
def test_a_name_that_is_a_pattern_is_only_a_name(name: str) -> None:
    policy = policy_of("allow guest call web-search", preset="talk")
    assert decide(policy, GUEST, Act("call", name)).effect == "deny"


def test_two_hundred_rules_of_a_root_and_one_of_its_agents_bind_together() -> None:
    root = policy_of(*(f"deny guest call x{number}" for number in range(RULES_MOST)))
    own = policy_of(*(f"deny guest call y{number}" for number in range(RULES_MOST)))
    gate = Gate((root, own), GUEST)
    assert gate.denies("call", "x7")
    assert gate.denies("call", "y127")
    assert gate.decide("call", "z").effect == "allow"
