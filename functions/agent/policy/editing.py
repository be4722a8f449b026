"""A policy is changed by one rule at a time, and keeps its comments."""

from __future__ import annotations

import re

from functions.agent.policy.rules import PRESETS, Policy, parse_policy, parse_rule
from sigil.errors import UsageError
from sigil.storage.toml_files import quote_text

_FORMAT = re.compile(r"^format[ \t]*=.*$", re.MULTILINE)
_PRESET = re.compile(r"^preset[ \t]*=.*$", re.MULTILINE)
_RULES = re.compile(r"^rules[ \t]*=[ \t]*\[", re.MULTILINE)


def add_rule(text: str, rule: str) -> str:
    """Return a policy's text with one more rule, which comes first; `UsageError` EINVAL when the
    rule cannot be read.
    """
    parse_rule(rule)
    line = f"\n  {quote_text(rule)},"
    changed, count = _RULES.subn(lambda found: f"{found[0]}{line}", text, count=1)
    if not count:
        changed = _FORMAT.sub(lambda found: f"{found[0]}\nrules = [{line}\n]", text, count=1)
    return _require_rules(changed, [rule, *list_own_rules(parse_policy(text))])


def drop_rule(text: str, number: int) -> str:
    """Return a policy's text without one of its own rules, by its place from 1 on."""
    policy = parse_policy(text)
    rules = list_own_rules(policy)
    if not 1 <= number <= len(rules):
        known = f"1 to {len(rules)}" if rules else "it has none"
        raise UsageError("ENOENT", f"the policy has no rule {number}", suggestion=known)
    line = policy.rules[number - 1].line
    lines = text.splitlines()
    rule = re.escape(rules.pop(number - 1))
    left = re.sub(rf"[\"']{rule}[\"'][ \t]*,?[ \t]*", "", lines[line - 1], count=1)
    lines[line - 1 : line] = [left] if left.strip() else []
    return _require_rules("\n".join(lines), rules)


def choose_preset(text: str, name: str) -> str:
    """Return a policy's text with another preset; `UsageError` EINVAL for one that is none."""
    if name not in PRESETS:
        hint = f"one of {', '.join(PRESETS)}"
        raise UsageError("EINVAL", "there is no such preset", suggestion=hint)
    line = f'preset = "{name}"'
    changed, count = _PRESET.subn(line, text, count=1)
    if not count:
        changed = _FORMAT.sub(lambda found: f"{found[0]}\n{line}", text, count=1)
    if parse_policy(changed).preset != name:
        raise _too_unusual()
    return _require_rules(changed, list_own_rules(parse_policy(text)))


def list_own_rules(policy: Policy) -> list[str]:
    """Return the rules of a policy without those of its preset."""
    return [rule.text for rule in policy.rules if rule.line]


def _require_rules(text: str, rules: list[str]) -> str:
    """Return a text that was changed, if it has exactly these rules now."""
    if list_own_rules(parse_policy(text)) != rules:
        raise _too_unusual()
    return text


def _too_unusual() -> UsageError:
    return UsageError(
        "EINVAL",
        "the policy is written in a way that cannot be changed line by line",
        suggestion="`uncaged policy edit` on the machine changes all of it",
    )
