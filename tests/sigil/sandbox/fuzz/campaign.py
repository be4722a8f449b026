"""Runs random modules, sources and frames against a real sandbox, and says what must hold and did
not.

    python -m tests.sigil.sandbox.fuzz.campaign SECONDS [SEED]

Held against each try: it ends in an answer or in one clean line of ours, within its time, and the
next good call is answered rightly. At the end there are as many open descriptors as at the start,
and memory has not grown.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random
from time import monotonic

import sigil
from sigil import strict_json
from sigil.compile.toolchain.c import list_headers
from sigil.errors import Refused, SigilError, ToolError, UsageError, one_line
from sigil.sandbox.javascript_module import make_module
from sigil.sandbox.module_scan import ABIS, UnfitModule, scan
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Grants, Program, SandboxLimits
from tests.sigil.sandbox.fuzz import sources
from tests.sigil.sandbox.fuzz.generator import any_abi, module, mutated, reordered
from tests.sigil.sandbox.modules import guest

ENGINE = Path(sigil.__file__).parent / "sandbox" / "engine" / "engine.wasm"
LIMITS = SandboxLimits(timeout_ms=40, memory_bytes=16 << 20, output_bytes=64 << 10)
ALL = Grants(clock=True, random=True, log=True)
GOOD = guest()
SLACK_SECONDS = 15.0
"""A busy machine's share: a try that takes longer hangs."""


@dataclass
class Findings:
    """The findings of a campaign: `outcomes` by their code, and everything that went wrong."""

    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    longest: float = 0.0


class Campaign:
    """Tries against one sandbox; the same seed makes the same tries."""

    def __init__(self, sandbox: Sandbox, seed: int) -> None:
        self._sandbox = sandbox
        self.seed = seed
        self.found = Findings()

    def run_attacks(
        self, first: int, count: int, attack: Callable[[Campaign, Random], str]
    ) -> None:
        for number in range(first, first + count):
            self._run_attack(
                f"{attack.__name__} {self.seed}/{number}", Random(f"{self.seed}/{number}"), attack
            )

    def _run_attack(
        self, name: str, random: Random, attack: Callable[[Campaign, Random], str]
    ) -> None:
        since = monotonic()
        try:
            outcome = attack(self, random)
        except SigilError as problem:
            outcome = problem.code
            if problem.message != one_line(problem.message):
                self.found.wrong.append(f"{name}: not one clean line: {problem.message!r}")
            if not isinstance(problem, ToolError | Refused | UsageError):
                self.found.wrong.append(f"{name}: blames the machine: {problem}")
        except Exception as problem:  # entry point: any other exception is a finding
            outcome = type(problem).__name__
            self.found.wrong.append(f"{name}: {outcome}: {one_line(str(problem))}")
        took = monotonic() - since
        self.found.longest = max(self.found.longest, took)
        if took > SLACK_SECONDS:
            self.found.wrong.append(f"{name}: took {took:.1f} s")
        self.found.outcomes[f"{attack.__name__} {outcome}"] += 1
        if not outcome.startswith("Unfit") and attack is not c_source:
            self._check_next_run(name)

    def _check_next_run(self, name: str) -> None:
        try:
            answer = self._sandbox.run(_make_program(GOOD, "sigil"), b'{"good":1}').output
        except SigilError as problem:
            self.found.wrong.append(f"{name}: the next call fails: {problem}")
            return
        if answer != b'{"good":1}':
            self.found.wrong.append(f"{name}: the next call answers {answer!r}")

    # -- ways
    # --------------------------------------------------------------------------------------------------------------

    def run(self, wasm: bytes, kind: str) -> str:
        output = self._sandbox.run(_make_program(wasm, kind), b'{"a":[1,"x"]}', ALL, LIMITS).output
        strict_json.loads(output)
        return "ok"

    def check(self, wasm: bytes, abi: str) -> str:
        self._sandbox.check(wasm, abi)  # type: ignore[arg-type]
        return "ok"

    def assemble(self, text: bytes) -> str:
        wasm = self._sandbox.assemble(text)
        try:
            scan(wasm)
        except UnfitModule as unfit:
            return "Unfit" if str(unfit) == one_line(str(unfit)) else _raise_odd(str(unfit))
        return self.run(wasm, "sigil")


