"""A policy is a list of rules, and caps on what may be spent; people write it as TOML.

A rule says what becomes of somebody's acts: `deny guest call read-page`. Where several fit, the one
counts that names more of the target; then one of the policy's own before one of its preset; then
one that names the actor before one for everybody; then the strictest.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from itertools import count
from typing import Final, Literal, NoReturn, get_args

from functions.agent.policy.act import ACTORS, ACTS, EVERYBODY, NAMELESS, Act, Actor
from sigil.errors import ToolError, UsageError, one_line
from sigil.storage.toml_files import parse_table

Effect = Literal["allow", "ask", "deny"]
EFFECTS: Final = get_args(Effect)
_STRICTNESS: Final[Mapping[Effect, int]] = {"deny": 0, "ask": 1, "allow": 2}
FORMAT: Final = 1
TEXT_CHARACTERS: Final = 16_000
RULES_MOST: Final = 128
RULE_CHARACTERS: Final = 200
MONEY_MOST: Final = 10**9
"""Hundredths of the currency."""
CURRENCY: Final = "USD"
NEVER_ASKED: Final = frozenset({"find", "say"})
"""The acts that belong to no call which an approval could let go on."""
NEVER_ALLOWED: Final = frozenset({"grant"})
"""The acts that an owner decides on each time."""
STANDARD: Final = "standard"
PRESETS: Final[Mapping[str, tuple[str, ...]]] = {
    STANDARD: (
        "allow everybody call *",
        "allow everybody find *",
        "allow everybody net *",
        "allow everybody mail *",
        "allow everybody say *",
        "allow everybody schedule",
        "allow everybody ingest *",
        "allow owner,member read *",
        "allow owner,member write *",
        "allow owner,member deploy *",
        "allow owner,member task",
        "allow owner board",
        "ask owner,member self *",
        "allow owner,member spawn *",
        "ask owner,member skill *",
        "ask owner,member reschedule *",
        "ask owner,member publish *",
        "allow owner,member subagent *",
        "ask everybody grant *",
    ),
    "careful": (
        "allow everybody call *",
        "allow everybody find *",
        "allow owner,member net *",
        "deny guest net *",
        "ask own-work net *",
        "allow everybody mail *",
        "allow everybody say *",
        "allow everybody schedule",
        "allow everybody ingest *",
        "allow owner,member read *",
        "allow owner,member write *",
        "ask owner,member deploy *",
        "deny own-work deploy *",
        "allow owner,member task",
        "allow owner board",
        "ask owner,member self *",
        "ask owner,member spawn *",
        "ask owner,member skill *",
        "ask owner,member reschedule *",
        "ask owner,member publish *",
        "ask owner,member subagent *",
        "ask everybody grant *",
    ),
    "talk": (),
}
"""What holds where a policy's own rules say nothing. Every pattern is `*`, so that a rule of the
policy's own never names less of a target than one of these.
"""
FIRST_TEXT: Final = f"""\
# The policy: what the agent may do, and for what it asks an owner first.
format = {FORMAT}
preset = "{STANDARD}"
rules = [
]
"""
"""The text of a policy that changes nothing."""
_FIELDS: Final = ("format", "preset", "rules", "redact", "spending")
_CAPS: Final = ("payment", "day", "task")
_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_PATH: Final = re.compile(r"[^/\\%\x00-\x1f\x7f]+(?:/[^/\\%\x00-\x1f\x7f]+)*")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `pattern` is a target, or a part of it with `*` at its beginning or end.

    `line` is its line in the policy's text, 0 for a rule of a preset.
    """

    effect: Effect
    who: frozenset[str]
    act: str
    pattern: str
    text: str
    line: int = 0

    def __str__(self) -> str:
        return f'"{self.text}" (line {self.line})' if self.line else f'"{self.text}"'


