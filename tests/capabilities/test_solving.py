"""The capabilities that count and solve, against Python's own numbers."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.capabilities.conftest import Library
from tests.selection import examples

quick = settings(max_examples=examples(20), deadline=None)

# ---- statistics


@quick
@given(
    x=st.lists(st.integers(-(10**6), 10**6).map(lambda n: n / 8), min_size=2, max_size=30),
    share=st.floats(0, 1),
)
def test_a_list_is_described_as_python_does(library: Library, x: list[float], share: float) -> None:
    answer = library("statistics", x=x, quantiles=[0.1, 0.9])
    assert answer["mean"] == pytest.approx(statistics.fmean(x), rel=1e-11, abs=1e-9)
    assert answer["median"] == pytest.approx(statistics.median(x), rel=1e-11)
    assert answer["stdev"] == pytest.approx(statistics.stdev(x), rel=1e-9, abs=1e-9)
    assert answer["population_stdev"] == pytest.approx(statistics.pstdev(x), rel=1e-9, abs=1e-9)
    assert [answer["q1"], answer["median"], answer["q3"]] == pytest.approx(
        statistics.quantiles(x, n=4, method="inclusive"), rel=1e-11
    )
    tenths = statistics.quantiles(x, n=10, method="inclusive")
    assert answer["quantiles"] == pytest.approx([tenths[0], tenths[-1]], rel=1e-11)
    modes = statistics.multimode(x)
    assert answer.get("mode") == (
        pytest.approx(modes[0], rel=1e-11) if len(modes) == 1 and len(x) > len(set(x)) else None
    )


@quick
@given(
    pairs=st.lists(
        st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000)), min_size=2, max_size=30
    )
)
def test_two_lists_have_the_line_and_correlation_of_python(
    library: Library, pairs: list[tuple[int, int]]
) -> None:
    x, y = zip(*pairs, strict=True)
    answer = library("statistics", x=list(x), y=list(y))
    assert answer["covariance"] == pytest.approx(statistics.covariance(x, y), rel=1e-9, abs=1e-9)
    assert ("slope" in answer, "correlation" in answer) == (
        len(set(x)) > 1,
        len(set(x)) > 1 and len(set(y)) > 1,
    )
    if "slope" in answer:
        slope, intercept = statistics.linear_regression(x, y)
        assert (answer["slope"], answer["intercept"]) == (
            pytest.approx(slope, rel=1e-9, abs=1e-9),
            pytest.approx(intercept, rel=1e-9, abs=1e-6),
        )
    if "correlation" in answer:
        assert answer["correlation"] == pytest.approx(
            statistics.correlation(x, y), rel=1e-9, abs=1e-9
        )


def test_sizes_and_offsets_lose_nothing(library: Library) -> None:
    assert library("statistics", x=[1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16])[
        "stdev"
    ] == pytest.approx(math.sqrt(30))
    assert library("statistics", x=[1e-200, 3e-200])["stdev"] == pytest.approx(
        math.sqrt(2) * 1e-200
    )
    assert library("statistics", x=[1, 1e100, 1, -1e100])["sum"] == 2
    assert library("statistics", x=[0.5] * 20_000)["count"] == 20_000
    assert library.code_of("statistics", x=[0] * 20_001) == "EINVAL"


# ---- prime-factors


@quick
@given(
    number=st.one_of(
        st.integers(1, 2**63 - 1),
        st.integers(1, 10**6),
        st.integers(2**31, 2**31 + 10**6).map(lambda n: n * (n - 2)),
    )
)
def test_the_factors_are_primes_and_make_the_number(library: Library, number: int) -> None:
    answer = library("prime-factors", number=str(number))
    factors = [(int(one["prime"]), one["power"]) for one in answer["factors"]]
    assert math.prod(prime**power for prime, power in factors) == number == int(answer["number"])
    assert factors == sorted(set(factors))
    assert all(_is_prime(prime) for prime, _ in factors)
    assert answer["prime"] is (factors == [(number, 1)])
    assert int(answer["divisors"]) == math.prod(power + 1 for _, power in factors)
    assert int(answer["totient"]) == math.prod(
        (prime - 1) * prime ** (power - 1) for prime, power in factors
    )


def _is_prime(n: int) -> bool:
    """By Fermat and Miller-Rabin with bases that suffice below 3.3e24."""
    odd, twos = n - 1, 0
    while n > 2 and odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    bases = [base for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41) if base < n]
    return n > 1 and all(
        pow(base, odd, n) == 1 or any(pow(base, odd << i, n) == n - 1 for i in range(twos))
        for base in bases
    )


def test_the_hardest_numbers_are_split(library: Library) -> None:
    for p, q in (
        (3037000493, 3037000453),
        (4294967291, 2147483629),
        (561, 1729),
        (2147483647, 4294967279),
    ):
        answer = library("prime-factors", number=str(p * q))
        assert math.prod(int(one["prime"]) ** one["power"] for one in answer["factors"]) == p * q
        assert all(_is_prime(int(one["prime"])) for one in answer["factors"])


# ---- matrix

cells = st.integers(-9, 9)


@st.composite
def squares(draw: st.DrawFn) -> list[list[int]]:
    size = draw(st.integers(1, 5))
    return draw(
        st.lists(st.lists(cells, min_size=size, max_size=size), min_size=size, max_size=size)
    )


def _determinant(rows: list[list[int]]) -> int:
    if len(rows) == 1:
        return rows[0][0]
    return sum(
        (-1) ** i * first * _determinant([row[:i] + row[i + 1 :] for row in rows[1:]])
        for i, first in enumerate(rows[0])
    )


@quick
@given(a=squares(), data=st.data())
def test_determinants_inverses_and_solutions_are_right(
    library: Library, a: list[list[int]], data: st.DataObject
) -> None:
    size, determinant = len(a), _determinant(a)
    assert library("matrix", operation="determinant", a=a) == pytest.approx(determinant, abs=1e-8)
    assert (library("matrix", operation="rank", a=a) == size) is (determinant != 0)
    b = data.draw(st.lists(cells, min_size=size, max_size=size))
    if determinant == 0:
        assert library.code_of("matrix", operation="inverse", a=a) == "ESINGULAR"
        return
    inverse = library("matrix", operation="inverse", a=a)
    identity = library("matrix", operation="multiply", a=a, b=inverse)
    assert [value for row in identity for value in row] == pytest.approx(
        [float(i == j) for i in range(size) for j in range(size)], abs=1e-8
    )
    x = [Fraction(row[0]) for row in library("matrix", operation="solve", a=a, b=b)]
    assert [float(sum(p * q for p, q in zip(row, x, strict=True))) for row in a] == pytest.approx(
        b, abs=1e-7
    )


@quick
@given(st.data())
def test_products_and_sums_of_matrices_are_right(library: Library, data: st.DataObject) -> None:
    n, m, k = (data.draw(st.integers(1, 4)) for _ in range(3))
    a, b, c = (
        data.draw(
            st.lists(st.lists(cells, min_size=wide, max_size=wide), min_size=high, max_size=high)
        )
        for high, wide in ((n, m), (m, k), (n, m))
    )
    product = [
        [sum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*b, strict=True)]
        for row in a
    ]
    assert library("matrix", operation="multiply", a=a, b=b) == product
    assert library("matrix", operation="transpose", a=a) == [
        list(column) for column in zip(*a, strict=True)
    ]
    assert library("matrix", operation="subtract", a=a, b=c) == [
        [x - y for x, y in zip(*pair, strict=True)] for pair in zip(a, c, strict=True)
    ]


def test_badly_scaled_matrices_are_not_singular(library: Library) -> None:
    assert library("matrix", operation="determinant", a=[[1e-20, 0], [0, 1]]) == 1e-20
    assert library("matrix", operation="rank", a=[[1e-20, 1], [1, 1e20]]) == 1
    assert (
        len(
            library(
                "matrix",
                operation="inverse",
                a=[[float(i == j) for i in range(60)] for j in range(60)],
            )
        )
        == 60
    )
    assert (
        library.code_of(
            "matrix",
            operation="determinant",
            a=[[1e100 * (i == j) for i in range(9)] for j in range(9)],
        )
        == "EINVAL"
    )
    assert library.code_of("matrix", operation="rank", a=[[0] * 61]) == "EINVAL"
