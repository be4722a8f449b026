"""What a runner lets go of first."""

from __future__ import annotations

from collections.abc import Callable

from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import LoadedProgram, LoadedPrograms, Program, Rank
from tests.sigil.sandbox.modules import script


def test_expired_ones_go_first_then_ephemeral_normal_and_persistent_ones() -> None:
    shelf = LoadedPrograms(programs=5, size=1000, clock=lambda: 100.0)
    shelf.add("persistent", LoadedProgram(1, Rank.PERSISTENT))
    shelf.add("normal", LoadedProgram(1))
    shelf.add("live", LoadedProgram(1, Rank.EPHEMERAL, 200.0))
    shelf.add("over", LoadedProgram(1, Rank.EPHEMERAL, 100.0))
    shelf.add("other", LoadedProgram(1))
    gone = [
        name
        for number in range(5)
        for name in shelf.add(str(number), LoadedProgram(1, Rank.PERSISTENT))
    ]
    assert gone == ["over", "live", "normal", "other", "persistent"]


def test_among_equals_the_one_that_was_used_longest_ago_goes() -> None:
    shelf = LoadedPrograms(programs=2)
    shelf.add("a", LoadedProgram(1))
    shelf.add("b", LoadedProgram(1))
    shelf.use("a")
    shelf.use("unknown")
    assert shelf.add("c", LoadedProgram(1)) == ("b",)
    assert "a" in shelf


def test_bytes_are_bounded_but_the_last_one_stays() -> None:
    shelf = LoadedPrograms(size=10)
    shelf.add("a", LoadedProgram(4))
    shelf.add("b", LoadedProgram(4))
    assert shelf.add("c", LoadedProgram(4)) == ("a",)
    assert shelf.add("huge", LoadedProgram(99)) == ("b", "c")
    assert (len(shelf), shelf.weight) == (1, 99)
    assert shelf.add("d", LoadedProgram(1)) == ("huge",)


def test_one_that_comes_again_is_counted_once() -> None:
    shelf = LoadedPrograms()
    shelf.add("a", LoadedProgram(4))
    shelf.add("a", LoadedProgram(5))
    assert (len(shelf), shelf.weight) == (1, 5)


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