@dataclass(frozen=True, slots=True)
class Spending:
    """The caps on what may be spent, in hundredths of the currency; 0 allows nothing."""

    currency: str = CURRENCY
    payment: int = 0
    day: int = 0
    task: int = 0


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of an act, and the words that name the rule which says so."""

    effect: Effect
    rule: str


@dataclass(frozen=True, slots=True)
class PrefixIndex:
    """Rules by the beginning of a target that they name.

    `parts` are these beginnings in order, and `shorter` has for each the longest other one that it
    begins with, None where there is none.
    """

    rules: Mapping[str, Rule] = field(default_factory=dict)
    parts: tuple[str, ...] = ()
    shorter: Mapping[str, str | None] = field(default_factory=dict)

    def find(self, text: str) -> Rule | None:
        """Return the rule that names most of how a text begins."""
        # whatever the text begins with is a beginning of the last part that is not behind it
        place = bisect_right(self.parts, text)
        part = self.parts[place - 1] if place else None
        while part is not None and not text.startswith(part):
            part = self.shorter[part]
        return None if part is None else self.rules[part]


@dataclass(frozen=True, slots=True)
class RuleIndex:
    """Somebody's rules for one kind of act: those for a whole target, and those for the beginning
    or the end of one, whose letters stand in reverse. Of those that name the same, the one that
    counts is there.
    """

    exact: Mapping[str, Rule]
    beginnings: PrefixIndex
    ends: PrefixIndex


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """A policy as it is read. `redact` are the patterns of what is taken out of texts that leave a
    chat. `closed` says why nothing is allowed: it cannot be read.
    """

    rules: tuple[Rule, ...] = ()
    preset: str = STANDARD
    spending: Spending = Spending()
    redact: tuple[str, ...] = ()
    closed: str = ""


def decide(policy: Policy, actor: Actor, act: Act) -> Decision:
    """Return what becomes of an act: what no rule names is denied."""
    if policy.closed:
        return Decision("deny", policy.closed)
    target = act.target
    if act.kind in ("read", "write") and not is_plain_path(target):
        return Decision("deny", f"{one_line(target, 80)!r} is no plain path")
    index = _index_rules(policy, actor.labels, act.kind)
    found = index.exact.get(target) or index.beginnings.find(target)
    if index.ends.parts and not (found and found.pattern == target):
        by_end = index.ends.find(target[::-1])
        if by_end:
            found = min((by_end, found) if found else (by_end,), key=_rank_patterns)
    if found:
        return Decision(found.effect, str(found))
    return _no_rule(act)


@lru_cache(maxsize=256)
def decide_for_any(policy: Policy, actor: Actor, kind: str) -> Decision:
    """Return the strictest decision on an act of this kind, whatever it is about: a capability that
    may read any page reaches every host that a rule names.
    """
    patterns = [rule.pattern for rule in policy.rules if rule.act == kind]
    # a letter that no rule has: else `deny a*` would be asked with `ax`, which another rule allows
    letter = next(each for each in map(chr, count(ord("a"))) if each not in "".join(patterns))
    samples = ["*", *(each.replace("*", letter) for each in patterns if each != "*")]
    return choose_stricter(decide(policy, actor, Act(kind, sample)) for sample in samples)


def choose_stricter(decisions: Iterable[Decision]) -> Decision:
    """Return the strictest of some decisions, the first of those that are as strict."""
    return min(decisions, key=lambda each: _STRICTNESS[each.effect])


def is_plain_path(path: str) -> bool:
    """Return whether a path names one file, and no step of it leads elsewhere or looks like
    another one.
    """
    if not _PATH.fullmatch(path):
        return False
    return all(step not in (".", "..") and step == step.strip() for step in path.split("/"))


def close_policy(reason: str) -> Policy:
    """Return the policy that allows nothing, and why."""
    return Policy(closed=reason)


@lru_cache(maxsize=64)
def parse_policy(text: str) -> Policy:
    """Return the policy in a text.

    `UsageError` EINVAL with the line of what is wrong in it, EFORMAT for one of a newer version.
    """
    if len(text) > TEXT_CHARACTERS:
        raise UsageError("ETOOBIG", f"a policy has at most {TEXT_CHARACTERS:,} characters")
    try:
        table = parse_table(text)
    except ValueError as problem:
        _refuse(one_line(str(problem), RULE_CHARACTERS), "it is TOML, as `uncaged policy show`")
    lines = text.splitlines()
    written = table.get("format")
    if type(written) is int and written > FORMAT:
        raise UsageError(
            "EFORMAT",
            f"the policy has format {min(written, 10**9)}, and this version reads {FORMAT}",
            source="policy",
            suggestion="run the newer version that wrote it",
        )
    if type(written) is not int or written != FORMAT:
        _refuse(f"{_place(lines, 'format')}format = {FORMAT} is missing", "write it first")
    for name in sorted(table.keys() - set(_FIELDS)):
        shown = one_line(name, 40)
        _refuse(
            f"{_place(lines, name)}{shown} is unknown", f"there are {', '.join(sorted(_FIELDS))}"
        )
    preset = table.get("preset", STANDARD)
    if not isinstance(preset, str) or preset not in PRESETS:
        _refuse(f"{_place(lines, 'preset')}no such preset", f"one of {', '.join(PRESETS)}")
    rules = _parse_rules(table.get("rules", []), lines)
    spending = _parse_spending(table.get("spending", {}), lines)
    policy = make_policy(rules, preset, spending)
    return replace(policy, redact=_parse_patterns(table.get("redact", []), lines))


def make_policy(rules: Sequence[Rule], preset: str, spending: Spending = Spending()) -> Policy:
    """Return the policy with these rules of its own, and those of a preset."""
    return Policy((*rules, *map(parse_rule, PRESETS[preset])), preset, spending)


def make_row(policy: Policy) -> dict[str, object]:
    """Return what a policy says, for programs."""
    rules = [
        {"effect": r.effect, "who": sorted(r.who), "act": r.act, "target": r.pattern}
        | {"line": r.line}
        for r in policy.rules
    ]
    spending = {name: getattr(policy.spending, name) / 100 for name in _CAPS}
    return {
        "preset": policy.preset,
        "closed": policy.closed,
        "rules": rules,
        "redact": list(policy.redact),
        "spending": {"currency": policy.spending.currency, **spending},
    }


def parse_rule(text: str, line: int = 0) -> Rule:
    """Return the rule in a line such as `deny guest call read-page`; `UsageError` EINVAL for
    another.
    """
    place = f"line {line}: " if line else ""
    words = text.split(maxsplit=3)
    if len(text) > RULE_CHARACTERS or len(words) < 3 or text != one_line(text, RULE_CHARACTERS):
        _refuse(f"{place}{one_line(text, 60)!r} is no rule", "write `deny guest call read-page`")
    effect, actors, act = words[:3]
    if effect not in EFFECTS:
        _refuse(f"{place}{one_line(effect, 40)!r} is no word for a rule", "allow, ask or deny")
    who = frozenset(actors.split(","))
    for name in sorted(who - ACTORS.keys()):
        _refuse(f"{place}{one_line(name, 40)!r} is nobody", f"one of {', '.join(ACTORS)}")
    if act not in ACTS:
        _refuse(f"{place}{one_line(act, 40)!r} is no act", f"one of {', '.join(ACTS)}")
    if effect == "ask" and act in NEVER_ASKED:
        _refuse(f"{place}{act} cannot wait for an approval", "allow or deny it")
    if effect == "allow" and act in NEVER_ALLOWED:
        _refuse(f"{place}only an owner decides on {act}", "ask or deny it")
    pattern = words[3] if len(words) > 3 else ""
    if act in NAMELESS:
        if pattern not in ("", "*"):
            _refuse(f"{place}{act} has no target", f"write `{effect} {actors} {act}`")
        pattern = "*"
    if not pattern:
        _refuse(f"{place}{act} needs a target", f"`{effect} {actors} {act} *` is any")
    if "*" in pattern.strip("*") or pattern.count("*") > 1:
        _refuse(f"{place}* stands at the beginning or the end of a target", "once")
    if act == "spend" and effect != "deny" and "*" in pattern:
        _refuse(f"{place}a rule that lets something be spent names the payee", "without *")
    if act == "net":
        pattern = _normalize_host(pattern, place)
    checked: Effect = "allow" if effect == "allow" else "ask" if effect == "ask" else "deny"
    return Rule(checked, who, act, normalize_target(act, pattern), text, line)


def normalize_target(kind: str, target: str) -> str:
    """Return a target as rules and acts are compared: hosts and payees in small letters, agents by
    their own name, without that of the root before it.
    """
    if kind == "mail":
        return target.rpartition(".")[2]
    return target.strip().lower() if kind in ("net", "spend") else target


def _normalize_host(pattern: str, place: str) -> str:
    """Return a host, or a part of one with a `*`, in the one spelling that grants have."""
    # a policy without such a rule, as the one that ships, needs nothing of it
    from sigil.network.urls import parse_host_port

    core = pattern.strip("*").strip(".")
    is_part = "*" in pattern
    if is_part and (not core or core.replace(".", "").isdecimal()):
        return pattern
    written = f"[{core.strip('[]')}]" if core.count(":") > 1 else core
    if core.count(":") == 1:
        _refuse(f"{place}a rule names a host without its port", f"write {core.partition(':')[0]}")
    try:
        host = parse_host_port(written, 1)[0]
    except ToolError as problem:
        _refuse(f"{place}{problem.message}", "write a host, such as api.example.com")
    return pattern.replace(core, host) if is_part else host


def _no_rule(act: Act) -> Decision:
    return Decision("deny", f"no rule of the policy names {one_line(str(act), 80)!r}")


def _rank(rule: Rule) -> tuple[bool, bool, int]:
    """Return what sorts rules that name as much of a target, the one that counts first."""
    return not rule.line, EVERYBODY in rule.who, _STRICTNESS[rule.effect]


def _rank_patterns(rule: Rule) -> tuple[int, tuple[bool, bool, int]]:
    return -len(rule.pattern), _rank(rule)


@lru_cache(maxsize=1024)
def _index_rules(policy: Policy, labels: frozenset[str], kind: str) -> RuleIndex:
    """Return the rules of a policy for one kind of act of somebody."""
    exact: dict[str, Rule] = {}
    beginnings: dict[str, Rule] = {}
    ends: dict[str, Rule] = {}
    for rule in sorted(policy.rules, key=_rank):
        if rule.act != kind or rule.who.isdisjoint(labels):
            continue
        part = rule.pattern.strip("*")
        if "*" not in rule.pattern:
            exact.setdefault(part, rule)
        elif rule.pattern.startswith("*") and part:
            ends.setdefault(part[::-1], rule)
        else:
            beginnings.setdefault(part, rule)
    return RuleIndex(exact, _index_prefixes(beginnings), _index_prefixes(ends))


def _index_prefixes(rules: Mapping[str, Rule]) -> PrefixIndex:
    parts = tuple(sorted(rules))
    shorter: dict[str, str | None] = {}
    for number, part in enumerate(parts):
        before = parts[number - 1] if number else None
        while before is not None and not part.startswith(before):
            before = shorter[before]
        shorter[part] = before
    return PrefixIndex(rules, parts, shorter)


def _parse_rules(written: object, lines: Sequence[str]) -> list[Rule]:
    if not isinstance(written, list) or not all(isinstance(text, str) for text in written):
        example = 'rules = ["deny guest call x"]'
        _refuse(f"{_place(lines, 'rules')}rules is a list of texts", example)
    if len(written) > RULES_MOST:
        _refuse(f"a policy has at most {RULES_MOST} rules", "leave some out")
    rules = []
    line = 0
    for text in written:
        line = _find_line(lines, text, line)
        rules.append(parse_rule(text, line))
    return rules


def _find_line(lines: Sequence[str], text: str, after: int) -> int:
    """Return the number of the line with a rule's text, the first one behind the rule before it."""
    for number in range(max(after, 1), len(lines) + 1):
        line = lines[number - 1]
        if text and text in line and (number > after or line.count(text) > 1):
            return number
    return max(after, 1)


