"""A verdict names what is missing from a request's two turns: the first has to make what it uses,
the second has to find it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scripts.bootstrapping.facts import Half
from sigil.protocol import tool_of

UNASKED = "not asked, since there was nothing to find"


@dataclass(frozen=True, slots=True)
class Row:
    """A request that was asked. `again` is None when there was nothing to look for, or no model to
    ask.
    """

    name: str
    first: Half
    again: Half | None = None

    @property
    def misses(self) -> tuple[str, ...]:
        """Yield one line for each turn that went otherwise than it should."""
        first = self.first.error or ", ".join(_first(self.first))
        again = (
            self.again.error or ", ".join(_again(self.again))
            if self.again
            else ""
            if self.first.error
            else UNASKED
        )
        return tuple(
            f"{turn}: {what}" for turn, what in (("first", first), ("again", again)) if what
        )

    @property
    def complete(self) -> bool:
        """Return whether both turns did all that they should."""
        return not self.misses


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums of a report."""

    requests: int
    complete: int
    searched: int
    written: int
    tested: int
    deployed: int
    called: int
    right: int
    found_again: int
    right_again: int
    tokens: int
    seconds: float


def totals(rows: Sequence[Row]) -> Totals:
    """Count how many requests did what, and what they cost."""
    halves = [half for row in rows for half in (row.first, row.again) if half]
    firsts, agains = [row.first for row in rows], [row.again for row in rows if row.again]
    return Totals(
        requests=len(rows),
        complete=sum(row.complete for row in rows),
        searched=sum(half.searched > 0 for half in firsts),
        written=sum(half.written > 0 for half in firsts),
        tested=sum(half.tests > 0 for half in firsts),
        deployed=sum(bool(half.deployed) for half in firsts),
        called=sum(bool(half.called) for half in firsts),
        right=sum(half.right for half in firsts),
        found_again=sum(bool(half.found) and not half.written for half in agains),
        right_again=sum(half.right for half in agains),
        tokens=sum(half.worklog.tokens for half in halves),
        seconds=round(sum(half.worklog.seconds for half in halves), 1),
    )


def _first(half: Half) -> Iterator[str]:
    if not half.searched:
        yield _unsearched(half)
    if not half.written:
        yield f"it wrote nothing{' and used ' + ', '.join(half.called) if half.called else ''}"
    elif not half.deployed:
        yield f"nothing became active ({', '.join(half.refused) or 'no deploy was kept'})"
    elif not half.tests:
        yield "it deployed without tests"
    yield from _used(half, {tool_of(name) for name in half.deployed})


def _again(half: Half) -> Iterator[str]:
    if not half.searched:
        yield _unsearched(half)
    elif not half.found:
        yield "it searched and found nothing"
    if half.written or half.deployed:
        yield "it wrote another one instead of using what is there"
    yield from _used(half, {tool_of(name) for name in half.found})


def _used(half: Half, known: set[str]) -> Iterator[str]:
    if known and known.isdisjoint(half.called):
        yield f"it did not get an answer from {', '.join(sorted(known))}{_failures(half)}"
    if half.called and not half.computed:
        yield "no capability gave back the true answer"
    if not half.right:
        yield "its reply does not say the true answer"
    elif not half.called:
        yield "its answer is right, but out of its own head"


def _unsearched(half: Half) -> str:
    return (
        f"its search failed ({', '.join(dict.fromkeys(half.unsearched))})"
        if half.unsearched
        else "it did not search"
    )


def _failures(half: Half) -> str:
    return f" ({', '.join(dict.fromkeys(half.failed))})" if half.failed else ""
