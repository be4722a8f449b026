"""A full runner evicts programs by their rank, then by their last use."""

from __future__ import annotations

from collections.abc import Callable

from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import LoadedProgram, LoadedPrograms, Program, Rank
from tests.sigil.sandbox.modules import script


def test_expired_ones_go_first_then_ephemeral_normal_and_persistent_ones() -> None:
    programs = LoadedPrograms(programs=5, size=1000, clock=lambda: 100.0)
    programs.add("persistent", LoadedProgram(1, Rank.PERSISTENT))
    programs.add("normal", LoadedProgram(1))
    programs.add("live", LoadedProgram(1, Rank.EPHEMERAL, 200.0))
    programs.add("over", LoadedProgram(1, Rank.EPHEMERAL, 100.0))
    programs.add("other", LoadedProgram(1))
    gone = [
        name
        for number in range(5)
        for name in programs.add(str(number), LoadedProgram(1, Rank.PERSISTENT))
    ]
    assert gone == ["over", "live", "normal", "other", "persistent"]


def test_among_equals_the_one_that_was_used_longest_ago_goes() -> None:
    programs = LoadedPrograms(programs=2)
    programs.add("a", LoadedProgram(1))
    programs.add("b", LoadedProgram(1))
    programs.use("a")
    programs.use("unknown")
    assert programs.add("c", LoadedProgram(1)) == ("b",)
    assert "a" in programs


def test_bytes_are_bounded_but_the_last_one_stays() -> None:
    programs = LoadedPrograms(size=10)
    programs.add("a", LoadedProgram(4))
    programs.add("b", LoadedProgram(4))
    assert programs.add("c", LoadedProgram(4)) == ("a",)
    assert programs.add("huge", LoadedProgram(99)) == ("b", "c")
    assert (len(programs), programs.weight) == (1, 99)
    assert programs.add("d", LoadedProgram(1)) == ("huge",)


def test_one_that_comes_again_is_counted_once() -> None:
    programs = LoadedPrograms()
    programs.add("a", LoadedProgram(4))
    programs.add("a", LoadedProgram(5))
    assert (len(programs), programs.weight) == (1, 5)


def test_a_runner_forgets_what_its_shelf_lets_go_of(opened: Callable[..., Sandbox]) -> None:
    sandbox = opened()
    large = "// " + "x" * 200_000 + "\n"  # weighs two mebibytes
    programs = [script(f"{large}return {number}") for number in range(40)]
    assert [sandbox.run(each, b"{}").output for each in programs] == [
        b"%d" % number for number in range(40)
    ]
    stats = sandbox.stats()
    assert stats["cold"] == 40
    assert stats["slots"] + stats["evictions"] == 40
    assert stats["evictions"] > 0
    assert stats["bytes"] <= 64 << 20
    assert sandbox.run(programs[0], b"{}").cold
    assert not sandbox.run(programs[39], b"{}").cold


def test_an_ephemeral_program_leaves_before_an_older_one(opened: Callable[..., Sandbox]) -> None:
    sandbox = opened()
    first, passing, *others = (
        script("// " + "x" * 200_000 + f"\nreturn {number}") for number in range(33)
    )
    sandbox.run(first, b"{}")
    sandbox.run(Program(passing.digest, "js", passing.load, Rank.EPHEMERAL), b"{}")
    for each in others[:31]:
        sandbox.run(each, b"{}")
    assert not sandbox.run(first, b"{}").cold
    assert sandbox.run(passing, b"{}").cold
