"""Names what is missing from a request's two turns: the first has to make the capability that it
uses, the second has to find it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scripts.bootstrapping.facts import TurnFacts
from sigil.protocol import tool_of

UNASKED = "not asked, since there was nothing to find"


@dataclass(frozen=True, slots=True)
class RequestResult:
    """A request and its turns. `again` is None when there was nothing to find, or no model to
    ask.
    """

    name: str
    first: TurnFacts
    again: TurnFacts | None = None

    @property
    def misses(self) -> tuple[str, ...]:
        """Return one line for each turn that did not do all that it should."""
        lines = []
        first = self.first.error or ", ".join(_find_misses_of_first(self.first))
        if first:
            lines.append(f"first: {first}")
        again = ""
        if self.again:
            again = self.again.error or ", ".join(_find_misses_of_second(self.again))
        elif not self.first.error:
            again = UNASKED
        if again:
            lines.append(f"again: {again}")
        return tuple(lines)

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


def sum_up(rows: Sequence[RequestResult]) -> Totals:
    """Count the requests that did each step, and sum their cost."""
    firsts = [row.first for row in rows]
    agains = [row.again for row in rows if row.again]
    turns = [*firsts, *agains]
    return Totals(
        requests=len(rows),
        complete=sum(row.complete for row in rows),
        searched=sum(turn.searched > 0 for turn in firsts),
        written=sum(turn.written > 0 for turn in firsts),
        tested=sum(turn.tests > 0 for turn in firsts),
        deployed=sum(bool(turn.deployed) for turn in firsts),
        called=sum(bool(turn.called) for turn in firsts),
        right=sum(turn.right for turn in firsts),
        found_again=sum(bool(turn.found) and not turn.written for turn in agains),
        right_again=sum(turn.right for turn in agains),
        tokens=sum(turn.worklog.tokens for turn in turns),
        seconds=round(sum(turn.worklog.seconds for turn in turns), 1),
    )


def _find_misses_of_first(turn: TurnFacts) -> Iterator[str]:
    if not turn.searched:
        yield _describe_failed_search(turn)
    if not turn.written:
        yield f"it wrote nothing{' and used ' + ', '.join(turn.called) if turn.called else ''}"
    elif not turn.deployed:
        yield f"nothing became active ({', '.join(turn.refused) or 'no deploy was kept'})"
    elif not turn.tests:
        yield "it deployed without tests"
    yield from _find_misses_of_use(turn, {tool_of(name) for name in turn.deployed})


def _find_misses_of_second(turn: TurnFacts) -> Iterator[str]:
    if not turn.searched:
        yield _describe_failed_search(turn)
    elif not turn.found:
        yield "it searched and found nothing"
    if turn.written or turn.deployed:
        yield "it wrote another one instead of using what is there"
    yield from _find_misses_of_use(turn, {tool_of(name) for name in turn.found})


def _find_misses_of_use(turn: TurnFacts, known: set[str]) -> Iterator[str]:
    if known and known.isdisjoint(turn.called):
        failures = f" ({', '.join(dict.fromkeys(turn.failed))})" if turn.failed else ""
        yield f"it did not get an answer from {', '.join(sorted(known))}{failures}"
    if turn.called and not turn.computed:
        yield "no capability gave back the true answer"
    if not turn.right:
        yield "its reply does not say the true answer"
    elif not turn.called:
        yield "its answer is right, but out of its own head"


def _describe_failed_search(turn: TurnFacts) -> str:
    if turn.unsearched:
        return f"its search failed ({', '.join(dict.fromkeys(turn.unsearched))})"
    return "it did not search"