def valid_module(campaign: Campaign, random: Random) -> str:
    """A generated module, which the scan and the validator have to accept."""
    kind, abi = any_abi(random)
    wasm = module(random, abi)
    scan(wasm, abi)
    try:
        return campaign.run(wasm, kind)
    except ToolError as problem:
        return _raise_odd("refused what is valid") if problem.code == "EMODULE" else problem.code


def broken_module(campaign: Campaign, random: Random) -> str:
    """A module near a valid one."""
    kind, abi = any_abi(random)
    wasm, other = module(random, abi), module(random, any_abi(random)[1])
    changed = mutated(random, wasm, other) if random.random() < 0.85 else reordered(random, wasm)
    try:
        scan(changed, abi)
    except UnfitModule as unfit:
        if random.random() < 0.97:
            return "Unfit" if str(unfit) == one_line(str(unfit)) else _raise_odd(str(unfit))
    return campaign.run(changed, kind)


def broken_plugin(campaign: Campaign, random: Random) -> str:
    """A module near a JavaScript capability's, which the scan never sees."""
    wasm = make_module("return {sum: input.a}")
    return campaign.run(mutated(random, wasm, module(random, ABIS["sigil"])), "js")


def checked_module(campaign: Campaign, random: Random) -> str:
    """A deploy's check: scan and compiler."""
    kind, abi = any_abi(random)
    wasm = module(random, abi)
    return campaign.check(wasm if random.random() < 0.3 else mutated(random, wasm, wasm), kind)


def script(campaign: Campaign, random: Random) -> str:
    """JavaScript of random pieces."""
    text = sources.script(random) if random.random() < 0.6 else sources.text(random, sources.JS)
    return campaign.run(make_module(text), "js")


def assembled(campaign: Campaign, random: Random) -> str:
    """WAT of random pieces."""
    return campaign.assemble(sources.text(random, sources.WAT).encode("utf-8", "replace"))


def c_source(_campaign: Campaign, random: Random) -> str:
    """C of random pieces, up to the compiler."""
    list_headers(sources.text(random, sources.C).encode("utf-8", "replace"), "fuzz")
    return "ok"


ATTACKS = (
    (valid_module, 40),
    (broken_module, 400),
    (broken_plugin, 20),
    (script, 40),
    (c_source, 40),
    (checked_module, 2),
    (assembled, 2),
)
"""The attacks, and how many of each are in a round."""


def _make_program(wasm: bytes, kind: str) -> Program:
    return Program(sha256(wasm).hexdigest(), kind, lambda: wasm)  # type: ignore[arg-type]


def _raise_odd(text: str) -> str:
    raise AssertionError(text)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0


def resident_memory() -> int:
    """Return this process's memory in KiB."""
    return (
        int(Path("/proc/self/statm").read_text().split()[1]) * 4 if sys.platform == "linux" else 0
    )


def main(seconds: str = "60", seed: str = "1") -> int:
    """Run rounds of every attack until the time is over, with a line each minute; return 1 when
    something went wrong.
    """
    end, cache = monotonic() + float(seconds), Path(os.path.expanduser("~/.cache/sigil/fuzz"))
    sandbox = Sandbox(engine=ENGINE, cache=cache, children=1)
    campaign, reported, rounds = Campaign(sandbox, int(seed)), monotonic(), 0
    campaign.run_attacks(0, 1, script)
    open_before, memory_before = descriptors(), resident_memory()
    while monotonic() < end:
        for attack, count in ATTACKS:
            campaign.run_attacks(rounds * 1000, count, attack)
        rounds += 1
        if monotonic() - reported > 60 or monotonic() >= end:
            reported = monotonic()
            _print_progress(campaign, sandbox, open_before, memory_before)
    sandbox.close()
    print(
        *(f"{count:8} {name}" for name, count in sorted(campaign.found.outcomes.items())), sep="\n"
    )
    return 1 if campaign.found.wrong else 0


def _print_progress(
    campaign: Campaign, sandbox: Sandbox, open_before: int, memory_before: int
) -> None:
    found = campaign.found
    stats = dict(sandbox.stats())
    print(
        f"{sum(found.outcomes.values())} tries, {len(found.wrong)} wrong, longest"
        f" {found.longest:.2f} s, ",
        end="",
    )
    print(
        f"descriptors {open_before} → {descriptors()}, memory {memory_before} → {resident_memory()} KiB,"
        f" {stats}",
        flush=True,
    )
    print(*found.wrong[:20], sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
