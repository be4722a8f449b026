"""Measures a decision of the policy: one that ships, and the largest that can be written."""

from __future__ import annotations

import timeit
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from functions.agent.policy.act import Act, make_actor
from functions.agent.policy.rules import FIRST_TEXT, RULES_MOST, Policy, decide, parse_policy
from scripts.benchmarks.rows import Row

DECISIONS: Final = 2_000
TARGET_US: Final = 10.0
NAMED: Final = "hash" * 40


def run(data: Path | None) -> Iterator[Row]:
    """Measure in microseconds, the best of seven runs."""
    same_length = [f"deny guest call {number:03d}*" for number in range(RULES_MOST)]
    lengths = [f"deny guest call {'x' * (number + 1)}*" for number in range(RULES_MOST)]
    others = ["deny owner call hash"] * RULES_MOST
    yield _measure("a decision of the policy that ships", parse_policy(FIRST_TEXT), "hash")
    yield _measure("with 128 rules for other targets", _make_policy(same_length), "hash")
    yield _measure("with 128 patterns of different lengths", _make_policy(lengths), NAMED)
    nested = [rule.replace("guest", "owner") for rule in lengths]
    yield _measure("with 128 that fit, for other people", _make_policy(nested), "x" * 160)
    yield _measure("with 128 rules for other people", _make_policy(others), "hash")


def _make_policy(rules: list[str]) -> Policy:
    lines = "".join(f'  "{rule}",\n' for rule in rules)
    return parse_policy(f"format = 1\nrules = [\n{lines}]\n")


def _measure(name: str, policy: Policy, target: str) -> Row:
    guest = make_actor("guest")
    act = Act("call", target)
    seconds = timeit.repeat(lambda: decide(policy, guest, act), number=DECISIONS, repeat=7)
    return Row(name, min(seconds) / DECISIONS * 1e6, "us", target=TARGET_US)