def _parse_patterns(written: object, lines: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns of what is redacted; `UsageError` for one that is none, or slow."""
    if not isinstance(written, list) or not all(isinstance(text, str) for text in written):
        _refuse(f"{_place(lines, 'redact')}redact is a list of texts", "redact = ['[0-9]{16}']")
    if not written:
        return ()
    # most policies have none
    from functions.agent.policy.redaction import UnfitPattern, check_patterns, parse_pattern

    place = _place(lines, "redact")
    for text in written:
        shown = repr(text)[1:-1]
        number = next((n for n, line in enumerate(lines, 1) if text in line or shown in line), 0)
        place = f"line {number}: " if text and number else _place(lines, "redact")
        try:
            parse_pattern(text)
        except UnfitPattern as problem:
            hint = "docs/policy.md says what a pattern may hold"
            _refuse(f"{place}{one_line(text, 60)!r} is no pattern: {problem}", hint)
    try:
        check_patterns(written)
    except UnfitPattern as problem:
        _refuse(f"{_place(lines, 'redact')}{problem}", "leave some out, or shorten them")
    return tuple(written)


def _parse_spending(written: object, lines: Sequence[str]) -> Spending:
    if not isinstance(written, dict):
        _refuse(f"{_place(lines, 'spending')}spending is a table", "[spending]")
    for name in sorted(written.keys() - {"currency", *_CAPS}):
        known = f"there are currency, {', '.join(_CAPS)}"
        _refuse(f"{_place(lines, name)}{one_line(name, 40)} is no cap", known)
    currency = written.get("currency", CURRENCY)
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
        _refuse(f"{_place(lines, 'currency')}no currency", "three letters, such as USD")
    caps = {}
    for name in _CAPS:
        amount = parse_amount(written.get(name, 0))
        if amount is None:
            _refuse(f"{_place(lines, name)}{name} is no amount", "a number of at most two decimals")
        caps[name] = amount
    return Spending(currency, **caps)


def parse_amount(value: object) -> int | None:
    """Return an amount of money in hundredths; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        hundredths = Decimal(str(value)) * 100
    except (InvalidOperation, ValueError):  # Python writes no number of 5,000 digits
        return None
    if not hundredths.is_finite() or hundredths != hundredths.to_integral_value():
        return None
    return int(hundredths) if 0 <= hundredths <= MONEY_MOST else None


def format_amount(hundredths: int, currency: str) -> str:
    """Return an amount as people write it: `12.50 USD`."""
    return f"{hundredths / 100:,.2f} {currency}"


def _place(lines: Sequence[str], name: str) -> str:
    """Return `line 3: ` for the line that sets a name, empty when none does."""
    for number, line in enumerate(lines, 1):
        if re.match(rf"\s*\[?\s*[\"']?{re.escape(name)}\b", line):
            return f"line {number}: "
    return ""


def _refuse(message: str, suggestion: str) -> NoReturn:
    raise UsageError("EINVAL", message, suggestion=suggestion, source="policy")
