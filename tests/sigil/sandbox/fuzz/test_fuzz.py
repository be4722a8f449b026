"""Some tries of each kind with a seed of their own, more of them in scripts/check-all;
`scripts/fuzz` makes as many as there is time for.
"""

from __future__ import annotations

import gc
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from time import monotonic
from typing import NoReturn

import pytest

from sigil.errors import SigilError, one_line
from sigil.sandbox import spawn
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import SandboxLimits
from sigil.sandbox.protocol import KINDS, DeadlinePassed, FrameChannel, FrameKind, ProtocolBreach
from tests.machine import within
from tests.selection import in_full
from tests.sigil.sandbox.fuzz import evil
from tests.sigil.sandbox.fuzz.campaign import (
    Campaign,
    assembled,
    broken_module,
    broken_plugin,
    c_source,
    checked_module,
    descriptors,
    script,
    valid_module,
)
from tests.sigil.sandbox.modules import guest, program

SEED = 20


@pytest.fixture(scope="module", autouse=True)
def earlier_objects_frozen() -> None:
    """Leave out of the searches for garbage here what other tests have left: each of them would
    take a second of nothing else.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def fuzzed(compiled: Path) -> Iterator[Sandbox]:
    made = Sandbox(
        engine=Path(spawn.__file__).parent / "engine" / "engine.wasm", cache=compiled, children=1
    )
    yield made
    made.close()


@pytest.mark.parametrize(
    ("attack", "some", "more"),
    [
        (valid_module, 10, 20),
        (broken_module, 60, 150),
        (broken_plugin, 12, 12),
        (script, 30, 40),
        (c_source, 300, 300),
        (checked_module, 3, 3),
        (assembled, 3, 3),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_nothing_that_is_fed_to_the_sandbox_breaks_it(
    attack: Callable[[Campaign, Random], str], some: int, more: int, fuzzed: Sandbox
) -> None:
    count = more if in_full() else some
    campaign = Campaign(fuzzed, SEED)
    campaign.run_attacks(0, 1, attack)
    gc.collect()
    before = descriptors()
    campaign.run_attacks(1, count, attack)
    assert campaign.found.wrong == []
    assert fuzzed.stats()["children"] <= 1
    gc.collect()
    assert descriptors() <= before + 40  # code that is held


def _hear(end: socket.socket, expected: frozenset[int]) -> NoReturn:
    while True:
        kind, _ = FrameChannel(end).receive(expected, deadline=monotonic() + 5)
        assert kind in expected


def test_any_words_of_a_runner_are_frames_or_a_breach() -> None:
    random = Random(SEED)
    for _ in range(2_000 if in_full() else 500):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.sendall(evil.words(random))
            theirs.shutdown(socket.SHUT_WR)
            expected = frozenset(random.sample(sorted(KINDS), 3))
            with pytest.raises((ProtocolBreach, DeadlinePassed)):
                _hear(ours, expected)


def test_a_runner_that_was_taken_over_ends_in_a_clean_error_and_is_replaced(
    monkeypatch: pytest.MonkeyPatch, compiled: Path
) -> None:
    random, good = Random(SEED), program(guest())
    before = descriptors()
    sandbox = Sandbox(engine=Path("/nowhere"), cache=compiled, children=1)
    with (
        evil.runners(lambda: evil.words(random), evil.frame(FrameKind.READY, b"\0")) as start,
        monkeypatch.context() as patch,
    ):
        patch.setattr(spawn, "start", start)
        for _ in range(60 if in_full() else 40):
            since = monotonic()
            said = ""
            try:
                sandbox.run(good, b"1", limits=SandboxLimits(timeout_ms=20))
            except SigilError as problem:
                said = problem.message
            assert said == one_line(said)
            # the runner waits for ever, the call must not
            assert monotonic() - since < within(10)
    sandbox._workers.close()
    sandbox = Sandbox(engine=Path("/nowhere"), cache=compiled, children=1)
    assert sandbox.run(good, b"[1]").output == b"[1]"
    sandbox.close()
    gc.collect()
    assert descriptors() <= before + 10
