"""Nobody takes all."""

from __future__ import annotations

import threading

from sigil.network.fair_share import FairShares


def test_one_takes_its_share_and_others_have_theirs() -> None:
    shares = FairShares(3, 2)
    assert shares.take(("a",), 0)
    assert shares.take(("a",), 0)
    assert not shares.take(("a",), 0)
    assert shares.take(("b",), 0)
    assert not shares.take(("c",), 0)
    shares.release(("a",))
    assert shares.take(("c",), 0)


def test_who_is_nobody_is_bound_by_the_whole_alone() -> None:
    shares = FairShares(3, 1, 1)
    assert all(shares.take(("", ""), 0) for _ in range(3))
    assert not shares.take(("", ""), 0)


def test_who_waits_goes_on_when_somebody_has_finished() -> None:
    shares, outcome = FairShares(1), []
    with shares.taken((), 0) as free:
        assert free
        waiting = threading.Thread(target=lambda: outcome.append(shares.take((), 10)))
        waiting.start()
    waiting.join()
    assert outcome == [True]


def test_what_was_not_taken_is_not_given_back() -> None:
    shares = FairShares(1)
    assert shares.take((), 0)
    with shares.taken((), 0) as free:
        assert not free
    assert not shares.take((), 0)
